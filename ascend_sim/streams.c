/* Streams: one worker thread and one first-in first-out queue each. Nothing orders two streams but events. */
#include "sim.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#define PATIENCE_NS                                                                                                    \
    30000 /* how long an idle worker looks for work before it sleeps: waking it costs the host far more than a launch  \
           */

static Pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .item_size = sizeof(Stream), .tag = 0x53};
static _Atomic int next_id;
static _Atomic uint64_t next_task;

void *stream_handle(const Stream *stream) { return pool_handle(&pool, stream); }

int stream_of(void *handle, Stream **out) {
    Device *device = NULL;
    int code = current_device(&device);
    if (code != 0) return code;
    if (handle == NULL) {
        *out = device->default_stream;
        return ACL_OK;
    }
    Stream *stream = pool_find(&pool, handle);
    if (stream == NULL) return fail(RT_INVALID_HANDLE, "stream %p does not exist", handle);
    if (stream->device != device) {
        return fail(RT_STREAM_CONTEXT, "stream %d is on device %d, the current device is %d", stream->id,
                    stream->device->id, device->id);
    }
    *out = stream;
    return ACL_OK;
}

void short_lock_init(pthread_mutex_t *lock) {
    static const pthread_mutex_t fresh = SHORT_LOCK;
    *lock = fresh;
}

static int processors;
static pthread_once_t processors_once = PTHREAD_ONCE_INIT;
static void count_processors(void) { processors = (int)sysconf(_SC_NPROCESSORS_ONLN); }

/* Looks for a new task for a while; called and left with the lock held. */
static void look_out(Stream *stream) {
    pthread_once(&processors_once, count_processors);
    if (processors < 2) return;
    uint64_t known = stream->submitted, until = host_ns() + PATIENCE_NS;
    pthread_mutex_unlock(&stream->lock);
    while (atomic_load_explicit(&stream->announced, memory_order_acquire) == known && host_ns() < until) {
#if defined(__x86_64__)
        for (int i = 0; i < 8; i++) __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&stream->lock);
}

static Task *take(Stream *stream) { /* NULL when the worker must end; called with the lock held */
    bool patient = stream->submitted > 0;
    for (;;) {
        if (stream->head != NULL && (!stream->held || stream->dropping)) break;
        if (stream->head == NULL && stream->stopping) return NULL;
        if (stream->head == NULL && patient) {
            patient = false;
            look_out(stream);
            continue;
        }
        stream->idle = true;
        pthread_cond_wait(&stream->work, &stream->lock);
        stream->idle = false;
    }
    Task *task = stream->head;
    stream->head = task->next;
    if (stream->head == NULL) stream->tail = NULL;
    return task;
}

static void *work(void *argument) {
    Stream *stream = argument;
    /* A worker that wakes up must not push the launching thread off its processor: a real device would not. */
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
    pthread_mutex_lock(&stream->lock);
    for (Task *task; (task = take(stream)) != NULL;) {
        bool drop = stream->dropping;
        pthread_mutex_unlock(&stream->lock);
        if (!drop) task_execute(stream, task);
        uint64_t sequence = task->sequence;
        task_discard(task);
        pthread_mutex_lock(&stream->lock);
        stream->completed = sequence;
        if (stream->queued-- == config()->queue_depth) pthread_cond_broadcast(&stream->space);
        if (stream->waiters > 0) pthread_cond_broadcast(&stream->done);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

static int start_worker(Stream *stream) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 20);
    int code = pthread_create(&stream->thread, &attributes, work, stream);
    pthread_attr_destroy(&attributes);
    stream->has_thread = code == 0;
    return code;
}

int stream_make(Device *device, uint32_t priority, uint32_t flags, Stream **out) {
    Stream *stream = pool_take(&pool, config()->max_streams);
    if (stream == NULL) return fail(RT_NO_STREAM, "no stream left, the limit is %u", config()->max_streams);
    PoolItem item = stream->pool;
    memset(stream, 0, sizeof *stream);
    stream->pool = item;
    stream->id = atomic_fetch_add(&next_id, 1);
    stream->device = device;
    stream->priority = priority;
    stream->flags = flags;
    short_lock_init(&stream->lock);
    cond_init_monotonic(&stream->work);
    cond_init_monotonic(&stream->space);
    cond_init_monotonic(&stream->done);
    atomic_store(&stream->pool.live, true);
    count(&counters.streams_made, 1);
    *out = stream;
    return ACL_OK;
}

