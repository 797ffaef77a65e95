/* Initialisation, devices and contexts. The current device is a property of the thread. */
#include "sim.h"

#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    PoolItem pool;
    Device *device;
} Context;

static Pool contexts = {.lock = PTHREAD_MUTEX_INITIALIZER, .item_size = sizeof(Context), .tag = 0x43};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t devices_once = PTHREAD_ONCE_INIT;
static Device devices[MAX_DEVICES];
static _Atomic bool initialized, finalized, forked;
static _Thread_local Device *current;
static _Thread_local void *current_context;

static void note_fork(void) { atomic_store(&forked, true); }

static void init_devices(void) {
    for (int i = 0; i < MAX_DEVICES; i++) {
        devices[i].id = i;
        pthread_mutex_init(&devices[i].lock, NULL);
    }
    pthread_atfork(NULL, NULL, note_fork);
}

bool runtime_forked(void) { return atomic_load(&forked); }
bool runtime_initialized(void) { return atomic_load(&initialized); }

int runtime_usable(void) {
    if (!atomic_load(&forked)) return ACL_OK;
    return fail(RT_INTERNAL, "the device cannot be used in a forked child process");
}

Device *device_at(int id) { return &devices[id]; }

int current_device(Device **out) {
    if (atomic_load(&forked)) return runtime_usable();
    if (current == NULL || !current->ready) {
        return fail(RT_CONTEXT_NULL, "this thread has no current device: call aclrtSetDevice first");
    }
    *out = current;
    return ACL_OK;
}

/* ---- device errors ----------------------------------------------------------------------------- */
int device_status(Device *device) {
    int code = atomic_load(&device->error);
    if (code == 0) return ACL_OK;
    char text[sizeof device->error_text];
    pthread_mutex_lock(&device->lock);
    memcpy(text, device->error_text, sizeof text);
    pthread_mutex_unlock(&device->lock);
    return fail(code, "%s", text);
}

void device_fault(Device *device, int code, uint32_t stream_id, uint64_t task_id, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&device->lock);
    bool first = atomic_load(&device->error) == 0;
    if (first) vsnprintf(device->error_text, sizeof device->error_text, format, args);
    pthread_mutex_unlock(&device->lock);
    va_end(args);
    if (!first) return;
    atomic_store(&device->error, code);
    count(&counters.faults, 1);
    exception_notify((uint32_t)task_id, stream_id, (uint32_t)syscall(SYS_gettid), (uint32_t)device->id, (uint32_t)code);
}

API int32_t simDeviceError(int32_t device) {
    return device >= 0 && device < MAX_DEVICES ? atomic_load(&devices[device].error) : RT_INVALID_DEVICE;
}

API void simClearDeviceError(int32_t device) {
    if (device >= 0 && device < MAX_DEVICES) atomic_store(&devices[device].error, 0);
}

/* ---- initialisation ---------------------------------------------------------------------------- */
API int32_t aclInit(const char *config_path) {
    (void)config_path;
    if (runtime_usable() != 0) return runtime_usable();
    pthread_once(&devices_once, init_devices);
    if (atomic_exchange(&initialized, true)) return fail(ACL_REPEAT_INIT, "aclInit was called before");
    atomic_store(&finalized, false);
    return ACL_OK;
}

API int32_t aclrtResetDevice(int32_t id);

API int32_t aclFinalize(void) {
    if (runtime_usable() != 0) return runtime_usable();
    if (atomic_load(&finalized)) return fail(ACL_REPEAT_FINALIZE, "aclFinalize was called before");
    if (!atomic_load(&initialized)) return fail(ACL_UNINITIALIZED, "aclFinalize without aclInit");
    for (int i = 0; i < MAX_DEVICES; i++) {
        if (devices[i].ready) aclrtResetDevice(i);
    }
    atomic_store(&initialized, false);
    atomic_store(&finalized, true);
    return ACL_OK;
}

API int32_t aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch) {
    REQUIRE(major);
    REQUIRE(minor);
    REQUIRE(patch);
    *major = 1;
    *minor = 17;
    *patch = 0;
    return ACL_OK;
}

API const char *aclrtGetSocName(void) { return config()->soc.name; }

API int32_t simIsSimulator(void) { return 1; }

