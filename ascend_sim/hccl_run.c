/* What a worker does with a communication: rounds of a collective, and messages between two ranks. */
#include "hccl.h"
#include "ops.h"

size_t hccl_item_size(uint32_t dtype) {
    switch (dtype) {
    case HCCL_INT8:
    case HCCL_UINT8: return 1;
    case HCCL_INT16:
    case HCCL_UINT16:
    case HCCL_FP16:
    case HCCL_BFP16: return 2;
    case HCCL_INT32:
    case HCCL_UINT32:
    case HCCL_FP32: return 4;
    case HCCL_INT64:
    case HCCL_UINT64:
    case HCCL_FP64: return 8;
    default: return 0;
    }
}

bool hccl_can_reduce(uint32_t dtype) {
    return dtype == HCCL_INT8 || dtype == HCCL_INT16 || dtype == HCCL_INT32 || dtype == HCCL_INT64 ||
           dtype == HCCL_FP16 || dtype == HCCL_FP32 || (dtype == HCCL_BFP16 && config()->soc.has_bf16);
}

const char *hccl_type_name(uint32_t dtype) {
    static const char *const names[] = {"INT8",   "INT16", "INT32",  "FP16",   "FP32", "INT64",
                                        "UINT64", "UINT8", "UINT16", "UINT32", "FP64", "BFP16"};
    return dtype < sizeof names / sizeof *names ? names[dtype] : "unknown type";
}

const char *comm_kind_name(CommKind kind) {
    static const char *const names[] = {"HcclAllReduce", "HcclBroadcast",     "HcclAllGather", "HcclReduceScatter",
                                        "HcclReduce",    "HcclScatter",       "HcclBarrier",   "HcclSend",
                                        "HcclRecv",      "HcclBatchSendRecv", "HcclAlltoAllV", "HcclAllGatherV"};
    return names[kind];
}

/* ---- arithmetic: values of all ranks are combined in the order of ranks, so that all get the same result ---- */
#define KEEP(x) (x)
#define COMBINE(Type, Wide, READ, WRITE)                                                                               \
    for (uint64_t i = 0; i < n; i++) {                                                                                 \
        Wide total = READ(((const Type *)from[0])[i]);                                                                 \
        for (uint32_t rank = 1; rank < ranks; rank++) {                                                                \
            Wide value = READ(((const Type *)from[rank])[i]);                                                          \
            switch (reduce) {                                                                                          \
            case REDUCE_SUM: total = (Wide)(total + value); break;                                                     \
            case REDUCE_PROD: total = (Wide)(total * value); break;                                                    \
            case REDUCE_MAX: total = value > total || value != value ? value : total; break;                           \
            default: total = value < total || value != value ? value : total; break;                                   \
            }                                                                                                          \
        }                                                                                                              \
        ((Type *)to)[i] = (Type)WRITE(total);                                                                          \
    }

/* Sums and products wrap, which only unsigned arithmetic may. */
#define INTEGER(Type)                                                                                                  \
    if (reduce < REDUCE_MAX) {                                                                                         \
        COMBINE(Type, uint64_t, (uint64_t), KEEP)                                                                      \
    } else {                                                                                                           \
        COMBINE(Type, int64_t, KEEP, KEEP)                                                                             \
    }

static void combine(void *to, const char *const *from, uint32_t ranks, uint64_t n, uint32_t dtype, uint32_t reduce) {
    switch (dtype) {
    case HCCL_INT8: INTEGER(int8_t) break;
    case HCCL_INT16: INTEGER(int16_t) break;
    case HCCL_INT32: INTEGER(int32_t) break;
    case HCCL_INT64: INTEGER(int64_t) break;
    case HCCL_FP16: COMBINE(uint16_t, float, half_to_float, float_to_half) break;
    case HCCL_BFP16: COMBINE(uint16_t, float, bf16_to_float, float_to_bf16) break;
    default: COMBINE(float, float, KEEP, KEEP) break;
    }
}

/* ---- collectives ------------------------------------------------------------------------------- */
typedef struct {
    CommTask *task;
    const Stream *stream;
    uint64_t until;
    char *why;
    size_t why_size;
} Run;

static uint32_t ranks_behind(const Comm *comm, const void *round) {
    uint32_t missing = 0;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        if (atomic_load(&comm->segment->members[rank].rounds) < *(const uint64_t *)round) missing |= 1u << rank;
    }
    return missing;
}

