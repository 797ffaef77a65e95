/* MSPTI activity records. Records are collected under a lock and handed over by a thread of the library, late and in
 * pieces: a record can be delivered only once it is older than the configured delay.
 *
 * ASCEND_SIM_MSPTI=vendor does as the vendor's public source does, where that is less than its description promises:
 * records of copies and fills have the times of the host's call and the correlation of the thread's latest kernel, and
 * cannot be had at all unless LD_PRELOAD names the library; external ids are one stack of the whole process; stamps of
 * kernels jump whenever the clocks are related anew; records are found by a position that belongs to the thread. */
#include "mspti.h"

#include <unistd.h>

#ifdef SIM_NO_MSPTI
#define MSPTI __attribute__((visibility("hidden"), unused))
#else
#define MSPTI API
#endif

typedef struct {
    uint64_t made_ns;
    uint32_t size;
    _Alignas(8) uint8_t bytes[72];
} Pending;
typedef void (*RequestFn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*CompleteFn)(uint8_t *buffer, size_t size, size_t valid);

static pthread_mutex_t lock = SHORT_LOCK;
static pthread_cond_t wake, flushed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t enabled; /* bit per kind */
static _Atomic uint64_t next_correlation;
static Pending *ring;
static size_t ring_head, ring_count, ring_capacity;
static uint64_t flush_asked, flush_done, dropped;
static bool has_thread;
static int subscriber; /* its address is the handle */
static bool subscribed;
static RequestFn request;
static CompleteFn complete;
typedef struct {
    uint64_t ids[EXTERNAL_DEPTH];
    uint32_t depth;
} IdStack;
static _Thread_local IdStack thread_external[EXTERNAL_KINDS];
static IdStack shared_external[EXTERNAL_KINDS]; /* the vendor's: under the lock */
static _Thread_local uint64_t last_correlation;
static _Thread_local size_t record_position; /* the vendor's */

static void init(void) {
    cond_init_monotonic(&wake);
    cond_init_monotonic(&flushed);
}

static bool is_vendor(void) { return config()->mspti_mode == MSPTI_VENDOR; }

static bool wants(int kind) { return (atomic_load_explicit(&enabled, memory_order_relaxed) >> kind & 1u) != 0; }

/* ---- producers --------------------------------------------------------------------------------- */
static void append_locked(const void *record, uint32_t size) {
    if (ring_count == ring_capacity) {
        size_t capacity = ring_capacity ? ring_capacity * 2 : 1024;
        Pending *bigger = malloc(capacity * sizeof *bigger);
        for (size_t i = 0; i < ring_count; i++) bigger[i] = ring[(ring_head + i) % ring_capacity];
        free(ring);
        ring = bigger;
        ring_head = 0;
        ring_capacity = capacity;
    }
    Pending *slot = &ring[(ring_head + ring_count++) % ring_capacity];
    slot->made_ns = host_ns();
    slot->size = size;
    memcpy(slot->bytes, record, size);
}

static void append(const void *record, uint32_t size) {
    pthread_mutex_lock(&lock);
    append_locked(record, size);
    pthread_mutex_unlock(&lock);
}

uint64_t mspti_launch(void) {
    uint64_t correlation = atomic_fetch_add_explicit(&next_correlation, 1, memory_order_relaxed) + 1;
    last_correlation = correlation;
    if (!wants(KIND_EXTERNAL)) return correlation;
    const IdStack *external = is_vendor() ? shared_external : thread_external;
    pthread_mutex_lock(&lock);
    for (int kind = 0; kind < EXTERNAL_KINDS; kind++) {
        uint32_t depth = external[kind].depth;
        if (depth == 0) continue;
        uint32_t top = depth <= EXTERNAL_DEPTH ? depth - 1 : EXTERNAL_DEPTH - 1;
        ExternalRecord record = {KIND_EXTERNAL, kind, external[kind].ids[top], correlation};
        append_locked(&record, sizeof record);
    }
    pthread_mutex_unlock(&lock);
    return correlation;
}

bool mspti_times_calls(void) { return is_vendor(); }

uint64_t mspti_last_correlation(void) { return last_correlation; }

void mspti_kernel(const char *name, const char *type, int device, int stream, uint64_t corr, uint64_t t0, uint64_t t1) {
    if (!wants(KIND_KERNEL)) return;
    KernelRecord record = {KIND_KERNEL, t0, t1, {(uint32_t)device, (uint32_t)stream}, corr, type, name, 0};
    append(&record, sizeof record);
}

void mspti_communication(const char *name, const char *comm, int dtype, uint64_t n, int device, int stream,
                         uint64_t corr, uint64_t t0, uint64_t t1) {
    if (!wants(KIND_COMMUNICATION)) return;
    CommunicationRecord record = {
        KIND_COMMUNICATION, dtype, n, {(uint32_t)device, (uint32_t)stream}, t0, t1, "Sim", name, comm, corr};
    append(&record, sizeof record);
}

