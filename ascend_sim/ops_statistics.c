/* Products, variances and norms over dimensions, and group normalization. Sums are accumulated in double. */
#include "kernels.h"

#include <math.h>

/* ---- reductions -------------------------------------------------------------------------------- */
int check_prod(Executor *e) { /* self, dtype, out; ProdDim: self, dim, keepDim, dtype, out */
    bool one_dim = e->argc == 5;
    const Tensor *out = e->args[e->argc - 1].t;
    if (e->args[one_dim ? 3 : 1].i != out->dtype) return nn_fail(e, "dtype is not the type of the output");
    if (!one_dim) return need_shape(e, out, NULL, 0, "the output");
    return check_reduced_dims(e, &e->args[1].i, 1, e->args[2].i != 0, out);
}

int check_variance(Executor *e) { /* self, dims, correction, keepdim, out[, mean] */
    for (int i = 4; i < e->argc; i++) {
        const IntArray *dims = e->args[1].ints;
        int code = check_reduced_dims(e, dims->v, (int)dims->n, e->args[3].i != 0, e->args[i].t);
        if (code != 0) return code;
    }
    return ACL_OK;
}

int check_vector_norm(Executor *e) { /* self, ord, dims, keepDims, dtype, out */
    const IntArray *dims = e->args[2].ints;
    if (e->args[4].i != e->args[5].t->dtype) return nn_fail(e, "dtype is not the type of the output");
    return check_reduced_dims(e, dims->v, (int)dims->n, e->args[3].i != 0, e->args[5].t);
}

static double vector_norm(const double *x, int64_t n, double order) {
    double total = order == INFINITY || order != -INFINITY ? 0 : INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double a = fabs(x[i]);
        if (order == INFINITY) total = a != a || total != total ? NAN : a > total ? a : total;
        else if (order == -INFINITY) total = a != a || total != total ? NAN : a < total ? a : total;
        else if (order == 0) total += a != 0;
        else if (order == 1) total += a;
        else if (order == 2) total += a * a;
        else total += pow(a, order);
    }
    if (order == 2) return sqrt(total);
    return order == 0 || order == 1 || isinf(order) ? total : pow(total, 1 / order);
}

