/* Copies and fills: the direction is checked against the registry; asynchronous copies are so only for pinned memory.
 */
#include "sim.h"

enum { KIND_H2H, KIND_H2D, KIND_D2H, KIND_D2D, KIND_DEFAULT };

typedef struct {
    Region dst, src;
    int kind;
} Route;

static int locate(const char *who, const void *p, size_t bytes, bool must_be_device, Region *region) {
    char why[200] = "";
    int device = 0;
    *region = memory_region(p, bytes, &device, why, sizeof why);
    if (*region == REGION_FREED) {
        violation("%s: %s", who, why);
        return fail(RT_PARAM_INVALID, "%s: %s", who, why);
    }
    if ((*region == REGION_DEVICE) != must_be_device) {
        return fail(RT_PARAM_INVALID, "%s: %p is %s memory, which the copy kind does not allow", who, p,
                    must_be_device ? "host" : "device");
    }
    return ACL_OK;
}

static int route_copy(const char *who, void *dst, size_t room, const void *src, size_t bytes, int kind, Route *route) {
    if (dst == NULL || src == NULL) return fail(ACL_INVALID_PARAM, "%s: null address", who);
    if (bytes > room) return fail(RT_PARAM_INVALID, "%s: %zu bytes do not fit in %zu", who, bytes, room);
    if (kind < KIND_H2H || kind > KIND_DEFAULT) return fail(RT_PARAM_INVALID, "%s: copy kind %d", who, kind);
    if (kind == KIND_DEFAULT) {
        char why[200];
        int device;
        bool to = memory_region(dst, bytes, &device, why, sizeof why) >= REGION_DEVICE;
        bool from = memory_region(src, bytes, &device, why, sizeof why) >= REGION_DEVICE;
        kind = to ? (from ? KIND_D2D : KIND_H2D) : (from ? KIND_D2H : KIND_H2H);
    }
    route->kind = kind;
    int code = locate(who, dst, bytes, kind == KIND_H2D || kind == KIND_D2D, &route->dst);
    return code != 0 ? code : locate(who, src, bytes, kind == KIND_D2H || kind == KIND_D2D, &route->src);
}

static void move(void *dst, const void *src, size_t bytes, int kind) {
    if (kind == KIND_H2D || kind == KIND_D2D) dst = device_pointer(dst);
    if (kind == KIND_D2H || kind == KIND_D2D) src = device_pointer(src);
    device_delay(atomic_load(&config()->copy_delay_ns));
    if (config()->copy_gbps > 0) device_delay((uint64_t)((double)bytes / config()->copy_gbps));
    memmove(dst, src, bytes);
    count(&counters.copies, 1);
}

void copy_execute(Stream *stream, Task *task) {
    uint64_t start = activity_ns();
    move(task->copy.dst, task->copy.src, task->copy.bytes, task->copy.kind);
    if (mspti_times_calls()) return;
    mspti_copy(task->copy.kind, task->copy.bytes, stream->device->id, stream->id, task->correlation, task->copy.async,
               start, activity_ns());
}

void set_execute(Stream *stream, Task *task) {
    uint64_t start = activity_ns();
    memset(device_pointer(task->set.dst), task->set.value, task->set.bytes);
    count(&counters.memsets, 1);
    if (mspti_times_calls()) return;
    mspti_set(task->set.value, task->set.bytes, stream->device->id, stream->id, task->correlation, task->set.async,
              start, activity_ns());
}

/* A synchronous copy does not wait for any stream: the caller synchronises first, as on hardware. */
API int32_t aclrtMemcpy(void *dst, size_t room, const void *src, size_t bytes, int32_t kind) {
    Device *device = NULL;
    Route route;
    int code = current_device(&device);
    if (code == 0) code = device_status(device);
    if (code == 0 && bytes == 0) return ACL_OK;
    if (code == 0) code = route_copy("aclrtMemcpy", dst, room, src, bytes, kind, &route);
    if (code != 0) return code;
    bool times_call = mspti_times_calls();
    uint64_t correlation = times_call ? mspti_last_correlation() : mspti_launch(), start = activity_ns();
    move(dst, src, bytes, route.kind);
    mspti_copy(route.kind, bytes, device->id, times_call ? NO_STREAM_ID : device->default_stream->id, correlation,
               false, start, activity_ns());
    return ACL_OK;
}

