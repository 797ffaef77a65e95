/* The exported functions of HCCL that make, describe and end communicators. */
#include "hccl.h"

static Pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .item_size = sizeof(Comm), .tag = 0x48};
static _Atomic uint32_t comm_serial;

Comm *comm_find(void *handle) { return handle != NULL ? pool_find(&pool, handle) : NULL; }

int comm_of(const char *who, void *handle, Comm **out) {
    if (handle == NULL) return fail(HCCL_NULL, "%s: the communicator is null", who);
    *out = pool_find(&pool, handle);
    return *out != NULL ? HCCL_OK : fail(HCCL_PARAMETER, "%s: the communicator does not exist or was destroyed", who);
}

API int32_t HcclGetRootInfo(void *root_info) {
    if (root_info == NULL) return fail(HCCL_NULL, "HcclGetRootInfo: the root info is null");
    if (runtime_usable() != 0) return HCCL_RUNTIME;
    return segment_create(root_info);
}

static uint64_t execution_timeout(void) { /* the vendor's variable, in seconds; 0 is none */
    const char *text = getenv("HCCL_EXEC_TIMEOUT");
    return (uint64_t)((text != NULL && *text != '\0' ? strtod(text, NULL) : 1836) * 1e9);
}

API int32_t HcclCommInitRootInfo(uint32_t size, const void *root_info, uint32_t rank, void **out) {
    Device *device = NULL;
    if (root_info == NULL || out == NULL)
        return fail(HCCL_NULL, "HcclCommInitRootInfo: the root info or the result is null");
    *out = NULL;
    if (runtime_usable() != 0 || current_device(&device) != 0) return HCCL_RUNTIME;
    if (size == 0 || size > MAX_RANKS || rank >= size) {
        return fail(HCCL_PARAMETER, "HcclCommInitRootInfo: rank %u of %u; the simulator has up to %d ranks", rank, size,
                    MAX_RANKS);
    }
    Comm *comm = pool_take(&pool, UINT32_MAX);
    if (comm == NULL) return fail(HCCL_INTERNAL, "HcclCommInitRootInfo: no communicator left");
    PoolItem item = comm->pool;
    memset(comm, 0, sizeof *comm);
    comm->pool = item;
    comm->rank = rank;
    comm->size = size;
    comm->device = device->id;
    comm->timeout_ns = execution_timeout();
    snprintf(comm->name, sizeof comm->name, "sim_group_%u", atomic_fetch_add(&comm_serial, 1));
    short_lock_init(&comm->calls);
    short_lock_init(&comm->lock);
    pthread_cond_init(&comm->turn, NULL);
    int code = segment_join(comm, root_info);
    if (code != HCCL_OK) {
        pool_give(&pool, comm);
        return code;
    }
    atomic_store(&comm->pool.live, true);
    *out = pool_handle(&pool, comm);
    return HCCL_OK;
}

/* The part of the vendor's structure that this library looks at: its name, and the timeout of a communication in
 * seconds. */
typedef struct {
    uint64_t size;
    char head[16];
    uint32_t buffer_size, deterministic;
    char name[COMM_NAME_BYTES], udi[128];
    uint32_t modes[4];
    uint64_t job;
    uint8_t zero_copy;
    int32_t timeout; /* -1: not set */
} CommConfig;

API int32_t HcclCommInitRootInfoConfig(uint32_t size, const void *root_info, uint32_t rank, const CommConfig *settings,
                                       void **out) {
    int code = HcclCommInitRootInfo(size, root_info, rank, out);
    if (code != HCCL_OK || settings == NULL) return code;
    Comm *comm = pool_find(&pool, *out);
    if (settings->size >= sizeof *settings && settings->timeout >= 0)
        comm->timeout_ns = (uint64_t)settings->timeout * 1000000000ull;
    if (settings->name[0] != '\0') snprintf(comm->name, sizeof comm->name, "%.*s", COMM_NAME_BYTES - 1, settings->name);
    return code;
}

API int32_t HcclCommDestroy(void *handle) {
    Comm *comm = NULL;
    int code = comm_of("HcclCommDestroy", handle, &comm);
    if (code != 0) return code;
    pthread_mutex_lock(&comm->lock);
    if (comm->first != NULL)
        violation("HcclCommDestroy: %s of the communicator is not done", comm_kind_name(comm->first->kind));
    atomic_store(&comm->closing, true);
    while (comm->first != NULL) pthread_cond_wait(&comm->turn, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    segment_leave(comm);
    pool_give(&pool, comm);
    return HCCL_OK;
}

API int32_t HcclGetRankSize(void *handle, uint32_t *size) {
    Comm *comm = NULL;
    int code = comm_of("HcclGetRankSize", handle, &comm);
    if (code == 0 && size == NULL) return fail(HCCL_NULL, "HcclGetRankSize: the result is null");
    if (code == 0) *size = comm->size;
    return code;
}

API int32_t HcclGetRankId(void *handle, uint32_t *rank) {
    Comm *comm = NULL;
    int code = comm_of("HcclGetRankId", handle, &comm);
    if (code == 0 && rank == NULL) return fail(HCCL_NULL, "HcclGetRankId: the result is null");
    if (code == 0) *rank = comm->rank;
    return code;
}

API int32_t HcclGetCommName(void *handle, char *name) { /* room for 128 bytes */
    Comm *comm = NULL;
    int code = comm_of("HcclGetCommName", handle, &comm);
    if (code == 0 && name == NULL) return fail(HCCL_NULL, "HcclGetCommName: the result is null");
    if (code == 0) snprintf(name, COMM_NAME_BYTES, "%s", comm->name);
    return code;
}

API int32_t HcclGetCommAsyncError(void *handle, int32_t *error) {
    Comm *comm = NULL;
    int code = comm_of("HcclGetCommAsyncError", handle, &comm);
    if (code == 0 && error == NULL) return fail(HCCL_NULL, "HcclGetCommAsyncError: the result is null");
    if (code == 0) *error = atomic_load(&comm->error);
    return code;
}

API const char *HcclGetErrorString(int32_t code) {
    static const char *const texts[] = {"no error",
                                        "parameter error",
                                        "empty pointer",
                                        "memory error",
                                        "internal error",
                                        "feature not supported",
                                        "resource not found",
                                        "resource unavailable",
                                        "system call failed",
                                        "timeout",
                                        "file cannot be opened",
                                        "TCP connection failed",
                                        "RoCE connection failed",
                                        "TCP transfer failed",
                                        "RoCE transfer failed",
                                        "runtime call failed",
                                        "driver call failed",
                                        "profiling call failed",
                                        "CCE call failed",
                                        "network call failed",
                                        "try again",
                                        "remote error",
                                        "communicator suspended",
                                        "retry failed",
                                        "out of memory"};
    return code >= 0 && code < (int32_t)(sizeof texts / sizeof *texts) ? texts[code] : "unknown error";
}

API uint32_t HcclGetCommConfigCapability(void) {
    return 9;
} /* settings up to the timeout; the name and that one are looked at */

API int32_t HcclSetConfig(int32_t setting, int32_t value) { /* results are always deterministic */
    (void)value;
    return setting == 0 ? HCCL_OK : fail(HCCL_NOT_SUPPORTED, "HcclSetConfig: setting %d", setting);
}
