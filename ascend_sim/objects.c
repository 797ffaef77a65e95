/* aclnn objects: tensors, scalars, arrays and lists. Metadata is copied at creation. */
#include "ops.h"

static void describe(Tensor *t) {
    t->numel = 1;
    t->contiguous = true;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] != 1 && t->stride[i] != t->numel) t->contiguous = false;
        t->numel *= t->shape[i];
    }
}

/* ---- tensors whose shape a kernel will tell: remembered until they are destroyed --------------- */
typedef struct Watched {
    struct Watched *next;
    Tensor *tensor;
    uint64_t id;
    int output;
} Watched;
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static Watched *watched;
static uint64_t watch_ids;

void tensor_watch_output(Executor *e, int output) {
    Tensor *tensor = e->outputs[output];
    if (tensor == NULL) return;
    Watched *entry = malloc(sizeof *entry);
    pthread_mutex_lock(&watch_lock);
    if (e->watch == 0) e->watch = ++watch_ids;
    *entry = (Watched){watched, tensor, e->watch, output};
    watched = entry;
    tensor->watched = true;
    pthread_mutex_unlock(&watch_lock);
}

void tensor_resized_output(const Executor *e, int output, const int64_t *shape, int ndim) {
    pthread_mutex_lock(&watch_lock);
    for (Watched *entry = watched; entry != NULL; entry = entry->next) {
        if (entry->id != e->watch || entry->output != output) continue;
        entry->tensor->ndim = ndim;
        memcpy(entry->tensor->shape, shape, (size_t)ndim * sizeof *shape);
        describe(entry->tensor);
    }
    pthread_mutex_unlock(&watch_lock);
}

void tensor_watch(Executor *e) { tensor_watch_output(e, e->output_count - 1); }

void tensor_resized(const Executor *e, const int64_t *shape, int ndim) {
    tensor_resized_output(e, e->output_count - 1, shape, ndim);
}

static void tensor_unwatch(const Tensor *t) {
    pthread_mutex_lock(&watch_lock);
    for (Watched **at = &watched; *at != NULL;) {
        Watched *entry = *at;
        if (entry->tensor == t) {
            *at = entry->next;
            free(entry);
        } else {
            at = &entry->next;
        }
    }
    pthread_mutex_unlock(&watch_lock);
}

/* strides NULL: dense. No storage shape and no offset. */
void tensor_fill(Tensor *t, const int64_t *dims, int ndim, int dtype, const int64_t *strides, int format, void *data) {
    *t = (Tensor){.magic = TENSOR_MAGIC,
                  .dtype = dtype,
                  .format = format,
                  .ndim = ndim,
                  .item = dtype_size(dtype),
                  .origin = data,
                  .data = data};
    int64_t dense_stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        t->shape[i] = dims[i];
        t->stride[i] = strides != NULL ? strides[i] : dense_stride;
        dense_stride *= dims[i];
    }
    describe(t);
}

API Tensor *aclCreateTensor(const int64_t *dims, uint64_t ndim, int32_t dtype, const int64_t *strides, int64_t offset,
                            int32_t format, const int64_t *storage, uint64_t storage_ndim, void *data) {
    if (ndim > MAX_DIMS || storage_ndim > MAX_DIMS || (ndim > 0 && dims == NULL) || (storage_ndim > 0 && !storage)) {
        fail(NN_INVALID_PARAM, "aclCreateTensor: %llu view and %llu storage dimensions", (unsigned long long)ndim,
             (unsigned long long)storage_ndim);
        return NULL;
    }
    Tensor *t = malloc(sizeof *t);
    tensor_fill(t, dims, (int)ndim, dtype, strides, format, data);
    t->storage_ndim = (int)storage_ndim;
    t->offset = offset;
    for (uint64_t i = 0; i < storage_ndim; i++) t->storage[i] = storage[i];
    t->data = (char *)data + offset * (int64_t)t->item;
    count(&counters.tensors_live, 1);
    return t;
}

