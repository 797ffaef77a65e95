/* Operators for other clients: elementwise ones, lists of tensors, losses, random numbers. They are computed in double,
 * one element at a time: these are for completeness, not for speed. */
#include "kernels.h"

#include <math.h>

#define LN2 0.69314718055994530942
#define PI 3.14159265358979323846

Values values_of(const Tensor *t) {
    Values v = {.t = t};
    v.v = dense(t, CT_F64, &v.owned);
    return v;
}

Values values_for(const Tensor *t) {
    Values v = {.t = t};
    v.v = out_dense(t, CT_F64, &v.owned);
    return v;
}

Values values_zeroed(const Tensor *t) {
    Values v = values_for(t);
    for (int64_t i = 0; i < t->numel; i++) v.v[i] = 0;
    return v;
}

void values_free(Values *v) { free(v->owned); }
void values_done(Values *v) { out_done(v->t, CT_F64, v->v, v->owned); }

/* ---- elementwise ------------------------------------------------------------------------------- */
static double log_add(double a, double b, double scale) { /* log(exp(a s) + exp(b s)) / s */
    double high = a > b ? a : b, low = a > b ? b : a;
    if (isinf(high)) return high;
    return high + log1p(exp((low - high) * scale)) / scale;
}

static double shifted(double a, double by, bool left) {
    int64_t n = (int64_t)by;
    if (n < 0 || n > 63) return left || a >= 0 ? 0 : -1;
    return left ? (double)(int64_t)((uint64_t)(int64_t)a << n) : (double)((int64_t)a >> n);
}

static double log_sigmoid(double x) { return x >= 0 ? -log1p(exp(-x)) : x - log1p(exp(x)); }

static double map(int op, const double x[3], const double s[3]) {
    double a = x[0], b = x[1], c = x[2];
    switch (op) {
    case CLIENT_MAXS: return a != a ? a : a > s[0] ? a : s[0];
    case CLIENT_MINS: return a != a ? a : a < s[0] ? a : s[0];
    case CLIENT_CELU: return a > 0 ? a : s[0] * expm1(a / s[0]);
    case CLIENT_LOG_SIGMOID: return log_sigmoid(a);
    case CLIENT_LOG_ADD_EXP: return log_add(a, b, 1);
    case CLIENT_LOG_ADD_EXP2: return log_add(a, b, LN2);
    case CLIENT_LEFT_SHIFT: return shifted(a, b, true);
    case CLIENT_LEFT_SHIFTS: return shifted(a, s[0], true);
    case CLIENT_RIGHT_SHIFT: return shifted(a, b, false);
    case CLIENT_SIGNBIT: return signbit(a) != 0;
    case CLIENT_POSITIVE_INFINITY: return isinf(a) && a > 0;
    case CLIENT_NEGATIVE_INFINITY: return isinf(a) && a < 0;
    case CLIENT_SINC: return a == 0 ? 1 : sin(PI * a) / (PI * a);
    case CLIENT_LERP: return c < 0.5 ? a + c * (b - a) : b - (b - a) * (1 - c);
    case CLIENT_NAN_TO_NUM: return a != a ? s[0] : isinf(a) ? (a > 0 ? s[1] : s[2]) : a;
    case CLIENT_CLAMP: a = a != a ? a : a < b ? b : a; return a > c ? c : a;
    default: return NAN;
    }
}

static void map_tensors(int op, const Tensor *const *in, int n_in, const double s[3], const Tensor *out) {
    View from[3], to = view_of(out);
    for (int k = 0; k < n_in; k++) from[k] = view_as(in[k], out->shape, out->ndim);
    double room[3][CHUNK], result[CHUNK];
    for (int64_t start = 0; start < out->numel; start += CHUNK) {
        int64_t n = out->numel - start < CHUNK ? out->numel - start : CHUNK;
        const double *p[3] = {view_load(&from[0], start, n, CT_F64, room[0])};
        for (int k = 1; k < 3; k++) p[k] = k < n_in ? view_load(&from[k], start, n, CT_F64, room[k]) : p[0];
        for (int64_t i = 0; i < n; i++) result[i] = map(op, (double[3]){p[0][i], p[1][i], p[2][i]}, s);
        view_store(&to, start, n, CT_F64, result);
    }
}

