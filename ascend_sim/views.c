/* Reading and writing operands of any type and stride in one of three compute types. */
#include "ops.h"

float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 0x1Fu, mantissa = h & 0x3FFu, bits;
    if (exponent == 31) {
        bits = sign | 0x7F800000u | mantissa << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else { /* zero and subnormal: exact in float */
        float value = (float)mantissa * 0x1p-24f;
        memcpy(&bits, &value, sizeof bits);
        bits |= sign;
    }
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

uint16_t float_to_half(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return sign | 0x7E00u;
    if (magnitude >= 0x477FF000u) return sign | 0x7C00u; /* rounds to infinity */
    if (magnitude >= 0x38800000u) {
        uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1u);
        return (uint16_t)(sign | (rounded - 0x38000000u) >> 13);
    }
    float scaled; /* subnormal: let the float unit round to nearest even */
    memcpy(&scaled, &magnitude, sizeof scaled);
    scaled += 0.5f;
    memcpy(&bits, &scaled, sizeof bits);
    return (uint16_t)(sign | (bits - 0x3F000000u));
}

size_t compute_size(ComputeType ct) { return ct == CT_F32 ? 4 : 8; }

ComputeType compute_type(const Tensor *const *tensors, int n) {
    ComputeType ct = CT_I64;
    for (int i = 0; i < n; i++) {
        if (tensors[i]->dtype == DT_DOUBLE) return CT_F64;
        if (dtype_is_float(tensors[i]->dtype)) ct = CT_F32;
    }
    return ct;
}

static View merge(View v) {
    int kept = 0;
    for (int i = 0; i < v.ndim; i++) {
        if (v.shape[i] == 1) continue;
        if (kept > 0 && v.stride[kept - 1] == v.shape[i] * v.stride[i]) {
            v.shape[kept - 1] *= v.shape[i];
            v.stride[kept - 1] = v.stride[i];
        } else {
            v.shape[kept] = v.shape[i];
            v.stride[kept++] = v.stride[i];
        }
    }
    if (kept == 0) {
        v.shape[0] = 1;
        v.stride[0] = 1;
        kept = 1;
    }
    v.ndim = kept;
    v.dense = kept == 1 && (v.stride[0] == 1 || v.shape[0] == 1);
    return v;
}

View view_as(const Tensor *t, const int64_t *shape, int ndim) {
    View v = {.base = device_pointer(t->data), .dtype = t->dtype, .ndim = ndim, .item = t->item};
    for (int i = 0; i < ndim; i++) {
        int at = i - (ndim - t->ndim);
        v.shape[i] = shape[i];
        v.stride[i] = at < 0 || t->shape[at] == 1 ? 0 : t->stride[at];
    }
    return merge(v);
}

View view_of(const Tensor *t) { return view_as(t, t->shape, t->ndim); }

/* ---- conversion of one strided run ------------------------------------------------------------- */
#define SAME(x) (x)
#define TO_BOOL(x) ((x) != 0)
#define LOOP_IN(S, To, FROM)                                                                                           \
    do {                                                                                                               \
        const S *s = (const S *)source;                                                                                \
        To *d = destination;                                                                                           \
        if (stride == 1)                                                                                               \
            for (int64_t i = 0; i < n; i++) d[i] = (To)FROM(s[i]);                                                     \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) d[i] = (To)FROM(s[i * stride]);                                            \
    } while (0)
#define LOAD_CASES(To)                                                                                                 \
    switch (dtype) {                                                                                                   \
    case DT_FLOAT: LOOP_IN(float, To, SAME); break;                                                                    \
    case DT_FLOAT16: LOOP_IN(uint16_t, To, half_to_float); break;                                                      \
    case DT_BF16: LOOP_IN(uint16_t, To, bf16_to_float); break;                                                         \
    case DT_DOUBLE: LOOP_IN(double, To, SAME); break;                                                                  \
    case DT_INT8: LOOP_IN(int8_t, To, SAME); break;                                                                    \
    case DT_INT16: LOOP_IN(int16_t, To, SAME); break;                                                                  \
    case DT_INT32: LOOP_IN(int32_t, To, SAME); break;                                                                  \
    case DT_INT64: LOOP_IN(int64_t, To, SAME); break;                                                                  \
    case DT_UINT8: LOOP_IN(uint8_t, To, SAME); break;                                                                  \
    default: LOOP_IN(uint8_t, To, TO_BOOL); break;                                                                     \
    }

static void load_run(const char *source, int64_t stride, int dtype, ComputeType ct, void *destination, int64_t n) {
    switch (ct) {
    case CT_F32: LOAD_CASES(float) break;
    case CT_F64: LOAD_CASES(double) break;
    case CT_I64: LOAD_CASES(int64_t) break;
    }
}

#define HALF_OF(x) float_to_half((float)(x))
#define BF16_OF(x) float_to_bf16((float)(x))
/* Out of range conversions are made by way of int64, as the hardware truncates and C leaves it undefined. */
#define INT_OF(x) ((int64_t)(x))
#define LOOP_OUT(D, From, TO)                                                                                          \
    do {                                                                                                               \
        const From *s = source;                                                                                        \
        D *d = (D *)destination;                                                                                       \
        if (stride == 1)                                                                                               \
            for (int64_t i = 0; i < n; i++) d[i] = (D)TO(s[i]);                                                        \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) d[i * stride] = (D)TO(s[i]);                                               \
    } while (0)
