/* Losses: negative log likelihood over class scores [N, C], [C] or (variant 1) [N, C, H, W]; smooth L1; binary cross
 * entropy. */
#include "kernels.h"

#include <math.h>

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static int64_t class_count(const Tensor *self) { return self->shape[self->ndim == 1 ? 0 : 1]; }

/* Where the score of a row's class lies: rows are samples, and points of the plane within a sample. */
static int64_t score_at(const Tensor *self, int64_t row, int64_t label) {
    int64_t plane = 1;
    for (int i = 2; i < self->ndim; i++) plane *= self->shape[i];
    return (row / plane * class_count(self) + label) * plane + row % plane;
}

static int check_scores(Executor *e, const Tensor *self, const Tensor *target, const Tensor *weight, int64_t how) {
    bool fits = e->op->variant == 1 ? self->ndim == 4 : self->ndim == 1 || self->ndim == 2;
    if (!fits) return nn_fail(e, "self has rank %d", self->ndim);
    int64_t classes = class_count(self), rows = self->numel / (classes > 0 ? classes : 1);
    if (target->numel != rows) return nn_fail(e, "target %s does not match %s", shape_text(target), shape_text(self));
    if (weight->numel != classes) return nn_fail(e, "weight has %lld elements", (long long)weight->numel);
    if (how < REDUCE_NONE || how > REDUCE_SUM) return nn_fail(e, "reduction %lld", (long long)how);
    return need_types(e, target, INDICES | BIT(DT_UINT8), "the target");
}

int check_nll_loss(Executor *e) {
    const Tensor *self = e->args[0].t, *target = e->args[1].t, *out = e->args[5].t, *total = e->args[6].t;
    int code = check_scores(e, self, target, e->args[2].t, e->args[3].i);
    if (code != 0) return code;
    bool rows = e->args[3].i == REDUCE_NONE && self->ndim > 1;
    if (out->numel != (rows ? target->numel : 1)) return nn_fail(e, "the output has the shape %s", shape_text(out));
    if (total->numel != 1) return nn_fail(e, "totalWeight has the shape %s", shape_text(total));
    return ACL_OK;
}

int run_nll_loss(Executor *e) {
    const Tensor *self = e->args[0].t, *target = e->args[1].t, *out = e->args[5].t;
    int64_t how = e->args[3].i, ignored = e->args[4].i, classes = class_count(self), rows = target->numel;
    void *own_x, *own_t, *own_w;
    const float *x = dense_f32(self, &own_x), *w = dense_f32(e->args[2].t, &own_w);
    const int64_t *t = dense_i64(target, &own_t);
    View to = view_of(out), total_view = view_of(e->args[6].t);
    double sum = 0, total = 0;
    int code = ACL_OK;
    for (int64_t i = 0; i < rows; i++) {
        double loss = 0;
        if (t[i] != ignored) {
            if (t[i] < 0 || t[i] >= classes) {
                code = run_fail(e, "target %lld is out of range for %lld classes", (long long)t[i], (long long)classes);
                break;
            }
            loss = -(double)x[score_at(self, i, t[i])] * w[t[i]];
            total += w[t[i]];
        }
        sum += loss;
        if (how == REDUCE_NONE) view_store(&to, i, 1, CT_F64, &loss);
    }
    if (code == 0 && how != REDUCE_NONE) {
        double value = how == REDUCE_MEAN ? sum / total : sum;
        view_store(&to, 0, 1, CT_F64, &value);
    }
    if (code == 0) view_store(&total_view, 0, 1, CT_F64, &total);
    free(own_x);
    free(own_t);
    free(own_w);
    return code;
}

int check_nll_loss_backward(Executor *e) {
    int code = check_scores(e, e->args[1].t, e->args[2].t, e->args[3].t, e->args[4].i);
    return code != 0 ? code : need_same(e, e->args[1].t, e->args[7].t, "self and output");
}

int run_nll_loss_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *self = e->args[1].t, *target = e->args[2].t, *out = e->args[7].t;
    int64_t how = e->args[4].i, ignored = e->args[5].i, classes = class_count(self), rows = target->numel;
    if (out->numel == 0) return ACL_OK;
    void *own_g, *own_t, *own_w, *own_total, *own_y;
    const float *dy = dense_f32(grad, &own_g), *w = dense_f32(e->args[3].t, &own_w);
    const float *total = dense_f32(e->args[6].t, &own_total);
    const int64_t *t = dense_i64(target, &own_t);
    float *dx = out_f32(out, &own_y);
    int code = ACL_OK;
    memset(dx, 0, (size_t)out->numel * sizeof *dx);
    for (int64_t i = 0; i < rows && code == 0; i++) {
        if (t[i] == ignored) continue;
        if (t[i] < 0 || t[i] >= classes) {
            code = run_fail(e, "target %lld is out of range for %lld classes", (long long)t[i], (long long)classes);
            break;
        }
        float g = dy[grad->numel == 1 ? 0 : i];
        dx[score_at(self, i, t[i])] = -g * w[t[i]] / (how == REDUCE_MEAN ? *total : 1.0f);
    }
    out_done(out, CT_F32, dx, own_y);
    free(own_g);
    free(own_t);
    free(own_w);
    free(own_total);
    return code;
}