API int32_t aclDestroyTensor(const Tensor *tensor) {
    if (tensor == NULL) return ACL_OK;
    if (tensor->magic != TENSOR_MAGIC) return fail(NN_INVALID_PARAM, "aclDestroyTensor: not a tensor");
    if (tensor->watched) tensor_unwatch(tensor);
    ((Tensor *)tensor)->magic = 0;
    free((void *)tensor);
    count(&counters.tensors_live, -1);
    return ACL_OK;
}

API Scalar *aclCreateScalar(const void *value, int32_t dtype) {
    if (value == NULL || dtype_size(dtype) == 0) {
        fail(NN_INVALID_PARAM, "aclCreateScalar: null value or unsupported type %d", dtype);
        return NULL;
    }
    Scalar *s = calloc(1, sizeof *s);
    s->dtype = dtype;
    union {
        float f;
        double d;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
    } raw;
    memcpy(&raw, value, dtype_size(dtype));
    switch (dtype) {
    case DT_FLOAT: s->d = raw.f; break;
    case DT_DOUBLE: s->d = raw.d; break;
    case DT_FLOAT16: s->d = half_to_float(raw.u16); break;
    case DT_BF16: s->d = bf16_to_float(raw.u16); break;
    case DT_INT8: s->i = raw.i8; break;
    case DT_INT16: s->i = raw.i16; break;
    case DT_INT32: s->i = raw.i32; break;
    case DT_INT64: s->i = raw.i64; break;
    default: s->i = dtype == DT_BOOL ? raw.u8 != 0 : raw.u8; break;
    }
    bool is_float = dtype_is_float(dtype);
    if (!is_float) s->d = (double)s->i;
    else if (s->d >= -9.2e18 && s->d <= 9.2e18) s->i = (int64_t)s->d;
    count(&counters.scalars_live, 1);
    return s;
}

API int32_t aclDestroyScalar(const Scalar *scalar) {
    if (scalar == NULL) return ACL_OK;
    free((void *)scalar);
    count(&counters.scalars_live, -1);
    return ACL_OK;
}

#define DEFINE_ARRAY(Name, Type)                                                                                       \
    API Name *aclCreate##Name(const Type *values, uint64_t n) {                                                        \
        if (values == NULL && n > 0) {                                                                                 \
            fail(NN_INVALID_PARAM, "aclCreate" #Name ": null values");                                                 \
            return NULL;                                                                                               \
        }                                                                                                              \
        Name *array = malloc(sizeof *array + n * sizeof *values);                                                      \
        array->n = n;                                                                                                  \
        if (n > 0) memcpy(array->v, values, n * sizeof *values);                                                       \
        count(&counters.arrays_live, 1);                                                                               \
        return array;                                                                                                  \
    }                                                                                                                  \
    API int32_t aclDestroy##Name(const Name *array) {                                                                  \
        if (array == NULL) return ACL_OK;                                                                              \
        free((void *)array);                                                                                           \
        count(&counters.arrays_live, -1);                                                                              \
        return ACL_OK;                                                                                                 \
    }

DEFINE_ARRAY(IntArray, int64_t)
DEFINE_ARRAY(BoolArray, bool)
DEFINE_ARRAY(FloatArray, float)

/* A list owns its members: destroying the list destroys them. */
#define DEFINE_LIST(Name, Member, destroy)                                                                             \
    API Name *aclCreate##Name(Member *const *members, uint64_t n) {                                                    \
        if (members == NULL && n > 0) {                                                                                \
            fail(NN_INVALID_PARAM, "aclCreate" #Name ": null members");                                                \
            return NULL;                                                                                               \
        }                                                                                                              \
        Name *list = malloc(sizeof *list + n * sizeof *members);                                                       \
        list->n = n;                                                                                                   \
        if (n > 0) memcpy(list->v, members, n * sizeof *members);                                                      \
        count(&counters.lists_live, 1);                                                                                \
        return list;                                                                                                   \
    }                                                                                                                  \
    API int32_t aclDestroy##Name(const Name *list) {                                                                   \
        if (list == NULL) return ACL_OK;                                                                               \
        for (uint64_t i = 0; i < list->n; i++) destroy(list->v[i]);                                                    \
        free((void *)list);                                                                                            \
        count(&counters.lists_live, -1);                                                                               \
        return ACL_OK;                                                                                                 \
    }

