/* Maximum pooling in two dimensions, with the flat position of every maximum in its plane. */
#include "kernels.h"

#include <math.h>

typedef struct {
    int64_t planes, in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
} Pooling;

static int64_t pick(const IntArray *a, int at) { return a->v[a->n == 1 ? 0 : at]; }

static Pooling pooling_of(const Tensor *in, const Tensor *out, const Arg *lists) {
    Pooling p = {.planes = 1};
    for (int i = 0; i < in->ndim - 2; i++) p.planes *= in->shape[i];
    for (int i = 0; i < 2; i++) {
        p.in[i] = in->shape[in->ndim - 2 + i];
        p.out[i] = out->shape[out->ndim - 2 + i];
        p.kernel[i] = pick(lists[0].ints, i);
        p.stride[i] = lists[1].ints->n == 0 ? p.kernel[i] : pick(lists[1].ints, i);
        p.padding[i] = pick(lists[2].ints, i);
        p.dilation[i] = pick(lists[3].ints, i);
    }
    return p;
}

static int64_t pooled_size(const Pooling *p, int i, bool ceil_mode) {
    int64_t reach = p->dilation[i] * (p->kernel[i] - 1) + 1, room = p->in[i] + 2 * p->padding[i] - reach;
    int64_t size = (room + (ceil_mode ? p->stride[i] - 1 : 0)) / p->stride[i] + 1;
    if (ceil_mode && (size - 1) * p->stride[i] >= p->in[i] + p->padding[i]) size--; /* a window must start inside */
    return size;
}

static int check_pooling(Executor *e, const Tensor *in, const Tensor *out, const Arg *lists, bool ceil_mode) {
    if (in->ndim != 3 && in->ndim != 4) return nn_fail(e, "the input has rank %d", in->ndim);
    if (out->ndim != in->ndim) return nn_fail(e, "the output has rank %d", out->ndim);
    for (int i = 0; i < 4; i++) {
        uint64_t n = lists[i].ints->n;
        if (n != 1 && n != 2 && !(i == 1 && n == 0))
            return nn_fail(e, "kernel, stride, padding, dilation need 2 values");
        for (uint64_t k = 0; k < n; k++) {
            if (lists[i].ints->v[k] < (i == 2 ? 0 : 1)) return nn_fail(e, "a size is too small");
        }
    }
    Pooling p = pooling_of(in, out, lists);
    int64_t shape[MAX_DIMS];
    memcpy(shape, in->shape, sizeof shape);
    for (int i = 0; i < 2; i++) {
        if (p.padding[i] * 2 > p.kernel[i]) return nn_fail(e, "padding is more than half of the kernel");
        shape[in->ndim - 2 + i] = pooled_size(&p, i, ceil_mode);
    }
    return need_shape(e, out, shape, in->ndim, "the pooled tensor");
}

int check_max_pool(Executor *e) {
    int code = check_pooling(e, e->args[0].t, e->args[6].t, &e->args[1], e->args[5].i != 0);
    if (code == 0) code = need_same(e, e->args[6].t, e->args[7].t, "indices");
    return code != 0 ? code : need_types(e, e->args[7].t, INDICES, "the indices");
}

int check_max_pool_backward(Executor *e) {
    int code = check_pooling(e, e->args[1].t, e->args[0].t, &e->args[3], e->args[7].i != 0);
    if (code == 0) code = need_same(e, e->args[0].t, e->args[2].t, "indices");
    if (code == 0) code = need_types(e, e->args[2].t, INDICES, "the indices");
    return code != 0 ? code : need_same(e, e->args[1].t, e->args[8].t, "gradInput");
}

static void pool_window(const Pooling *p, const float *plane, int64_t oh, int64_t ow, float *value, int64_t *index) {
    *value = -INFINITY;
    *index = -1;
    for (int64_t kh = 0; kh < p->kernel[0]; kh++) {
        int64_t h = oh * p->stride[0] - p->padding[0] + kh * p->dilation[0];
        if (h < 0 || h >= p->in[0]) continue;
        for (int64_t kw = 0; kw < p->kernel[1]; kw++) {
            int64_t w = ow * p->stride[1] - p->padding[1] + kw * p->dilation[1];
            if (w < 0 || w >= p->in[1]) continue;
            float x = plane[h * p->in[1] + w];
            if (*index < 0 || x > *value || x != x) {
                *value = x;
                *index = h * p->in[1] + w;
            }
        }
    }
}

