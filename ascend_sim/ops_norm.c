/* Layer and batch normalization, forward and backward. Statistics are accumulated in double. */
#include "kernels.h"

#include <math.h>

static void store_scalar(const View *v, int64_t at, double value) { view_store(v, at, 1, CT_F64, &value); }

static double load_scalar(const View *v, int64_t at) {
    double room;
    return *(const double *)view_load(v, at, 1, CT_F64, &room);
}

static View maybe_view(const Tensor *t) { return t != NULL ? view_of(t) : (View){0}; }

/* ---- layer norm: rows of `inner` elements ------------------------------------------------------ */
static int check_normalized(Executor *e, const Tensor *in, const IntArray *shape) {
    int at = in->ndim - (int)shape->n;
    if (shape->n == 0 || at < 0) return nn_fail(e, "normalizedShape has %d values", (int)shape->n);
    for (uint64_t i = 0; i < shape->n; i++) {
        if (in->shape[at + (int)i] != shape->v[i])
            return nn_fail(e, "normalizedShape does not match %s", shape_text(in));
    }
    return ACL_OK;
}

static int64_t inner_size(const IntArray *shape) {
    int64_t n = 1;
    for (uint64_t i = 0; i < shape->n; i++) n *= shape->v[i];
    return n;
}

static int need_count(Executor *e, const Tensor *t, int64_t n, const char *what) {
    if (t == NULL || t->numel == n) return ACL_OK;
    return nn_fail(e, "%s has %lld elements, expected %lld", what, (long long)t->numel, (long long)n);
}

int check_layer_norm(Executor *e) {
    const Tensor *in = e->args[0].t;
    const IntArray *shape = e->args[1].ints;
    int code = check_normalized(e, in, shape);
    if (code != 0) return code;
    int64_t inner = inner_size(shape), rows = inner == 0 ? 0 : in->numel / inner;
    code = need_same(e, in, e->args[5].t, "output");
    if (code == 0) code = need_count(e, e->args[2].t, inner, "the weight");
    if (code == 0) code = need_count(e, e->args[3].t, inner, "the bias");
    if (code == 0) code = need_count(e, e->args[6].t, rows, "mean");
    if (code == 0) code = need_count(e, e->args[7].t, rows, "rstd");
    return code;
}

int run_layer_norm(Executor *e) {
    const Tensor *in = e->args[0].t, *weight = e->args[2].t, *bias = e->args[3].t, *out = e->args[5].t;
    if (in->numel == 0) return ACL_OK;
    int64_t inner = inner_size(e->args[1].ints), rows = in->numel / inner;
    void *own_x, *own_w = NULL, *own_b = NULL, *own_y;
    const float *x = dense_f32(in, &own_x), *w = weight ? dense_f32(weight, &own_w) : NULL;
    const float *b = bias ? dense_f32(bias, &own_b) : NULL;
    float *y = out_f32(out, &own_y);
    View mean_view = maybe_view(e->args[6].t), rstd_view = maybe_view(e->args[7].t);
    for (int64_t r = 0; r < rows; r++, x += inner) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < inner; i++) mean += x[i];
        mean /= (double)inner;
        for (int64_t i = 0; i < inner; i++) variance += (x[i] - mean) * (x[i] - mean);
        double rstd = 1 / sqrt(variance / (double)inner + e->args[4].d);
        for (int64_t i = 0; i < inner; i++) {
            y[r * inner + i] = (float)((x[i] - mean) * rstd) * (w ? w[i] : 1) + (b ? b[i] : 0);
        }
        if (e->args[6].t != NULL) store_scalar(&mean_view, r, mean);
        if (e->args[7].t != NULL) store_scalar(&rstd_view, r, rstd);
    }
    out_done(out, CT_F32, y, own_y);
    free(own_x);
    free(own_w);
    free(own_b);
    return ACL_OK;
}

static int check_masked(Executor *e, int mask_at, int first) {
    const BoolArray *mask = e->args[mask_at].bools;
    if (mask->n != 3) return nn_fail(e, "outputMask needs 3 values");
    for (int i = 0; i < 3; i++) {
        if (mask->v[i] && e->args[first + i].t == NULL) return nn_fail(e, "a masked gradient is null");
    }
    return ACL_OK;
}

