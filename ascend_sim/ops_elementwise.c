/* Elementwise arithmetic and comparison. Operands are read chunk by chunk in a compute type (float32, double or
 * int64), combined by one tight loop, and written back in the type of the result. */
#include "kernels.h"

#include <math.h>

#define SQRT1_2 0.70710678118654752440
#define INV_SQRT_2PI 0.39894228040143267794
#define SQRT_2_OVER_PI 0.79788456080286535588
#define SQRT_PI_OVER_2 0.88622692545275801365
#define GELU_CUBIC 0.044715

static double inverse_erf(double y) { /* a first guess, then Newton's steps */
    if (!(fabs(y) < 1)) return fabs(y) == 1 ? y * INFINITY : NAN;
    double l = log1p(-y * y), t = 4.3307467508 + l / 2, x = copysign(sqrt(sqrt(t * t - l / 0.147) - t), y);
    for (int k = 0; k < 3; k++) x -= (erf(x) - y) * SQRT_PI_OVER_2 * exp(x * x);
    return x;
}

static double gelu_tanh_slope(double x) {
    double t = tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * x * x);
}

static Operands operands_of(const Executor *e) {
    Operands o = {0};
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (role == 'i' || role == 'm') o.in[o.n_in++] = e->args[i].t;
        if (role == 'o' || role == 'm') o.out = e->args[i].t;
        if (role == 's' || role == 'z') o.scalars[o.n_scalars++] = e->args[i].s;
        if (role == 'q') o.flag = e->args[i].i != 0;
    }
    return o;
}

/* Tables of formulas, which stay as they are. */
// clang-format off
/* a, b, c: operands; s, u, v: scalars; flag: the operator's switch; F(name): the libm function of the type; every
 * name is a T. */
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

/* With the sign of the divisor. */
#define REMAINDER(F, x, y) \
    (F(fmod)(x, y) != 0 && (F(fmod)(x, y) < 0) != ((y) < 0) ? F(fmod)(x, y) + (y) : F(fmod)(x, y))

#define MATH_CASES(T, F)                                                                                             \
    CASE(EW_ROUND, F(rint)(a)) CASE(EW_TRUNC, F(trunc)(a)) CASE(EW_FRAC, a - F(trunc)(a)) CASE(EW_LOG2, F(log2)(a))  \
    CASE(EW_LOG10, F(log10)(a)) CASE(EW_EXP2, F(exp2)(a)) CASE(EW_TAN, F(tan)(a)) CASE(EW_ASIN, F(asin)(a))          \
    CASE(EW_ACOS, F(acos)(a)) CASE(EW_ATAN, F(atan)(a)) CASE(EW_SINH, F(sinh)(a)) CASE(EW_COSH, F(cosh)(a))          \
    CASE(EW_ASINH, F(asinh)(a)) CASE(EW_ACOSH, F(acosh)(a)) CASE(EW_ATANH, F(atanh)(a)) CASE(EW_ERFC, F(erfc)(a))    \
    CASE(EW_ERFINV, inverse_erf((double)a)) CASE(EW_ATAN2, F(atan2)(a, b))                                           \
    CASE(EW_REMAINDER, REMAINDER(F, a, b)) CASE(EW_REMAINDERS, REMAINDER(F, a, s))                                   \
    CASE(EW_FMOD, F(fmod)(a, b)) CASE(EW_FMODS, F(fmod)(a, s))                                                       \
    CASE(EW_FLOOR_DIV, b == 0 ? a / b : F(rint)((a - REMAINDER(F, a, b)) / b))                                       \
    CASE(EW_FLOOR_DIVS, s == 0 ? a / s : F(rint)((a - REMAINDER(F, a, s)) / s))                                      \
    CASE(EW_TRUNC_DIV, F(trunc)(a / b)) CASE(EW_TRUNC_DIVS, F(trunc)(a / s)) CASE(EW_RPOWS, F(pow)(s, a))            \
    CASE(EW_XLOGY, b != b ? b : a == 0 ? 0 : a * F(log)(b)) CASE(EW_XLOGYS, s != s ? s : a == 0 ? 0 : a * F(log)(s)) \
    CASE(EW_RXLOGYS, a != a ? a : s == 0 ? 0 : s * F(log)(a))

