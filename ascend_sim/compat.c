/* Entry points that clients link or probe and that a simulator can answer cheaply: settings are kept and read back,
 * what is not modelled answers 207000 (feature not supported) and says so. */
#include "sim.h"

#include <unistd.h>

#define OPTIONS 32
#define OPTION_TEXT 128

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- settings that are only remembered --------------------------------------------------------- */
static int32_t saturation_mode[MAX_DEVICES];
static int64_t system_options[OPTIONS];
static char compile_options[OPTIONS][OPTION_TEXT];
static uint32_t overflow_switch;

API int32_t aclrtSetDeviceSatMode(int32_t mode) {
    Device *device = NULL;
    int code = current_device(&device);
    if (code == 0) saturation_mode[device->id] = mode;
    return code;
}

API int32_t aclrtGetDeviceSatMode(int32_t *mode) {
    REQUIRE(mode);
    Device *device = NULL;
    int code = current_device(&device);
    if (code == 0) *mode = saturation_mode[device->id];
    return code;
}

API int32_t aclrtSetSysParamOpt(int32_t option, int64_t value) {
    if (option < 0 || option >= OPTIONS) return fail(RT_PARAM_INVALID, "system option %d is unknown", option);
    pthread_mutex_lock(&lock);
    system_options[option] = value;
    pthread_mutex_unlock(&lock);
    return ACL_OK;
}

API int32_t aclrtGetSysParamOpt(int32_t option, int64_t *value) {
    REQUIRE(value);
    if (option < 0 || option >= OPTIONS) return fail(RT_PARAM_INVALID, "system option %d is unknown", option);
    pthread_mutex_lock(&lock);
    *value = system_options[option];
    pthread_mutex_unlock(&lock);
    return ACL_OK;
}

API int32_t aclrtCtxSetSysParamOpt(int32_t option, int64_t value) { return aclrtSetSysParamOpt(option, value); }
API int32_t aclrtCtxGetSysParamOpt(int32_t option, int64_t *value) { return aclrtGetSysParamOpt(option, value); }

API int32_t aclSetCompileopt(int32_t option, const char *value) {
    REQUIRE(value);
    if (option < 0 || option >= OPTIONS) return fail(RT_PARAM_INVALID, "compile option %d is unknown", option);
    pthread_mutex_lock(&lock);
    snprintf(compile_options[option], OPTION_TEXT, "%s", value);
    pthread_mutex_unlock(&lock);
    return ACL_OK;
}

API size_t aclGetCompileoptSize(int32_t option) { return option >= 0 && option < OPTIONS ? OPTION_TEXT : 0; }

API int32_t aclGetCompileopt(int32_t option, char *value, size_t size) {
    REQUIRE(value);
    if (option < 0 || option >= OPTIONS) return fail(RT_PARAM_INVALID, "compile option %d is unknown", option);
    pthread_mutex_lock(&lock);
    snprintf(value, size, "%s", compile_options[option]);
    pthread_mutex_unlock(&lock);
    return ACL_OK;
}

API int32_t aclrtSetOpExecuteTimeOut(uint32_t seconds) {
    (void)seconds;
    return ACL_OK;
}

API int32_t aclrtSetOpExecuteTimeOutWithMs(uint32_t ms) {
    (void)ms;
    return ACL_OK;
}

API int32_t aclrtSetOpExecuteTimeOutV2(uint64_t us, uint64_t *actual) {
    if (actual != NULL) *actual = us;
    return ACL_OK;
}

API int32_t aclrtSetOpWaitTimeout(uint32_t seconds) {
    (void)seconds;
    return ACL_OK;
}

API int32_t aclrtSetStreamFailureMode(void *handle, uint64_t mode) {
    (void)mode;
    Stream *stream;
    return stream_of(handle, &stream);
}

API int32_t aclrtSetStreamOverflowSwitch(void *handle, uint32_t flag) {
    Stream *stream;
    int code = stream_of(handle, &stream);
    if (code == 0) overflow_switch = flag;
    return code;
}

API int32_t aclrtGetStreamOverflowSwitch(void *handle, uint32_t *flag) {
    REQUIRE(flag);
    Stream *stream;
    int code = stream_of(handle, &stream);
    if (code == 0) *flag = overflow_switch;
    return code;
}

/* ---- facts about the machine ------------------------------------------------------------------- */
API int32_t aclrtDeviceCanAccessPeer(int32_t *can, int32_t device, int32_t peer) {
    REQUIRE(can);
    int32_t n = (int32_t)config()->device_count;
    *can = device != peer && device >= 0 && peer >= 0 && device < n && peer < n;
    return ACL_OK;
}

API int32_t aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
    (void)flags;
    if (peer >= 0 && peer < (int32_t)config()->device_count) return ACL_OK;
    return fail(RT_INVALID_DEVICE, "device %d does not exist", peer);
}

API int32_t aclrtDeviceDisablePeerAccess(int32_t peer) { return aclrtDeviceEnablePeerAccess(peer, 0); }

API int32_t aclrtDeviceGetBareTgid(int32_t *pid) {
    REQUIRE(pid);
    *pid = (int32_t)getpid();
    return ACL_OK;
}