int run_max_pool(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[6].t, *indices = e->args[7].t;
    if (out->numel == 0) return ACL_OK;
    Pooling p = pooling_of(in, out, &e->args[1]);
    void *own_x, *own_y, *own_i;
    const float *x = dense_f32(in, &own_x);
    float *y = out_f32(out, &own_y);
    int64_t *index = out_dense(indices, CT_I64, &own_i), at = 0;
    for (int64_t plane = 0; plane < p.planes; plane++) {
        for (int64_t h = 0; h < p.out[0]; h++) {
            for (int64_t w = 0; w < p.out[1]; w++, at++) {
                pool_window(&p, x + plane * p.in[0] * p.in[1], h, w, &y[at], &index[at]);
            }
        }
    }
    out_done(out, CT_F32, y, own_y);
    out_done(indices, CT_I64, index, own_i);
    free(own_x);
    return ACL_OK;
}

int run_max_pool_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *indices = e->args[2].t, *out = e->args[8].t;
    if (out->numel == 0) return ACL_OK;
    void *own_g, *own_i, *own_x;
    const float *dy = dense_f32(grad, &own_g);
    const int64_t *index = dense_i64(indices, &own_i);
    float *dx = out_f32(out, &own_x);
    memset(dx, 0, (size_t)out->numel * sizeof *dx);
    int64_t plane = out->shape[out->ndim - 1] * out->shape[out->ndim - 2];
    int64_t windows = grad->shape[grad->ndim - 1] * grad->shape[grad->ndim - 2];
    int code = ACL_OK;
    for (int64_t i = 0; i < grad->numel && code == 0; i++) {
        if (index[i] < 0 || index[i] >= plane) code = run_fail(e, "index %lld is out of range", (long long)index[i]);
        else dx[i / windows * plane + index[i]] += dy[i];
    }
    out_done(out, CT_F32, dx, own_x);
    free(own_g);
    free(own_i);
    return code;
}

/* ---- the form with a bit mask: the mask is opaque to clients, and the backward finds the maxima again ---- */
int check_max_pool_mask(Executor *e) {
    int code = check_pooling(e, e->args[0].t, e->args[6].t, &e->args[1], e->args[5].i != 0);
    return code != 0 ? code : need_types(e, e->args[7].t, BIT(DT_INT8), "the mask");
}

int run_max_pool_mask(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[6].t;
    if (out->numel == 0) return ACL_OK;
    Pooling p = pooling_of(in, out, &e->args[1]);
    void *own_x, *own_y;
    const float *x = dense_f32(in, &own_x);
    float *y = out_f32(out, &own_y);
    int64_t index, windows = p.out[0] * p.out[1];
    for (int64_t i = 0; i < out->numel; i++) {
        const float *plane = x + i / windows * p.in[0] * p.in[1];
        pool_window(&p, plane, i % windows / p.out[1], i % p.out[1], &y[i], &index);
    }
    out_done(out, CT_F32, y, own_y);
    free(own_x);
    return ACL_OK;
}

int check_max_pool_mask_backward(Executor *e) {
    int code = check_pooling(e, e->args[1].t, e->args[0].t, &e->args[3], e->args[7].i != 0);
    return code != 0 ? code : need_same(e, e->args[1].t, e->args[8].t, "gradInput");
}

int run_max_pool_mask_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *in = e->args[1].t, *out = e->args[8].t;
    if (out->numel == 0) return ACL_OK;
    Pooling p = pooling_of(in, grad, &e->args[3]);
    void *own_g, *own_x, *own_dx;
    const float *dy = dense_f32(grad, &own_g), *x = dense_f32(in, &own_x);
    float *dx = out_f32(out, &own_dx), value;
    memset(dx, 0, (size_t)out->numel * sizeof *dx);
    int64_t index, windows = p.out[0] * p.out[1], points = p.in[0] * p.in[1];
    for (int64_t i = 0; i < grad->numel; i++) {
        int64_t plane = i / windows * points;
        pool_window(&p, x + plane, i % windows / p.out[1], i % p.out[1], &value, &index);
        dx[plane + index] += dy[i];
    }
    out_done(out, CT_F32, dx, own_dx);
    free(own_g);
    free(own_x);
    return ACL_OK;
}
