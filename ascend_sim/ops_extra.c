/* Operators beyond the minimal table that common scripts of other clients call. */
#include "kernels.h"

#include <math.h>

/* ---- stack, repeat, flip: strided views of the result ------------------------------------------ */
static void copy_into(Tensor to, const Tensor *from) {
    if (from->numel == 0) return;
    _Alignas(64) char buffer[CHUNK * 8];
    to.numel = from->numel;
    const Tensor *types[1] = {from};
    ComputeType ct = compute_type(types, 1);
    View target = view_of(&to), source = view_as(from, to.shape, to.ndim);
    for (int64_t start = 0; start < to.numel; start += CHUNK) {
        int64_t n = to.numel - start < CHUNK ? to.numel - start : CHUNK;
        view_store(&target, start, n, ct, view_load(&source, start, n, ct, buffer));
    }
}

int check_stack(Executor *e) {
    const TensorList *list = e->args[0].list;
    const Tensor *out = e->args[2].t;
    int64_t dim = normal_dim(e->args[1].i, out->ndim), shape[MAX_DIMS];
    if (dim < 0 || out->ndim == 0 || out->shape[dim] != (int64_t)list->n) return nn_fail(e, "dim or output is wrong");
    for (int i = 0, at = 0; i < out->ndim; i++) {
        if (i != dim) shape[at++] = out->shape[i];
    }
    for (uint64_t k = 0; k < list->n; k++) {
        int code = need_shape(e, list->v[k], shape, out->ndim - 1, "a tensor");
        if (code != 0) return code;
    }
    return ACL_OK;
}

int run_stack(Executor *e) {
    const TensorList *list = e->args[0].list;
    const Tensor *out = e->args[2].t;
    int64_t dim = normal_dim(e->args[1].i, out->ndim);
    for (uint64_t k = 0; k < list->n; k++) {
        Tensor slice = *out;
        slice.ndim--;
        slice.data += (int64_t)k * out->stride[dim] * (int64_t)out->item;
        for (int64_t i = dim; i < slice.ndim; i++) {
            slice.shape[i] = out->shape[i + 1];
            slice.stride[i] = out->stride[i + 1];
        }
        copy_into(slice, list->v[k]);
    }
    return ACL_OK;
}

int check_repeat(Executor *e) {
    const Tensor *in = e->args[0].t;
    const IntArray *times = e->args[1].ints;
    int64_t shape[MAX_DIMS];
    if ((int)times->n < in->ndim || times->n > MAX_DIMS) return nn_fail(e, "%d repeats", (int)times->n);
    for (int i = 0; i < (int)times->n; i++) {
        int at = i - ((int)times->n - in->ndim);
        shape[i] = times->v[i] * (at < 0 ? 1 : in->shape[at]);
    }
    return need_shape(e, e->args[2].t, shape, (int)times->n, "the output");
}

int run_repeat(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[2].t;
    const IntArray *times = e->args[1].ints;
    int64_t copies = 1;
    for (uint64_t i = 0; i < times->n; i++) copies *= times->v[i];
    for (int64_t c = 0; c < copies; c++) {
        Tensor part = *out;
        int64_t left = c;
        for (int i = (int)times->n - 1; i >= 0; i--) {
            int at = i - ((int)times->n - in->ndim);
            part.shape[i] = at < 0 ? 1 : in->shape[at];
            part.data += left % times->v[i] * part.shape[i] * out->stride[i] * (int64_t)out->item;
            left /= times->v[i];
        }
        copy_into(part, in);
    }
    return ACL_OK;
}

int check_flip(Executor *e) {
    for (uint64_t i = 0; i < e->args[1].ints->n; i++) {
        if (normal_dim(e->args[1].ints->v[i], e->args[0].t->ndim) < 0) return nn_fail(e, "a dim is out of range");
    }
    return need_same(e, e->args[0].t, e->args[2].t, "input and output");
}

int run_flip(Executor *e) {
    const Tensor *in = e->args[0].t;
    if (in->numel == 0) return ACL_OK;
    Tensor turned = *in;
    for (uint64_t i = 0; i < e->args[1].ints->n; i++) {
        int64_t d = normal_dim(e->args[1].ints->v[i], in->ndim);
        turned.data += (in->shape[d] - 1) * turned.stride[d] * (int64_t)in->item;
        turned.stride[d] = -turned.stride[d];
    }
    copy_into(*e->args[2].t, &turned);
    return ACL_OK;
}

/* ---- comparison of whole tensors --------------------------------------------------------------- */
int check_equal(Executor *e) {
    return e->args[2].t->numel == 1 ? ACL_OK : nn_fail(e, "the output has the shape %s", shape_text(e->args[2].t));
}

