/* The exported functions of HCCL that communicate, as tasks of streams. Of one communicator, collectives run one
 * after the other in the order of the calls, whatever streams they are in, and so do messages. */
#include "hccl.h"

#include <signal.h>
#include <unistd.h>

typedef struct {
    int32_t type;
    void *buffer;
    uint64_t count;
    int32_t dtype;
    uint32_t peer;
} SendRecvItem;

static _Atomic uint64_t communications;

/* ---- faults: ASCEND_SIM_HCCL_FAULT=RANK:N:WHAT, where WHAT is die, hang or the HcclResult that the call answers ----
 */
typedef enum { FAULT_NONE, FAULT_DIE, FAULT_HANG, FAULT_CODE } FaultKind;
static pthread_once_t fault_once = PTHREAD_ONCE_INIT;
static FaultKind fault_kind;
static uint32_t fault_rank;
static uint64_t fault_nth;
static int fault_result;

static void load_fault(void) {
    const char *text = getenv("ASCEND_SIM_HCCL_FAULT");
    unsigned rank;
    unsigned long long nth;
    char what[16];
    if (text == NULL || *text == '\0') return;
    if (sscanf(text, "%u:%llu:%15s", &rank, &nth, what) != 3) {
        fprintf(stderr, "ascend_sim: ASCEND_SIM_HCCL_FAULT=%s is not RANK:N:die, RANK:N:hang or RANK:N:CODE\n", text);
        return;
    }
    fault_rank = rank;
    fault_nth = nth;
    fault_result = atoi(what);
    fault_kind = strcmp(what, "die") == 0 ? FAULT_DIE : strcmp(what, "hang") == 0 ? FAULT_HANG : FAULT_CODE;
}

static FaultKind fault_for(const Comm *comm, uint64_t nth) {
    pthread_once(&fault_once, load_fault);
    return fault_kind != FAULT_NONE && comm->rank == fault_rank && nth == fault_nth ? fault_kind : FAULT_NONE;
}

/* ---- the order of a communicator's tasks ------------------------------------------------------- */
static bool is_message(const CommTask *task) { return task->kind >= COMM_SEND; }

static bool is_turn(const CommTask *task) {
    const CommTask *at = task->comm->first;
    while (at != task && is_message(at) != is_message(task)) at = at->next;
    return at == task;
}

static void await_turn(CommTask *task) {
    pthread_mutex_lock(&task->comm->lock);
    while (!is_turn(task)) pthread_cond_wait(&task->comm->turn, &task->comm->lock);
    pthread_mutex_unlock(&task->comm->lock);
}

void comm_task_free(CommTask *task) {
    Comm *comm = task->comm;
    pthread_mutex_lock(&comm->lock);
    CommTask **at = &comm->first;
    while (*at != task) at = &(*at)->next;
    *at = task->next;
    pthread_cond_broadcast(&comm->turn);
    pthread_mutex_unlock(&comm->lock);
    free(task);
}

/* ---- what the worker of a stream does ---------------------------------------------------------- */
const char *comm_task_name(const CommTask *task) { return comm_kind_name(task->kind); }

static const char *kernel_name(CommKind kind) {
    static const char *const names[] = {"hcom_allReduce_Sim",     "hcom_broadcast_Sim", "hcom_allGather_Sim",
                                        "hcom_reduceScatter_Sim", "hcom_reduce_Sim",    "hcom_scatter_Sim",
                                        "hcom_barrier_Sim",       "hcom_send_Sim",      "hcom_receive_Sim",
                                        "hcom_batchSendRecv_Sim", "hcom_alltoallv_Sim", "hcom_allGatherV_Sim"};
    return names[kind];
}

static uint32_t own_rank(const Comm *comm, const void *argument) { /* a rank that hangs waits for itself */
    (void)argument;
    return 1u << comm->rank;
}