Task *task_new(TaskKind kind, uint32_t uses) {
    Task *task = calloc(1, sizeof *task + uses * sizeof(Block *));
    task->kind = kind;
    task->task_id = atomic_fetch_add_explicit(&next_task, 1, memory_order_relaxed) + 1;
    return task;
}

int stream_submit(Stream *stream, Task *task) {
    pthread_mutex_lock(&stream->lock);
    while (stream->queued >= config()->queue_depth && !stream->stopping) {
        pthread_cond_wait(&stream->space, &stream->lock);
    }
    if (stream->stopping || (!stream->has_thread && start_worker(stream) != 0)) {
        pthread_mutex_unlock(&stream->lock);
        task_discard(task);
        return fail(RT_INVALID_HANDLE, "stream %d is being destroyed or has no worker", stream->id);
    }
    task->sequence = ++stream->submitted;
    if (stream->tail != NULL) stream->tail->next = task;
    else stream->head = task;
    stream->tail = task;
    stream->queued++;
    atomic_store_explicit(&stream->announced, task->sequence, memory_order_release);
    if (stream->idle && !stream->held) pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&stream->lock);
    return ACL_OK;
}

/* Waits for what was submitted before the call; a timeout below zero means none. */
static bool drained(Stream *stream, uint64_t target, int64_t timeout_ms) {
    struct timespec until;
    if (timeout_ms >= 0) deadline_after(&until, timeout_ms);
    pthread_mutex_lock(&stream->lock);
    stream->waiters++;
    int code = 0;
    while (stream->completed < target && code != ETIMEDOUT) {
        code = timeout_ms < 0 ? pthread_cond_wait(&stream->done, &stream->lock)
                              : pthread_cond_timedwait(&stream->done, &stream->lock, &until);
    }
    bool finished = stream->completed >= target;
    stream->waiters--;
    pthread_mutex_unlock(&stream->lock);
    return finished;
}

static uint64_t submitted(Stream *stream) {
    pthread_mutex_lock(&stream->lock);
    uint64_t sequence = stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return sequence;
}

int stream_wait_all(Stream *stream, int64_t timeout_ms) {
    if (!drained(stream, submitted(stream), timeout_ms)) {
        return fail(RT_STREAM_SYNC_TIMEOUT, "stream %d did not finish in %lld ms", stream->id, (long long)timeout_ms);
    }
    return device_status(stream->device);
}

int device_wait_all(Device *device, int64_t timeout_ms) {
    uint64_t end = host_ns() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000ull;
    for (uint32_t i = 0; i < pool.made; i++) {
        Stream *stream = pool_at(&pool, i);
        if (stream == NULL || stream->device != device) continue;
        int64_t left = -1;
        if (timeout_ms >= 0) left = host_ns() >= end ? 0 : (int64_t)((end - host_ns()) / 1000000ull);
        if (!drained(stream, submitted(stream), left)) {
            return fail(RT_STREAM_SYNC_TIMEOUT, "device %d did not finish in %lld ms", device->id,
                        (long long)timeout_ms);
        }
    }
    return device_status(device);
}

static void ask_to_stop(Stream *stream, bool drop) {
    pthread_mutex_lock(&stream->lock);
    stream->stopping = true;
    stream->dropping = drop;
    stream->held = false;
    pthread_cond_broadcast(&stream->work);
    pthread_cond_broadcast(&stream->space);
    pthread_mutex_unlock(&stream->lock);
}

static void close_stream(Stream *stream, bool drop) {
    ask_to_stop(stream, drop);
    pthread_mutex_lock(&stream->lock);
    bool join = stream->has_thread;
    stream->has_thread = false;
    pthread_mutex_unlock(&stream->lock);
    if (join) pthread_join(stream->thread, NULL);
    pool_give(&pool, stream);
}

void streams_close_device(Device *device) {
    /* all are told before any is joined: a worker may be waiting for a record of another stream */
    for (int closing = 0; closing < 2; closing++) {
        for (uint32_t i = 0; i < pool.made; i++) {
            Stream *stream = pool_at(&pool, i);
            if (stream == NULL || stream->device != device) continue;
            if (closing) close_stream(stream, true);
            else ask_to_stop(stream, true);
        }
    }
}

