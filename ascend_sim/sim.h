/* Shared declarations of the Ascend simulator.
 *
 * The library exports the C functions of the CANN runtime, of the aclnn operators, of MSPTI and of HCCL, and executes
 * them on host threads. Only functions marked API are visible outside; everything else is internal. */
#ifndef ASCEND_SIM_H
#define ASCEND_SIM_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define MAX_DEVICES 32
#define MAX_DIMS 8
#define TICK_NS 20

/* ---- error codes ------------------------------------------------------------------------------- */
enum {
    ACL_OK = 0,
    ACL_INVALID_PARAM = 100000,
    ACL_UNINITIALIZED = 100001,
    ACL_REPEAT_INIT = 100002,
    ACL_REPEAT_FINALIZE = 100037,
    RT_PARAM_INVALID = 107000,
    RT_INVALID_DEVICE = 107001,
    RT_CONTEXT_NULL = 107002,
    RT_STREAM_CONTEXT = 107003,
    RT_TIMESTAMP_INVALID = 107006,
    RT_TIMESTAMP_REVERSAL = 107007,
    RT_INVALID_HANDLE = 107017,
    RT_WAIT_TIMEOUT = 107019,
    RT_FEATURE_UNSUPPORTED = 207000,
    RT_OUT_OF_MEMORY = 207001,
    RT_NO_EVENT = 207007,
    RT_NO_STREAM = 207008,
    RT_INTERNAL = 507000,
    RT_AICORE_EXCEPTION = 507015,
    RT_STREAM_SYNC_TIMEOUT = 507046,
    RT_EVENT_SYNC_TIMEOUT = 507047,
    NN_NULL_PARAM = 161001,
    NN_INVALID_PARAM = 161002,
    NN_RUNTIME = 361001,
    NN_INNER_EXECUTOR = 561101,
};

/* ---- locks ------------------------------------------------------------------------------------- */
/* For locks that are held for an instant: who waits tries again for a while before it sleeps. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define SHORT_LOCK PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#else
#define SHORT_LOCK PTHREAD_MUTEX_INITIALIZER
#endif
void short_lock_init(pthread_mutex_t *lock);

/* ---- data types -------------------------------------------------------------------------------- */
typedef enum {
    DT_UNDEFINED = -1,
    DT_FLOAT = 0,
    DT_FLOAT16 = 1,
    DT_INT8 = 2,
    DT_INT32 = 3,
    DT_UINT8 = 4,
    DT_INT16 = 6,
    DT_INT64 = 9,
    DT_DOUBLE = 11,
    DT_BOOL = 12,
    DT_BF16 = 27,
} DType;

size_t dtype_size(int dtype); /* 0 for a type the simulator does not know */
const char *dtype_name(int dtype);

static inline bool dtype_is_float(int d) { return d == DT_FLOAT || d == DT_FLOAT16 || d == DT_BF16 || d == DT_DOUBLE; }

/* ---- configuration (environment, read once) ---------------------------------------------------- */
typedef struct {
    const char *name; /* what aclrtGetSocName answers */
    bool has_bf16;
    bool keeps_float32; /* cubeMathType 0 accepted for float32 */
    bool has_mspti;
    uint32_t max_events, max_streams;
    int64_t cores, vector_cores;
} SocProfile;

typedef enum { MSPTI_ON, MSPTI_VENDOR, MSPTI_NOT_PRELOADED, MSPTI_ABSENT } MsptiMode;

typedef struct {
    uint32_t device_count;
    size_t hbm_bytes;
    uint32_t queue_depth;
    uint32_t max_events, max_streams;
    int64_t clock_epoch_ns, mspti_offset_ns;
    double clock_ppm;
    _Atomic uint64_t kernel_delay_ns, copy_delay_ns;
    uint64_t hccl_delay_ns;
    double copy_gbps;
    uint32_t mspti_delay_ms, mspti_piece;
    uint64_t mspti_anchor_ns; /* how often the vendor's library relates its clocks anew */
    MsptiMode mspti_mode;
    bool quiet; /* do not print violations */
    bool fill;  /* NaN pattern in fresh memory */
    bool check; /* the registry of memory is checked after every change */
    SocProfile soc;
} Config;

Config *config(void);