/* 0, or the fault code of the runtime with the reason in `why`. */
int comm_task_execute(Stream *stream, CommTask *task, uint64_t correlation, char *why, size_t size) {
    const char *name = comm_kind_name(task->kind);
    Comm *comm = task->comm;
    await_turn(task);
    uint64_t start = host_ns();
    device_delay(delay_for_kernel(name));
    device_delay(config()->hccl_delay_ns);
    FaultKind fault = fault_for(comm, task->nth);
    if (fault == FAULT_DIE) kill(getpid(), SIGKILL);
    int code = fault_for_kernel(name, why, size);
    if (code != 0) {
        atomic_store(&comm->error, HCCL_INTERNAL);
        return code;
    }
    int result = fault == FAULT_HANG ? segment_wait(comm, stream, own_rank, NULL,
                                                    comm->timeout_ns ? host_ns() + comm->timeout_ns : 0, why, size)
                                     : comm_run(task, stream, why, size);
    uint64_t end = host_ns();
    if (result != HCCL_OK) {
        if (result == HCCL_PARAMETER) violation("%s: %s", name, why);
        atomic_store(&comm->error, result);
        return result == HCCL_TIMEOUT ? RT_TASK_TIMEOUT : RT_SUSPECT_REMOTE;
    }
    mspti_communication(kernel_name(task->kind), comm->name, (int)task->what.dtype, task->what.count,
                        stream->device->id, stream->id, correlation, kernel_stamp(start, end), kernel_stamp(end, end));
    return 0;
}

/* ---- submitting -------------------------------------------------------------------------------- */
static CommTask *new_task(Comm *comm, CommKind kind, Description what, uint32_t items) {
    CommTask *task = calloc(1, sizeof *task + items * sizeof(Item));
    what.kind = kind;
    *task = (CommTask){.comm = comm, .kind = kind, .what = what};
    return task;
}

static void use_memory(Task *task, const char *address, uint64_t bytes, int device, const char *who) {
    if (bytes > 0 && address != NULL) task_use(task, address, 0, (int64_t)bytes, device, who);
}

static int submit(CommTask *work, void *stream_handle_, uint64_t send_bytes, uint64_t recv_bytes) {
    Comm *comm = work->comm;
    const char *who = comm_kind_name(work->kind);
    Stream *stream = NULL;
    int code = stream_of(stream_handle_, &stream);
    if (code == 0) code = device_status(stream->device);
    if (code == 0 && stream->device->id != comm->device) {
        code = fail(HCCL_PARAMETER, "%s: the communicator is on device %d, the stream on device %d", who, comm->device,
                    stream->device->id);
    }
    work->nth = atomic_fetch_add(&communications, 1) + 1;
    if (code == 0 && fault_for(comm, work->nth) == FAULT_CODE) code = fail(fault_result, "%s: injected fault", who);
    if (code != 0) {
        free(work);
        return code < RT_PARAM_INVALID ? code : HCCL_RUNTIME;
    }
    Task *task = task_new(TASK_COMM, 2 + work->item_count);
    use_memory(task, work->send, send_bytes, comm->device, who);
    use_memory(task, work->recv, recv_bytes, comm->device, who);
    for (uint32_t i = 0; i < work->item_count; i++)
        use_memory(task, work->items[i].buffer, work->items[i].bytes, comm->device, who);
    task->comm = work;
    task->correlation = mspti_launch();
    count(&counters.launches, 1);
    pthread_mutex_lock(&comm->calls);
    pthread_mutex_lock(&comm->lock);
    CommTask **end = &comm->first;
    while (*end != NULL) end = &(*end)->next;
    *end = work;
    pthread_mutex_unlock(&comm->lock);
    code = stream_submit(stream, task);
    pthread_mutex_unlock(&comm->calls);
    return code == 0 ? HCCL_OK : HCCL_RUNTIME;
}

typedef struct {
    void *send, *recv;
    uint64_t count;
    int32_t dtype, reduce;
    uint32_t root;
} Arguments;

/* Sizes are in elements; a pointer may be null where this rank neither sends nor receives, or where there are no
 * elements. */