int run_equal(Executor *e) {
    const Tensor *a = e->args[0].t, *b = e->args[1].t;
    int64_t same = same_shape(a, b);
    View x = view_of(a), y = view_of(b), out = view_of(e->args[2].t);
    double p, q;
    for (int64_t i = 0; same && i < a->numel; i++) {
        same = *(const double *)view_load(&x, i, 1, CT_F64, &p) == *(const double *)view_load(&y, i, 1, CT_F64, &q);
    }
    view_store(&out, 0, 1, CT_I64, &same);
    return ACL_OK;
}

int run_is_close(Executor *e) {
    const Tensor *out = e->args[5].t;
    double relative = e->args[2].d, absolute = e->args[3].d, p, q;
    View x = view_as(e->args[0].t, out->shape, out->ndim), y = view_as(e->args[1].t, out->shape, out->ndim);
    View to = view_of(out);
    for (int64_t i = 0; i < out->numel; i++) {
        double a = *(const double *)view_load(&x, i, 1, CT_F64, &p),
               b = *(const double *)view_load(&y, i, 1, CT_F64, &q);
        int64_t close = a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= absolute + relative * fabs(b)) ||
                        (e->args[4].i != 0 && a != a && b != b);
        view_store(&to, i, 1, CT_I64, &close);
    }
    return ACL_OK;
}

/* ---- masked fill with a scalar ----------------------------------------------------------------- */
int check_masked_fill_scalar(Executor *e) {
    const Tensor *self = e->args[0].t, *both[2] = {self, e->args[1].t};
    int64_t shape[MAX_DIMS];
    int ndim;
    if (e->args[1].t->dtype != DT_BOOL) return nn_fail(e, "the mask must be BOOL");
    if (!broadcast_shapes(both, 2, shape, &ndim)) return nn_fail(e, "the mask does not broadcast");
    return need_shape(e, self, shape, ndim, "selfRef");
}

int run_masked_fill_scalar(Executor *e) {
    const Tensor *self = e->args[0].t;
    View mask = view_as(e->args[1].t, self->shape, self->ndim), to = view_of(self);
    bool whole = !dtype_is_float(e->args[2].s->dtype);
    int64_t hit;
    for (int64_t i = 0; i < self->numel; i++) {
        if (*(const int64_t *)view_load(&mask, i, 1, CT_I64, &hit) == 0) continue;
        if (whole) view_store(&to, i, 1, CT_I64, &e->args[2].s->i);
        else view_store(&to, i, 1, CT_F64, &e->args[2].s->d);
    }
    return ACL_OK;
}

/* ---- mean squared error ------------------------------------------------------------------------ */
enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

int check_mse_loss(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[3].t;
    int code = need_same(e, in, e->args[1].t, "self and target");
    if (code != 0) return code;
    return e->args[2].i == REDUCE_NONE ? need_same(e, in, out, "self and output")
                                       : need_shape(e, out, NULL, 0, "the output");
}

int run_mse_loss(Executor *e) {
    const Tensor *in = e->args[0].t;
    View x = view_of(in), y = view_of(e->args[1].t), out = view_of(e->args[3].t);
    double p, q, sum = 0;
    for (int64_t i = 0; i < in->numel; i++) {
        double d = *(const double *)view_load(&x, i, 1, CT_F64, &p) - *(const double *)view_load(&y, i, 1, CT_F64, &q);
        sum += d * d;
        d *= d;
        if (e->args[2].i == REDUCE_NONE) view_store(&out, i, 1, CT_F64, &d);
    }
    if (e->args[2].i == REDUCE_MEAN) sum /= (double)in->numel;
    if (e->args[2].i != REDUCE_NONE) view_store(&out, 0, 1, CT_F64, &sum);
    return ACL_OK;
}

int check_mse_loss_backward(Executor *e) {
    int code = need_same(e, e->args[1].t, e->args[2].t, "self and target");
    return code != 0 ? code : need_same(e, e->args[1].t, e->args[4].t, "self and output");
}

int run_mse_loss_backward(Executor *e) {
    const Tensor *in = e->args[1].t;
    View g = view_as(e->args[0].t, in->shape, in->ndim), x = view_of(in), y = view_of(e->args[2].t);
    View out = view_of(e->args[4].t);
    double scale = e->args[3].i == REDUCE_MEAN ? 2 / (double)in->numel : 2, p, q, r;
    for (int64_t i = 0; i < in->numel; i++) {
        double d = *(const double *)view_load(&x, i, 1, CT_F64, &p) - *(const double *)view_load(&y, i, 1, CT_F64, &q);
        d *= scale * *(const double *)view_load(&g, i, 1, CT_F64, &r);
        view_store(&out, i, 1, CT_F64, &d);
    }
    return ACL_OK;
}
