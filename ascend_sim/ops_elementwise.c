/* Elementwise arithmetic and comparison. Operands are read chunk by chunk in a compute type (float32, double or
 * int64), combined by one tight loop, and written back in the type of the result. */
#include "kernels.h"

#include <math.h>

#define SQRT1_2 0.70710678118654752440
#define INV_SQRT_2PI 0.39894228040143267794

static Operands operands_of(const Executor *e) {
    Operands o = {0};
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (role == 'i' || role == 'm') o.in[o.n_in++] = e->args[i].t;
        if (role == 'o' || role == 'm') o.out = e->args[i].t;
        if (role == 's' || role == 'z') o.scalars[o.n_scalars++] = e->args[i].s;
    }
    return o;
}

/* a, b, c: operands; s, u: scalars; F(name): the libm function of the type; every name is a T. */
#define FLOAT_CASES(T, F)                                                                                            \
    CASE(EW_DIV, a / b) CASE(EW_DIVS, a / s)                                                                         \
    CASE(EW_EXP, F(exp)(a)) CASE(EW_LOG, F(log)(a)) CASE(EW_SQRT, F(sqrt)(a)) CASE(EW_RSQRT, 1 / F(sqrt)(a))         \
    CASE(EW_RECIPROCAL, 1 / a) CASE(EW_SIN, F(sin)(a)) CASE(EW_COS, F(cos)(a)) CASE(EW_ERF, F(erf)(a))               \
    CASE(EW_TANH, F(tanh)(a)) CASE(EW_TANH_GRAD, a * (1 - b * b))                                                    \
    CASE(EW_SIGMOID, 1 / (1 + F(exp)(-a))) CASE(EW_SIGMOID_GRAD, a * b * (1 - b))                                    \
    CASE(EW_GELU, a * (T)0.5 * (1 + F(erf)(a * (T)SQRT1_2)))                                                         \
    CASE(EW_GELU_GRAD, a * ((T)0.5 * (1 + F(erf)(b * (T)SQRT1_2)) + b * (T)INV_SQRT_2PI * F(exp)(b * b * (T)-0.5)))  \
    CASE(EW_SILU, a / (1 + F(exp)(-a)))                                                                              \
    CASE(EW_SILU_GRAD, a * (1 / (1 + F(exp)(-b))) * (1 + b * (1 - 1 / (1 + F(exp)(-b)))))                            \
    CASE(EW_FLOOR, F(floor)(a)) CASE(EW_CEIL, F(ceil)(a)) CASE(EW_LOG1P, F(log1p)(a)) CASE(EW_EXPM1, F(expm1)(a))    \
    CASE(EW_ADDCDIV, a + s * (b / c)) CASE(EW_LERPS, a + s * (b - a)) CASE(EW_LEAKY_RELU, a > 0 ? a : a * s)         \
    CASE(EW_LEAKY_RELU_GRAD, b > 0 ? a : a * s)                                                                      \
    CASE(EW_ISFINITE, isfinite(a) != 0)                                                                              \
    CASE(EW_ABS, F(fabs)(a)) CASE(EW_MAXIMUM, a != a ? a : b != b ? b : a > b ? a : b)                               \
    CASE(EW_MINIMUM, a != a ? a : b != b ? b : a < b ? a : b)

#define COMMON_CASES(T)                                                                                              \
    CASE(EW_ADD, a + s * b) CASE(EW_ADDS, a + u * s) CASE(EW_SUB, a - s * b) CASE(EW_RSUB, b - s * a) CASE(EW_SUBS, a - u * s)                \
    CASE(EW_RSUBS, s - u * a)                                                                                        \
    CASE(EW_MUL, a * b) CASE(EW_MULS, a * s) CASE(EW_NEG, -a)                                                        \
    CASE(EW_RELU, a < 0 ? 0 : a) CASE(EW_THRESHOLD_GRAD, b > s ? a : 0)                                              \
    CASE(EW_CLAMP, a != a ? a : a < s ? (s > u ? u : s) : a > u ? u : a)                                             \
    CASE(EW_ADDCMUL, a + s * b * c) CASE(EW_SIGN, (a > 0) - (a < 0))                                                 \
    CASE(EW_EQ, a == b) CASE(EW_EQS, a == s) CASE(EW_NE, a != b) CASE(EW_NES, a != s) CASE(EW_LT, a < b)             \
    CASE(EW_LTS, a < s) CASE(EW_LE, a <= b) CASE(EW_LES, a <= s) CASE(EW_GT, a > b) CASE(EW_GTS, a > s)              \
    CASE(EW_GE, a >= b) CASE(EW_GES, a >= s) CASE(EW_AND, a != 0 && b != 0) CASE(EW_OR, a != 0 || b != 0)            \
    CASE(EW_NOT, a == 0)

#define CASE(code, expression)                                                                                       \
    case code:                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                            \
            const T_ a = x[i], b = y[i], c = z[i];                                                                   \
            (void)a; (void)b; (void)c;                                                                               \
            out[i] = (T_)(expression);                                                                               \
        }                                                                                                            \
        break;

#define F32(name) name##f
#define F64(name) name

#define T_ float
WIDE static void power_f32(int64_t n, const T_ *x, T_ s, T_ *out) {
    if (s == 2) for (int64_t i = 0; i < n; i++) out[i] = x[i] * x[i];
    else if (s == 0.5f) for (int64_t i = 0; i < n; i++) out[i] = sqrtf(x[i]);
    else for (int64_t i = 0; i < n; i++) out[i] = powf(x[i], s);
}