static void describe(const Description *what, char *text, size_t size) {
    static const char *const reductions[] = {"sum", "prod", "max", "min"};
    snprintf(text, size, "%s(%llu %s, %s, root %u)", comm_kind_name((CommKind)what->kind),
             (unsigned long long)what->count, hccl_type_name(what->dtype), reductions[what->reduce & 3], what->root);
}

/* The slot of this rank is full: waits for those of the others, which must be doing the same. */
static int meet(const Run *run) {
    Comm *comm = run->task->comm;
    uint64_t round = ++comm->round;
    Member *own = &comm->segment->members[comm->rank];
    own->doing[round & 1] = run->task->what;
    atomic_store(&own->rounds, round);
    segment_ring(comm->segment);
    int code = segment_wait(comm, run->stream, ranks_behind, &round, run->until, run->why, run->why_size);
    for (uint32_t rank = 0; code == HCCL_OK && rank < comm->size; rank++) {
        const Description *other = &comm->segment->members[rank].doing[round & 1];
        if (memcmp(other, &run->task->what, sizeof *other) == 0) continue;
        char mine[100], its[100];
        describe(&run->task->what, mine, sizeof mine);
        describe(other, its, sizeof its);
        snprintf(run->why, run->why_size, "ranks call different collectives: rank %u %s, rank %u %s", comm->rank, mine,
                 rank, its);
        code = HCCL_PARAMETER;
    }
    return code;
}

static void fill(const CommTask *task, char *slot, uint64_t done, uint64_t n, size_t item) {
    const Comm *comm = task->comm;
    const char *source = device_pointer(task->send);
    bool is_root = task->what.root == comm->rank;
    switch (task->kind) {
    case COMM_BROADCAST:
        if (!is_root) return; /* fall through */
    case COMM_ALL_REDUCE:
    case COMM_REDUCE:
    case COMM_ALL_GATHER: memcpy(slot, source + done * item, n * item); return;
    case COMM_SCATTER:
        if (!is_root) return; /* fall through */
    case COMM_REDUCE_SCATTER:
        for (uint32_t rank = 0; rank < comm->size; rank++) {
            memcpy(slot + rank * n * item, source + (rank * task->what.count + done) * item, n * item);
        }
        return;
    default: return;
    }
}

static void take(const CommTask *task, uint64_t done, uint64_t n, size_t item) {
    const Comm *comm = task->comm;
    char *target = device_pointer(task->recv);
    const char *slots[MAX_RANKS];
    bool is_root = task->what.root == comm->rank;
    size_t part = task->kind == COMM_REDUCE_SCATTER || task->kind == COMM_SCATTER ? comm->rank * n * item : 0;
    for (uint32_t rank = 0; rank < comm->size; rank++)
        slots[rank] = comm->segment->members[rank].slot[comm->round & 1] + part;
    switch (task->kind) {
    case COMM_REDUCE:
        if (!is_root) return; /* fall through */
    case COMM_ALL_REDUCE:
    case COMM_REDUCE_SCATTER:
        combine(target + done * item, slots, comm->size, n, task->what.dtype, task->what.reduce);
        return;
    case COMM_ALL_GATHER:
        for (uint32_t rank = 0; rank < comm->size; rank++) {
            memcpy(target + (rank * task->what.count + done) * item, slots[rank], n * item);
        }
        return;
    case COMM_BROADCAST:
        if (is_root) return; /* fall through */
    case COMM_SCATTER: memcpy(target + done * item, slots[task->what.root], n * item); return;
    default: return;
    }
}

static int run_collective(const Run *run) {
    CommTask *task = run->task;
    Comm *comm = task->comm;
    bool in_parts = task->kind == COMM_REDUCE_SCATTER || task->kind == COMM_SCATTER;
    size_t item = hccl_item_size(task->what.dtype);
    uint64_t most = SLOT_BYTES / item / (in_parts ? comm->size : 1), done = 0;
    do { /* at least once: ranks meet though there is nothing to pass on */
        uint64_t n = task->what.count - done < most ? task->what.count - done : most;
        if (n > 0) fill(task, comm->segment->members[comm->rank].slot[(comm->round + 1) & 1], done, n, item);
        int code = meet(run);
        if (code != HCCL_OK) return code;
        if (n > 0) take(task, done, n, item);
        done += n;
    } while (done < task->what.count);
    return HCCL_OK;
}

