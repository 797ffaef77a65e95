/* Phase 1 and phase 2 of every operator, generated from op_table.h, and the executor between them. */
#include "kernels.h"
#include "op_macros.h"

#define MARK_BYTES 64

enum {
#define OP(Name, unit, types, check, run, variant, ...) OP_##Name,
#include "op_table.h"
#undef OP
};

#define OP(Name, unit, types, check, run, variant, ...)                                                                \
    static const char roles_##Name[] = {EACH(ROLE_CHAR, __VA_ARGS__), '\0'};                                           \
    API int32_t aclnn##Name##GetWorkspaceSize(EACH(PARAMETER, __VA_ARGS__), uint64_t *workspace, void **executor) {    \
        const RawArg raw[] = {EACH(RAW, __VA_ARGS__)};                                                                 \
        return op_prepare(OP_##Name, raw, workspace, executor);                                                        \
    }                                                                                                                  \
    API int32_t aclnn##Name(void *workspace, uint64_t size, void *executor, void *stream) {                            \
        return op_launch(OP_##Name, workspace, size, executor, stream);                                                \
    }
#include "op_table.h"
#undef OP

const OpInfo op_infos[] = {
#define OP(Name, unit, types, check, run, variant, ...)                                                                \
    {#Name, "aclnn" #Name "_" #Name "Sim_" #Name, roles_##Name, UNIT_##unit, types, check, run, variant},
#include "op_table.h"
#undef OP
};
const int op_count = sizeof op_infos / sizeof *op_infos;

/* ---- executors: the handle dies with phase 2, the payload with the kernel ---------------------- */
typedef struct {
    PoolItem pool;
    Executor *payload;
} Handle;
static Pool pool = {.lock = SHORT_LOCK, .item_size = sizeof(Handle), .tag = 0x58};

void executor_free(Executor *e) { free(e); }

enum { ROLE_TENSOR = 1, ROLE_POINTER = 2, ROLE_OPTIONAL = 4 }; /* pointers to other things than tensors */
static const uint8_t role_bits[128] = {
    ['i'] = ROLE_TENSOR,
    ['n'] = ROLE_TENSOR | ROLE_OPTIONAL,
    ['o'] = ROLE_TENSOR,
    ['p'] = ROLE_TENSOR | ROLE_OPTIONAL,
    ['m'] = ROLE_TENSOR,
    ['k'] = ROLE_TENSOR | ROLE_OPTIONAL,
    ['s'] = ROLE_POINTER,
    ['z'] = ROLE_POINTER | ROLE_OPTIONAL,
    ['I'] = ROLE_POINTER,
    ['J'] = ROLE_POINTER | ROLE_OPTIONAL,
    ['B'] = ROLE_POINTER,
    ['L'] = ROLE_POINTER,
    ['M'] = ROLE_POINTER | ROLE_OPTIONAL,
    ['E'] = ROLE_POINTER | ROLE_OPTIONAL,
    ['S'] = ROLE_POINTER,
    ['c'] = ROLE_POINTER,
};
static bool is_tensor(char role) { return (role_bits[(int)role] & ROLE_TENSOR) != 0; }
static bool is_optional(char role) { return (role_bits[(int)role] & ROLE_OPTIONAL) != 0; }
static bool is_list(char role) { return role == 'L' || role == 'E'; } /* of tensors */
static bool is_pointer(char role) { return (role_bits[(int)role] & (ROLE_TENSOR | ROLE_POINTER)) != 0; }

/* Operators of the older interface are not in this table; they may have operands at any address. */
static bool is_aclnn(const Executor *e) { return e->op >= op_infos && e->op < op_infos + op_count; }

int nn_fail(const Executor *e, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fail(NN_INVALID_PARAM, "%s%s: %s", is_aclnn(e) ? "aclnn" : "operator ", e->op->name, text);
}

int run_fail(Executor *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(e->problem, sizeof e->problem, format, args);
    va_end(args);
    return RT_AICORE_EXCEPTION;
}

static size_t operand_bytes(char role, RawArg raw) {
    if (raw.p == NULL) return 0;
    if (is_tensor(role)) return sizeof(Tensor);
    switch (role) {
    case 's':
    case 'z': return sizeof(Scalar);
    case 'c': return strlen(raw.p) / 8 * 8 + 8;
    case 'I':
    case 'J': return sizeof(IntArray) + ((const IntArray *)raw.p)->n * sizeof(int64_t);
    case 'B':
    case 'M': return (sizeof(BoolArray) + ((const BoolArray *)raw.p)->n + 7) / 8 * 8;
    case 'L':
    case 'E': {
        const TensorList *list = raw.p;
        return sizeof *list + list->n * (sizeof(Tensor *) + sizeof(Tensor));
    }
    case 'S': {
        const ScalarList *list = raw.p;
        return sizeof *list + list->n * (sizeof(Scalar *) + sizeof(Scalar));
    }
    default: return 0;
    }
}

static char *copy_operand(Executor *e, int index, char role, RawArg raw, char *room) {
    size_t bytes = operand_bytes(role, raw);
    if (is_list(role)) {
        const TensorList *from = raw.p;
        TensorList *list = (TensorList *)room;
        Tensor *copies = (Tensor *)(room + sizeof *list + from->n * sizeof(Tensor *));
        list->n = from->n;
        for (uint64_t i = 0; i < from->n; i++) {
            copies[i] = *from->v[i];
            list->v[i] = &copies[i];
        }
        e->tensors += (uint32_t)from->n;
    } else if (role == 'S') {
        const ScalarList *from = raw.p;
        ScalarList *list = (ScalarList *)room;
        Scalar *copies = (Scalar *)(room + sizeof *list + from->n * sizeof(Scalar *));
        list->n = from->n;
        for (uint64_t i = 0; i < from->n; i++) {
            copies[i] = *from->v[i];
            list->v[i] = &copies[i];
        }
    } else {
        size_t exact = role == 'B' || role == 'M' ? sizeof(BoolArray) + ((const BoolArray *)raw.p)->n
                       : role == 'c'              ? strlen(raw.p) + 1
                                                  : bytes;
        memcpy(room, raw.p, exact);
        e->tensors += is_tensor(role);
    }
    e->args[index].t = (Tensor *)room;
    return room + bytes;
}

static int check_tensor(const Executor *e, const Tensor *t, int index) {
    if (t->magic != TENSOR_MAGIC) return nn_fail(e, "argument %d is not a live tensor", index);
    if (t->item == 0) return nn_fail(e, "argument %d has the unsupported data type %d", index, t->dtype);
    if (t->dtype == DT_BF16 && !config()->soc.has_bf16) {
        return nn_fail(e, "BFLOAT16 is not supported on %s", config()->soc.name);
    }
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0) return nn_fail(e, "argument %d has a negative dimension", index);
    }
    if (t->numel > 0 && t->origin == NULL) return nn_fail(e, "argument %d has no data", index);
    if (is_aclnn(e) && ((uintptr_t)t->origin & 31) != 0) {
        violation("aclnn%s: the address %p of argument %d is not 32-byte aligned", e->op->name, (void *)t->origin,
                  index);
    }
    return ACL_OK;
}

