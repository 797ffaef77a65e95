/* Events. Each recording is an object of its own: a wait or a query looks at the recording that is current at the
 * call, so recording the event again changes nothing for those who already wait. */
#include "sim.h"

#include <errno.h>

enum { FLAG_SYNC = 0x1, FLAG_PROGRESS = 0x2, FLAG_TIME_LINE = 0x8 };

typedef struct {
    PoolItem pool;
    uint32_t flags;
    bool extended; /* created by an ...Ex function: re-recordable, no aclrtQueryEvent, no reset */
    pthread_mutex_t lock;
    Record *current;
} Event;

static Pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .item_size = sizeof(Event), .tag = 0x45};
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond;
static pthread_once_t done_once = PTHREAD_ONCE_INIT;
static int done_waiters;
static _Atomic uint32_t sync_events;

static void init_cond(void) { cond_init_monotonic(&done_cond); }

/* ---- recordings -------------------------------------------------------------------------------- */
void record_release(Record *record) {
    if (record != NULL && atomic_fetch_sub(&record->refs, 1) == 1) free(record);
}

void record_finish(Record *record) {
    pthread_once(&done_once, init_cond);
    record->tick = device_tick(record->device);
    pthread_mutex_lock(&done_lock);
    atomic_store(&record->done, true);
    if (done_waiters > 0) pthread_cond_broadcast(&done_cond);
    pthread_mutex_unlock(&done_lock);
}

bool record_wait(Record *record, int64_t timeout_ms) {
    if (atomic_load(&record->done)) return true;
    pthread_once(&done_once, init_cond);
    struct timespec until;
    if (timeout_ms >= 0) deadline_after(&until, timeout_ms);
    pthread_mutex_lock(&done_lock);
    done_waiters++;
    int code = 0;
    while (!atomic_load(&record->done) && code != ETIMEDOUT) {
        code = timeout_ms < 0 ? pthread_cond_wait(&done_cond, &done_lock)
                              : pthread_cond_timedwait(&done_cond, &done_lock, &until);
    }
    done_waiters--;
    pthread_mutex_unlock(&done_lock);
    return atomic_load(&record->done);
}

static Record *current_record(Event *event) { /* a new reference, or NULL when never recorded */
    pthread_mutex_lock(&event->lock);
    Record *record = event->current;
    if (record != NULL) atomic_fetch_add(&record->refs, 1);
    pthread_mutex_unlock(&event->lock);
    return record;
}

static int event_of(void *handle, Event **out) {
    if (runtime_usable() != 0) return runtime_usable();
    *out = pool_find(&pool, handle);
    if (*out == NULL) return fail(RT_INVALID_HANDLE, "event %p does not exist", handle);
    return ACL_OK;
}

/* ---- creation ---------------------------------------------------------------------------------- */
static int create(void **out, uint32_t flags, bool extended) {
    *out = NULL;
    Device *device = NULL;
    int code = current_device(&device);
    if (code != 0) return code;
    if (flags == 0 || (flags & ~0x7Fu) != 0) return fail(RT_PARAM_INVALID, "event flag 0x%x is unknown", flags);
    if ((flags & FLAG_SYNC) != 0 && atomic_fetch_add(&sync_events, 1) >= config()->max_events) {
        atomic_fetch_sub(&sync_events, 1);
        return fail(RT_NO_EVENT, "no event left, the limit is %u", config()->max_events);
    }
    Event *event = pool_take(&pool, UINT32_MAX);
    if (event == NULL) return fail(RT_NO_EVENT, "no event left");
    if (event->pool.generation == 1) pthread_mutex_init(&event->lock, NULL);
    event->flags = flags;
    event->extended = extended;
    event->current = NULL;
    atomic_store(&event->pool.live, true);
    count(&counters.events_made, 1);
    *out = pool_handle(&pool, event);
    return ACL_OK;
}

API int32_t aclrtCreateEventExWithFlag(void **event, uint32_t flag) {
    REQUIRE(event);
    return create(event, flag, true);
}

API int32_t aclrtCreateEventWithFlag(void **event, uint32_t flag) {
    REQUIRE(event);
    return create(event, flag, false);
}

API int32_t aclrtCreateEvent(void **event) {
    REQUIRE(event);
    return create(event, FLAG_SYNC | FLAG_TIME_LINE, false);
}

API int32_t aclrtDestroyEvent(void *handle) {
    Event *event = NULL;
    int code = event_of(handle, &event);
    if (code != 0) return code;
    pthread_mutex_lock(&event->lock);
    Record *record = event->current;
    event->current = NULL;
    pthread_mutex_unlock(&event->lock);
    record_release(record);
    if ((event->flags & FLAG_SYNC) != 0) atomic_fetch_sub(&sync_events, 1);
    pool_give(&pool, event);
    return ACL_OK;
}

API int32_t aclrtGetEventAvailNum(uint32_t *available) {
    REQUIRE(available);
    *available = config()->max_events - atomic_load(&sync_events);
    return ACL_OK;
}

