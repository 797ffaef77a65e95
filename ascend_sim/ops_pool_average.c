/* Average pooling and adaptive pooling over two or three dimensions, and maximum pooling over three. The variant of an
 * operator is the number of its spatial dimensions; two-dimensional input is seen as one slice of three. */
#include "kernels.h"

#include <math.h>

typedef struct {
    int64_t from, to, padded;
} Span; /* of one dimension of a window; padded: its length with padding */
typedef struct {
    int spatial;
    bool adaptive, include_padding;
    int64_t planes, in[3], out[3], kernel[3], stride[3], padding[3], dilation[3], divisor;
} Windows;

static int64_t value_at(const IntArray *a, int at) { return a->v[a->n == 1 ? 0 : at]; }

static Windows windows_of(const Tensor *in, const Tensor *out, int spatial) {
    Windows w = {.spatial = spatial,
                 .planes = 1,
                 .in = {1, 1, 1},
                 .out = {1, 1, 1},
                 .kernel = {1, 1, 1},
                 .stride = {1, 1, 1},
                 .dilation = {1, 1, 1}};
    for (int i = 0; i < in->ndim - spatial; i++) w.planes *= in->shape[i];
    for (int i = 0; i < spatial; i++) {
        w.in[3 - spatial + i] = in->shape[in->ndim - spatial + i];
        w.out[3 - spatial + i] = out->shape[out->ndim - spatial + i];
    }
    return w;
}

static void set_windows(Windows *w, const Arg *lists, bool dilated) {
    for (int i = 0; i < w->spatial; i++) {
        int at = 3 - w->spatial + i;
        w->kernel[at] = value_at(lists[0].ints, i);
        w->stride[at] = lists[1].ints->n == 0 ? w->kernel[at] : value_at(lists[1].ints, i);
        w->padding[at] = value_at(lists[2].ints, i);
        if (dilated) w->dilation[at] = value_at(lists[3].ints, i);
    }
}