int executor_check(const Executor *e) {
    bool first = true;
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (is_list(role) && e->args[i].list != NULL) {
            const TensorList *list = e->args[i].list;
            if (list->n == 0 && role == 'L') return nn_fail(e, "the tensor list is empty");
            for (uint64_t k = 0; k < list->n; k++) {
                int code = check_tensor(e, list->v[k], i);
                if (code != 0) return code;
            }
        }
        if (!is_tensor(role) || e->args[i].t == NULL) continue;
        int code = check_tensor(e, e->args[i].t, i);
        if (code == 0 && first) code = need_types(e, e->args[i].t, e->op->types, "the first tensor");
        if (code != 0) return code;
        first = false;
    }
    return ACL_OK;
}

int op_prepare(int id, const RawArg *raw, uint64_t *workspace, void **executor) {
    const OpInfo *op = &op_infos[id];
    int argc = (int)strlen(op->roles);
    if (runtime_usable() != 0) return runtime_usable();
    if (workspace == NULL || executor == NULL) {
        return fail(NN_NULL_PARAM, "aclnn%s: workspaceSize and executor must not be null", op->name);
    }
    *executor = NULL;
    *workspace = 0;
    size_t bytes = sizeof(Executor);
    for (int i = 0; i < argc; i++) {
        char role = op->roles[i];
        bool pointer = is_pointer(role);
        if (pointer && raw[i].p == NULL && !is_optional(role)) {
            return fail(NN_NULL_PARAM, "aclnn%s: argument %d must not be null", op->name, i);
        }
        if (pointer) bytes += operand_bytes(role, raw[i]);
    }
    Executor *e = malloc(bytes);
    *e = (Executor){.op = op, .argc = argc, .bytes = bytes};
    for (int i = 0; i < argc && e->output_count < MAX_OUTPUTS; i++) {
        if (strchr("op", op->roles[i]) != NULL) e->outputs[e->output_count++] = (Tensor *)raw[i].p;
    }
    char *room = (char *)(e + 1);
    for (int i = 0; i < argc; i++) {
        char role = op->roles[i];
        if (is_pointer(role)) {
            if (raw[i].p != NULL) room = copy_operand(e, i, role, raw[i], room);
        } else if (role == 'd' || role == 'f') {
            e->args[i].d = raw[i].d;
        } else {
            e->args[i].i = raw[i].i;
        }
    }
    int code = executor_check(e);
    if (code == 0) code = op->check(e);
    Handle *handle = code == 0 ? pool_take(&pool, UINT32_MAX) : NULL;
    if (handle == NULL) {
        executor_free(e);
        return code != 0 ? code : fail(NN_INNER_EXECUTOR, "aclnn%s: too many live executors", op->name);
    }
    handle->payload = e;
    atomic_store(&handle->pool.live, true);
    count(&counters.executors_live, 1);
    *workspace = e->workspace;
    *executor = pool_handle(&pool, handle);
    return ACL_OK;
}