API int32_t aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int32_t kind, void *handle) {
    Stream *stream = NULL;
    Route route;
    int code = stream_of(handle, &stream);
    if (code == 0) code = device_status(stream->device);
    if (code == 0 && bytes == 0) return ACL_OK;
    if (code == 0) code = route_copy("aclrtMemcpyAsync", dst, room, src, bytes, kind, &route);
    if (code != 0) return code;
    if (route.kind == KIND_H2H) return fail(RT_FEATURE_UNSUPPORTED, "aclrtMemcpyAsync: host to host is not supported");
    Task *task = task_new(TASK_COPY, 2);
    bool times_call = mspti_times_calls();
    uint64_t start = times_call ? activity_ns() : 0;
    task->correlation = times_call ? 0 : mspti_launch();
    task->copy.dst = dst;
    task->copy.src = src;
    task->copy.bytes = bytes;
    task->copy.kind = route.kind;
    bool pageable = route.dst == REGION_PAGEABLE || route.src == REGION_PAGEABLE;
    task->copy.async = !pageable;
    const void *ends[2] = {dst, src};
    Region regions[2] = {route.dst, route.src};
    for (int i = 0; i < 2; i++) {
        Block *block = NULL;
        char why[200];
        int device = stream->device->id;
        if (regions[i] == REGION_PINNED) block = memory_use_pinned(ends[i]);
        if (regions[i] == REGION_DEVICE) { /* the other device's memory is allowed in a copy */
            memory_region(ends[i], bytes, &device, why, sizeof why);
            block = memory_use((uintptr_t)ends[i], (uintptr_t)ends[i] + bytes, device, why, sizeof why);
        }
        if (block != NULL) task->uses[task->use_count++] = block;
    }
    code = stream_submit(stream, task);
    if (code == 0 && pageable) code = stream_wait_all(stream, -1);
    if (code == 0 && times_call) {
        mspti_copy(route.kind, bytes, stream->device->id, handle == NULL ? NO_STREAM_ID : stream->id,
                   mspti_last_correlation(), true, start, activity_ns());
    }
    return code;
}

API int32_t aclrtMemset(void *ptr, size_t room, int32_t value, size_t bytes) {
    Device *device = NULL;
    Region region;
    int code = current_device(&device);
    if (code == 0) code = device_status(device);
    if (code != 0) return code;
    REQUIRE(ptr);
    if (bytes > room) return fail(RT_PARAM_INVALID, "aclrtMemset: %zu bytes do not fit in %zu", bytes, room);
    code = locate("aclrtMemset", ptr, bytes, true, &region);
    if (code != 0) return code;
    bool times_call = mspti_times_calls();
    uint64_t correlation = times_call ? mspti_last_correlation() : mspti_launch(), start = activity_ns();
    memset(device_pointer(ptr), value, bytes);
    count(&counters.memsets, 1);
    mspti_set(value, bytes, device->id, times_call ? NO_STREAM_ID : device->default_stream->id, correlation, false,
              start, activity_ns());
    return ACL_OK;
}

API int32_t aclrtMemsetAsync(void *ptr, size_t room, int32_t value, size_t bytes, void *handle) {
    Stream *stream = NULL;
    Region region;
    int code = stream_of(handle, &stream);
    if (code == 0) code = device_status(stream->device);
    if (code != 0) return code;
    REQUIRE(ptr);
    if (bytes > room) return fail(RT_PARAM_INVALID, "aclrtMemsetAsync: %zu bytes do not fit in %zu", bytes, room);
    code = locate("aclrtMemsetAsync", ptr, bytes, true, &region);
    if (code != 0) return code;
    Task *task = task_new(TASK_SET, 1);
    bool times_call = mspti_times_calls();
    uint64_t start = times_call ? activity_ns() : 0;
    task->correlation = times_call ? 0 : mspti_launch();
    task->set.dst = ptr;
    task->set.bytes = bytes;
    task->set.value = value;
    task->set.async = true;
    task_use(task, ptr, 0, (int64_t)bytes, stream->device->id, "aclrtMemsetAsync");
    code = stream_submit(stream, task);
    if (code == 0 && times_call) {
        mspti_set(value, bytes, stream->device->id, handle == NULL ? NO_STREAM_ID : stream->id,
                  mspti_last_correlation(), true, start, activity_ns());
    }
    return code;
}