static int collective(CommKind kind, Arguments a, void *handle, void *stream, uint64_t send_count,
                      uint64_t recv_count) {
    const char *who = comm_kind_name(kind);
    Comm *comm = NULL;
    int code = comm_of(who, handle, &comm);
    if (code != 0) return code;
    size_t item = hccl_item_size((uint32_t)a.dtype);
    bool reduces = kind == COMM_ALL_REDUCE || kind == COMM_REDUCE || kind == COMM_REDUCE_SCATTER;
    if (item == 0 || (reduces && !hccl_can_reduce((uint32_t)a.dtype))) {
        return fail(HCCL_NOT_SUPPORTED, "%s does not support the type %s", who, hccl_type_name((uint32_t)a.dtype));
    }
    if (a.reduce < REDUCE_SUM || a.reduce > REDUCE_MIN) return fail(HCCL_PARAMETER, "%s: reduction %d", who, a.reduce);
    if (a.root >= comm->size) return fail(HCCL_PARAMETER, "%s: root %u of %u ranks", who, a.root, comm->size);
    if ((send_count > 0 && a.send == NULL) || (recv_count > 0 && a.recv == NULL))
        return fail(HCCL_NULL, "%s: a buffer is null", who);
    Description what = {0, (uint32_t)a.dtype, (uint32_t)a.reduce, a.root, a.count};
    CommTask *task = new_task(comm, kind, what, 0);
    task->send = a.send;
    task->recv = a.recv;
    return submit(task, stream, send_count * item, recv_count * item);
}

static uint32_t size_of(void *handle) {
    const Comm *comm = comm_find(handle);
    return comm != NULL ? comm->size : 0;
}

static bool is_rank(void *handle, uint32_t rank) {
    const Comm *comm = comm_find(handle);
    return comm != NULL && comm->rank == rank;
}

/* ---- exported: collectives --------------------------------------------------------------------- */
API int32_t HcclAllReduce(void *send, void *recv, uint64_t n, int32_t dtype, int32_t op, void *comm, void *stream) {
    return collective(COMM_ALL_REDUCE, (Arguments){send, recv, n, dtype, op, 0}, comm, stream, n, n);
}

API int32_t HcclReduce(void *send, void *recv, uint64_t n, int32_t dtype, int32_t op, uint32_t root, void *comm,
                       void *stream) {
    return collective(COMM_REDUCE, (Arguments){send, recv, n, dtype, op, root}, comm, stream, n,
                      is_rank(comm, root) ? n : 0);
}

API int32_t HcclBroadcast(void *buffer, uint64_t n, int32_t dtype, uint32_t root, void *comm, void *stream) {
    return collective(COMM_BROADCAST, (Arguments){buffer, buffer, n, dtype, 0, root}, comm, stream, n, 0);
}

API int32_t HcclAllGather(void *send, void *recv, uint64_t n, int32_t dtype, void *comm, void *stream) {
    return collective(COMM_ALL_GATHER, (Arguments){send, recv, n, dtype, 0, 0}, comm, stream, n, n * size_of(comm));
}

API int32_t HcclReduceScatter(void *send, void *recv, uint64_t n, int32_t dtype, int32_t op, void *comm, void *stream) {
    return collective(COMM_REDUCE_SCATTER, (Arguments){send, recv, n, dtype, op, 0}, comm, stream, n * size_of(comm),
                      n);
}

API int32_t HcclScatter(void *send, void *recv, uint64_t n, int32_t dtype, uint32_t root, void *comm, void *stream) {
    uint64_t sent = is_rank(comm, root) ? n * size_of(comm) : 0;
    return collective(COMM_SCATTER, (Arguments){send, recv, n, dtype, 0, root}, comm, stream, sent, n);
}

API int32_t HcclBarrier(void *comm, void *stream) {
    return collective(COMM_BARRIER, (Arguments){NULL, NULL, 0, HCCL_INT8, 0, 0}, comm, stream, 0, 0);
}

/* ---- exported: messages ------------------------------------------------------------------------ */
static int add_item(CommTask *task, bool send, void *buffer, uint64_t n, int32_t dtype, uint32_t peer) {
    const char *who = comm_kind_name(task->kind);
    size_t item = hccl_item_size((uint32_t)dtype);
    if (item == 0)
        return fail(HCCL_NOT_SUPPORTED, "%s does not support the type %s", who, hccl_type_name((uint32_t)dtype));
    if (peer >= task->comm->size) return fail(HCCL_PARAMETER, "%s: rank %u of %u", who, peer, task->comm->size);
    if (n > 0 && buffer == NULL) return fail(HCCL_NULL, "%s: a buffer is null", who);
    task->items[task->item_count++] = (Item){send, buffer, n * item, 0, peer, (uint32_t)dtype};
    return HCCL_OK;
}