static Executor *duplicate(const Executor *e) { /* for repeatable executors: the kernel gets its own operands */
    Executor *copy = malloc(e->bytes);
    memcpy(copy, e, e->bytes);
    ptrdiff_t shift = (char *)copy - (char *)e;
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (!is_pointer(role) || e->args[i].t == NULL) continue;
        copy->args[i].t = (Tensor *)((char *)e->args[i].t + shift);
        bool list = is_list(role) || role == 'S'; /* both are a count and pointers into the same allocation */
        for (uint64_t k = 0; list && k < e->args[i].list->n; k++) {
            copy->args[i].list->v[k] = (Tensor *)((char *)e->args[i].list->v[k] + shift);
        }
    }
    return copy;
}

static void use_tensor(Task *task, const Tensor *t, const OpInfo *op, int device) {
    if (t->numel == 0) return;
    int64_t low = 0, high = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t reach = (t->shape[i] - 1) * t->stride[i];
        if (reach < 0) low += reach;
        else high += reach;
    }
    int64_t item = (int64_t)t->item;
    task_use(task, t->data, low * item, (high + 1) * item, device, op->name);
}

void task_use(Task *task, const void *address, int64_t low, int64_t high, int device, const char *what) {
    char why[200];
    uintptr_t base = (uintptr_t)address;
    Block *block = memory_use(base + (uintptr_t)low, base + (uintptr_t)high, device, why, sizeof why);
    if (block != NULL) {
        task->uses[task->use_count++] = block;
        return;
    }
    violation("%s: %s", what, why);
    if (task->fault == NULL) task->fault = strdup(why);
}

int executor_submit(Executor *e, Stream *stream, void *workspace) {
    Task *task = task_new(TASK_KERNEL, e->tensors + 1);
    task->kernel.executor = e;
    task->kernel.workspace = workspace;
    task->kernel.workspace_size = e->workspace;
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (is_tensor(role) && e->args[i].t != NULL) use_tensor(task, e->args[i].t, e->op, stream->device->id);
        for (uint64_t k = 0; is_list(role) && e->args[i].list != NULL && k < e->args[i].list->n; k++) {
            use_tensor(task, e->args[i].list->v[k], e->op, stream->device->id);
        }
    }
    if (e->workspace > 0) task_use(task, workspace, 0, (int64_t)e->workspace, stream->device->id, "workspace");
    task->correlation = mspti_launch();
    count(&counters.launches, 1);
    return stream_submit(stream, task);
}

int op_launch(int id, void *workspace, uint64_t size, void *executor, void *stream_handle_) {
    const OpInfo *op = &op_infos[id];
    if (executor == NULL) return fail(NN_NULL_PARAM, "aclnn%s: null executor", op->name);
    Handle *handle = pool_find(&pool, executor);
    if (handle == NULL) {
        violation("aclnn%s: the executor does not exist or was used before", op->name);
        return fail(NN_INNER_EXECUTOR, "aclnn%s: the executor does not exist or was used before", op->name);
    }
    Executor *e = handle->payload;
    if (e->op != op) return fail(NN_INVALID_PARAM, "aclnn%s: the executor was made for aclnn%s", op->name, e->op->name);
    Stream *stream = NULL;
    int code = stream_of(stream_handle_, &stream);
    if (code == 0) code = device_status(stream->device);
    if (code == 0 && e->workspace > 0 && (workspace == NULL || size < e->workspace)) {
        code = nn_fail(e, "needs a workspace of %llu bytes, got %llu", (unsigned long long)e->workspace,
                       (unsigned long long)(workspace ? size : 0));
    }
    if (code != 0) return code == NN_INVALID_PARAM ? code : (code == RT_INVALID_HANDLE ? code : NN_RUNTIME);
    Executor *own = e->repeatable ? duplicate(e) : e;
    if (!e->repeatable) {
        pool_give(&pool, handle);
        count(&counters.executors_live, -1);
    }
    return executor_submit(own, stream, workspace);
}