/* ---- messages ---------------------------------------------------------------------------------- */
static Channel *channel_of(const Comm *comm, const Item *item) {
    return item->send ? &comm->segment->channels[comm->rank][item->peer]
                      : &comm->segment->channels[item->peer][comm->rank];
}

static bool is_next(const CommTask *task, uint32_t index) { /* messages between two ranks keep their order */
    const Item *item = &task->items[index];
    if (item->done == item->bytes) return false;
    for (uint32_t i = 0; i < index; i++) {
        const Item *before = &task->items[i];
        if (before->peer == item->peer && before->send == item->send && before->done < before->bytes) return false;
    }
    return true;
}

static bool can_move(const Comm *comm, const Item *item) {
    const Channel *channel = channel_of(comm, item);
    bool is_full = atomic_load(&channel->sent) != atomic_load(&channel->taken);
    return is_full != item->send;
}

static uint32_t stuck_peers(const Comm *comm, const void *argument) { /* 0 where something can move */
    const CommTask *task = argument;
    uint32_t peers = 0;
    for (uint32_t i = 0; i < task->item_count; i++) {
        if (!is_next(task, i)) continue;
        if (can_move(comm, &task->items[i])) return 0;
        peers |= 1u << task->items[i].peer;
    }
    return peers;
}

static int move_piece(const Run *run, Item *item) {
    Comm *comm = run->task->comm;
    Channel *channel = channel_of(comm, item);
    char *data = (char *)device_pointer(item->buffer) + item->done;
    if (item->send) {
        uint64_t left = item->bytes - item->done;
        channel->total = item->bytes;
        channel->dtype = item->dtype;
        channel->bytes = (uint32_t)(left < CHANNEL_BYTES ? left : CHANNEL_BYTES);
        memcpy(channel->data, data, channel->bytes);
        item->done += channel->bytes;
        atomic_fetch_add(&channel->sent, 1);
    } else {
        if (channel->total != item->bytes || channel->dtype != item->dtype) {
            snprintf(run->why, run->why_size, "rank %u sends %llu bytes of %s, rank %u expects %llu bytes of %s",
                     item->peer, (unsigned long long)channel->total, hccl_type_name(channel->dtype), comm->rank,
                     (unsigned long long)item->bytes, hccl_type_name(item->dtype));
            return HCCL_PARAMETER;
        }
        memcpy(data, channel->data, channel->bytes);
        item->done += channel->bytes;
        atomic_fetch_add(&channel->taken, 1);
    }
    segment_ring(comm->segment);
    return HCCL_OK;
}

static int run_messages(const Run *run) {
    CommTask *task = run->task;
    for (uint32_t i = 0; i < task->item_count; i++) { /* what stays on this rank: a send, then its receive */
        Item *item = &task->items[i];
        if (item->peer != task->comm->rank || !item->send) continue;
        Item *other = item + 1;
        memmove(device_pointer(other->buffer), device_pointer(item->buffer), item->bytes);
        item->done = item->bytes;
        other->done = other->bytes;
    }
    for (;;) {
        bool moved = false, left = false;
        for (uint32_t i = 0; i < task->item_count; i++) {
            if (!is_next(task, i)) continue;
            left = true;
            if (!can_move(task->comm, &task->items[i])) continue;
            int code = move_piece(run, &task->items[i]);
            if (code != HCCL_OK) return code;
            moved = true;
        }
        if (!left) return HCCL_OK;
        if (moved) continue;
        int code = segment_wait(task->comm, run->stream, stuck_peers, task, run->until, run->why, run->why_size);
        if (code != HCCL_OK) return code;
    }
}

int comm_run(CommTask *task, const Stream *stream, char *why, size_t size) {
    Comm *comm = task->comm;
    if (atomic_load(&comm->error) != HCCL_OK) {
        snprintf(why, size, "an earlier communication of this communicator failed");
        return atomic_load(&comm->error);
    }
    Run run = {task, stream, comm->timeout_ns != 0 ? host_ns() + comm->timeout_ns : 0, why, size};
    return task->kind >= COMM_SEND ? run_messages(&run) : run_collective(&run);
}