#define STORE_CASES(From)                                                                                              \
    switch (dtype) {                                                                                                   \
    case DT_FLOAT: LOOP_OUT(float, From, SAME); break;                                                                 \
    case DT_FLOAT16: LOOP_OUT(uint16_t, From, HALF_OF); break;                                                         \
    case DT_BF16: LOOP_OUT(uint16_t, From, BF16_OF); break;                                                            \
    case DT_DOUBLE: LOOP_OUT(double, From, SAME); break;                                                               \
    case DT_INT8: LOOP_OUT(int8_t, From, INT_OF); break;                                                               \
    case DT_INT16: LOOP_OUT(int16_t, From, INT_OF); break;                                                             \
    case DT_INT32: LOOP_OUT(int32_t, From, INT_OF); break;                                                             \
    case DT_INT64: LOOP_OUT(int64_t, From, INT_OF); break;                                                             \
    case DT_UINT8: LOOP_OUT(uint8_t, From, INT_OF); break;                                                             \
    default: LOOP_OUT(uint8_t, From, TO_BOOL); break;                                                                  \
    }

__attribute__((no_sanitize("undefined"))) static void store_run(char *destination, int64_t stride, int dtype,
                                                                ComputeType ct, const void *source, int64_t n) {
    switch (ct) {
    case CT_F32: STORE_CASES(float) break;
    case CT_F64: STORE_CASES(double) break;
    case CT_I64: STORE_CASES(int64_t) break;
    }
}

/* ---- chunks ------------------------------------------------------------------------------------ */
typedef struct {
    int64_t index[MAX_DIMS], offset;
} Cursor;

static Cursor seek(const View *v, int64_t position) {
    Cursor c = {.offset = 0};
    for (int d = v->ndim - 1; d >= 0; d--) {
        c.index[d] = position % v->shape[d];
        position /= v->shape[d];
        c.offset += c.index[d] * v->stride[d];
    }
    return c;
}

static void advance(const View *v, Cursor *c, int64_t run) {
    int last = v->ndim - 1;
    c->index[last] += run;
    c->offset += run * v->stride[last];
    for (int d = last; d > 0 && c->index[d] == v->shape[d]; d--) {
        c->offset += v->stride[d - 1] - c->index[d] * v->stride[d];
        c->index[d] = 0;
        c->index[d - 1]++;
    }
}

static bool native(const View *v, ComputeType ct) {
    static const int types[] = {DT_FLOAT, DT_DOUBLE, DT_INT64};
    return v->dense && v->dtype == types[ct];
}

const void *view_load(const View *v, int64_t start, int64_t n, ComputeType ct, void *buffer) {
    if (native(v, ct)) return v->base + (size_t)start * v->item;
    char *to = buffer;
    int last = v->ndim - 1;
    Cursor c = seek(v, start);
    while (n > 0) {
        int64_t run = v->shape[last] - c.index[last];
        if (run > n) run = n;
        load_run(v->base + c.offset * (int64_t)v->item, v->stride[last], v->dtype, ct, to, run);
        advance(v, &c, run);
        to += (size_t)run * compute_size(ct);
        n -= run;
    }
    return buffer;
}

void *view_target(const View *v, int64_t start, ComputeType ct, void *buffer) {
    return native(v, ct) ? v->base + (size_t)start * v->item : buffer;
}

void view_store(const View *v, int64_t start, int64_t n, ComputeType ct, const void *values) {
    const char *from = values;
    if (native(v, ct)) {
        char *to = v->base + (size_t)start * v->item;
        if (to != from) memcpy(to, from, (size_t)n * v->item);
        return;
    }
    int last = v->ndim - 1;
    Cursor c = seek(v, start);
    while (n > 0) {
        int64_t run = v->shape[last] - c.index[last];
        if (run > n) run = n;
        store_run(v->base + c.offset * (int64_t)v->item, v->stride[last], v->dtype, ct, from, run);
        advance(v, &c, run);
        from += (size_t)run * compute_size(ct);
        n -= run;
    }
}

/* ---- whole operands ---------------------------------------------------------------------------- */
void *dense(const Tensor *t, ComputeType ct, void **owned) {
    *owned = NULL;
    if (t->numel == 0) return NULL;
    View v = view_of(t);
    if (native(&v, ct)) return v.base;
    *owned = malloc((size_t)t->numel * compute_size(ct));
    return (void *)view_load(&v, 0, t->numel, ct, *owned);
}

float *dense_f32(const Tensor *t, void **owned) { return dense(t, CT_F32, owned); }
int64_t *dense_i64(const Tensor *t, void **owned) { return dense(t, CT_I64, owned); }

void *out_dense(const Tensor *t, ComputeType ct, void **owned) {
    *owned = NULL;
    if (t->numel == 0) return NULL;
    View v = view_of(t);
    if (native(&v, ct)) return v.base;
    return *owned = malloc((size_t)t->numel * compute_size(ct));
}

float *out_f32(const Tensor *t, void **owned) { return out_dense(t, CT_F32, owned); }

void out_done(const Tensor *t, ComputeType ct, void *values, void *owned) {
    if (owned == NULL) return;
    View v = view_of(t);
    view_store(&v, 0, t->numel, ct, values);
    free(owned);
}