int run_client_map(Executor *e) {
    const Tensor *in[3], *out = NULL;
    double s[3] = {0};
    int n_in = 0, n_scalars = 0;
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (role == 'i' || role == 'm') in[n_in++] = e->args[i].t;
        if (role == 'o' || role == 'm') out = e->args[i].t;
        if (role == 's') s[n_scalars++] = e->args[i].s->d;
        if (role == 'f') s[n_scalars++] = e->args[i].d;
    }
    map_tensors(e->op->variant, in, n_in, s, out);
    return ACL_OK;
}

int check_log_sigmoid(Executor *e) { return need_same(e, e->args[0].t, e->args[1].t, "self and output"); }

int run_log_sigmoid(Executor *e) {
    map_tensors(CLIENT_LOG_SIGMOID, (const Tensor *const[]){e->args[0].t}, 1, (double[3]){0}, e->args[1].t);
    return ACL_OK;
}

int check_log_sigmoid_backward(Executor *e) { return need_same(e, e->args[0].t, e->args[3].t, "the gradients"); }

int run_log_sigmoid_backward(Executor *e) { /* gradOutput, self, buffer, gradInput */
    Values grad = values_of(e->args[0].t), x = values_of(e->args[1].t), out = values_for(e->args[3].t);
    for (int64_t i = 0; i < out.t->numel; i++) out.v[i] = grad.v[i] / (1 + exp(x.v[i]));
    values_free(&grad);
    values_free(&x);
    values_done(&out);
    return ACL_OK;
}

int run_copy_to(Executor *e) { /* source, target */
    Operands o = {
        .n_in = 1, .n_scalars = 1, .in = {e->args[0].t}, .scalars = {&(Scalar){DT_INT64, 1, 1}}, .out = e->args[1].t};
    elementwise_apply(EW_MULS, &o);
    return ACL_OK;
}

int run_fill_tensor(Executor *e) { /* selfRef, value */
    Operands o = {
        .n_in = 1, .n_scalars = 1, .in = {e->args[1].t}, .scalars = {&(Scalar){DT_INT64, 1, 1}}, .out = e->args[0].t};
    elementwise_apply(EW_MULS, &o);
    return ACL_OK;
}

/* ---- parametric ReLU: one weight, or one per channel (dimension 1) ----------------------------- */
static int64_t channel_of(const Tensor *t, int64_t at) {
    int64_t inner = 1;
    for (int i = 2; i < t->ndim; i++) inner *= t->shape[i];
    return t->ndim < 2 ? at : at / inner % t->shape[1];
}

int check_prelu(Executor *e) { return need_same(e, e->args[0].t, e->args[2].t, "self and output"); }

int run_prelu(Executor *e) { /* self, weight, out */
    Values x = values_of(e->args[0].t), w = values_of(e->args[1].t), out = values_for(e->args[2].t);
    for (int64_t i = 0; i < x.t->numel; i++) {
        out.v[i] = x.v[i] > 0 ? x.v[i] : x.v[i] * w.v[w.t->numel == 1 ? 0 : channel_of(x.t, i)];
    }
    values_free(&x);
    values_free(&w);
    values_done(&out);
    return ACL_OK;
}

int run_prelu_backward(Executor *e) { /* gradOutput, self, weight, gradInput, gradWeight */
    Values grad = values_of(e->args[0].t), x = values_of(e->args[1].t), w = values_of(e->args[2].t);
    Values to_x = values_for(e->args[3].t), to_w = values_for(e->args[4].t);
    for (int64_t k = 0; k < to_w.t->numel; k++) to_w.v[k] = 0;
    for (int64_t i = 0; i < x.t->numel; i++) {
        int64_t k = w.t->numel == 1 ? 0 : channel_of(x.t, i);
        to_x.v[i] = x.v[i] > 0 ? grad.v[i] : grad.v[i] * w.v[k];
        if (x.v[i] <= 0) to_w.v[k] += grad.v[i] * x.v[i];
    }
    values_free(&grad);
    values_free(&x);
    values_free(&w);
    values_done(&to_x);
    values_done(&to_w);
    return ACL_OK;
}

/* ---- lists of tensors -------------------------------------------------------------------------- */
/* argument 1: a scalar, scalars, or a tensor of one or of as many elements */
static double scalar_of(const Executor *e, uint64_t k) {
    char role = e->op->roles[1];
    if (role == 's') return e->args[1].s->d;
    if (role == 'S') return e->args[1].scalars->v[k]->d;
    View v = view_of(e->args[1].t);
    double room;
    return *(const double *)view_load(&v, e->args[1].t->numel == 1 ? 0 : (int64_t)k, 1, CT_F64, &room);
}