/* ---- clock ------------------------------------------------------------------------------------- */
uint64_t host_ns(void);           /* monotonic */
uint64_t device_tick(int device); /* 50 MHz, own epoch and drift */
uint64_t activity_ns(void);       /* Unix epoch, whole ticks: what MSPTI stamps on the host */
uint64_t kernel_stamp(uint64_t at,
                      uint64_t known_at); /* the same for a host_ns() of a device, worked out at another one */
void deadline_after(struct timespec *when, int64_t ms); /* for timed condition waits on the monotonic clock */
void cond_init_monotonic(pthread_cond_t *cond);

/* ---- errors ------------------------------------------------------------------------------------ */
int fail(int code, const char *format, ...) PRINTF_LIKE(2, 3); /* sets this thread's message; returns code */
void violation(const char *format, ...) PRINTF_LIKE(1, 2);     /* misuse that real hardware may not report */
void set_thread_message(const char *text);

#define REQUIRE(ptr)                                                                                                   \
    do {                                                                                                               \
        if ((ptr) == NULL) return fail(ACL_INVALID_PARAM, "%s: argument %s is null", __func__, #ptr);                  \
    } while (0)

/* ---- handles: pools of objects that are never returned to the C heap, so a stale handle is always recognised ---- */
typedef struct {
    _Atomic uint32_t generation;
    _Atomic bool live;
    uint32_t index, next_free;
} PoolItem;

#define POOL_CHUNK 256
#define POOL_CHUNKS 512
typedef struct {
    pthread_mutex_t lock;
    size_t item_size;
    _Atomic uint32_t made, live;
    uint32_t tag, free_head, free_tail; /* the free list is FIFO: index + 1, 0 = empty */
    char *_Atomic chunks[POOL_CHUNKS];
} Pool;

void *pool_take(Pool *pool, uint32_t limit); /* NULL when `limit` items are live */
void pool_give(Pool *pool, void *item);
void *pool_find(Pool *pool, const void *handle);
void *pool_handle(const Pool *pool, const void *item);
void *pool_at(Pool *pool, uint32_t index); /* live item or NULL */

/* ---- devices and threads ----------------------------------------------------------------------- */
typedef struct Stream Stream;

typedef struct Device {
    int id;
    pthread_mutex_t lock;
    _Atomic int error; /* sticky */
    char error_text[512];
    void *context; /* handle of the default context */
    Stream *default_stream;
    bool ready;
} Device;

Device *device_at(int id);
int current_device(Device **out);  /* RT_CONTEXT_NULL when this thread has none */
int device_status(Device *device); /* sticky error of a device, with its text in this thread's message */
void device_fault(Device *device, int code, uint32_t stream_id, uint64_t task_id, const char *format, ...)
    PRINTF_LIKE(5, 6);
bool runtime_forked(void);
bool runtime_initialized(void); /* between aclInit and aclFinalize */
int runtime_usable(void);       /* 0, or an error in a forked child */

/* ---- memory ------------------------------------------------------------------------------------ */
typedef struct Block {
    uintptr_t address;
    size_t size; /* as requested */
    size_t span; /* as reserved */
    int device;  /* -1: pinned host memory */
    _Atomic uint32_t
        state; /* BLOCK_LIVE until it is freed, and BLOCK_USE for each queued or running task that touches it */
    uint64_t serial;
} Block;

enum { BLOCK_LIVE = 1, BLOCK_USE = 2 };

typedef enum { REGION_PAGEABLE, REGION_PINNED, REGION_DEVICE, REGION_FREED } Region;

Region memory_region(const void *address, size_t bytes, int *device, char *why, size_t why_size);
/* Registers a task's use of [low, high); NULL with `why` filled when it is not inside one live block of `device`. */
Block *memory_use(uintptr_t low, uintptr_t high, int device, char *why, size_t why_size);
Block *memory_use_pinned(const void *address);
static inline bool memory_alive(const Block *block) { return (atomic_load(&block->state) & BLOCK_LIVE) != 0; }
void memory_unuse(Block **blocks, uint32_t count);
void memory_reset_device(int device);
extern ptrdiff_t memory_delta; /* device address + delta = address the kernels may touch */
static inline void *device_pointer(const void *p) {
    return p == NULL ? NULL : (char *)p + memory_delta;
} /* NULL: no elements */

/* ---- counters (read by tests) ------------------------------------------------------------------ */
typedef struct {
    _Atomic uint64_t allocs, frees, alloc_bytes, live_bytes, peak_bytes, pinned_allocs, pinned_frees;
    _Atomic uint64_t launches, kernels_started, kernels_done, copies, memsets, tasks_skipped, faults, violations;
    _Atomic uint64_t tensors_live, scalars_live, arrays_live, lists_live, executors_live;
    _Atomic uint64_t streams_made, events_made, records, host_calls;
} Counters;
extern Counters counters;

static inline void count(_Atomic uint64_t *counter, int64_t by) {
    atomic_fetch_add_explicit(counter, (uint64_t)by, memory_order_relaxed);
}

/* ---- streams and tasks ------------------------------------------------------------------------- */
typedef struct Record { /* one recording of an event; waits hold on to it */
    _Atomic int refs;
    _Atomic bool done;
    uint64_t tick;
    int device;
} Record;

void record_release(Record *record);
void record_finish(Record *record); /* stamps the time and wakes waiters */
bool record_wait(Record *record, int64_t timeout_ms);

typedef enum { TASK_KERNEL, TASK_COPY, TASK_SET, TASK_RECORD, TASK_WAIT, TASK_HOST, TASK_COMM } TaskKind;
typedef struct Executor Executor;

typedef struct Task {
    struct Task *next;
    TaskKind kind;
    uint64_t sequence, correlation, task_id;
    char *fault; /* set at launch when an operand was bad: the kernel faults when it runs */
    union {
        struct {
            Executor *executor;
            void *workspace;
            uint64_t workspace_size;
        } kernel;
        struct {
            void *dst;
            const void *src;
            size_t bytes;
            int kind;
            bool async;
        } copy;
        struct {
            void *dst;
            size_t bytes;
            int value;
            bool async;
        } set;
        Record *record;
        struct {
            void (*fn)(void *);
            void *arg;
        } host;
        struct CommTask *comm;
    };
    uint32_t use_count;
    Block *uses[];
} Task;

Task *task_new(TaskKind kind, uint32_t uses);
void task_use(Task *task, const void *address, int64_t low, int64_t high, int device, const char *what);

struct Stream {
    PoolItem pool;
    int id;
    Device *device;
    uint32_t priority, flags;
    pthread_mutex_t lock;
    pthread_cond_t work, space, done;
    Task *head, *tail;
    uint64_t submitted, completed;
    _Atomic uint64_t announced; /* `submitted`, for the worker to look at without the lock */
    uint32_t queued, waiters;
    bool idle, held, stopping, dropping, has_thread;
    pthread_t thread;
    _Atomic int error;
};

int stream_of(void *handle, Stream **out);     /* NULL handle: the default stream */
int stream_submit(Stream *stream, Task *task); /* takes ownership; blocks while the queue is full */
int stream_wait_all(Stream *stream, int64_t timeout_ms);
int device_wait_all(Device *device, int64_t timeout_ms);
int stream_make(Device *device, uint32_t priority, uint32_t flags, Stream **out);
void streams_close_device(Device *device);
void *stream_handle(const Stream *stream);
void task_execute(Stream *stream, Task *task); /* tasks.c */
void task_discard(Task *task);
void events_reset(void);

/* ---- faults ------------------------------------------------------------------------------------ */
int fault_for_kernel(const char *op, char *text, size_t size); /* code to raise now, or 0 */
uint64_t delay_for_kernel(const char *op);
void device_delay(uint64_t ns);
void exception_notify(uint32_t task, uint32_t stream, uint32_t thread, uint32_t device, uint32_t code);

/* ---- MSPTI ------------------------------------------------------------------------------------- */
uint64_t mspti_launch(void); /* new correlation id; emits the external ids in force */
bool mspti_times_calls(
    void); /* whether copies and fills are recorded when they are asked for, with the times of the call */
uint64_t mspti_last_correlation(void); /* of this thread's latest kernel; 0 for none */
#define NO_STREAM_ID (-1)
void mspti_kernel(const char *name, const char *type, int device, int stream, uint64_t corr, uint64_t t0, uint64_t t1);
void mspti_communication(const char *name, const char *comm, int dtype, uint64_t n, int device, int stream,
                         uint64_t corr, uint64_t t0, uint64_t t1);
void mspti_copy(int kind, size_t bytes, int device, int stream, uint64_t corr, bool async, uint64_t t0, uint64_t t1);
void mspti_set(int value, size_t bytes, int device, int stream, uint64_t corr, bool async, uint64_t t0, uint64_t t1);
void mspti_memory(bool release, uintptr_t address, size_t bytes, int device, uint64_t t0, uint64_t t1);
bool mspti_wants_memory(void);

#endif