static Span span_of(const Windows *w, int d, int64_t at) {
    if (w->adaptive) {
        int64_t from = at * w->in[d] / w->out[d], to = ((at + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
        return (Span){from, to, to - from};
    }
    int64_t from = at * w->stride[d] - w->padding[d], to = from + w->kernel[d];
    if (to > w->in[d] + w->padding[d]) to = w->in[d] + w->padding[d];
    int64_t padded = to - from;
    return (Span){from < 0 ? 0 : from, to > w->in[d] ? w->in[d] : to, padded};
}

/* ---- checks ------------------------------------------------------------------------------------ */
static int check_ranks(Executor *e, const Tensor *in, const Tensor *out) {
    int spatial = e->op->variant;
    if (in->ndim != spatial + 1 && in->ndim != spatial + 2) return nn_fail(e, "the input has rank %d", in->ndim);
    if (out->ndim != in->ndim) return nn_fail(e, "the output has rank %d, expected %d", out->ndim, in->ndim);
    for (int i = 0; i < in->ndim - spatial; i++) {
        if (in->shape[i] != out->shape[i])
            return nn_fail(e, "the shapes %s and %s differ", shape_text(in), shape_text(out));
    }
    return ACL_OK;
}

static int check_lists(Executor *e, const Arg *lists, int count) {
    for (int i = 0; i < count; i++) {
        const IntArray *list = lists[i].ints;
        bool fits = list->n == 1 || (int)list->n == e->op->variant || (i == 1 && list->n == 0);
        if (!fits) return nn_fail(e, "a list of sizes has %d values, expected %d", (int)list->n, e->op->variant);
        for (uint64_t k = 0; k < list->n; k++) {
            if (list->v[k] < (i == 2 ? 0 : 1)) return nn_fail(e, "a size is too small: %lld", (long long)list->v[k]);
        }
    }
    return ACL_OK;
}

static int check_windows(Executor *e, const Tensor *in, const Tensor *out, const Arg *lists, bool dilated,
                         bool ceil_mode) {
    int code = check_ranks(e, in, out);
    if (code == 0) code = check_lists(e, lists, dilated ? 4 : 3);
    if (code != 0) return code;
    Windows w = windows_of(in, out, e->op->variant);
    set_windows(&w, lists, dilated);
    int64_t shape[MAX_DIMS];
    memcpy(shape, in->shape, sizeof shape);
    for (int i = 3 - w.spatial; i < 3; i++) {
        if (w.padding[i] * 2 > w.kernel[i]) return nn_fail(e, "padding is more than half of the kernel");
        int64_t room = w.in[i] + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
        int64_t size = room < 0 ? 0 : (room + (ceil_mode ? w.stride[i] - 1 : 0)) / w.stride[i] + 1;
        if (ceil_mode && (size - 1) * w.stride[i] >= w.in[i] + w.padding[i]) size--;
        shape[in->ndim - 3 + i] = size;
    }
    return need_shape(e, out, shape, in->ndim, "the pooled tensor");
}

int check_avg_pool(Executor *e) { /* self, kernel, stride, padding, ceil, include padding, divisor, ..., out */
    return check_windows(e, e->args[0].t, e->args[e->argc - 1].t, &e->args[1], false, e->args[4].i != 0);
}

int check_avg_pool_backward(Executor *e) { /* gradOutput, self, then the same */
    int code = check_windows(e, e->args[1].t, e->args[0].t, &e->args[2], false, e->args[5].i != 0);
    return code != 0 ? code : need_same(e, e->args[1].t, e->args[e->argc - 1].t, "gradInput");
}

int check_adaptive_pool(Executor *e) { /* self, outputSize, out[, indices] */
    const Tensor *in = e->args[0].t, *out = e->args[2].t;
    const IntArray *size = e->args[1].ints;
    int code = check_ranks(e, in, out);
    if (code != 0) return code;
    if ((int)size->n != e->op->variant) return nn_fail(e, "outputSize has %d values", (int)size->n);
    for (uint64_t i = 0; i < size->n; i++) {
        if (out->shape[out->ndim - (int)size->n + (int)i] != size->v[i])
            return nn_fail(e, "the output does not have outputSize");
    }
    if (e->argc == 3) return ACL_OK;
    code = need_same(e, out, e->args[3].t, "output and indices");
    return code != 0 ? code : need_types(e, e->args[3].t, INDICES, "the indices");
}

int check_adaptive_pool_backward(Executor *e) { /* gradOutput, self[, indices], gradInput */
    int code = check_ranks(e, e->args[1].t, e->args[0].t);
    if (code == 0 && e->argc == 4) code = need_same(e, e->args[0].t, e->args[2].t, "gradOutput and indices");
    if (code == 0 && e->argc == 4) code = need_types(e, e->args[2].t, INDICES, "the indices");
    return code != 0 ? code : need_same(e, e->args[1].t, e->args[e->argc - 1].t, "gradInput");
}

int check_max_pool3d(Executor *e) {
    int code = check_windows(e, e->args[0].t, e->args[6].t, &e->args[1], true, e->args[5].i != 0);
    if (code == 0) code = need_same(e, e->args[6].t, e->args[7].t, "indices");
    return code != 0 ? code : need_types(e, e->args[7].t, INDICES, "the indices");
}

int check_max_pool3d_backward(Executor *e) {
    int code = check_windows(e, e->args[1].t, e->args[0].t, &e->args[3], true, e->args[7].i != 0);
    if (code == 0) code = need_same(e, e->args[0].t, e->args[2].t, "indices");
    if (code == 0) code = need_types(e, e->args[2].t, INDICES, "the indices");
    return code != 0 ? code : need_same(e, e->args[1].t, e->args[8].t, "gradInput");
}

/* ---- averages: forward gathers into `small`, backward spreads `small` over `large` ------------- */
static void average_window(const Windows *w, const int64_t at[3], float *large, float *small, bool backward) {
    Span s[3];
    int64_t count = 1, padded = 1;
    for (int d = 0; d < 3; d++) {
        s[d] = span_of(w, d, at[d]);
        if (s[d].to < s[d].from) s[d].to = s[d].from;
        count *= s[d].to - s[d].from;
        padded *= s[d].padded;
    }
    int64_t divisor = w->divisor != 0 ? w->divisor : w->include_padding ? padded : count;
    double sum = 0;
    float share = *small / (float)divisor;
    for (int64_t i = s[0].from; i < s[0].to; i++) {
        for (int64_t j = s[1].from; j < s[1].to; j++) {
            float *row = large + (i * w->in[1] + j) * w->in[2];
            for (int64_t k = s[2].from; k < s[2].to; k++) {
                if (backward) row[k] += share;
                else sum += row[k];
            }
        }
    }
    if (!backward) *small = count == 0 ? 0 : (float)(sum / (double)divisor);
}

static void average_all(const Windows *w, float *large, float *small, bool backward) {
    int64_t windows = w->out[0] * w->out[1] * w->out[2], points = w->in[0] * w->in[1] * w->in[2];
    for (int64_t i = 0; i < w->planes * windows; i++) {
        int64_t rest = i % windows,
                at[3] = {rest / (w->out[1] * w->out[2]), rest / w->out[2] % w->out[1], rest % w->out[2]};
        average_window(w, at, large + i / windows * points, small + i, backward);
    }
}

static int average(const Tensor *in, const Tensor *out, Windows w, bool backward) {
    if (out->numel == 0) return ACL_OK;
    void *own_in, *own_out;
    float *x = dense_f32(in, &own_in), *y = out_f32(out, &own_out);
    if (backward) memset(y, 0, (size_t)out->numel * sizeof *y);
    average_all(&w, backward ? y : x, backward ? x : y, backward);
    out_done(out, CT_F32, y, own_out);
    free(own_in);
    return ACL_OK;
}

int run_avg_pool(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[e->argc - 1].t;
    Windows w = windows_of(in, out, e->op->variant);
    set_windows(&w, &e->args[1], false);
    w.include_padding = e->args[5].i != 0;
    w.divisor = e->args[6].i;
    return average(in, out, w, false);
}

int run_avg_pool_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *out = e->args[e->argc - 1].t;
    Windows w = windows_of(out, grad, e->op->variant);
    set_windows(&w, &e->args[2], false);
    w.include_padding = e->args[6].i != 0;
    w.divisor = e->args[7].i;
    return average(grad, out, w, true);
}

int run_adaptive_avg_pool(Executor *e) {
    Windows w = windows_of(e->args[0].t, e->args[2].t, e->op->variant);
    w.adaptive = true;
    return average(e->args[0].t, e->args[2].t, w, false);
}

int run_adaptive_avg_pool_backward(Executor *e) {
    Windows w = windows_of(e->args[2].t, e->args[0].t, e->op->variant);
    w.adaptive = true;
    return average(e->args[0].t, e->args[2].t, w, true);
}

/* ---- maxima with their flat positions in the plane --------------------------------------------- */
static void max_window(const Windows *w, const int64_t at[3], const float *plane, float *value, int64_t *index) {
    int64_t from[3], to[3], step[3];
    for (int d = 0; d < 3; d++) {
        Span s = span_of(w, d, at[d]);
        from[d] = w->adaptive ? s.from : at[d] * w->stride[d] - w->padding[d];
        to[d] = w->adaptive ? s.to : from[d] + w->dilation[d] * (w->kernel[d] - 1) + 1;
        step[d] = w->dilation[d];
        while (from[d] < 0) from[d] += step[d];
        if (to[d] > w->in[d]) to[d] = w->in[d];
    }
    *value = -INFINITY;
    *index = -1;
    for (int64_t i = from[0]; i < to[0]; i += step[0]) {
        for (int64_t j = from[1]; j < to[1]; j += step[1]) {
            for (int64_t k = from[2]; k < to[2]; k += step[2]) {
                int64_t position = (i * w->in[1] + j) * w->in[2] + k;
                if (*index >= 0 && !(plane[position] > *value) && plane[position] == plane[position]) continue;
                *value = plane[position];
                *index = position;
            }
        }
    }
}

static int maxima(const Tensor *in, const Tensor *out, const Tensor *indices, const Windows *w) {
    if (out->numel == 0) return ACL_OK;
    void *own_x, *own_y, *own_i;
    const float *x = dense_f32(in, &own_x);
    float *y = out_f32(out, &own_y);
    int64_t *index = out_dense(indices, CT_I64, &own_i);
    int64_t windows = w->out[0] * w->out[1] * w->out[2], points = w->in[0] * w->in[1] * w->in[2];
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t rest = i % windows,
                at[3] = {rest / (w->out[1] * w->out[2]), rest / w->out[2] % w->out[1], rest % w->out[2]};
        max_window(w, at, x + i / windows * points, &y[i], &index[i]);
    }
    out_done(out, CT_F32, y, own_y);
    out_done(indices, CT_I64, index, own_i);
    free(own_x);
    return ACL_OK;
}