int run_foreach_limit(Executor *e) {
    for (uint64_t k = 0; k < e->args[0].list->n; k++) {
        map_tensors(e->op->variant, (const Tensor *const[]){e->args[0].list->v[k]}, 1, (double[3]){scalar_of(e, k)},
                    e->args[2].list->v[k]);
    }
    return ACL_OK;
}

int run_foreach_copy(Executor *e) {
    Scalar one = {DT_INT64, 1, 1};
    for (uint64_t k = 0; k < e->args[0].list->n; k++) {
        Operands o = {
            .n_in = 1, .n_scalars = 1, .in = {e->args[0].list->v[k]}, .scalars = {&one}, .out = e->args[1].list->v[k]};
        elementwise_apply(EW_MULS, &o);
    }
    return ACL_OK;
}

int run_foreach_zero(Executor *e) {
    for (uint64_t k = 0; k < e->args[0].list->n; k++) {
        Values v = values_for(e->args[0].list->v[k]);
        for (int64_t i = 0; i < v.t->numel; i++) v.v[i] = 0;
        values_done(&v);
    }
    return ACL_OK;
}

int run_foreach_norm(Executor *e) {
    double order = e->args[1].s->d;
    for (uint64_t k = 0; k < e->args[0].list->n; k++) {
        Values x = values_of(e->args[0].list->v[k]), out = values_for(e->args[2].list->v[k]);
        double total = 0;
        for (int64_t i = 0; i < x.t->numel; i++) {
            double a = fabs(x.v[i]);
            if (isinf(order)) total = a > total ? a : total;
            else total += order == 2 ? a * a : order == 1 ? a : pow(a, order);
        }
        out.v[0] = isinf(order) || order == 1 ? total : order == 2 ? sqrt(total) : pow(total, 1 / order);
        values_free(&x);
        values_done(&out);
    }
    return ACL_OK;
}

int run_unscale(
    Executor *e) { /* gradients (changed in place), foundInf (set to 1 where one is not finite), the factor */
    Values factor = values_of(e->args[2].t), found = values_for(e->args[1].t);
    double any = 0;
    for (uint64_t k = 0; k < e->args[0].list->n; k++) {
        Values in = values_of(e->args[0].list->v[k]), out = values_for(e->args[0].list->v[k]);
        for (int64_t i = 0; i < in.t->numel; i++) {
            if (!isfinite(in.v[i])) any = 1;
            out.v[i] = in.v[i] * factor.v[0];
        }
        values_free(&in);
        values_done(&out);
    }
    if (any != 0) found.v[0] = any;
    if (any != 0) values_done(&found);
    else values_free(&found);
    values_free(&factor);
    return ACL_OK;
}

/* scale, growth tracker, foundInf, growth factor, backoff factor, interval, new scale, new tracker */
int run_update_scale(Executor *e) {
    Values scale = values_of(e->args[0].t), tracker = values_of(e->args[1].t), found = values_of(e->args[2].t);
    double value = scale.v[0], streak = tracker.v[0] + 1;
    if (found.v[0] != 0) {
        value *= e->args[4].d;
        streak = 0;
    } else if ((int64_t)streak == e->args[5].i) {
        value = isfinite((float)(value * e->args[3].d)) ? value * e->args[3].d : value;
        streak = 0;
    }
    Values new_scale = values_for(e->args[6].t), new_tracker = values_for(e->args[7].t);
    new_scale.v[0] = value;
    new_tracker.v[0] = streak;
    values_free(&scale);
    values_free(&tracker);
    values_free(&found);
    values_done(&new_scale);
    values_done(&new_tracker);
    return ACL_OK;
}

/* ---- losses over pairs: reduction 0 none, 1 mean, 2 sum ---------------------------------------- */
typedef struct {
    int kind;
    bool log_target;
    double weight, positive;
} LossPoint;

static double loss(LossPoint p, double x, double y) {
    switch (p.kind) {
    case CLIENT_L1: return fabs(x - y);
    case CLIENT_KL: return p.log_target ? exp(y) * (y - x) : y > 0 ? y * (log(y) - x) : 0;
    case CLIENT_SOFT_MARGIN: return log1p(exp(-x * y));
    default: return p.weight * ((1 - y) * x - (1 + (p.positive - 1) * y) * log_sigmoid(x));
    }
}

