/* Fused operators of large language models: root-mean-square norms, gated units, masked softmax, group norm with SiLU.
 */
#include "kernels.h"

#include <math.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* ---- root-mean-square norm: rows of as many elements as gamma has ------------------------------ */
static int check_rms(const Executor *e, const Tensor *x, const Tensor *gamma, const Tensor *rstd) {
    int at = x->ndim - gamma->ndim;
    if (at < 0 || gamma->ndim == 0) return nn_fail(e, "gamma is %s, the input %s", shape_text(gamma), shape_text(x));
    for (int i = 0; i < gamma->ndim; i++) {
        if (gamma->shape[i] != x->shape[at + i])
            return nn_fail(e, "gamma is %s, the input %s", shape_text(gamma), shape_text(x));
    }
    int64_t rows = gamma->numel > 0 ? x->numel / gamma->numel : 0;
    return rstd->numel == rows ? ACL_OK
                               : nn_fail(e, "rstd is %s, expected %lld elements", shape_text(rstd), (long long)rows);
}

int check_rms_norm(Executor *e) { /* x, gamma, epsilon, y, rstd */
    int code = check_rms(e, e->args[0].t, e->args[1].t, e->args[4].t);
    return code == ACL_OK ? need_same(e, e->args[0].t, e->args[3].t, "y") : code;
}

int check_add_rms_norm(Executor *e) { /* x1, x2, gamma, epsilon, y, rstd, x */
    int code = check_rms(e, e->args[0].t, e->args[2].t, e->args[5].t);
    for (int i = 1; i < 7 && code == ACL_OK; i++) {
        if (i == 1 || i == 4 || i == 6) code = need_same(e, e->args[0].t, e->args[i].t, "x2, y or x");
    }
    return code;
}

static void rms_rows(const double *x, const Values *gamma, double epsilon, int64_t rows, double *y, double *rstd) {
    int64_t n = gamma->t->numel;
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += x[r * n + i] * x[r * n + i];
        rstd[r] = 1 / sqrt(sum / (double)n + epsilon);
        for (int64_t i = 0; i < n; i++) y[r * n + i] = x[r * n + i] * rstd[r] * gamma->v[i];
    }
}

int run_rms_norm(Executor *e) {
    Values x = values_of(e->args[0].t), gamma = values_of(e->args[1].t);
    Values y = values_for(e->args[3].t), rstd = values_for(e->args[4].t);
    rms_rows(x.v, &gamma, e->args[2].d, e->args[4].t->numel, y.v, rstd.v);
    values_free(&x);
    values_free(&gamma);
    values_done(&y);
    values_done(&rstd);
    return ACL_OK;
}

int run_add_rms_norm(Executor *e) {
    Values a = values_of(e->args[0].t), b = values_of(e->args[1].t), gamma = values_of(e->args[2].t);
    Values y = values_for(e->args[4].t), rstd = values_for(e->args[5].t), x = values_for(e->args[6].t);
    for (int64_t i = 0; i < e->args[0].t->numel; i++) x.v[i] = a.v[i] + b.v[i];
    rms_rows(x.v, &gamma, e->args[3].d, e->args[5].t->numel, y.v, rstd.v);
    Values *read[] = {&a, &b, &gamma}, *made[] = {&y, &rstd, &x};
    for (int i = 0; i < 3; i++) {
        values_free(read[i]);
        values_done(made[i]);
    }
    return ACL_OK;
}

int check_rms_norm_grad(Executor *e) { /* dy, x, rstd, gamma, dx, dgamma */
    int code = check_rms(e, e->args[1].t, e->args[3].t, e->args[2].t);
    if (code == ACL_OK) code = need_same(e, e->args[1].t, e->args[0].t, "dy");
    if (code == ACL_OK) code = need_same(e, e->args[1].t, e->args[4].t, "dx");
    return code == ACL_OK ? need_same(e, e->args[3].t, e->args[5].t, "dgamma") : code;
}

int run_rms_norm_grad(Executor *e) {
    Values dy = values_of(e->args[0].t), x = values_of(e->args[1].t), rstd = values_of(e->args[2].t),
           gamma = values_of(e->args[3].t);
    Values dx = values_for(e->args[4].t), dgamma = values_zeroed(e->args[5].t);
    int64_t n = e->args[3].t->numel;
    for (int64_t r = 0; r < e->args[2].t->numel; r++) {
        double mean = 0, scale = rstd.v[r];
        for (int64_t i = 0; i < n; i++) {
            mean += dy.v[r * n + i] * gamma.v[i] * x.v[r * n + i] * scale / (double)n;
            dgamma.v[i] += dy.v[r * n + i] * x.v[r * n + i] * scale;
        }
        for (int64_t i = 0; i < n; i++)
            dx.v[r * n + i] = scale * (dy.v[r * n + i] * gamma.v[i] - x.v[r * n + i] * scale * mean);
    }
    Values *read[] = {&dy, &x, &rstd, &gamma};
    for (int i = 0; i < 4; i++) values_free(read[i]);
    values_done(&dx);
    values_done(&dgamma);
    return ACL_OK;
}