static double mean_of(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static double variance_of(const double *x, int64_t n, int64_t correction) {
    double mean = mean_of(x, n), sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return n - correction > 0 ? sum / (double)(n - correction) : sum > 0 ? INFINITY : NAN;
}

int run_statistics(Executor *e) { /* the variant says which */
    int kind = e->op->variant;
    const Tensor *in = e->args[0].t, *out = kind == STAT_NORM ? e->args[5].t : e->args[4].t;
    const Tensor *means = e->argc == 6 && kind != STAT_NORM ? e->args[5].t : NULL;
    if (out->numel == 0) return ACL_OK;
    Rows rows = rows_of(in, reduced_dims(in, e->args[kind == STAT_NORM ? 2 : 1].ints));
    View from = view_of(&rows.t), to = view_of(out), to_mean = means != NULL ? view_of(means) : (View){0};
    double *buffer = malloc((size_t)(rows.inner > 0 ? rows.inner : 1) * sizeof *buffer);
    for (int64_t r = 0; r < rows.outer; r++) {
        const double *x = rows.inner > 0 ? view_load(&from, r * rows.inner, rows.inner, CT_F64, buffer) : buffer;
        double value =
            kind == STAT_NORM ? vector_norm(x, rows.inner, e->args[1].s->d) : variance_of(x, rows.inner, e->args[2].i);
        if (kind == STAT_STD) value = sqrt(value);
        view_store(&to, r, 1, CT_F64, &value);
        if (means == NULL) continue;
        double mean = mean_of(x, rows.inner);
        view_store(&to_mean, r, 1, CT_F64, &mean);
    }
    free(buffer);
    return ACL_OK;
}

int run_prod(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[e->argc - 1].t;
    if (out->numel == 0) return ACL_OK;
    uint32_t mask = e->argc == 3 ? (1u << MAX_DIMS) - 1 : in->ndim == 0 ? 0 : 1u << normal_dim(e->args[1].i, in->ndim);
    Rows rows = rows_of(in, mask);
    bool whole = !dtype_is_float(out->dtype);
    View from = view_of(&rows.t), to = view_of(out);
    for (int64_t r = 0; r < rows.outer; r++) {
        double real = 1;
        uint64_t exact = 1; /* integers wrap */
        for (int64_t i = 0; i < rows.inner; i++) {
            double x;
            int64_t k;
            if (whole) {
                view_read(&k, &from, r * rows.inner + i, CT_I64);
                exact *= (uint64_t)k;
            } else {
                view_read(&x, &from, r * rows.inner + i, CT_F64);
                real *= x;
            }
        }
        if (whole) view_store(&to, r, 1, CT_I64, &exact);
        else view_store(&to, r, 1, CT_F64, &real);
    }
    return ACL_OK;
}

/* ---- group normalization: rows are (sample, group) --------------------------------------------- */
typedef struct {
    int64_t samples, channels, points, groups, width;
} Groups; /* width: channels of a group */

static Groups groups_of(const Executor *e, int at) {
    Groups g = {e->args[at].i, e->args[at + 1].i, e->args[at + 2].i, e->args[at + 3].i, 0};
    g.width = g.groups > 0 ? g.channels / g.groups : 0;
    return g;
}

static int check_groups(Executor *e, const Groups *g, const Tensor *in, const Tensor *gamma, const Tensor *beta) {
    if (g->groups <= 0 || g->channels % g->groups != 0) {
        return nn_fail(e, "%lld channels in %lld groups", (long long)g->channels, (long long)g->groups);
    }
    if (in->ndim < 2 || in->numel != g->samples * g->channels * g->points || in->shape[0] != g->samples ||
        in->shape[1] != g->channels) {
        return nn_fail(e, "N, C and HxW do not match %s", shape_text(in));
    }
    const Tensor *affine[2] = {gamma, beta};
    for (int i = 0; i < 2; i++) {
        if (affine[i] != NULL && affine[i]->numel != g->channels)
            return nn_fail(e, "gamma or beta has %lld elements", (long long)affine[i]->numel);
    }
    return ACL_OK;
}

static int check_group_statistics(Executor *e, const Groups *g, int at) {
    int64_t shape[2] = {g->samples, g->groups};
    int code = need_shape(e, e->args[at].t, shape, 2, "the mean");
    return code != 0 ? code : need_shape(e, e->args[at + 1].t, shape, 2, "rstd");
}

int check_group_norm(Executor *e) { /* self, gamma, beta, N, C, HxW, group, eps, out, mean, rstd */
    Groups g = groups_of(e, 3);
    int code = check_groups(e, &g, e->args[0].t, e->args[1].t, e->args[2].t);
    if (code == 0) code = need_same(e, e->args[0].t, e->args[8].t, "self and output");
    return code != 0 ? code : check_group_statistics(e, &g, 9);
}

int run_group_norm(Executor *e) {
    const Tensor *in = e->args[0].t, *gamma = e->args[1].t, *beta = e->args[2].t;
    Groups g = groups_of(e, 3);
    if (in->numel == 0) return ACL_OK;
    int64_t row = g.width * g.points;
    void *own_x, *own_w = NULL, *own_b = NULL, *own_y;
    const float *x = dense_f32(in, &own_x), *w = gamma ? dense_f32(gamma, &own_w) : NULL,
                *b = beta ? dense_f32(beta, &own_b) : NULL;
    float *y = out_f32(e->args[8].t, &own_y);
    View to_mean = view_of(e->args[9].t), to_rstd = view_of(e->args[10].t);
    for (int64_t r = 0; r < g.samples * g.groups; r++) {
        double mean = 0, sum = 0;
        for (int64_t i = 0; i < row; i++) mean += x[r * row + i];
        mean /= (double)row;
        for (int64_t i = 0; i < row; i++) sum += (x[r * row + i] - mean) * (x[r * row + i] - mean);
        double rstd = 1 / sqrt(sum / (double)row + e->args[7].d);
        for (int64_t i = 0; i < row; i++) {
            int64_t c = r % g.groups * g.width + i / g.points;
            y[r * row + i] = (float)((x[r * row + i] - mean) * rstd) * (w ? w[c] : 1) + (b ? b[c] : 0);
        }
        view_store(&to_mean, r, 1, CT_F64, &mean);
        view_store(&to_rstd, r, 1, CT_F64, &rstd);
    }
    out_done(e->args[8].t, CT_F32, y, own_y);
    free(own_x);
    free(own_w);
    free(own_b);
    return ACL_OK;
}

int check_group_norm_backward(
    Executor *e) { /* gradOut, input, mean, rstd, gamma, N, C, HxW, group, mask, dx, dgamma, dbeta */
    const BoolArray *mask = e->args[9].bools;
    Groups g = groups_of(e, 5);
    int code = check_groups(e, &g, e->args[1].t, e->args[4].t, NULL);
    if (code == 0) code = need_same(e, e->args[0].t, e->args[1].t, "gradOut and input");
    if (code == 0) code = check_group_statistics(e, &g, 2);
    if (code == 0 && mask->n != 3) code = nn_fail(e, "outputMask needs 3 values");
    for (int i = 0; code == 0 && i < 3; i++) {
        const Tensor *made = e->args[10 + i].t;
        if (mask->v[i] && made == NULL) return nn_fail(e, "a gradient that outputMask asks for is null");
        if (made != NULL && made->numel != (i == 0 ? e->args[1].t->numel : g.channels))
            return nn_fail(e, "a gradient has a wrong size");
    }
    return code;
}

/* One (sample, group): with u = dy * gamma, dx = rstd * (u - mean(u) - xhat * mean(u * xhat)). */
static void group_backward(const Groups *g, int64_t r, const float *dy, const float *x, const float *w, double mean,
                           double rstd, float *dx, double *dw, double *db) {
    int64_t row = g->width * g->points;
    double sum = 0, dot = 0;
    for (int64_t i = 0; i < row; i++) {
        int64_t at = r * row + i, c = r % g->groups * g->width + i / g->points;
        double xhat = (x[at] - mean) * rstd, u = dy[at] * (w ? w[c] : 1.0);
        sum += u;
        dot += u * xhat;
        dw[c] += dy[at] * xhat;
        db[c] += dy[at];
    }
    for (int64_t i = 0; dx != NULL && i < row; i++) {
        int64_t at = r * row + i, c = r % g->groups * g->width + i / g->points;
        double xhat = (x[at] - mean) * rstd, u = dy[at] * (w ? w[c] : 1.0);
        dx[at] = (float)(rstd * (u - (sum + xhat * dot) / (double)row));
    }
}

int run_group_norm_backward(Executor *e) {
    Groups g = groups_of(e, 5);
    const BoolArray *mask = e->args[9].bools;
    const Tensor *gamma = e->args[4].t;
    void *own_g, *own_x, *own_m, *own_r, *own_w = NULL, *own_dx = NULL;
    const float *dy = dense_f32(e->args[0].t, &own_g), *x = dense_f32(e->args[1].t, &own_x);
    const float *mean = dense_f32(e->args[2].t, &own_m), *rstd = dense_f32(e->args[3].t, &own_r);
    const float *w = gamma ? dense_f32(gamma, &own_w) : NULL;
    float *dx = mask->v[0] ? out_f32(e->args[10].t, &own_dx) : NULL;
    double *dw = calloc((size_t)g.channels * 2 + 1, sizeof *dw), *db = dw + g.channels;
    for (int64_t r = 0; r < g.samples * g.groups; r++) group_backward(&g, r, dy, x, w, mean[r], rstd[r], dx, dw, db);
    if (dx != NULL) out_done(e->args[10].t, CT_F32, dx, own_dx);
    for (int i = 1; i < 3; i++) {
        if (!mask->v[i]) continue;
        View to = view_of(e->args[10 + i].t);
        view_store(&to, 0, g.channels, CT_F64, i == 1 ? dw : db);
    }
    free(dw);
    free(own_g);
    free(own_x);
    free(own_m);
    free(own_r);
    free(own_w);
    return ACL_OK;
}