static int finish_items(CommTask *task, int code, void *stream) {
    if (code == HCCL_OK) return submit(task, stream, 0, 0);
    free(task);
    return code;
}

static int messages(CommKind kind, const SendRecvItem *items, uint32_t n, void *handle, void *stream) {
    const char *who = comm_kind_name(kind);
    Comm *comm = NULL;
    int code = comm_of(who, handle, &comm);
    if (code != 0) return code;
    if (items == NULL || n == 0) return fail(HCCL_PARAMETER, "%s: no messages", who);
    CommTask *task = new_task(comm, kind, (Description){.dtype = (uint32_t)items[0].dtype, .count = items[0].count}, n);
    for (uint32_t i = 0; code == HCCL_OK && i < n; i++) {
        if (items[i].peer == comm->rank)
            code = fail(HCCL_PARAMETER, "%s: rank %u is this process itself", who, items[i].peer);
        if (code == HCCL_OK)
            code = add_item(task, items[i].type == 0, items[i].buffer, items[i].count, items[i].dtype, items[i].peer);
    }
    return finish_items(task, code, stream);
}

API int32_t HcclSend(void *buffer, uint64_t n, int32_t dtype, uint32_t peer, void *comm, void *stream) {
    return messages(COMM_SEND, &(SendRecvItem){0, buffer, n, dtype, peer}, 1, comm, stream);
}

API int32_t HcclRecv(void *buffer, uint64_t n, int32_t dtype, uint32_t peer, void *comm, void *stream) {
    return messages(COMM_RECV, &(SendRecvItem){1, buffer, n, dtype, peer}, 1, comm, stream);
}

API int32_t HcclBatchSendRecv(SendRecvItem *items, uint32_t n, void *comm, void *stream) {
    return messages(COMM_BATCH, items, n, comm, stream);
}

API int32_t HcclAlltoAllV(const void *send, const void *send_counts, const void *send_starts, int32_t send_type,
                          const void *recv, const void *recv_counts, const void *recv_starts, int32_t recv_type,
                          void *handle, void *stream) {
    Comm *comm = NULL;
    int code = comm_of("HcclAlltoAllV", handle, &comm);
    if (code != 0) return code;
    const uint64_t *counts[2] = {send_counts, recv_counts}, *starts[2] = {send_starts, recv_starts};
    if (!counts[0] || !counts[1] || !starts[0] || !starts[1])
        return fail(HCCL_NULL, "HcclAlltoAllV: counts or displacements are null");
    CommTask *task = new_task(comm, COMM_ALL_TO_ALL, (Description){.dtype = (uint32_t)send_type}, 2 * comm->size);
    for (uint32_t rank = 0; code == HCCL_OK && rank < comm->size;
         rank++) { /* a send, then a receive: run_messages relies on it */
        char *from = (char *)send + starts[0][rank] * hccl_item_size((uint32_t)send_type);
        char *to = (char *)recv + starts[1][rank] * hccl_item_size((uint32_t)recv_type);
        task->what.count += counts[0][rank];
        code = add_item(task, true, from, counts[0][rank], send_type, rank);
        if (code == HCCL_OK) code = add_item(task, false, to, counts[1][rank], recv_type, rank);
    }
    if (code == HCCL_OK && task->items[2 * comm->rank].bytes != task->items[2 * comm->rank + 1].bytes) {
        code = fail(HCCL_PARAMETER, "HcclAlltoAllV: rank %u sends itself another count than it receives", comm->rank);
    }
    return finish_items(task, code, stream);
}

API int32_t HcclAlltoAll(const void *send, uint64_t send_count, int32_t send_type, const void *recv,
                         uint64_t recv_count, int32_t recv_type, void *comm, void *stream) {
    uint64_t counts[2][MAX_RANKS], starts[2][MAX_RANKS];
    for (uint64_t rank = 0; rank < MAX_RANKS; rank++) {
        counts[0][rank] = send_count;
        counts[1][rank] = recv_count;
        starts[0][rank] = rank * send_count;
        starts[1][rank] = rank * recv_count;
    }
    return HcclAlltoAllV(send, counts[0], starts[0], send_type, recv, counts[1], starts[1], recv_type, comm, stream);
}