/* Activations; for their gradients a is the incoming gradient and b the input (or the result, where flag says so). */
#define ACTIVATION_CASES(T, F)                                                                                       \
    CASE(EW_HARDSWISH, a <= -3 ? 0 : a >= 3 ? a : a * (a + 3) / 6)                                                   \
    CASE(EW_HARDSWISH_GRAD, b <= -3 ? 0 : b >= 3 ? a : a * (b / 3 + (T)0.5))                                         \
    CASE(EW_HARDSIGMOID, a <= -3 ? 0 : a >= 3 ? 1 : (a + 3) / 6)                                                     \
    CASE(EW_HARDSIGMOID_GRAD, b > -3 && b < 3 ? a / 6 : 0)                                                           \
    CASE(EW_MISH, a * F(tanh)(F(log1p)(F(exp)(a))))                                                                  \
    CASE(EW_MISH_GRAD, a * (F(tanh)(F(log1p)(F(exp)(b))) +                                                           \
         b / (1 + F(exp)(-b)) * (1 - F(tanh)(F(log1p)(F(exp)(b))) * F(tanh)(F(log1p)(F(exp)(b))))))                  \
    CASE(EW_SOFTPLUS, a * s > u ? a : F(log1p)(F(exp)(a * s)) / s)                                                   \
    CASE(EW_SOFTPLUS_GRAD, b * s > u ? a : a / (1 + F(exp)(-b * s)))                                                 \
    CASE(EW_SOFTSHRINK, a > s ? a - s : a < -s ? a + s : a * 0) CASE(EW_HARDSHRINK, a >= -s && a <= s ? 0 : a)       \
    CASE(EW_SHRINK_GRAD, b >= -s && b <= s ? 0 : a)                                                                  \
    CASE(EW_HARDTANH_GRAD, b <= s || b >= u ? 0 : a)                                                                 \
    CASE(EW_ELU, a > 0 ? a * u : F(expm1)(a * v) * s * u)                                                            \
    CASE(EW_ELU_GRAD, b > 0 ? a * u : flag ? a * v * (b + s * u) : a * v * s * u * F(exp)(b * v))                    \
    CASE(EW_GELU_TANH, a * (T)0.5 * (1 + F(tanh)((T)SQRT_2_OVER_PI * (a + (T)GELU_CUBIC * a * a * a))))              \
    CASE(EW_GELU_TANH_GRAD, a * gelu_tanh_slope((double)b))

#define COMMON_CASES(T)                                                                                              \
    CASE(EW_ADD, a + s * b) CASE(EW_ADDS, a + u * s) CASE(EW_SUB, a - s * b) CASE(EW_RSUB, b - s * a)                \
    CASE(EW_SUBS, a - u * s) CASE(EW_RSUBS, s - u * a)                                                               \
    CASE(EW_MUL, a * b) CASE(EW_MULS, a * s) CASE(EW_NEG, -a)                                                        \
    CASE(EW_RELU, a < 0 ? 0 : a) CASE(EW_THRESHOLD_GRAD, b > s ? a : 0)                                              \
    CASE(EW_CLAMP, a != a ? a : a < s ? (s > u ? u : s) : a > u ? u : a)                                             \
    CASE(EW_ADDCMUL, a + s * b * c) CASE(EW_SIGN, (a > 0) - (a < 0))                                                 \
    CASE(EW_EQ, a == b) CASE(EW_EQS, a == s) CASE(EW_NE, a != b) CASE(EW_NES, a != s) CASE(EW_LT, a < b)             \
    CASE(EW_LTS, a < s) CASE(EW_LE, a <= b) CASE(EW_LES, a <= s) CASE(EW_GT, a > b) CASE(EW_GTS, a > s)              \
    CASE(EW_GE, a >= b) CASE(EW_GES, a >= s) CASE(EW_AND, a != 0 && b != 0) CASE(EW_OR, a != 0 || b != 0)            \
    CASE(EW_NOT, a == 0) CASE(EW_XOR, (a != 0) != (b != 0)) CASE(EW_THRESHOLD, a <= s ? u : a)                       \
    CASE(EW_CLAMP_TENSOR, a != a ? a : a < b ? (b > c ? c : b) : a > c ? c : a)
