/* HCCL: communication between the devices of several processes of one machine.
 *
 * A communicator is a segment of shared memory. Collectives go round by round: every rank puts a piece of its data and
 * a description of what it is doing into its slot, waits until all have done so, and reads what it needs. Slots are
 * double: who has passed a round may fill the other half while others still read. Messages between two ranks go
 * through a channel of their own. Nothing in the segment is a lock, so that a process may die at any moment. */
#ifndef ASCEND_SIM_HCCL_H
#define ASCEND_SIM_HCCL_H

#include "sim.h"

#define MAX_RANKS MAX_DEVICES
#define SLOT_BYTES ((size_t)256 << 10)
#define CHANNEL_BYTES ((size_t)64 << 10)
#define ROOT_INFO_BYTES 4108
#define COMM_NAME_BYTES 128

enum {
    HCCL_OK = 0,
    HCCL_PARAMETER = 1,
    HCCL_NULL = 2,
    HCCL_INTERNAL = 4,
    HCCL_NOT_SUPPORTED = 5,
    HCCL_SYSTEM_CALL = 8,
    HCCL_TIMEOUT = 9,
    HCCL_RUNTIME = 15,
    HCCL_REMOTE = 21,
    HCCL_SUSPENDING = 22,
};
enum { RT_TASK_TIMEOUT = 107020, RT_SUSPECT_REMOTE = 507057 };
enum { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN };
enum {
    HCCL_INT8,
    HCCL_INT16,
    HCCL_INT32,
    HCCL_FP16,
    HCCL_FP32,
    HCCL_INT64,
    HCCL_UINT64,
    HCCL_UINT8,
    HCCL_UINT16,
    HCCL_UINT32,
    HCCL_FP64,
    HCCL_BFP16
};

typedef enum {
    COMM_ALL_REDUCE,
    COMM_BROADCAST,
    COMM_ALL_GATHER,
    COMM_REDUCE_SCATTER,
    COMM_REDUCE,
    COMM_SCATTER,
    COMM_BARRIER,
    COMM_SEND,
    COMM_RECV,
    COMM_BATCH,
    COMM_ALL_TO_ALL,
    COMM_ALL_GATHER_V,
} CommKind;

typedef struct { /* what a rank does in a round: the same for all ranks of a collective */
    uint32_t kind, dtype, reduce, root;
    uint64_t count;
} Description;

enum { MEMBER_ABSENT, MEMBER_JOINED, MEMBER_GONE };

typedef struct {
    _Atomic uint32_t state;
    _Atomic int32_t process; /* 0 before the rank joins */
    int32_t device;
    uint32_t world;          /* how many ranks it was told of */
    uint64_t born;           /* start time of its process: numbers of processes are used again */
    _Atomic uint64_t rounds; /* that it has filled its slot for */
    Description doing[2];
    _Alignas(64) char slot[2][SLOT_BYTES];
} Member;

typedef struct {                  /* from one rank to another: one piece of a message at a time */
    _Atomic uint64_t sent, taken; /* pieces */
    uint64_t total;               /* bytes of the message that the piece belongs to */
    uint32_t dtype, bytes;
    _Alignas(64) char data[CHANNEL_BYTES];
} Channel;

typedef struct {
    _Atomic uint32_t bell; /* a futex: changes whenever anything does */
    Member members[MAX_RANKS];
    Channel channels[MAX_RANKS][MAX_RANKS]; /* [from][to] */
} Segment;

typedef struct {
    bool send;
    char *buffer;
    uint64_t bytes, done;
    uint32_t peer, dtype;
} Item; /* one message of a rank */

typedef struct Comm Comm;

typedef struct CommTask {  /* one communication in a stream */
    struct CommTask *next; /* in the communicator, in the order of the calls */
    Comm *comm;
    CommKind kind;
    char *send, *recv; /* device addresses */
    Description what;
    uint64_t nth; /* communication of this process, from 1 */
    uint32_t item_count;
    Item items[];
} CommTask;

struct Comm {
    PoolItem pool;
    Segment *segment;
    uint32_t rank, size;
    int device;
    char name[COMM_NAME_BYTES];
    uint64_t timeout_ns; /* of one communication; 0 is none */
    uint64_t round;      /* of collectives */
    pthread_mutex_t
        calls; /* held while a call puts its task into the list and into a stream: both orders are the same */
    pthread_mutex_t lock;
    pthread_cond_t turn;
    CommTask *first;   /* not yet done */
    _Atomic int error; /* what HcclGetCommAsyncError answers */
    _Atomic bool closing;
};

/* ---- hccl_comm.c --------------------------------------------------------------------------- */
Comm *comm_find(void *handle);                          /* NULL for none */
int comm_of(const char *who, void *handle, Comm **out); /* 0 and the communicator, or a HcclResult */

/* ---- hccl_segment.c ---------------------------------------------------------------------------- */
int segment_create(char *root_info);                 /* fills the 4108 bytes that all ranks are given */
int segment_join(Comm *comm, const char *root_info); /* returns when all ranks have joined */
void segment_leave(Comm *comm);
void segment_ring(Segment *segment);
/* Waits until `ready` or until it cannot be expected any more: 0, or a HcclResult with the reason in `why`. `missing`
 * tells which ranks are waited for, as bits. */
typedef uint32_t (*MissingFn)(const Comm *comm, const void *argument);
int segment_wait(Comm *comm, const Stream *stream, MissingFn missing, const void *argument, uint64_t until_ns,
                 char *why, size_t size);

/* ---- hccl_run.c -------------------------------------------------------------------------------- */
size_t hccl_item_size(uint32_t dtype); /* 0 for a type that cannot travel */
bool hccl_can_reduce(uint32_t dtype);
const char *hccl_type_name(uint32_t dtype);
const char *comm_kind_name(CommKind kind);                                  /* the exported function */
int comm_run(CommTask *task, const Stream *stream, char *why, size_t size); /* 0 or a HcclResult */

#endif
