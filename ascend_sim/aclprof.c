/* The collecting profiler (aclprof): its states, handles and settings are checked as documented. What the vendor's
 * library would write for its own export program is written by nobody: the result folder stays as the client made it,
 * so clients take the run for one without device data and still export what they recorded on the host. */
#include "sim.h"

#include <sys/stat.h>
#include <unistd.h>

#define CONFIGS 1024
#define STEP_INFOS 1024

enum {
    PROF_INVALID_FILE = 100003,
    PROF_INVALID_CONFIG = 100010,
    PROF_ALREADY_RUN = 100042,
    PROF_NOT_RUN = 100043,
    METRICS_LAST = 8,
    METRICS_NONE = 0xFF,
    SETTING_FIRST = 1,
    SETTING_LAST = 16,
    STEP_END = 1,
};

typedef struct {
    PoolItem pool;
    uint32_t devices;
    uint64_t data;
} ProfConfig; /* devices: one bit each */
typedef struct {
    PoolItem pool;
    uint64_t times[2];
} StepInfo;

static Pool configs = {.lock = PTHREAD_MUTEX_INITIALIZER, .item_size = sizeof(ProfConfig), .tag = 0x50};
static Pool step_infos = {.lock = PTHREAD_MUTEX_INITIALIZER, .item_size = sizeof(StepInfo), .tag = 0x54};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready;
static uint32_t running;                /* one bit for each device that is profiled */
static uint64_t collected[MAX_DEVICES]; /* what was asked for at the start */

/* ---- life cycle -------------------------------------------------------------------------------- */
API int32_t aclprofInit(const char *folder, size_t length) {
    REQUIRE(folder);
    if (runtime_usable() != ACL_OK) return RT_INTERNAL;
    if (!runtime_initialized()) return fail(ACL_UNINITIALIZED, "aclprofInit needs aclInit first");
    if (length == 0 || length != strlen(folder)) {
        return fail(ACL_INVALID_PARAM, "the path has %zu characters, not %zu", strlen(folder), length);
    }
    struct stat found;
    if (stat(folder, &found) != 0 || !S_ISDIR(found.st_mode) || access(folder, W_OK) != 0) {
        return fail(PROF_INVALID_FILE, "%s is not a folder that can be written to", folder);
    }
    pthread_mutex_lock(&lock);
    bool repeated = ready;
    ready = true;
    pthread_mutex_unlock(&lock);
    return repeated ? fail(ACL_REPEAT_INIT, "the profiler is initialised already") : ACL_OK;
}

API int32_t aclprofFinalize(void) {
    pthread_mutex_lock(&lock);
    bool was_ready = ready;
    ready = false;
    running = 0;
    pthread_mutex_unlock(&lock);
    return was_ready ? ACL_OK : fail(PROF_NOT_RUN, "the profiler is not initialised: call aclprofInit first");
}

/* 0 when the profiler is ready and the handle is alive; the caller holds the lock. */
static int usable_config(const void *handle, ProfConfig **out) {
    if (handle == NULL) return fail(ACL_INVALID_PARAM, "the profiler's configuration is null");
    if (!ready) return fail(PROF_NOT_RUN, "the profiler is not initialised: call aclprofInit first");
    *out = pool_find(&configs, handle);
    return *out ? ACL_OK
                : fail(ACL_INVALID_PARAM, "%p is not a configuration of the profiler, or a destroyed one", handle);
}

API int32_t aclprofStart(const void *handle) {
    ProfConfig *wanted = NULL;
    pthread_mutex_lock(&lock);
    int code = usable_config(handle, &wanted);
    if (code == ACL_OK && (wanted->devices & running) != 0) {
        code = fail(PROF_ALREADY_RUN, "device %d is profiled already", __builtin_ctz(wanted->devices & running));
    }
    for (int d = 0; d < MAX_DEVICES && code == ACL_OK; d++) {
        if (wanted->devices >> d & 1) collected[d] = wanted->data;
    }
    if (code == ACL_OK) running |= wanted->devices;
    pthread_mutex_unlock(&lock);
    return code;
}

API int32_t aclprofStop(const void *handle) {
    ProfConfig *wanted = NULL;
    pthread_mutex_lock(&lock);
    int code = usable_config(handle, &wanted);
    if (code == ACL_OK && (wanted->devices & ~running) != 0) {
        code = fail(PROF_NOT_RUN, "device %d is not profiled", __builtin_ctz(wanted->devices & ~running));
    }
    for (int d = 0; d < MAX_DEVICES && code == ACL_OK; d++) {
        if ((wanted->devices >> d & 1) && collected[d] != wanted->data) {
            code = fail(PROF_INVALID_CONFIG, "device %d was started with %#llx, not with %#llx", d,
                        (unsigned long long)collected[d], (unsigned long long)wanted->data);
        }
    }
    if (code == ACL_OK) running &= ~wanted->devices;
    pthread_mutex_unlock(&lock);
    return code;
}