/* ---- SwiGLU: silu of the first half of a dimension, times the second --------------------------- */
static int check_halves(const Executor *e, const Tensor *whole, const Tensor *half, int64_t dim_) {
    int64_t dim = normal_dim(dim_, whole->ndim);
    if (dim < 0 || whole->shape[dim] % 2 != 0) {
        return nn_fail(e, "dimension %lld of %s has no halves", (long long)dim_, shape_text(whole));
    }
    int64_t shape[MAX_DIMS];
    for (int i = 0; i < whole->ndim; i++) shape[i] = i == dim ? whole->shape[i] / 2 : whole->shape[i];
    return need_shape(e, half, shape, whole->ndim, "the half");
}

int check_swiglu(Executor *e) { return check_halves(e, e->args[0].t, e->args[2].t, e->args[1].i); } /* x, dim, out */

int check_swiglu_grad(Executor *e) { /* dy, x, dim, dx */
    int code = check_halves(e, e->args[1].t, e->args[0].t, e->args[2].i);
    return code == ACL_OK ? need_same(e, e->args[1].t, e->args[3].t, "dx") : code;
}

/* Where element i of the half stands in the whole; its partner is `*apart` further. */
static int64_t half_place(const Tensor *whole, int64_t dim_, int64_t i, int64_t *apart) {
    int64_t dim = normal_dim(dim_, whole->ndim), inner = 1;
    for (int k = (int)dim + 1; k < whole->ndim; k++) inner *= whole->shape[k];
    *apart = whole->shape[dim] / 2 * inner;
    return *apart == 0 ? 0 : i / *apart * 2 * *apart + i % *apart;
}

int run_swiglu(Executor *e) {
    Values x = values_of(e->args[0].t), y = values_for(e->args[2].t);
    for (int64_t i = 0; i < e->args[2].t->numel; i++) {
        int64_t apart, at = half_place(e->args[0].t, e->args[1].i, i, &apart);
        y.v[i] = x.v[at] * sigmoid(x.v[at]) * x.v[at + apart];
    }
    values_free(&x);
    values_done(&y);
    return ACL_OK;
}

int run_swiglu_grad(Executor *e) {
    Values dy = values_of(e->args[0].t), x = values_of(e->args[1].t), dx = values_for(e->args[3].t);
    for (int64_t i = 0; i < e->args[0].t->numel; i++) {
        int64_t apart, at = half_place(e->args[1].t, e->args[2].i, i, &apart);
        double s = sigmoid(x.v[at]);
        dx.v[at] = dy.v[i] * x.v[at + apart] * s * (1 + x.v[at] * (1 - s));
        dx.v[at + apart] = dy.v[i] * x.v[at] * s;
    }
    values_free(&dy);
    values_free(&x);
    values_done(&dx);
    return ACL_OK;
}

/* ---- x * sigmoid(1.702 x) ---------------------------------------------------------------------- */
#define FAST_GELU 1.702

int run_fast_gelu(Executor *e) {
    Values x = values_of(e->args[0].t), y = values_for(e->args[1].t);
    for (int64_t i = 0; i < e->args[0].t->numel; i++) y.v[i] = x.v[i] * sigmoid(FAST_GELU * x.v[i]);
    values_free(&x);
    values_done(&y);
    return ACL_OK;
}

int run_fast_gelu_backward(Executor *e) {
    Values dy = values_of(e->args[0].t), x = values_of(e->args[1].t), dx = values_for(e->args[2].t);
    for (int64_t i = 0; i < e->args[1].t->numel; i++) {
        double s = sigmoid(FAST_GELU * x.v[i]);
        dx.v[i] = dy.v[i] * s * (1 + FAST_GELU * x.v[i] * (1 - s));
    }
    values_free(&dy);
    values_free(&x);
    values_done(&dx);
    return ACL_OK;
}

/* ---- softmax of scaled and masked rows: x, mask, scale, fixed triangle, y ---------------------- */
#define MASKED -10000.0 /* what the masked elements become before the softmax */

int check_masked_softmax(Executor *e) {
    const Tensor *x = e->args[0].t, *mask = e->args[1].t, *both[] = {x, mask};
    int64_t shape[MAX_DIMS];
    int ndim = 0;
    if (x->ndim < 2) return nn_fail(e, "the input is %s", shape_text(x));
    if (!broadcast_shapes(both, 2, shape, &ndim) || ndim != x->ndim)
        return nn_fail(e, "the mask is %s", shape_text(mask));
    return need_same(e, x, e->args[4].t, "y");
}

static bool masked(const View *mask, bool triangle, const Tensor *x, int64_t i) {
    int64_t n = x->shape[x->ndim - 1], rows = x->shape[x->ndim - 2];
    if (triangle) return i % n > i / n % rows;
    int64_t value;
    view_read(&value, mask, i, CT_I64);
    return value != 0;
}

