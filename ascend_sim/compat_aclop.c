/* The older single-operator interface. Descriptions and attributes can be built for every operator, so that a client
 * reaches the launch; what has no kernel (aclop_launch.c lists what has) is refused there by its name, which tells what
 * is missing. Profiling hooks answer that nobody listens. */
#include "aclop.h"

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

API int32_t aclSetTensorPlaceMent(Description *d, int32_t region) {
    (void)region;
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

/* ---- attributes -------------------------------------------------------------------------------- */
API Attributes *aclopCreateAttr(void) { return calloc(1, sizeof(Attributes)); }
API void aclopDestroyAttr(const Attributes *attributes) { free((void *)attributes); }

const Attribute *attribute_named(const Attributes *attributes, const char *name) {
    for (int i = 0; attributes != NULL && i < attributes->count; i++) {
        if (strcmp(attributes->v[i].name, name) == 0) return &attributes->v[i];
    }
    return NULL;
}

double attribute_number(const Attributes *attributes, const char *name, double otherwise) {
    const Attribute *found = attribute_named(attributes, name);
    return found != NULL ? found->number : otherwise;
}

const char *attribute_text(const Attributes *attributes, const char *name, const char *otherwise) {
    const Attribute *found = attribute_named(attributes, name);
    return found != NULL ? found->text : otherwise;
}

/* Room for one more attribute. Names and lists that are too long belong to operators without a kernel: they are
 * dropped. */
static int attribute_new(Attributes *attributes, const char *name, Attribute **out) {
    static _Thread_local Attribute dropped;
    REQUIRE(attributes);
    REQUIRE(name);
    bool fits = attributes->count < ATTRIBUTES && strlen(name) < ATTRIBUTE_TEXT;
    *out = fits ? &attributes->v[attributes->count++] : &dropped;
    **out = (Attribute){0};
    if (fits) strcpy((*out)->name, name);
    return ACL_OK;
}

#define NUMBER_ATTRIBUTE(function, type)                                                                               \
    API int32_t function(Attributes *attributes, const char *name, type value) {                                       \
        Attribute *made = NULL;                                                                                        \
        int code = attribute_new(attributes, name, &made);                                                             \
        if (code == ACL_OK) made->number = (double)value;                                                              \
        return code;                                                                                                   \
    }
NUMBER_ATTRIBUTE(aclopSetAttrBool, uint8_t)
NUMBER_ATTRIBUTE(aclopSetAttrInt, int64_t)
NUMBER_ATTRIBUTE(aclopSetAttrFloat, float)
NUMBER_ATTRIBUTE(aclopSetAttrDataType, int32_t)

API int32_t aclopSetAttrString(Attributes *attributes, const char *name, const char *value) {
    Attribute *made = NULL;
    REQUIRE(value);
    int code = attribute_new(attributes, name, &made);
    if (code == ACL_OK) snprintf(made->text, sizeof made->text, "%s", value);
    return code;
}

API int32_t aclopSetAttrListInt(Attributes *attributes, const char *name, int32_t n, const int64_t *values) {
    Attribute *made = NULL;
    int code = attribute_new(attributes, name, &made);
    for (int i = 0; code == ACL_OK && i < n && i < ATTRIBUTE_INTS; i++) made->ints[made->count++] = values[i];
    return code;
}

#define OTHER_ATTRIBUTE(function) /* no kernel reads these */                                                          \
    API int32_t function(Attributes *attributes) {                                                                     \
        REQUIRE(attributes);                                                                                           \
        return ACL_OK;                                                                                                 \
    }
OTHER_ATTRIBUTE(aclopSetAttrListBool)
OTHER_ATTRIBUTE(aclopSetAttrListFloat)
OTHER_ATTRIBUTE(aclopSetAttrListListInt)

/* ---- launches ---------------------------------------------------------------------------------- */
API int32_t aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int32_t kind, void *stream);

/* Formats are all plain here, so a change of format is a copy. */
API int32_t aclopCompileAndExecute(const char *op, int32_t n_in, const Description *const *in_shapes,
                                   const DataBuffer *const *in, int32_t n_out, const Description *const *out_shapes,
                                   DataBuffer *const *out, const Attributes *attributes, int32_t engine, int32_t flag,
                                   const char *path, void *stream) {
    (void)engine, (void)flag, (void)path;
    REQUIRE(op);
    if (strcmp(op, "Identity") == 0 && n_in >= 1 && n_out == 1) {
        size_t bytes = in[0]->size < out[0]->size ? in[0]->size : out[0]->size;
        return aclrtMemcpyAsync(out[0]->data, out[0]->size, in[0]->data, bytes, 3, stream);
    }
    for (int i = 0; i < aclop_count; i++) {
        if (strcmp(op, aclop_infos[i].name) != 0) continue;
        return aclop_launch(&aclop_infos[i], n_in, in_shapes, in, n_out, out_shapes, out, attributes, stream);
    }
    return fail(RT_FEATURE_UNSUPPORTED, "operator %s: the simulator has no such aclop operator", op);
}

API int32_t aclopCompileAndExecuteV2(const char *op, int32_t n_in, Description **in_shapes, DataBuffer **in,
                                     int32_t n_out, Description **out_shapes, DataBuffer **out, Attributes *attributes,
                                     int32_t engine, int32_t flag, const char *path, void *stream) {
    return aclopCompileAndExecute(op, n_in, (const Description *const *)in_shapes, (const DataBuffer *const *)in, n_out,
                                  (const Description *const *)out_shapes, out, attributes, engine, flag, path, stream);
}

API int32_t MsprofRegisterCallback(void) { return ACL_OK; }
API int32_t MsprofReportApi(void) { return ACL_OK; }
API int32_t MsprofReportCompactInfo(void) { return ACL_OK; }
API int32_t MsprofReportAdditionalInfo(void) { return ACL_OK; }
API uint64_t MsprofGetHashId(void) { return 0; }
API uint64_t MsprofSysCycleTime(void) { return device_tick(0); }