/* ---- recording and waiting --------------------------------------------------------------------- */
API int32_t aclrtRecordEvent(void *handle, void *stream_handle_) {
    Event *event = NULL;
    Stream *stream = NULL;
    int code = event_of(handle, &event);
    if (code == 0) code = stream_of(stream_handle_, &stream);
    if (code != 0) return code;
    Record *record = calloc(1, sizeof *record);
    record->refs = 2; /* the event and the task */
    record->device = stream->device->id;
    pthread_mutex_lock(&event->lock);
    Record *previous = event->current;
    event->current = record;
    pthread_mutex_unlock(&event->lock);
    record_release(previous);
    count(&counters.records, 1);
    Task *task = task_new(TASK_RECORD, 0);
    task->record = record;
    return stream_submit(stream, task);
}

API int32_t aclrtStreamWaitEvent(void *stream_handle_, void *handle) {
    Event *event = NULL;
    Stream *stream = NULL;
    int code = event_of(handle, &event);
    if (code == 0) code = stream_of(stream_handle_, &stream);
    if (code != 0) return code;
    if ((event->flags & FLAG_SYNC) == 0) {
        return fail(RT_PARAM_INVALID, "aclrtStreamWaitEvent: the event was created without ACL_EVENT_SYNC (flag 0x%x)",
                    event->flags);
    }
    Record *record = current_record(event);
    if (record == NULL) return ACL_OK;
    Task *task = task_new(TASK_WAIT, 0);
    task->record = record;
    return stream_submit(stream, task);
}

API int32_t aclrtStreamWaitEventWithTimeout(void *stream, void *event, int32_t timeout) {
    (void)timeout;
    return aclrtStreamWaitEvent(stream, event);
}

API int32_t aclrtSynchronizeEventWithTimeout(void *handle, int32_t timeout) {
    Event *event = NULL;
    Device *device = NULL;
    int code = event_of(handle, &event);
    if (code == 0) code = current_device(&device);
    if (code != 0) return code;
    Record *record = current_record(event);
    if (record == NULL) return ACL_OK;
    bool done = record_wait(record, timeout);
    Device *owner = device_at(record->device);
    record_release(record);
    if (!done) return fail(RT_EVENT_SYNC_TIMEOUT, "the event did not complete in %d ms", timeout);
    return device_status(owner);
}

API int32_t aclrtSynchronizeEvent(void *event) { return aclrtSynchronizeEventWithTimeout(event, -1); }

API int32_t aclrtResetEvent(void *handle, void *stream_handle_) {
    Event *event = NULL;
    Stream *stream = NULL;
    int code = event_of(handle, &event);
    if (code == 0) code = stream_of(stream_handle_, &stream);
    if (code != 0) return code;
    if (event->extended) return fail(RT_PARAM_INVALID, "aclrtResetEvent is not allowed on an Ex event");
    return ACL_OK;
}

static bool complete(Event *event) {
    Record *record = current_record(event);
    bool done = record == NULL || atomic_load(&record->done);
    record_release(record);
    return done;
}

API int32_t aclrtQueryEventStatus(void *handle, int32_t *status) {
    REQUIRE(status);
    Event *event = NULL;
    int code = event_of(handle, &event);
    if (code != 0) return code;
    *status = complete(event) ? 1 : 0;
    return ACL_OK;
}

API int32_t aclrtQueryEventWaitStatus(void *event, int32_t *status) { return aclrtQueryEventStatus(event, status); }

API int32_t aclrtQueryEvent(void *handle, int32_t *status) { /* the older call: polarity reversed */
    REQUIRE(status);
    Event *event = NULL;
    int code = event_of(handle, &event);
    if (code != 0) return code;
    if (event->extended) return fail(RT_PARAM_INVALID, "aclrtQueryEvent is not allowed on an Ex event");
    *status = complete(event) ? 0 : 1;
    return ACL_OK;
}

/* ---- time -------------------------------------------------------------------------------------- */
static int stamp(void *handle, uint64_t *tick) {
    Event *event = NULL;
    int code = event_of(handle, &event);
    if (code != 0) return code;
    if ((event->flags & FLAG_TIME_LINE) == 0) {
        return fail(RT_TIMESTAMP_INVALID, "the event was created without ACL_EVENT_TIME_LINE (flag 0x%x)",
                    event->flags);
    }
    Record *record = current_record(event);
    bool done = record != NULL && atomic_load(&record->done);
    if (done) *tick = record->tick;
    record_release(record);
    if (!done) return fail(RT_TIMESTAMP_INVALID, "the event has not been recorded or has not completed");
    return ACL_OK;
}

API int32_t aclrtEventElapsedTime(float *ms, void *start, void *end) {
    REQUIRE(ms);
    uint64_t first = 0, second = 0;
    int code = stamp(start, &first);
    if (code == 0) code = stamp(end, &second);
    if (code != 0) return code;
    if (second < first) return fail(RT_TIMESTAMP_REVERSAL, "the end event was reached before the start event");
    *ms = (float)((double)((second - first) * TICK_NS) / 1e6);
    return ACL_OK;
}

API int32_t aclrtEventGetTimestamp(void *event, uint64_t *us) {
    REQUIRE(us);
    uint64_t tick = 0;
    int code = stamp(event, &tick);
    if (code == 0) *us = tick * TICK_NS / 1000;
    return code;
}

API int32_t aclrtGetEventId(void *handle, uint32_t *id) {
    REQUIRE(id);
    Event *event = NULL;
    int code = event_of(handle, &event);
    if (code == 0) *id = event->pool.index;
    return code;
}