/* ---- exported ---------------------------------------------------------------------------------- */
API int32_t aclrtCreateStreamWithConfig(void **stream, uint32_t priority, uint32_t flag) {
    REQUIRE(stream);
    *stream = NULL;
    Device *device = NULL;
    int code = current_device(&device);
    if (code != 0) return code;
    if (priority > 7) return fail(RT_PARAM_INVALID, "stream priority %u is outside 0..7", priority);
    Stream *made;
    code = stream_make(device, priority, flag, &made);
    if (code == 0) *stream = stream_handle(made);
    return code;
}

API int32_t aclrtCreateStream(void **stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }

static int destroy(void *handle, bool drop) {
    if (runtime_usable() != 0) return runtime_usable();
    if (handle == NULL) return fail(ACL_INVALID_PARAM, "destroy stream: null stream");
    Stream *stream = pool_find(&pool, handle);
    if (stream == NULL) return fail(RT_INVALID_HANDLE, "stream %p does not exist", handle);
    if (stream == stream->device->default_stream) {
        return fail(RT_PARAM_INVALID, "the default stream cannot be destroyed");
    }
    close_stream(stream, drop);
    return ACL_OK;
}

API int32_t aclrtDestroyStream(void *stream) { return destroy(stream, false); }
API int32_t aclrtDestroyStreamForce(void *stream) { return destroy(stream, true); }

API int32_t aclrtSynchronizeStreamWithTimeout(void *handle, int32_t timeout) {
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    return code != 0 ? code : stream_wait_all(stream, timeout);
}

API int32_t aclrtSynchronizeStream(void *handle) { return aclrtSynchronizeStreamWithTimeout(handle, -1); }

API int32_t aclrtStreamAbort(void *handle) {
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code != 0) return code;
    pthread_mutex_lock(&stream->lock);
    stream->dropping = true;
    pthread_cond_broadcast(&stream->work);
    uint64_t target = stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    drained(stream, target, -1);
    pthread_mutex_lock(&stream->lock);
    stream->dropping = false;
    pthread_mutex_unlock(&stream->lock);
    return ACL_OK;
}

API int32_t aclrtStreamQuery(void *handle, int32_t *status) {
    REQUIRE(status);
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code != 0) return code;
    pthread_mutex_lock(&stream->lock);
    *status = stream->completed < stream->submitted; /* the running task counts */
    pthread_mutex_unlock(&stream->lock);
    return *status == 0 ? device_status(stream->device) : ACL_OK;
}

API int32_t aclrtStreamGetId(void *handle, int32_t *id) {
    REQUIRE(id);
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code == 0) *id = stream->id;
    return code;
}

API int32_t aclrtStreamGetPriority(void *handle, uint32_t *priority) {
    REQUIRE(priority);
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code == 0) *priority = stream->priority;
    return code;
}

API int32_t aclrtStreamGetFlags(void *handle, uint32_t *flags) {
    REQUIRE(flags);
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code == 0) *flags = stream->flags;
    return code;
}

API int32_t aclrtDeviceGetStreamPriorityRange(int32_t *least, int32_t *greatest) {
    REQUIRE(least);
    REQUIRE(greatest);
    *least = 7;
    *greatest = 0;
    return ACL_OK;
}

API int32_t aclrtGetStreamAvailableNum(uint32_t *available) {
    REQUIRE(available);
    *available = config()->max_streams - pool.live;
    return ACL_OK;
}

API int32_t aclrtLaunchHostFunc(void *handle, void (*fn)(void *), void *argument) {
    REQUIRE(fn);
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code != 0) return code;
    Task *task = task_new(TASK_HOST, 0);
    task->host.fn = fn;
    task->host.arg = argument;
    return stream_submit(stream, task);
}

/* ---- test symbols: stop a stream before its next task, without sleeping ------------------------ */
static int hold(void *handle, bool held) {
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code != 0) return code;
    pthread_mutex_lock(&stream->lock);
    stream->held = held;
    pthread_cond_broadcast(&stream->work);
    pthread_mutex_unlock(&stream->lock);
    return ACL_OK;
}

API int32_t simHoldStream(void *stream) { return hold(stream, true); }
API int32_t simReleaseStream(void *stream) { return hold(stream, false); }

API int32_t simStreamPending(void *handle, uint64_t *pending) {
    Stream *stream = NULL;
    int code = stream_of(handle, &stream);
    if (code != 0) return code;
    pthread_mutex_lock(&stream->lock);
    *pending = stream->submitted - stream->completed;
    pthread_mutex_unlock(&stream->lock);
    return ACL_OK;
}