int check_layer_norm_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *in = e->args[1].t;
    const IntArray *shape = e->args[2].ints;
    int code = check_normalized(e, in, shape);
    if (code == 0) code = need_same(e, grad, in, "gradOut and input");
    if (code == 0) code = check_masked(e, 7, 8);
    if (code != 0) return code;
    int64_t inner = inner_size(shape), rows = inner == 0 ? 0 : in->numel / inner;
    code = need_count(e, e->args[3].t, rows, "mean");
    if (code == 0) code = need_count(e, e->args[4].t, rows, "rstd");
    if (code == 0 && e->args[8].t) code = need_same(e, in, e->args[8].t, "gradInput");
    e->workspace = 1024;
    return code;
}

int run_layer_norm_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *in = e->args[1].t, *weight = e->args[5].t;
    const BoolArray *mask = e->args[7].bools;
    int64_t inner = inner_size(e->args[2].ints), rows = inner == 0 ? 0 : in->numel / inner;
    void *own_g, *own_x, *own_w = NULL, *own_dx = NULL;
    const float *dy = dense_f32(grad, &own_g), *x = dense_f32(in, &own_x);
    const float *w = weight ? dense_f32(weight, &own_w) : NULL;
    float *dx = mask->v[0] ? out_f32(e->args[8].t, &own_dx) : NULL;
    double *dw = calloc((size_t)inner * 2 + 1, sizeof *dw), *db = dw + inner;
    View means = view_of(e->args[3].t), rstds = view_of(e->args[4].t);
    for (int64_t r = 0; r < rows; r++, dy += inner, x += inner) {
        double mean = load_scalar(&means, r), rstd = load_scalar(&rstds, r), sum = 0, projection = 0;
        for (int64_t i = 0; i < inner; i++) {
            double hat = (x[i] - mean) * rstd, g = (double)dy[i] * (w ? w[i] : 1);
            sum += g;
            projection += g * hat;
            dw[i] += dy[i] * hat;
            db[i] += dy[i];
        }
        for (int64_t i = 0; dx != NULL && i < inner; i++) {
            double hat = (x[i] - mean) * rstd, g = (double)dy[i] * (w ? w[i] : 1);
            dx[r * inner + i] = (float)(rstd * (g - (sum + hat * projection) / (double)inner));
        }
    }
    if (dx != NULL) out_done(e->args[8].t, CT_F32, dx, own_dx);
    for (int k = 1; k < 3; k++) {
        if (!mask->v[k] || inner == 0) continue;
        View out = view_of(e->args[8 + k].t);
        view_store(&out, 0, inner, CT_F64, k == 1 ? dw : db);
    }
    free(dw);
    free(own_g);
    free(own_x);
    free(own_w);
    return ACL_OK;
}

/* ---- batch norm: [batch, channels, points] ----------------------------------------------------- */
typedef struct {
    int64_t batch, channels, points;
} Layout;

static Layout layout_of(const Tensor *t) {
    Layout l = {t->shape[0], t->shape[1], 1};
    for (int i = 2; i < t->ndim; i++) l.points *= t->shape[i];
    return l;
}

static int check_channels(Executor *e, const Tensor *in, const int *at, int n) {
    if (in->ndim < 2) return nn_fail(e, "the input has rank %d", in->ndim);
    for (int i = 0; i < n; i++) {
        int code = need_count(e, e->args[at[i]].t, in->shape[1], "a tensor per channel");
        if (code != 0) return code;
    }
    return ACL_OK;
}

int check_batch_norm(Executor *e) {
    static const int per_channel[] = {1, 2, 3, 4};
    int code = check_channels(e, e->args[0].t, per_channel, 4);
    if (code == 0 && e->args[5].i == 0 && (e->args[3].t == NULL || e->args[4].t == NULL)) {
        code = nn_fail(e, "running statistics are needed when training is false");
    }
    return code != 0 ? code : need_same(e, e->args[0].t, e->args[8].t, "output");
}

static void statistics(const float *x, Layout l, int64_t c, double *mean, double *variance) {
    double sum = 0, square = 0, n = (double)(l.batch * l.points);
    for (int64_t b = 0; b < l.batch; b++) {
        const float *p = x + (b * l.channels + c) * l.points;
        for (int64_t i = 0; i < l.points; i++) sum += p[i];
    }
    *mean = sum / n;
    for (int64_t b = 0; b < l.batch; b++) {
        const float *p = x + (b * l.channels + c) * l.points;
        for (int64_t i = 0; i < l.points; i++) square += (p[i] - *mean) * (p[i] - *mean);
    }
    *variance = square / n;
}

static void update_running(const View *v, int64_t c, double value, double momentum) {
    store_scalar(v, c, load_scalar(v, c) * (1 - momentum) + value * momentum);
}

