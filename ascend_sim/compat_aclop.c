/* The older single-operator interface. Descriptions can be built, so that a client reaches the launch, which is refused
 * with the name of the operator: that tells which aclnn function is missing. Profiling hooks answer that nobody listens. */
#include "sim.h"

typedef struct { int32_t dtype, format, ndim; int64_t dims[MAX_DIMS]; } Description;
typedef struct { void *data; size_t size; } DataBuffer;

API Description *aclCreateTensorDesc(int32_t dtype, int32_t ndim, const int64_t *dims, int32_t format) {
    if (ndim < 0 || ndim > MAX_DIMS || (ndim > 0 && dims == NULL)) return NULL;
    Description *d = calloc(1, sizeof *d);
    d->dtype = dtype;
    d->format = format;
    d->ndim = ndim;
    for (int32_t i = 0; i < ndim; i++) d->dims[i] = dims[i];
    return d;
}

API void aclDestroyTensorDesc(const Description *d) { free((void *)d); }
API int32_t aclGetTensorDescType(const Description *d) { return d ? d->dtype : DT_UNDEFINED; }
API int32_t aclGetTensorDescFormat(const Description *d) { return d ? d->format : -1; }
API size_t aclGetTensorDescNumDims(const Description *d) { return d ? (size_t)d->ndim : 0; }

API int32_t aclGetTensorDescDimV2(const Description *d, size_t index, int64_t *size) {
    REQUIRE(d);
    REQUIRE(size);
    if (index >= (size_t)d->ndim) return fail(ACL_INVALID_PARAM, "dimension %zu of %d", index, d->ndim);
    *size = d->dims[index];
    return ACL_OK;
}

API int32_t aclSetTensorFormat(Description *d, int32_t format) {
    (void)format;
    REQUIRE(d);
    return ACL_OK;
}

API int32_t aclSetTensorShape(Description *d, int32_t ndim, const int64_t *dims) {
    (void)ndim, (void)dims;
    REQUIRE(d);
    return ACL_OK;
}

API int32_t aclSetTensorPlaceMent(Description *d, int32_t place) {
    (void)place;
    REQUIRE(d);
    return ACL_OK;
}

API void aclSetTensorDescName(Description *d, const char *name) { (void)d, (void)name; }

API DataBuffer *aclCreateDataBuffer(void *data, size_t size) {
    DataBuffer *buffer = malloc(sizeof *buffer);
    *buffer = (DataBuffer){data, size};
    return buffer;
}

API int32_t aclDestroyDataBuffer(const DataBuffer *buffer) {
    free((void *)buffer);
    return ACL_OK;
}

API void *aclopCreateAttr(void) { return calloc(1, 8); }
API void aclopDestroyAttr(const void *attributes) { free((void *)attributes); }

#define ATTRIBUTE(name)                                                                                              \
    API int32_t name(void *attributes) {                                                                             \
        REQUIRE(attributes);                                                                                         \
        return ACL_OK;                                                                                               \
    }

ATTRIBUTE(aclopSetAttrBool)
ATTRIBUTE(aclopSetAttrInt)
ATTRIBUTE(aclopSetAttrFloat)
ATTRIBUTE(aclopSetAttrString)
ATTRIBUTE(aclopSetAttrDataType)
ATTRIBUTE(aclopSetAttrListBool)
ATTRIBUTE(aclopSetAttrListInt)
ATTRIBUTE(aclopSetAttrListFloat)
ATTRIBUTE(aclopSetAttrListListInt)

API int32_t aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int32_t kind, void *stream);

/* Only the copy between plain formats is modelled, which clients use where a change of format changes nothing. */
API int32_t aclopCompileAndExecute(const char *op, int32_t n_in, const Description *const *in_shapes, const DataBuffer *const *in,
                                   int32_t n_out, const Description *const *out_shapes, DataBuffer *const *out,
                                   const void *attributes, int32_t engine, int32_t flag, const char *path, void *stream) {
    (void)in_shapes, (void)out_shapes, (void)attributes, (void)engine, (void)flag, (void)path;
    if (op != NULL && strcmp(op, "Identity") == 0 && n_in >= 1 && n_out == 1) {
        size_t bytes = in[0]->size < out[0]->size ? in[0]->size : out[0]->size;
        return aclrtMemcpyAsync(out[0]->data, out[0]->size, in[0]->data, bytes, 3, stream);
    }
    return fail(RT_FEATURE_UNSUPPORTED, "operator %s: the simulator has no aclop operators, only aclnn ones", op ? op : "?");
}

API int32_t aclopCompileAndExecuteV2(const char *op) {
    return fail(RT_FEATURE_UNSUPPORTED, "operator %s: the simulator has no aclop operators, only aclnn ones", op ? op : "?");
}

API int32_t MsprofRegisterCallback(void) { return ACL_OK; }
API int32_t MsprofReportApi(void) { return ACL_OK; }
API int32_t MsprofReportCompactInfo(void) { return ACL_OK; }
API int32_t MsprofReportAdditionalInfo(void) { return ACL_OK; }
API uint64_t MsprofGetHashId(void) { return 0; }
API uint64_t MsprofSysCycleTime(void) { return device_tick(0); }