/* A kernel marks its workspace and looks at the mark when it ends: a workspace shared by two streams is noticed. */
int executor_run(Stream *stream, Task *task) {
    Executor *e = task->kernel.executor;
    (void)stream;
    char mark[MARK_BYTES];
    char *workspace = task->kernel.workspace_size >= MARK_BYTES ? device_pointer(task->kernel.workspace) : NULL;
    if (workspace != NULL) {
        memset(mark, (int)(task->task_id & 0xFF), sizeof mark);
        memcpy(mark, &task->task_id, sizeof task->task_id);
        memcpy(workspace, mark, sizeof mark);
    }
    count(&counters.kernels_started, 1);
    device_delay(delay_for_kernel(e->op->name));
    int code = fault_for_kernel(e->op->name, e->problem, sizeof e->problem);
    if (code == 0) code = e->op->run(e);
    if (code == 0 && workspace != NULL && memcmp(workspace, mark, sizeof mark) != 0) {
        violation("aclnn%s: the workspace was written by someone else while the kernel ran", e->op->name);
    }
    return code;
}

/* ---- exported ---------------------------------------------------------------------------------- */
API int32_t aclSetAclOpExecutorRepeatable(void *executor) {
    Handle *handle = pool_find(&pool, executor);
    if (handle == NULL) return fail(NN_INVALID_PARAM, "the executor does not exist or was used before");
    handle->payload->repeatable = true;
    return ACL_OK;
}

API int32_t aclDestroyAclOpExecutor(void *executor) {
    Handle *handle = pool_find(&pool, executor);
    if (handle == NULL) return fail(NN_INVALID_PARAM, "the executor does not exist or was used before");
    executor_free(handle->payload);
    pool_give(&pool, handle);
    count(&counters.executors_live, -1);
    return ACL_OK;
}

static int set_address(void *executor, size_t index, const char *roles, void *address) {
    Handle *handle = pool_find(&pool, executor);
    if (handle == NULL) return fail(NN_INVALID_PARAM, "the executor does not exist or was used before");
    Executor *e = handle->payload;
    for (int i = 0; i < e->argc; i++) {
        if (strchr(roles, e->op->roles[i]) == NULL || e->args[i].t == NULL || index-- > 0) continue;
        Tensor *t = e->args[i].t;
        t->origin = address;
        t->data = (char *)address + t->offset * (int64_t)t->item;
        return ACL_OK;
    }
    return nn_fail(e, "no tensor with this index");
}

API int32_t aclSetInputTensorAddr(void *executor, size_t index, Tensor *tensor, void *address) {
    (void)tensor;
    return set_address(executor, index, "inmk", address);
}

API int32_t aclSetOutputTensorAddr(void *executor, size_t index, Tensor *tensor, void *address) {
    (void)tensor;
    return set_address(executor, index, "op", address);
}

API int32_t aclSetTensorAddr(void *executor, size_t index, Tensor *tensor, void *address) {
    (void)tensor;
    return set_address(executor, index, "inopmk", address);
}

/* Number of operators; name and argument codes (t s I B L l u i b ? d f D) of one of them. */
API int32_t simOpCount(void) { return op_count; }

API const char *simOpName(int32_t index) { return index >= 0 && index < op_count ? op_infos[index].name : NULL; }

API int32_t simOpSignature(int32_t index, char *codes, size_t size) {
    if (index < 0 || index >= op_count || size == 0) return ACL_INVALID_PARAM;
    static const char from[] = "inopmkszIJBMLESluwbqdfDc", to[] = "ttttttssIIBBLLSluib?dfDz";
    const char *roles = op_infos[index].roles;
    size_t n = 0;
    for (; roles[n] != '\0' && n + 1 < size; n++) codes[n] = to[strchr(from, roles[n]) - from];
    codes[n] = '\0';
    return ACL_OK;
}