int run_masked_softmax(Executor *e) {
    const Tensor *x = e->args[0].t;
    View mask = view_as(e->args[1].t, x->shape, x->ndim);
    Values in = values_of(x), out = values_for(e->args[4].t);
    int64_t n = x->shape[x->ndim - 1];
    for (int64_t r = 0; n > 0 && r < x->numel / n; r++) {
        double high = -INFINITY, sum = 0;
        for (int64_t i = r * n; i < (r + 1) * n; i++) {
            out.v[i] = masked(&mask, e->args[3].i != 0, x, i) ? MASKED : in.v[i] * e->args[2].d;
            if (out.v[i] > high) high = out.v[i];
        }
        for (int64_t i = r * n; i < (r + 1) * n; i++) sum += out.v[i] = exp(out.v[i] - high);
        for (int64_t i = r * n; i < (r + 1) * n; i++) out.v[i] /= sum;
    }
    values_free(&in);
    values_done(&out);
    return ACL_OK;
}

int run_masked_softmax_backward(Executor *e) { /* dy, y, mask, scale, fixed triangle, dx */
    const Tensor *y = e->args[1].t;
    View mask = view_as(e->args[2].t, y->shape, y->ndim);
    Values dy = values_of(e->args[0].t), out = values_of(y), dx = values_for(e->args[5].t);
    int64_t n = y->shape[y->ndim - 1];
    for (int64_t r = 0; n > 0 && r < y->numel / n; r++) {
        double dot = 0;
        for (int64_t i = r * n; i < (r + 1) * n; i++) dot += dy.v[i] * out.v[i];
        for (int64_t i = r * n; i < (r + 1) * n; i++) {
            dx.v[i] = masked(&mask, e->args[4].i != 0, y, i) ? 0 : e->args[3].d * out.v[i] * (dy.v[i] - dot);
        }
    }
    values_free(&dy);
    values_free(&out);
    values_done(&dx);
    return ACL_OK;
}

int check_masked_softmax_backward(Executor *e) {
    const Tensor *y = e->args[1].t, *both[] = {y, e->args[2].t};
    int64_t shape[MAX_DIMS];
    int ndim = 0;
    if (y->ndim < 2 || !broadcast_shapes(both, 2, shape, &ndim) || ndim != y->ndim) {
        return nn_fail(e, "y is %s, the mask %s", shape_text(y), shape_text(e->args[2].t));
    }
    int code = need_same(e, y, e->args[0].t, "dy");
    return code == ACL_OK ? need_same(e, y, e->args[5].t, "dx") : code;
}

/* ---- group norm, then SiLU: x, gamma, beta, groups, epsilon, out, mean, rstd ------------------- */
int check_group_norm_silu(Executor *e) {
    const Tensor *x = e->args[0].t;
    int64_t groups = e->args[3].i;
    if (x->ndim < 2 || groups < 1 || x->shape[1] % groups != 0) {
        return nn_fail(e, "%lld groups of %s", (long long)groups, shape_text(x));
    }
    const int64_t channels[] = {x->shape[1]};
    for (int i = 1; i < 3; i++) {
        int code = e->args[i].t != NULL ? need_shape(e, e->args[i].t, channels, 1, "gamma or beta") : ACL_OK;
        if (code != ACL_OK) return code;
    }
    for (int i = 6; i < 8; i++) {
        if (e->args[i].t->numel != x->shape[0] * groups)
            return nn_fail(e, "a statistic is %s", shape_text(e->args[i].t));
    }
    return need_same(e, x, e->args[5].t, "out");
}

int run_group_norm_silu(Executor *e) {
    const Tensor *t = e->args[0].t;
    Values none = {0}, x = values_of(t), gamma = e->args[1].t ? values_of(e->args[1].t) : none;
    Values beta = e->args[2].t ? values_of(e->args[2].t) : none;
    Values out = values_for(e->args[5].t), mean = values_for(e->args[6].t), rstd = values_for(e->args[7].t);
    int64_t sets = t->shape[0] * e->args[3].i, n = sets > 0 ? t->numel / sets : 0,
            inner = t->numel > 0 ? t->numel / (t->shape[0] * t->shape[1]) : 1;
    for (int64_t s = 0; s < sets; s++) {
        double sum = 0, squares = 0;
        for (int64_t i = s * n; i < (s + 1) * n; i++) sum += x.v[i];
        mean.v[s] = sum / (double)n;
        for (int64_t i = s * n; i < (s + 1) * n; i++) squares += (x.v[i] - mean.v[s]) * (x.v[i] - mean.v[s]);
        rstd.v[s] = 1 / sqrt(squares / (double)n + e->args[4].d);
        for (int64_t i = s * n; i < (s + 1) * n; i++) {
            int64_t channel = i / inner % t->shape[1];
            double y =
                (x.v[i] - mean.v[s]) * rstd.v[s] * (gamma.v ? gamma.v[channel] : 1) + (beta.v ? beta.v[channel] : 0);
            out.v[i] = y * sigmoid(y);
        }
    }
    Values *read[] = {&x, &gamma, &beta}, *made[] = {&out, &mean, &rstd};
    for (int i = 0; i < 3; i++) {
        values_free(read[i]);
        values_done(made[i]);
    }
    return ACL_OK;
}