// clang-format on

#define CASE(code, expression)                                                                                         \
    case code:                                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T_ a = x[i], b = y[i], c = z[i];                                                                     \
            (void)a;                                                                                                   \
            (void)b;                                                                                                   \
            (void)c;                                                                                                   \
            out[i] = (T_)(expression);                                                                                 \
        }                                                                                                              \
        break;

#define F32(name) name##f
#define F64(name) name

#define T_ float
WIDE static void power_f32(int64_t n, const T_ *x, T_ s, T_ *out) {
    if (s == 2)
        for (int64_t i = 0; i < n; i++) out[i] = x[i] * x[i];
    else if (s == 0.5f)
        for (int64_t i = 0; i < n; i++) out[i] = sqrtf(x[i]);
    else
        for (int64_t i = 0; i < n; i++) out[i] = powf(x[i], s);
}

WIDE static void loop_f32(int op, int64_t n, const T_ *x, const T_ *y, const T_ *z, T_ s, T_ u, T_ v, bool flag,
                          T_ *out) {
    (void)v;
    (void)flag;
    switch (op) {
        COMMON_CASES(T_)
        FLOAT_CASES(T_, F32)
        MATH_CASES(T_, F32)
        ACTIVATION_CASES(T_, F32)
    case EW_POWS: power_f32(n, x, s, out); break;
    case EW_POW:
        for (int64_t i = 0; i < n; i++) out[i] = powf(x[i], y[i]);
        break;
    default: break;
    }
}
#undef T_

