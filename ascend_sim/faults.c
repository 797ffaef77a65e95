/* Fault injection and per-operator delays, set by the environment or by test symbols.
 *
 * ASCEND_SIM_FAULT_KERNEL=N makes the Nth kernel from now on raise ASCEND_SIM_FAULT_CODE (507015). */
#include "sim.h"

#define RULES 32

typedef struct {
    char op[48];
    uint64_t delay_ns;
    bool used;
} DelayRule;
typedef void (*ExceptionCallback)(void *info);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int64_t countdown; /* 0: none */
static int fault_code = RT_AICORE_EXCEPTION;
static char fault_op[48];
static DelayRule rules[RULES];
static _Atomic int rule_count;
static _Atomic bool armed;
static ExceptionCallback exception_callback;

static void load(void) {
    const char *nth = getenv("ASCEND_SIM_FAULT_KERNEL"), *code = getenv("ASCEND_SIM_FAULT_CODE");
    const char *op = getenv("ASCEND_SIM_FAULT_OP");
    if (nth != NULL) countdown = strtoll(nth, NULL, 10);
    if (code != NULL) fault_code = atoi(code);
    if (op != NULL) snprintf(fault_op, sizeof fault_op, "%s", op);
    atomic_store(&armed, countdown > 0);
}

int fault_for_kernel(const char *op, char *text, size_t size) {
    pthread_once(&once, load);
    if (!atomic_load(&armed)) return 0;
    int code = 0;
    pthread_mutex_lock(&lock);
    if (countdown > 0 && (fault_op[0] == '\0' || strcmp(fault_op, op) == 0) && --countdown == 0) {
        code = fault_code;
        atomic_store(&armed, false);
        snprintf(text, size, "injected fault in kernel %s", op);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

uint64_t delay_for_kernel(const char *op) {
    if (atomic_load(&rule_count) > 0) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < rule_count; i++) {
            if (strcmp(rules[i].op, op) != 0) continue;
            uint64_t delay = rules[i].delay_ns;
            pthread_mutex_unlock(&lock);
            return delay;
        }
        pthread_mutex_unlock(&lock);
    }
    return atomic_load(&config()->kernel_delay_ns);
}

/* The nth kernel (1 = the next one; of operator `op` if given) raises `code`; nth 0 disarms. */
API void simFaultKernel(uint64_t nth, int32_t code, const char *op) {
    pthread_once(&once, load);
    pthread_mutex_lock(&lock);
    countdown = (int64_t)nth;
    fault_code = code != 0 ? code : RT_AICORE_EXCEPTION;
    snprintf(fault_op, sizeof fault_op, "%s", op != NULL ? op : "");
    atomic_store(&armed, nth > 0);
    pthread_mutex_unlock(&lock);
}

API void simSetKernelDelay(uint64_t ns) { atomic_store(&config()->kernel_delay_ns, ns); }
API void simSetCopyDelay(uint64_t ns) { atomic_store(&config()->copy_delay_ns, ns); }

/* Delay of one operator, e.g. "Add"; it replaces the general delay. NULL forgets all such delays. */
API int32_t simSetOpDelay(const char *op, uint64_t ns) {
    int code = ACL_OK;
    pthread_mutex_lock(&lock);
    int at = 0;
    if (op == NULL) {
        rule_count = 0;
    } else {
        while (at < rule_count && strcmp(rules[at].op, op) != 0) at++;
        if (at == RULES) {
            code = RT_PARAM_INVALID;
        } else {
            snprintf(rules[at].op, sizeof rules[at].op, "%s", op);
            rules[at].delay_ns = ns;
            if (at == rule_count) rule_count++;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- exception callback ------------------------------------------------------------------------ */
typedef struct {
    uint32_t task, stream, thread, device, code;
} ExceptionInfo;

void exception_notify(uint32_t task, uint32_t stream, uint32_t thread, uint32_t device, uint32_t code) {
    pthread_mutex_lock(&lock);
    ExceptionCallback callback = exception_callback;
    pthread_mutex_unlock(&lock);
    ExceptionInfo info = {task, stream, thread, device, code};
    if (callback != NULL) callback(&info);
}

API int32_t aclrtSetExceptionInfoCallback(ExceptionCallback callback) {
    pthread_mutex_lock(&lock);
    exception_callback = callback;
    pthread_mutex_unlock(&lock);
    return ACL_OK;
}

API uint32_t aclrtGetTaskIdFromExceptionInfo(const ExceptionInfo *info) { return info ? info->task : UINT32_MAX; }
API uint32_t aclrtGetStreamIdFromExceptionInfo(const ExceptionInfo *info) { return info ? info->stream : UINT32_MAX; }
API uint32_t aclrtGetThreadIdFromExceptionInfo(const ExceptionInfo *info) { return info ? info->thread : UINT32_MAX; }
API uint32_t aclrtGetDeviceIdFromExceptionInfo(const ExceptionInfo *info) { return info ? info->device : UINT32_MAX; }
API uint32_t aclrtGetErrorCodeFromExceptionInfo(const ExceptionInfo *info) { return info ? info->code : UINT32_MAX; }