/* ---- devices ----------------------------------------------------------------------------------- */
static int make_ready(Device *device) {
    int code = ACL_OK;
    pthread_mutex_lock(&lock);
    if (!device->ready) {
        code = stream_make(device, 0, 0, &device->default_stream);
        Context *context = code == 0 ? pool_take(&contexts, UINT32_MAX) : NULL;
        if (context != NULL) {
            context->device = device;
            atomic_store(&context->pool.live, true);
            device->context = pool_handle(&contexts, context);
            device->ready = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int check_id(int32_t id) {
    if (runtime_usable() != 0) return runtime_usable();
    if (id >= 0 && id < (int32_t)config()->device_count) return ACL_OK;
    return fail(RT_INVALID_DEVICE, "device %d does not exist, there are %u", id, config()->device_count);
}

API int32_t aclrtSetDevice(int32_t id) {
    int code = check_id(id);
    if (code != 0) return code;
    if (!atomic_load(&initialized)) return fail(ACL_UNINITIALIZED, "aclrtSetDevice before aclInit");
    code = make_ready(&devices[id]);
    if (code != 0) return code;
    current = &devices[id];
    current_context = current->context;
    return ACL_OK;
}

API int32_t aclrtGetDevice(int32_t *id) {
    REQUIRE(id);
    Device *device = NULL;
    int code = current_device(&device);
    if (code == 0) *id = device->id;
    return code;
}

/* Destroys the streams, frees the memory and clears the error of a device. */
API int32_t aclrtResetDevice(int32_t id) {
    int code = check_id(id);
    if (code != 0) return code;
    Device *device = &devices[id];
    pthread_mutex_lock(&lock);
    bool was_ready = device->ready;
    device->ready = false;
    pthread_mutex_unlock(&lock);
    if (was_ready) {
        Context *context = pool_find(&contexts, device->context);
        if (context != NULL) pool_give(&contexts, context);
        if (atomic_load(&device->error) == 0) device_wait_all(device, -1);
        streams_close_device(device);
        memory_reset_device(id);
        atomic_store(&device->error, 0);
    }
    if (current == device) current = NULL;
    return ACL_OK;
}

API int32_t aclrtResetDeviceForce(int32_t id) { return aclrtResetDevice(id); }

API int32_t aclrtGetDeviceCount(uint32_t *n) {
    REQUIRE(n);
    *n = config()->device_count;
    return ACL_OK;
}

API int32_t aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    Device *device = NULL;
    int code = current_device(&device);
    return code != 0 ? code : device_wait_all(device, timeout);
}

API int32_t aclrtSynchronizeDevice(void) { return aclrtSynchronizeDeviceWithTimeout(-1); }

API int32_t aclrtGetRunMode(int32_t *mode) {
    REQUIRE(mode);
    *mode = 1;
    return ACL_OK;
}

API int32_t aclGetDeviceCapability(uint32_t id, int32_t what, int64_t *value) {
    REQUIRE(value);
    int code = check_id((int32_t)id);
    if (code != 0) return code;
    const SocProfile *soc = &config()->soc;
    switch (what) {
    case 0: *value = soc->cores; return ACL_OK;
    case 1: *value = soc->vector_cores; return ACL_OK;
    case 2: *value = (int64_t)192 << 20; return ACL_OK;
    default: return fail(RT_FEATURE_UNSUPPORTED, "aclGetDeviceCapability: %d is not modelled", what);
    }
}

enum { ATTR_AICPU_CORES = 1, ATTR_AICORE_CORES = 101, ATTR_CUBE_CORES = 102, ATTR_VECTOR_CORES = 201 };

API int32_t aclrtGetDeviceInfo(uint32_t id, int32_t attribute, int64_t *value) {
    REQUIRE(value);
    int code = check_id((int32_t)id);
    if (code != 0) return code;
    const SocProfile *soc = &config()->soc;
    switch (attribute) {
    case ATTR_AICPU_CORES: *value = 6; return ACL_OK;
    case ATTR_AICORE_CORES:
    case ATTR_CUBE_CORES: *value = soc->cores; return ACL_OK;
    case ATTR_VECTOR_CORES: *value = soc->vector_cores; return ACL_OK;
    default: *value = 0; return ACL_OK;
    }
}

/* ---- contexts ---------------------------------------------------------------------------------- */
API int32_t aclrtCreateContext(void **handle, int32_t id) {
    REQUIRE(handle);
    int code = aclrtSetDevice(id);
    if (code != 0) return code;
    Context *context = pool_take(&contexts, UINT32_MAX);
    context->device = &devices[id];
    atomic_store(&context->pool.live, true);
    *handle = current_context = pool_handle(&contexts, context);
    return ACL_OK;
}

API int32_t aclrtDestroyContext(void *handle) {
    Context *context = pool_find(&contexts, handle);
    if (context == NULL) return fail(RT_INVALID_HANDLE, "context %p does not exist", handle);
    if (handle == context->device->context) {
        return fail(RT_PARAM_INVALID, "the default context cannot be destroyed; reset the device instead");
    }
    pool_give(&contexts, context);
    if (current_context == handle) {
        current_context = NULL;
        current = NULL;
    }
    return ACL_OK;
}

API int32_t aclrtSetCurrentContext(void *handle) {
    if (runtime_usable() != 0) return runtime_usable();
    Context *context = pool_find(&contexts, handle);
    if (context == NULL) return fail(RT_INVALID_HANDLE, "context %p does not exist", handle);
    current = context->device;
    current_context = handle;
    return ACL_OK;
}

API int32_t aclrtGetCurrentContext(void **handle) {
    REQUIRE(handle);
    Device *device = NULL;
    int code = current_device(&device);
    if (code == 0) *handle = current_context;
    return code;
}

API int32_t aclrtGetPrimaryCtxState(int32_t id, uint32_t *flags, int32_t *active) {
    int code = check_id(id);
    if (code != 0) return code;
    if (flags != NULL) *flags = 0;
    if (active != NULL) *active = devices[id].ready;
    return ACL_OK;
}

API int32_t aclrtCtxGetCurrentDefaultStream(void **stream) {
    REQUIRE(stream);
    Device *device = NULL;
    int code = current_device(&device);
    if (code == 0) *stream = stream_handle(device->default_stream);
    return code;
}