WIDE static void loop_f32(int op, int64_t n, const T_ *x, const T_ *y, const T_ *z, T_ s, T_ u, T_ *out) {
    switch (op) {
        COMMON_CASES(T_)
        FLOAT_CASES(T_, F32)
        case EW_POWS: power_f32(n, x, s, out); break;
        case EW_POW: for (int64_t i = 0; i < n; i++) out[i] = powf(x[i], y[i]); break;
        default: break;
    }
}
#undef T_

#define T_ double
static void loop_f64(int op, int64_t n, const T_ *x, const T_ *y, const T_ *z, T_ s, T_ u, T_ *out) {
    switch (op) {
        COMMON_CASES(T_)
        FLOAT_CASES(T_, F64)
        case EW_POWS: for (int64_t i = 0; i < n; i++) out[i] = pow(x[i], s); break;
        case EW_POW: for (int64_t i = 0; i < n; i++) out[i] = pow(x[i], y[i]); break;
        default: break;
    }
}
#undef T_

static int64_t int_power(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
    uint64_t result = 1, factor = (uint64_t)base;
    for (; exponent > 0; exponent >>= 1, factor *= factor) {
        if (exponent & 1) result *= factor;
    }
    return (int64_t)result;
}

#define T_ int64_t
__attribute__((no_sanitize("undefined"))) /* integers wrap, as on the device */
static void loop_i64(int op, int64_t n, const T_ *x, const T_ *y, const T_ *z, T_ s, T_ u, T_ *out) {
    switch (op) {
        COMMON_CASES(T_)
        CASE(EW_ABS, a < 0 ? -a : a)
        CASE(EW_MAXIMUM, a > b ? a : b)
        CASE(EW_MINIMUM, a < b ? a : b)
        CASE(EW_FLOOR, a)
        CASE(EW_CEIL, a)
        CASE(EW_ISFINITE, 1)
        CASE(EW_BITAND, a & b)
        CASE(EW_BITOR, a | b)
        CASE(EW_BITANDS, a & s)
        CASE(EW_BITORS, a | s)
        CASE(EW_POWS, int_power(a, s))
        CASE(EW_POW, int_power(a, b))
        default: break;
    }
}
#undef T_

typedef struct { double d[2]; int64_t i[2]; } ScalarValues;

static ScalarValues scalars_of(int op, const Operands *o) {
    ScalarValues v = {{1, 1}, {1, 1}};
    if (op == EW_CLAMP) v = (ScalarValues){{-INFINITY, INFINITY}, {INT64_MIN, INT64_MAX}};
    for (int k = 0; k < o->n_scalars; k++) {
        if (o->scalars[k] == NULL) continue;
        v.d[k] = o->scalars[k]->d;
        v.i[k] = o->scalars[k]->i;
    }
    return v;
}

static int run_chunks(int op, const Operands *o, ComputeType ct) {
    _Alignas(64) char buffers[4][CHUNK * 8];
    View in[3], out = view_of(o->out);
    ScalarValues s = scalars_of(op, o);
    for (int k = 0; k < o->n_in; k++) in[k] = view_as(o->in[k], o->out->shape, o->out->ndim);
    for (int64_t start = 0; start < o->out->numel; start += CHUNK) {
        int64_t n = o->out->numel - start < CHUNK ? o->out->numel - start : CHUNK;
        const void *p[3] = {NULL};
        for (int k = 0; k < o->n_in; k++) p[k] = view_load(&in[k], start, n, ct, buffers[k]);
        for (int k = o->n_in; k < 3; k++) p[k] = p[0];
        void *to = view_target(&out, start, ct, buffers[3]);
        switch (ct) {
            case CT_F32: loop_f32(op, n, p[0], p[1], p[2], (float)s.d[0], (float)s.d[1], to); break;
            case CT_F64: loop_f64(op, n, p[0], p[1], p[2], s.d[0], s.d[1], to); break;
            case CT_I64: loop_i64(op, n, p[0], p[1], p[2], s.i[0], s.i[1], to); break;
        }
        view_store(&out, start, n, ct, to);
    }
    return ACL_OK;
}

static ComputeType type_for(const Operands *o) {
    ComputeType ct = compute_type(o->in, o->n_in);
    for (int k = 0; k < o->n_scalars; k++) {
        bool real = o->scalars[k] != NULL && dtype_is_float(o->scalars[k]->dtype);
        if (real && ct == CT_I64) ct = CT_F32;
    }
    if (ct == CT_F32 && o->out->dtype == DT_DOUBLE) ct = CT_F64;
    return ct;
}

void elementwise_apply(int op, const Operands *o) { run_chunks(op, o, type_for(o)); }

int run_elementwise(Executor *e) {
    Operands o = operands_of(e);
    return run_chunks(e->op->variant, &o, type_for(&o));
}

int run_float_elementwise(Executor *e) { /* integers are computed as float */
    Operands o = operands_of(e);
    ComputeType ct = type_for(&o);
    if (ct == CT_I64) ct = o.out->dtype == DT_DOUBLE ? CT_F64 : CT_F32;
    return run_chunks(e->op->variant, &o, ct);
}

int run_compare(Executor *e) { /* the type of the result says nothing about the comparison */
    Operands o = operands_of(e);
    ComputeType ct = compute_type(o.in, o.n_in);
    for (int k = 0; k < o.n_scalars; k++) {
        if (ct == CT_I64 && dtype_is_float(o.scalars[k]->dtype)) ct = CT_F64;
    }
    return run_chunks(e->op->variant, &o, ct);
}