DEFINE_LIST(TensorList, Tensor, aclDestroyTensor)
DEFINE_LIST(ScalarList, Scalar, aclDestroyScalar)

/* ---- getters: arrays are copies that the caller frees ------------------------------------------ */
static int copy_out(const Tensor *t, const int64_t *values, int n, int64_t **out, uint64_t *size) {
    if (t == NULL || out == NULL || size == NULL) return fail(NN_NULL_PARAM, "tensor getter: null argument");
    *out = malloc((size_t)(n > 0 ? n : 1) * sizeof **out);
    memcpy(*out, values, (size_t)n * sizeof **out);
    *size = (uint64_t)n;
    return ACL_OK;
}

API int32_t aclGetViewShape(const Tensor *t, int64_t **dims, uint64_t *n) {
    return copy_out(t, t ? t->shape : NULL, t ? t->ndim : 0, dims, n);
}

API int32_t aclGetStorageShape(const Tensor *t, int64_t **dims, uint64_t *n) {
    return copy_out(t, t ? t->storage : NULL, t ? t->storage_ndim : 0, dims, n);
}

API int32_t aclGetViewStrides(const Tensor *t, int64_t **strides, uint64_t *n) {
    return copy_out(t, t ? t->stride : NULL, t ? t->ndim : 0, strides, n);
}

#define DEFINE_GETTER(Name, Type, member)                                                                              \
    API int32_t Name(const Tensor *t, Type *out) {                                                                     \
        if (t == NULL || out == NULL) return fail(NN_NULL_PARAM, #Name ": null argument");                             \
        *out = t->member;                                                                                              \
        return ACL_OK;                                                                                                 \
    }

DEFINE_GETTER(aclGetViewOffset, int64_t, offset)
DEFINE_GETTER(aclGetFormat, int32_t, format)
DEFINE_GETTER(aclGetDataType, int32_t, dtype)

API int32_t aclGetRawTensorAddr(const Tensor *t, void **address) {
    if (t == NULL || address == NULL) return fail(NN_NULL_PARAM, "aclGetRawTensorAddr: null argument");
    *address = t->origin;
    return ACL_OK;
}

API int32_t aclSetRawTensorAddr(Tensor *t, void *address) {
    if (t == NULL) return fail(NN_NULL_PARAM, "aclSetRawTensorAddr: null argument");
    t->origin = address;
    t->data = (char *)address + t->offset * (int64_t)t->item;
    return ACL_OK;
}

#define DEFINE_SIZE(Name, List)                                                                                        \
    API int32_t Name(const List *list, uint64_t *n) {                                                                  \
        if (list == NULL || n == NULL) return fail(NN_NULL_PARAM, #Name ": null argument");                            \
        *n = list->n;                                                                                                  \
        return ACL_OK;                                                                                                 \
    }

DEFINE_SIZE(aclGetIntArraySize, IntArray)
DEFINE_SIZE(aclGetBoolArraySize, BoolArray)
DEFINE_SIZE(aclGetFloatArraySize, FloatArray)
DEFINE_SIZE(aclGetTensorListSize, TensorList)
DEFINE_SIZE(aclGetScalarListSize, ScalarList)

API int32_t aclnnInit(const char *config_path) {
    (void)config_path;
    return ACL_OK;
}

API int32_t aclnnFinalize(void) { return ACL_OK; }