int run_batch_norm(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[8].t;
    if (in->numel == 0) return ACL_OK;
    Layout l = layout_of(in);
    bool training = e->args[5].i != 0;
    double momentum = e->args[6].d, eps = e->args[7].d, n = (double)(l.batch * l.points);
    void *own_x, *own_y;
    const float *x = dense_f32(in, &own_x);
    float *y = out_f32(out, &own_y);
    View weight = maybe_view(e->args[1].t), bias = maybe_view(e->args[2].t), mean_view = maybe_view(e->args[3].t);
    View var_view = maybe_view(e->args[4].t), save_mean = maybe_view(e->args[9].t),
         save_std = maybe_view(e->args[10].t);
    for (int64_t c = 0; c < l.channels; c++) {
        double mean, variance;
        if (training) {
            statistics(x, l, c, &mean, &variance);
            if (e->args[3].t) update_running(&mean_view, c, mean, momentum);
            if (e->args[4].t) update_running(&var_view, c, n > 1 ? variance * n / (n - 1) : variance, momentum);
        } else {
            mean = load_scalar(&mean_view, c);
            variance = load_scalar(&var_view, c);
        }
        double rstd = 1 / sqrt(variance + eps);
        float scale = (float)(rstd * (e->args[1].t ? load_scalar(&weight, c) : 1));
        float shift = (float)(e->args[2].t ? load_scalar(&bias, c) : 0);
        for (int64_t b = 0; b < l.batch; b++) {
            int64_t at = (b * l.channels + c) * l.points;
            for (int64_t i = at; i < at + l.points; i++) y[i] = (float)(x[i] - mean) * scale + shift;
        }
        if (training && e->args[9].t && e->args[9].t->numel == l.channels) store_scalar(&save_mean, c, mean);
        if (training && e->args[10].t && e->args[10].t->numel == l.channels) store_scalar(&save_std, c, rstd);
    }
    out_done(out, CT_F32, y, own_y);
    free(own_x);
    return ACL_OK;
}

int check_batch_norm_backward(Executor *e) {
    static const int per_channel[] = {2, 3, 4};
    int code = check_channels(e, e->args[1].t, per_channel, 3);
    if (code == 0) code = need_same(e, e->args[0].t, e->args[1].t, "gradOut and input");
    if (code == 0) code = check_masked(e, 9, 10);
    bool training = e->args[7].i != 0;
    int first = training ? 5 : 3;
    if (code == 0 && (e->args[first].t == NULL || e->args[first + 1].t == NULL)) {
        code = nn_fail(e, "%s statistics are needed", training ? "saved" : "running");
    }
    return code;
}

int run_batch_norm_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *in = e->args[1].t;
    const BoolArray *mask = e->args[9].bools;
    if (in->numel == 0) return ACL_OK;
    Layout l = layout_of(in);
    bool training = e->args[7].i != 0;
    double n = (double)(l.batch * l.points);
    void *own_g, *own_x, *own_dx = NULL;
    const float *dy = dense_f32(grad, &own_g), *x = dense_f32(in, &own_x);
    float *dx = mask->v[0] ? out_f32(e->args[10].t, &own_dx) : NULL;
    View weight = maybe_view(e->args[2].t), means = view_of(e->args[training ? 5 : 3].t);
    View scales = view_of(e->args[training ? 6 : 4].t), dw = maybe_view(e->args[11].t), db = maybe_view(e->args[12].t);
    for (int64_t c = 0; c < l.channels; c++) {
        double mean = load_scalar(&means, c), rstd = load_scalar(&scales, c), sum = 0, projection = 0;
        if (!training) rstd = 1 / sqrt(rstd + e->args[8].d);
        for (int64_t b = 0; b < l.batch; b++) {
            int64_t at = (b * l.channels + c) * l.points;
            for (int64_t i = at; i < at + l.points; i++) {
                sum += dy[i];
                projection += dy[i] * (x[i] - mean) * rstd;
            }
        }
        double scale = rstd * (e->args[2].t ? load_scalar(&weight, c) : 1);
        for (int64_t b = 0; dx != NULL && b < l.batch; b++) {
            int64_t at = (b * l.channels + c) * l.points;
            for (int64_t i = at; i < at + l.points; i++) {
                double centred = training ? dy[i] - sum / n - (x[i] - mean) * rstd * projection / n : dy[i];
                dx[i] = (float)(scale * centred);
            }
        }
        if (mask->v[1]) store_scalar(&dw, c, projection);
        if (mask->v[2]) store_scalar(&db, c, sum);
    }
    if (dx != NULL) out_done(e->args[10].t, CT_F32, dx, own_dx);
    free(own_g);
    free(own_x);
    return ACL_OK;
}