int run_adaptive_max_pool(Executor *e) {
    Windows w = windows_of(e->args[0].t, e->args[2].t, e->op->variant);
    w.adaptive = true;
    return maxima(e->args[0].t, e->args[2].t, e->args[3].t, &w);
}

int run_max_pool3d(Executor *e) {
    Windows w = windows_of(e->args[0].t, e->args[6].t, 3);
    set_windows(&w, &e->args[1], true);
    return maxima(e->args[0].t, e->args[6].t, e->args[7].t, &w);
}

int run_max_pool_scatter(Executor *e) { /* gradOutput, self, indices, ..., gradInput */
    const Tensor *grad = e->args[0].t, *out = e->args[e->argc - 1].t;
    if (out->numel == 0) return ACL_OK;
    void *own_g, *own_i, *own_x;
    const float *dy = dense_f32(grad, &own_g);
    const int64_t *index = dense_i64(e->args[2].t, &own_i);
    float *dx = out_f32(out, &own_x);
    memset(dx, 0, (size_t)out->numel * sizeof *dx);
    Windows w = windows_of(out, grad, e->op->variant);
    int64_t points = w.in[0] * w.in[1] * w.in[2], windows = w.out[0] * w.out[1] * w.out[2];
    int code = ACL_OK;
    for (int64_t i = 0; i < grad->numel && code == 0; i++) {
        if (index[i] < 0 || index[i] >= points) code = run_fail(e, "index %lld is out of range", (long long)index[i]);
        else dx[i / windows * points + index[i]] += dy[i];
    }
    out_done(out, CT_F32, dx, own_x);
    free(own_g);
    free(own_i);
    return code;
}