typedef struct {
    int32_t cube, vector, aicpu, memory;
    void *more;
} Utilization; /* percent */

API int32_t aclrtGetDeviceUtilizationRate(int32_t device, Utilization *rate) {
    REQUIRE(rate);
    if (device < 0 || device >= (int32_t)config()->device_count) {
        return fail(RT_INVALID_DEVICE, "device %d does not exist", device);
    }
    uint64_t used = atomic_load(&counters.live_bytes) * 100 / config()->hbm_bytes; /* of all devices together */
    rate->cube = rate->vector = rate->aicpu = 0; /* its work takes no part of a real device */
    rate->memory = (int32_t)(used < 100 ? used : 100);
    return ACL_OK;
}

API int32_t aclrtGetLogicDevIdByUserDevId(int32_t user, int32_t *logic) {
    REQUIRE(logic);
    *logic = user;
    return ACL_OK;
}

API void aclAppLog(int32_t level, const char *function, const char *file, uint32_t line, const char *format, ...) {
    (void)level, (void)function, (void)file, (void)line, (void)format;
}

API int32_t aclmdlInitDump(void) { return ACL_OK; }
API int32_t aclmdlFinalizeDump(void) { return ACL_OK; }

/* ---- callbacks run by a subscribed thread ------------------------------------------------------ */
typedef struct Call {
    struct Call *next;
    void (*fn)(void *);
    void *arg;
    bool block, done;
} Call;

static pthread_cond_t call_cond;
static pthread_once_t calls_once = PTHREAD_ONCE_INIT;
static Call *calls, **calls_tail = &calls;

static void init_calls(void) { cond_init_monotonic(&call_cond); }

static void post_call(void *argument) { /* runs on the worker: waits until the subscribed thread ran a blocking call */
    Call *call = argument;
    pthread_mutex_lock(&lock);
    bool block = call->block;
    call->next = NULL;
    *calls_tail = call;
    calls_tail = &call->next;
    pthread_cond_broadcast(&call_cond);
    while (block && !call->done) pthread_cond_wait(&call_cond, &lock);
    pthread_mutex_unlock(&lock);
    if (block) free(call);
}

API int32_t aclrtLaunchHostFunc(void *handle, void (*fn)(void *), void *argument);

API int32_t aclrtSubscribeReport(uint64_t thread, void *handle) {
    (void)thread;
    Stream *stream;
    pthread_once(&calls_once, init_calls);
    return stream_of(handle, &stream);
}

API int32_t aclrtUnSubscribeReport(uint64_t thread, void *handle) { return aclrtSubscribeReport(thread, handle); }

API int32_t aclrtLaunchCallback(void (*fn)(void *), void *argument, int32_t block, void *handle) {
    REQUIRE(fn);
    pthread_once(&calls_once, init_calls);
    Call *call = calloc(1, sizeof *call);
    *call = (Call){NULL, fn, argument, block != 0, false};
    int code = aclrtLaunchHostFunc(handle, post_call, call);
    if (code != 0) free(call);
    return code;
}

API int32_t aclrtProcessReport(int32_t timeout) {
    pthread_once(&calls_once, init_calls);
    struct timespec until;
    if (timeout >= 0) deadline_after(&until, timeout);
    pthread_mutex_lock(&lock);
    int code = 0;
    while (calls == NULL && code == 0) {
        code = timeout < 0 ? pthread_cond_wait(&call_cond, &lock) : pthread_cond_timedwait(&call_cond, &lock, &until);
    }
    Call *call = calls;
    if (call != NULL) {
        calls = call->next;
        if (calls == NULL) calls_tail = &calls;
    }
    pthread_mutex_unlock(&lock);
    if (call == NULL) return fail(RT_WAIT_TIMEOUT, "no callback in %d ms", timeout);
    bool block = call->block;
    call->fn(call->arg);
    pthread_mutex_lock(&lock);
    call->done = true;
    pthread_cond_broadcast(&call_cond);
    pthread_mutex_unlock(&lock);
    if (!block) free(call);
    return ACL_OK;
}

/* ---- not modelled ------------------------------------------------------------------------------ */
#define REFUSED(name)                                                                                                  \
    API int32_t name(void) { return fail(RT_FEATURE_UNSUPPORTED, #name " is not modelled by the simulator"); }

REFUSED(aclmdlSetDump)
REFUSED(aclrtReserveMemAddress)
REFUSED(aclrtReleaseMemAddress)
REFUSED(aclrtMallocPhysical)
REFUSED(aclrtFreePhysical)
REFUSED(aclrtMapMem)
REFUSED(aclrtUnmapMem)
REFUSED(aclrtMemExportToShareableHandle)
REFUSED(aclrtMemImportFromShareableHandle)
REFUSED(aclrtMemSetPidToShareableHandle)
REFUSED(aclrtBinaryLoadFromData)
REFUSED(aclrtBinaryGetFunction)
REFUSED(aclrtGetFunctionAddr)
REFUSED(rtDevBinaryRegister)
REFUSED(rtFunctionRegister)
REFUSED(rtKernelLaunch)
REFUSED(rtGetC2cCtrlAddr)