static void transfer(int kind, int what, size_t bytes, int device, int stream, uint64_t corr, bool async, uint64_t t0,
                     uint64_t t1) {
    if (!wants(kind)) return;
    TransferRecord record = {kind, what, bytes, t0, t1, (uint32_t)device, (uint32_t)stream, corr, async, {0}};
    append(&record, sizeof record);
}

void mspti_copy(int kind, size_t bytes, int device, int stream, uint64_t corr, bool async, uint64_t t0, uint64_t t1) {
    transfer(KIND_MEMCPY, kind + 1, bytes, device, stream, corr, async, t0, t1); /* 0 is "unknown" in the records */
}

void mspti_set(int value, size_t bytes, int device, int stream, uint64_t corr, bool async, uint64_t t0, uint64_t t1) {
    transfer(KIND_MEMSET, value, bytes, device, stream, corr, async, t0, t1);
}

bool mspti_wants_memory(void) { return wants(KIND_MEMORY); }

void mspti_memory(bool release, uintptr_t address, size_t bytes, int device, uint64_t t0, uint64_t t1) {
    MemoryRecord record = {KIND_MEMORY, release, 1, 0, t0, t1, address, bytes, (uint32_t)getpid(), (uint32_t)device, 0};
    append(&record, sizeof record);
}

/* ---- delivery ---------------------------------------------------------------------------------- */
static size_t ripe_records(void) { /* how many are old enough; lock held */
    uint64_t limit = host_ns() - (uint64_t)config()->mspti_delay_ms * 1000000ull;
    size_t n = 0;
    while (n < ring_count && n < config()->mspti_piece && ring[(ring_head + n) % ring_capacity].made_ns <= limit) n++;
    return n;
}

static void deliver(size_t want) { /* called with the lock held; calls out without it */
    RequestFn ask = request;
    CompleteFn give = complete;
    uint8_t *buffer = NULL;
    size_t size = 0, limit = 0, used = 0, n = 0;
    pthread_mutex_unlock(&lock);
    if (ask != NULL) ask(&buffer, &size, &limit);
    pthread_mutex_lock(&lock);
    while (buffer != NULL && n < want && (limit == 0 || n < limit)) {
        Pending *slot = &ring[(ring_head + n) % ring_capacity];
        if (used + slot->size > size) break;
        memcpy(buffer + used, slot->bytes, slot->size);
        used += slot->size;
        n++;
    }
    if (n == 0) { /* no buffer, or one too small for a record: the records are lost */
        n = want;
        dropped += want;
    }
    ring_head = (ring_head + n) % ring_capacity;
    ring_count -= n;
    pthread_mutex_unlock(&lock);
    if (buffer != NULL && give != NULL) give(buffer, size, used);
    pthread_mutex_lock(&lock);
}

static void *deliver_loop(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        uint64_t asked = flush_asked;
        size_t ripe;
        while (request != NULL && (ripe = ripe_records()) > 0 &&
               (asked > flush_done || ripe >= config()->mspti_piece)) {
            deliver(ripe);
        }
        flush_done = asked;
        pthread_cond_broadcast(&flushed);
        if (flush_asked != asked) continue;
        struct timespec until;
        deadline_after(&until, config()->mspti_delay_ms + 1);
        pthread_cond_timedwait(&wake, &lock, &until);
    }
    return NULL;
}

static int start_thread(void) { /* lock held */
    if (has_thread) return OK;
    pthread_t thread;
    if (pthread_create(&thread, NULL, deliver_loop, NULL) != 0) return INNER;
    pthread_detach(thread);
    has_thread = true;
    return OK;
}

static int available(void) {
    pthread_once(&once, init);
    if (config()->mspti_mode == MSPTI_NOT_PRELOADED) return NOT_PRELOADED;
    if (config()->mspti_mode == MSPTI_ABSENT || !config()->soc.has_mspti || runtime_forked()) return INNER;
    return OK;
}