static double loss_slope(LossPoint p, double x, double y) {
    switch (p.kind) {
    case CLIENT_L1: return x > y ? 1 : x < y ? -1 : 0;
    case CLIENT_KL: return p.log_target ? -exp(y) : y > 0 ? -y : 0;
    case CLIENT_SOFT_MARGIN: return -y / (1 + exp(x * y));
    default: return p.weight * ((1 - y) - (1 + (p.positive - 1) * y) / (1 + exp(x)));
    }
}

/* an optional operand that broadcasts; 1 where there is none */
static double at_or(const Tensor *t, const Tensor *like, int64_t i) {
    if (t == NULL) return 1;
    View v = view_as(t, like->shape, like->ndim);
    double room;
    return *(const double *)view_load(&v, i, 1, CT_F64, &room);
}

static LossPoint point(const Executor *e, int first, int64_t i) { /* `first`: where self stands */
    LossPoint p = {.kind = e->op->variant, .weight = 1, .positive = 1};
    const Tensor *self = e->args[first].t;
    if (p.kind == CLIENT_KL) p.log_target = e->args[first + 3].i != 0;
    if (p.kind == CLIENT_BCE_LOGITS) {
        p.weight = at_or(e->args[first + 2].t, self, i);
        p.positive = at_or(e->args[first + 3].t, self, i);
    }
    return p;
}

static int64_t reduction_of(const Executor *e, int first) {
    return e->args[first + (e->op->variant == CLIENT_BCE_LOGITS ? 4 : 2)].i;
}

int run_client_loss(Executor *e) {
    int64_t reduction = reduction_of(e, 0);
    Values x = values_of(e->args[0].t), y = values_of(e->args[1].t), out = values_for(e->args[e->argc - 1].t);
    double total = 0;
    for (int64_t i = 0; i < x.t->numel; i++) {
        double value = loss(point(e, 0, i), x.v[i], y.v[i]);
        if (reduction == 0) out.v[i] = value;
        total += value;
    }
    if (reduction != 0) out.v[0] = reduction == 1 ? total / (double)x.t->numel : total;
    values_free(&x);
    values_free(&y);
    values_done(&out);
    return ACL_OK;
}

int run_client_loss_backward(Executor *e) { /* gradOutput, self, target, ..., gradInput */
    int64_t reduction = reduction_of(e, 1);
    Values grad = values_of(e->args[0].t), x = values_of(e->args[1].t), y = values_of(e->args[2].t);
    Values out = values_for(e->args[e->argc - 1].t);
    for (int64_t i = 0; i < x.t->numel; i++) {
        double g = grad.v[grad.t->numel == 1 ? 0 : i] / (reduction == 1 ? (double)x.t->numel : 1);
        out.v[i] = g * loss_slope(point(e, 1, i), x.v[i], y.v[i]);
    }
    values_free(&grad);
    values_free(&x);
    values_free(&y);
    values_done(&out);
    return ACL_OK;
}

/* ---- random numbers ---------------------------------------------------------------------------- */
int run_bernoulli(Executor *e) { /* selfRef or self, probability, seed, offset[, out] */
    const Tensor *out = e->args[e->argc == 5 ? 4 : 0].t;
    Values to = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) {
        double p = e->op->roles[1] == 's' ? e->args[1].s->d : at_or(e->args[1].t, out, i);
        to.v[i] = random_unit((uint64_t)e->args[2].i, (uint64_t)e->args[3].i, i) < p;
    }
    values_done(&to);
    return ACL_OK;
}

int run_normal_of(Executor *e) { /* mean, std (tensors or numbers), seed, offset, out */
    const Tensor *out = e->args[4].t;
    Values to = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) {
        double mean = e->op->roles[0] == 'f' ? e->args[0].d : at_or(e->args[0].t, out, i);
        double std = e->op->roles[1] == 'f' ? e->args[1].d : at_or(e->args[1].t, out, i);
        uint64_t seed = (uint64_t)e->args[2].i, offset = (uint64_t)e->args[3].i;
        double radius = sqrt(-2 * log(1 - random_unit(seed, offset, 2 * i)));
        double angle = 2 * PI * random_unit(seed, offset, 2 * i + 1);
        to.v[i] = mean + std * radius * cos(angle);
    }
    values_done(&to);
    return ACL_OK;
}