#define T_ double
static void loop_f64(int op, int64_t n, const T_ *x, const T_ *y, const T_ *z, T_ s, T_ u, T_ v, bool flag, T_ *out) {
    (void)v;
    (void)flag;
    switch (op) {
        COMMON_CASES(T_)
        FLOAT_CASES(T_, F64)
        MATH_CASES(T_, F64)
        ACTIVATION_CASES(T_, F64)
    case EW_POWS:
        for (int64_t i = 0; i < n; i++) out[i] = pow(x[i], s);
        break;
    case EW_POW:
        for (int64_t i = 0; i < n; i++) out[i] = pow(x[i], y[i]);
        break;
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

static int64_t truncated_division(int64_t a, int64_t b) {
    return b == 0 ? -1 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t floor_division(int64_t a, int64_t b) {
    int64_t q = truncated_division(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

#define T_ int64_t
__attribute__((no_sanitize("undefined"))) /* integers wrap, as on the device */
static void
loop_i64(int op, int64_t n, const T_ *x, const T_ *y, const T_ *z, T_ s, T_ u, T_ v, bool flag, T_ *out) {
    (void)v;
    (void)flag;
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
        CASE(EW_BITXOR, a ^ b)
        CASE(EW_BITXORS, a ^ s)
        CASE(EW_BITNOT, ~a)
        CASE(EW_ROUND, a)
        CASE(EW_TRUNC, a)
        CASE(EW_FRAC, 0)
        CASE(EW_REMAINDER, a - b * floor_division(a, b))
        CASE(EW_REMAINDERS, a - s * floor_division(a, s))
        CASE(EW_FMOD, a - b * truncated_division(a, b))
        CASE(EW_FMODS, a - s * truncated_division(a, s))
        CASE(EW_FLOOR_DIV, floor_division(a, b))
        CASE(EW_FLOOR_DIVS, floor_division(a, s))
        CASE(EW_TRUNC_DIV, truncated_division(a, b))
        CASE(EW_TRUNC_DIVS, truncated_division(a, s))
        CASE(EW_RPOWS, int_power(s, a))
        CASE(EW_POWS, int_power(a, s))
        CASE(EW_POW, int_power(a, b))
    default: break;
    }
}
#undef T_

typedef struct {
    double d[3];
    int64_t i[3];
} ScalarValues;

static ScalarValues scalars_of(int op, const Operands *o) {
    ScalarValues v = {{1, 1, 1}, {1, 1, 1}};
    if (op == EW_CLAMP) v = (ScalarValues){{-INFINITY, INFINITY, 0}, {INT64_MIN, INT64_MAX, 0}};
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
        case CT_F32: loop_f32(op, n, p[0], p[1], p[2], (float)s.d[0], (float)s.d[1], (float)s.d[2], o->flag, to); break;
        case CT_F64: loop_f64(op, n, p[0], p[1], p[2], s.d[0], s.d[1], s.d[2], o->flag, to); break;
        case CT_I64: loop_i64(op, n, p[0], p[1], p[2], s.i[0], s.i[1], s.i[2], o->flag, to); break;
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

int run_bitwise_not(Executor *e) {
    Operands o = operands_of(e);
    return run_chunks(o.in[0]->dtype == DT_BOOL ? EW_NOT : EW_BITNOT, &o, CT_I64);
}

/* The mode of a division: 0 exact, 1 towards zero, 2 downwards; the variant says whether the divisor is a tensor. */
int check_div_mode(Executor *e) {
    if (e->args[2].i < 0 || e->args[2].i > 2)
        return nn_fail(e, "mode is %lld, expected 0, 1 or 2", (long long)e->args[2].i);
    return check_broadcast(e);
}

int run_div_mode(Executor *e) {
    static const int with_tensor[] = {EW_DIV, EW_TRUNC_DIV, EW_FLOOR_DIV},
                     with_scalar[] = {EW_DIVS, EW_TRUNC_DIVS, EW_FLOOR_DIVS};
    Operands o = operands_of(e);
    int64_t mode = e->args[2].i;
    ComputeType ct = type_for(&o);
    if (ct == CT_I64 && mode == 0) ct = CT_F32;
    return run_chunks((o.n_in == 2 ? with_tensor : with_scalar)[mode], &o, ct);
}

int check_gelu_mode(Executor *e) {
    int64_t mode = e->args[1].i;
    if (mode != 0 && mode != 1)
        return nn_fail(e, "approximate is %lld, expected 0 (none) or 1 (tanh)", (long long)mode);
    return check_broadcast(e);
}

int run_gelu_mode(Executor *e) {
    Operands o = operands_of(e);
    return run_chunks(e->args[1].i == 1 ? EW_GELU_TANH : EW_GELU, &o, type_for(&o));
}

/* self, min, max, out: one of the limits may be missing. */
static Operands clamp_operands(const Executor *e, int *op) {
    const Tensor *low = e->args[1].t, *high = e->args[2].t;
    *op = low == NULL ? EW_MINIMUM : high == NULL ? EW_MAXIMUM : EW_CLAMP_TENSOR;
    Operands o = {.n_in = low != NULL && high != NULL ? 3 : 2,
                  .in = {e->args[0].t, low != NULL ? low : high, high},
                  .out = e->args[3].t};
    return o;
}

int check_clamp_tensor(Executor *e) {
    int op, ndim;
    int64_t shape[MAX_DIMS];
    if (e->args[1].t == NULL && e->args[2].t == NULL)
        return fail(NN_NULL_PARAM, "aclnnClampTensor: both limits are null");
    Operands o = clamp_operands(e, &op);
    if (!broadcast_shapes(o.in, o.n_in, shape, &ndim)) return nn_fail(e, "the shapes do not broadcast");
    return need_shape(e, o.out, shape, ndim, "the output");
}

int run_clamp_tensor(Executor *e) {
    int op;
    Operands o = clamp_operands(e, &op);
    return run_chunks(op, &o, type_for(&o));
}