/* ---- exported ---------------------------------------------------------------------------------- */
MSPTI int32_t msptiSubscribe(void **handle, void *callback, void *user) {
    (void)callback;
    (void)user;
    int code = available();
    if (code != OK) return code;
    if (handle == NULL) return INVALID;
    pthread_mutex_lock(&lock);
    code = subscribed ? MULTIPLE_SUBSCRIBERS : start_thread();
    if (code == OK) {
        subscribed = true;
        *handle = &subscriber;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

MSPTI int32_t msptiUnsubscribe(void *handle) {
    int code = available();
    if (code != OK) return code;
    pthread_mutex_lock(&lock);
    code = subscribed && handle == &subscriber ? OK : INVALID;
    if (code == OK) subscribed = false;
    pthread_mutex_unlock(&lock);
    return code;
}

MSPTI int32_t msptiActivityRegisterCallbacks(RequestFn ask, CompleteFn give) {
    int code = available();
    if (code != OK) return code;
    if (ask == NULL || give == NULL) return INVALID;
    pthread_mutex_lock(&lock);
    request = ask;
    complete = give;
    pthread_mutex_unlock(&lock);
    return OK;
}

static int check_kind(int32_t kind) {
    int code = available();
    if (code != OK) return code;
    return kind > 0 && kind < KINDS ? OK : INVALID;
}

/* The vendor's library sees these calls only where it was loaded before the runtime's. */
static bool needs_preload(int32_t kind) {
    return kind == KIND_HCCL || kind == KIND_MEMORY || kind == KIND_MEMSET || kind == KIND_MEMCPY;
}

MSPTI int32_t msptiActivityEnable(int32_t kind) {
    int code = check_kind(kind);
    if (code != OK) return code;
    const char *preloaded = getenv("LD_PRELOAD");
    if (is_vendor() && needs_preload(kind) && (preloaded == NULL || strstr(preloaded, "libmspti.so") == NULL))
        return NOT_PRELOADED;
    pthread_mutex_lock(&lock);
    code = subscribed ? OK : INVALID;
    pthread_mutex_unlock(&lock);
    if (code == OK) atomic_fetch_or(&enabled, 1u << kind);
    return code;
}

MSPTI int32_t msptiActivityDisable(int32_t kind) {
    int code = check_kind(kind);
    if (code == OK) atomic_fetch_and(&enabled, ~(1u << kind));
    return code;
}

MSPTI int32_t msptiActivityIsEnabled(int32_t kind) { return kind > 0 && kind < KINDS && wants(kind); }

static size_t record_size(const uint8_t *record) {
    int32_t kind;
    memcpy(&kind, record, sizeof kind);
    if (kind == KIND_COMMUNICATION) return sizeof(CommunicationRecord);
    return kind == KIND_EXTERNAL ? sizeof(ExternalRecord)
           : kind == KIND_MEMORY ? sizeof(MemoryRecord)
                                 : sizeof(KernelRecord);
}

MSPTI int32_t msptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    if (buffer == NULL || record == NULL) return INVALID;
    if (is_vendor()) {
        if (record_position >= valid) {
            record_position = 0;
            return MAX_LIMIT;
        }
        *record = buffer + record_position;
        record_position += record_size(*record);
        return OK;
    }
    uint8_t *next = *record == NULL ? buffer : *record + record_size(*record);
    if (next >= buffer + valid) return QUEUE_EMPTY;
    *record = next;
    return OK;
}

MSPTI int32_t msptiActivityFlushAll(uint32_t flag) {
    (void)flag;
    int code = available();
    if (code != OK) return code;
    pthread_mutex_lock(&lock);
    uint64_t ticket = ++flush_asked;
    if (!has_thread) code = start_thread();
    pthread_cond_signal(&wake);
    while (code == OK && flush_done < ticket) pthread_cond_wait(&flushed, &lock);
    pthread_mutex_unlock(&lock);
    return code;
}

MSPTI int32_t msptiActivityFlushPeriod(uint32_t ms) {
    (void)ms;
    return available();
}

MSPTI int32_t msptiActivityPushExternalCorrelationId(int32_t kind, uint64_t id) {
    int code = available();
    if (code != OK) return code;
    if (kind < 1 || kind >= EXTERNAL_KINDS) return INVALID;
    IdStack *stack = is_vendor() ? &shared_external[kind] : &thread_external[kind];
    pthread_mutex_lock(&lock);
    uint32_t depth = stack->depth++;
    if (depth < EXTERNAL_DEPTH) stack->ids[depth] = id;
    pthread_mutex_unlock(&lock);
    return OK;
}

MSPTI int32_t msptiActivityPopExternalCorrelationId(int32_t kind, uint64_t *last) {
    int code = available();
    if (code != OK) return code;
    if (kind < 1 || kind >= EXTERNAL_KINDS) return INVALID;
    if (is_vendor() && last == NULL) return INVALID;
    IdStack *stack = is_vendor() ? &shared_external[kind] : &thread_external[kind];
    pthread_mutex_lock(&lock);
    code = stack->depth == 0 ? QUEUE_EMPTY : OK;
    if (code == OK) {
        uint32_t depth = --stack->depth;
        if (last != NULL) *last = stack->ids[depth < EXTERNAL_DEPTH ? depth : EXTERNAL_DEPTH - 1];
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* Records that wait for delivery, and records lost because no buffer was given. */
API uint64_t simMsptiPending(void) {
    pthread_mutex_lock(&lock);
    uint64_t n = ring_count;
    pthread_mutex_unlock(&lock);
    return n;
}

API uint64_t simMsptiDropped(void) {
    pthread_mutex_lock(&lock);
    uint64_t n = dropped;
    pthread_mutex_unlock(&lock);
    return n;
}