/* ---- losses of pairs of elements: the variant says which, a weight is optional, `beta` is the smooth L1 one ---- */
static double pair_loss(int kind, double x, double target, double beta) {
    if (kind == LOSS_BCE) {
        double yes = log(x), no = log1p(-x);
        return -(target * (yes < -100 ? -100 : yes) + (1 - target) * (no < -100 ? -100 : no));
    }
    double distance = fabs(x - target);
    return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
}

static double pair_slope(int kind, double x, double target, double beta) {
    if (kind == LOSS_BCE) {
        double spread = (1 - x) * x;
        return (x - target) / (spread > 1e-12 ? spread : 1e-12);
    }
    double difference = x - target;
    return fabs(difference) < beta ? difference / beta : difference > 0 ? 1 : difference < 0 ? -1 : difference;
}

/* Smooth L1: self, target, reduction, beta, out; binary cross entropy: self, target, weight, reduction, out. */
int check_pair_loss(Executor *e) {
    int at = e->op->variant == LOSS_BCE ? 3 : 2;
    const Tensor *self = e->args[0].t, *out = e->args[4].t, *weight = at == 3 ? e->args[2].t : NULL;
    int code = need_same(e, self, e->args[1].t, "self and target");
    if (code == 0 && weight != NULL) code = need_same(e, self, weight, "self and weight");
    if (code == 0 && at == 2 && !(e->args[3].d >= 0)) code = nn_fail(e, "beta is %g", e->args[3].d);
    int64_t how = e->args[at].i;
    if (code == 0 && (how < REDUCE_NONE || how > REDUCE_SUM)) code = nn_fail(e, "reduction is %lld", (long long)how);
    if (code != 0) return code;
    return how == REDUCE_NONE ? need_same(e, self, out, "self and output") : need_shape(e, out, NULL, 0, "the output");
}

int run_pair_loss(Executor *e) {
    int kind = e->op->variant;
    const Tensor *self = e->args[0].t, *weight = kind == LOSS_BCE ? e->args[2].t : NULL;
    int64_t how = e->args[kind == LOSS_BCE ? 3 : 2].i;
    View x = view_of(self), y = view_of(e->args[1].t), w = weight ? view_of(weight) : (View){0},
         out = view_of(e->args[4].t);
    double sum = 0, p, q, factor = 1;
    for (int64_t i = 0; i < self->numel; i++) {
        view_read(&p, &x, i, CT_F64);
        view_read(&q, &y, i, CT_F64);
        if (weight != NULL) view_read(&factor, &w, i, CT_F64);
        double loss = factor * pair_loss(kind, p, q, kind == LOSS_BCE ? 0 : e->args[3].d);
        sum += loss;
        if (how == REDUCE_NONE) view_store(&out, i, 1, CT_F64, &loss);
    }
    if (how == REDUCE_MEAN) sum /= (double)self->numel;
    if (how != REDUCE_NONE) view_store(&out, 0, 1, CT_F64, &sum);
    return ACL_OK;
}

/* gradOutput, self, target, [weight,] reduction, [beta,] gradInput */
int check_pair_loss_backward(Executor *e) {
    const Tensor *self = e->args[1].t, *weight = e->op->variant == LOSS_BCE ? e->args[3].t : NULL, *grad = e->args[0].t;
    int code = need_same(e, self, e->args[2].t, "self and target");
    if (code == 0 && weight != NULL) code = need_same(e, self, weight, "self and weight");
    if (code == 0 && grad->numel != 1) code = need_same(e, self, grad, "self and gradOutput");
    return code != 0 ? code : need_same(e, self, e->args[5].t, "self and gradInput");
}

int run_pair_loss_backward(Executor *e) {
    int kind = e->op->variant;
    const Tensor *self = e->args[1].t, *weight = kind == LOSS_BCE ? e->args[3].t : NULL;
    int64_t how = e->args[kind == LOSS_BCE ? 4 : 3].i;
    View g = view_as(e->args[0].t, self->shape, self->ndim), x = view_of(self), y = view_of(e->args[2].t);
    View w = weight ? view_of(weight) : (View){0}, out = view_of(e->args[5].t);
    double p, q, dy, factor = 1;
    for (int64_t i = 0; i < self->numel; i++) {
        view_read(&p, &x, i, CT_F64);
        view_read(&q, &y, i, CT_F64);
        view_read(&dy, &g, i, CT_F64);
        if (weight != NULL) view_read(&factor, &w, i, CT_F64);
        double slope = dy * factor * pair_slope(kind, p, q, kind == LOSS_BCE ? 0 : e->args[4].d);
        if (how == REDUCE_MEAN) slope /= (double)self->numel;
        view_store(&out, i, 1, CT_F64, &slope);
    }
    return ACL_OK;
}
