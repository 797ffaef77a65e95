/* Error texts are per thread and consumed by reading; violations are process wide and read by tests. */
#include "sim.h"

#define TEXT 1024

static _Thread_local char message[TEXT], handed_out[TEXT];
static _Thread_local int last_error;

static pthread_mutex_t violation_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_violation[TEXT];

void set_thread_message(const char *text) { snprintf(message, sizeof message, "%s", text); }

int fail(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int used = snprintf(message, sizeof message, "[ascend_sim] E%d: ", code);
    vsnprintf(message + used, sizeof message - (size_t)used, format, args);
    va_end(args);
    last_error = code;
    return code;
}

void violation(const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&violation_lock);
    vsnprintf(last_violation, sizeof last_violation, format, args);
    if (!config()->quiet) fprintf(stderr, "ascend_sim: violation: %s\n", last_violation);
    pthread_mutex_unlock(&violation_lock);
    va_end(args);
    count(&counters.violations, 1);
}

API const char *aclGetRecentErrMsg(void) {
    if (message[0] == '\0') return NULL;
    memcpy(handed_out, message, sizeof handed_out);
    message[0] = '\0';
    return handed_out;
}

API int32_t aclrtGetLastError(int32_t level) {
    (void)level;
    int code = last_error;
    last_error = 0;
    return code;
}

API int32_t aclrtPeekAtLastError(int32_t level) {
    (void)level;
    return last_error;
}

/* Copies the latest violation text; returns how many there were. */
API uint64_t simLastViolation(char *buffer, size_t size) {
    pthread_mutex_lock(&violation_lock);
    if (buffer != NULL && size > 0) snprintf(buffer, size, "%s", last_violation);
    pthread_mutex_unlock(&violation_lock);
    return atomic_load(&counters.violations);
}

API void simClearViolations(void) {
    pthread_mutex_lock(&violation_lock);
    last_violation[0] = '\0';
    pthread_mutex_unlock(&violation_lock);
    atomic_store(&counters.violations, 0);
}