API int32_t aclprofWarmup(const void *handle) {
    ProfConfig *wanted = NULL;
    pthread_mutex_lock(&lock);
    int code = usable_config(handle, &wanted);
    pthread_mutex_unlock(&lock);
    return code;
}

/* ---- configurations ---------------------------------------------------------------------------- */
static bool device_bits(const uint32_t *ids, uint32_t n, uint32_t *bits) {
    *bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] >= config()->device_count || (*bits >> ids[i] & 1)) {
            fail(RT_INVALID_DEVICE, "device %u does not exist or is named twice", ids[i]);
            return false;
        }
        *bits |= 1u << ids[i];
    }
    return true;
}

API void *aclprofCreateConfig(const uint32_t *ids, uint32_t n, int32_t metrics, const void *events, uint64_t data) {
    uint32_t bits = 0;
    if (n > 0 && ids == NULL) fail(ACL_INVALID_PARAM, "the list of %u devices is null", n);
    else if (events != NULL) fail(ACL_INVALID_PARAM, "events of AI cores must be null");
    else if (metrics != METRICS_NONE && (metrics < 0 || metrics > METRICS_LAST)) {
        fail(ACL_INVALID_PARAM, "metrics of AI cores %d are unknown", metrics);
    } else if (device_bits(ids, n, &bits)) {
        ProfConfig *made = pool_take(&configs, CONFIGS);
        if (made != NULL) {
            made->devices = bits;
            made->data = data;
            atomic_store(&made->pool.live, true);
            return pool_handle(&configs, made);
        }
        fail(ACL_INVALID_PARAM, "there are %d configurations of the profiler that nobody destroyed", CONFIGS);
    }
    return NULL;
}

API int32_t aclprofDestroyConfig(const void *handle) {
    ProfConfig *found = pool_find(&configs, handle);
    if (found == NULL)
        return fail(ACL_INVALID_PARAM, "%p is not a configuration of the profiler, or a destroyed one", handle);
    pool_give(&configs, found);
    return ACL_OK;
}

API int32_t aclprofSetConfig(int32_t setting, const char *value, size_t length) {
    REQUIRE(value);
    if (setting < SETTING_FIRST || setting > SETTING_LAST)
        return fail(ACL_INVALID_PARAM, "setting %d is unknown", setting);
    if (length == 0 || length != strlen(value)) {
        return fail(ACL_INVALID_PARAM, "the value has %zu characters, not %zu", strlen(value), length);
    }
    pthread_mutex_lock(&lock);
    bool was_ready = ready;
    pthread_mutex_unlock(&lock);
    return was_ready ? ACL_OK : fail(PROF_NOT_RUN, "the profiler is not initialised: call aclprofInit first");
}

API int32_t aclprofRegisterDeviceCallback(void) { return ACL_OK; } /* nothing happens on a device that it could tell */

/* ---- marks and steps --------------------------------------------------------------------------- */
API int32_t aclprofMarkEx(const char *text, size_t length, void *handle) {
    REQUIRE(text);
    Stream *stream;
    if (length == 0) return fail(ACL_INVALID_PARAM, "the mark has no text");
    return stream_of(handle, &stream);
}

API void *aclprofCreateStepInfo(void) {
    StepInfo *made = pool_take(&step_infos, STEP_INFOS);
    if (made == NULL) return NULL;
    memset(made->times, 0, sizeof made->times);
    atomic_store(&made->pool.live, true);
    return pool_handle(&step_infos, made);
}

API void aclprofDestroyStepInfo(void *handle) {
    StepInfo *found = pool_find(&step_infos, handle);
    if (found != NULL) pool_give(&step_infos, found);
}

API int32_t aclprofGetStepTimestamp(void *handle, int32_t tag, void *stream_handle_) {
    StepInfo *found = pool_find(&step_infos, handle);
    if (found == NULL) return fail(ACL_INVALID_PARAM, "%p is not a step, or a destroyed one", handle);
    if (tag < 0 || tag > STEP_END) return fail(ACL_INVALID_PARAM, "the tag %d is neither start (0) nor end (1)", tag);
    Stream *stream;
    int code = stream_of(stream_handle_, &stream);
    if (code == ACL_OK) found->times[tag] = device_tick(stream->device->id);
    return code;
}

/* An old driver's version: clients then stamp host records with the monotonic clock instead of a hardware counter. */
API int32_t halGetAPIVersion(int32_t *version) {
    REQUIRE(version);
    *version = 0x070000;
    return ACL_OK;
}
