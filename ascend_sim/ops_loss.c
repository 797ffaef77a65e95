/* Negative log likelihood over class scores [N, C] or [C], forward and backward. */
#include "kernels.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

static int check_scores(Executor *e, const Tensor *self, const Tensor *target, const Tensor *weight, int64_t how) {
    if (self->ndim != 1 && self->ndim != 2) return nn_fail(e, "self has rank %d", self->ndim);
    int64_t rows = self->ndim == 2 ? self->shape[0] : 1, classes = self->shape[self->ndim - 1];
    if (target->numel != rows) return nn_fail(e, "target %s does not match %s", shape_text(target), shape_text(self));
    if (weight->numel != classes) return nn_fail(e, "weight has %lld elements", (long long)weight->numel);
    if (how < REDUCE_NONE || how > REDUCE_SUM) return nn_fail(e, "reduction %lld", (long long)how);
    return need_types(e, target, INDICES | BIT(DT_UINT8), "the target");
}

int check_nll_loss(Executor *e) {
    const Tensor *self = e->args[0].t, *target = e->args[1].t, *out = e->args[5].t, *total = e->args[6].t;
    int code = check_scores(e, self, target, e->args[2].t, e->args[3].i);
    if (code != 0) return code;
    bool rows = e->args[3].i == REDUCE_NONE && self->ndim == 2;
    if (out->numel != (rows ? self->shape[0] : 1)) return nn_fail(e, "the output has the shape %s", shape_text(out));
    if (total->numel != 1) return nn_fail(e, "totalWeight has the shape %s", shape_text(total));
    return ACL_OK;
}

int run_nll_loss(Executor *e) {
    const Tensor *self = e->args[0].t, *target = e->args[1].t, *out = e->args[5].t;
    int64_t how = e->args[3].i, ignored = e->args[4].i, classes = self->shape[self->ndim - 1], rows = target->numel;
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
            loss = -(double)x[i * classes + t[i]] * w[t[i]];
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
    int64_t how = e->args[4].i, ignored = e->args[5].i, classes = self->shape[self->ndim - 1], rows = target->numel;
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
        dx[i * classes + t[i]] = -g * w[t[i]] / (how == REDUCE_MEAN ? *total : 1.0f);
    }
    out_done(out, CT_F32, dx, own_y);
    free(own_g);
    free(own_t);
    free(own_w);
    free(own_total);
    return code;
}
