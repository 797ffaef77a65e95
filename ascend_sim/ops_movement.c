/* Copies, casts, selection, filling and joining. Nothing here computes, so values keep their type where they can. */
#include "kernels.h"

#include <math.h>

static ComputeType exact_type(int dtype) { /* the compute type that holds every value of a type */
    if (dtype == DT_DOUBLE) return CT_F64;
    return dtype_is_float(dtype) ? CT_F32 : CT_I64;
}

/* to = from for equal shapes or a broadcast source. */
static void copy_view(const View *to, const View *from, int64_t numel) {
    if (to->dense && from->dense && to->dtype == from->dtype) {
        memmove(to->base, from->base, (size_t)numel * to->item);
        return;
    }
    _Alignas(64) char buffer[CHUNK * 8];
    ComputeType ct = exact_type(from->dtype);
    for (int64_t start = 0; start < numel; start += CHUNK) {
        int64_t n = numel - start < CHUNK ? numel - start : CHUNK;
        view_store(to, start, n, ct, view_load(from, start, n, ct, buffer));
    }
}

int run_copy(Executor *e) {
    bool cast = e->op->variant == 1;
    const Tensor *out = cast ? e->args[2].t : e->args[0].t, *in = cast ? e->args[0].t : e->args[1].t;
    if (out->numel == 0) return ACL_OK;
    View to = view_of(out), from = view_as(in, out->shape, out->ndim);
    copy_view(&to, &from, out->numel);
    return ACL_OK;
}

/* ---- permute and cat --------------------------------------------------------------------------- */
static Tensor permuted(const Tensor *t, const IntArray *dims) {
    Tensor p = *t;
    for (int i = 0; i < t->ndim; i++) {
        int64_t d = normal_dim(dims->v[i], t->ndim);
        p.shape[i] = t->shape[d];
        p.stride[i] = t->stride[d];
    }
    return p;
}

int check_permute(Executor *e) {
    const Tensor *in = e->args[0].t;
    const IntArray *dims = e->args[1].ints;
    uint32_t seen = 0;
    if ((int)dims->n != in->ndim) return nn_fail(e, "%d dims for a tensor of rank %d", (int)dims->n, in->ndim);
    for (int i = 0; i < in->ndim; i++) {
        int64_t d = normal_dim(dims->v[i], in->ndim);
        if (d < 0 || (seen >> d & 1u)) return nn_fail(e, "dims is not a permutation");
        seen |= 1u << d;
    }
    Tensor p = permuted(in, dims);
    if (e->args[2].t->dtype != in->dtype) return nn_fail(e, "the output has another type");
    return need_shape(e, e->args[2].t, p.shape, p.ndim, "the output");
}

int run_permute(Executor *e) {
    const Tensor *out = e->args[2].t;
    if (out->numel == 0) return ACL_OK;
    Tensor p = permuted(e->args[0].t, e->args[1].ints);
    View to = view_of(out), from = view_of(&p);
    copy_view(&to, &from, out->numel);
    return ACL_OK;
}

static bool is_empty_vector(const Tensor *t) { return t->ndim == 1 && t->shape[0] == 0; } /* joins with anything */

int check_cat(Executor *e) {
    const TensorList *list = e->args[0].list;
    const Tensor *out = e->args[2].t;
    int64_t dim = normal_dim(e->args[1].i, out->ndim), total = 0;
    if (dim < 0 || out->ndim == 0) return nn_fail(e, "dim %lld is out of range", (long long)e->args[1].i);
    for (uint64_t k = 0; k < list->n; k++) {
        const Tensor *t = list->v[k];
        if (is_empty_vector(t)) continue;
        if (t->ndim != out->ndim) return nn_fail(e, "tensor %d has rank %d", (int)k, t->ndim);
        for (int d = 0; d < t->ndim; d++) {
            if (d != dim && t->shape[d] != out->shape[d]) {
                return nn_fail(e, "tensor %d has the shape %s, the output %s", (int)k, shape_text(t), shape_text(out));
            }
        }
        total += t->shape[dim];
    }
    if (total != out->shape[dim]) return nn_fail(e, "the output has the shape %s", shape_text(out));
    return ACL_OK;
}

int run_cat(Executor *e) {
    const TensorList *list = e->args[0].list;
    const Tensor *out = e->args[2].t;
    int64_t dim = normal_dim(e->args[1].i, out->ndim), at = 0;
    for (uint64_t k = 0; k < list->n; k++) {
        const Tensor *t = list->v[k];
        if (t->numel == 0) {
            if (!is_empty_vector(t)) at += t->shape[dim];
            continue;
        }
        Tensor slice = *out;
        slice.shape[dim] = t->shape[dim];
        slice.data = out->data + at * out->stride[dim] * (int64_t)out->item;
        View to = view_of(&slice), from = view_of(t);
        copy_view(&to, &from, t->numel);
        at += t->shape[dim];
    }
    return ACL_OK;
}

/* ---- filling ----------------------------------------------------------------------------------- */
int run_fill(Executor *e) {
    const Tensor *out = e->args[0].t;
    const Scalar *value = e->op->variant == 2 ? e->args[1].s : NULL;
    _Alignas(64) char buffer[CHUNK * 8];
    if (out->numel == 0) return ACL_OK;
    ComputeType ct = exact_type(out->dtype);
    if (value != NULL && dtype_is_float(value->dtype) && ct == CT_I64) ct = CT_F64;
    double d = value ? value->d : e->op->variant;
    int64_t i = value ? value->i : e->op->variant;
    for (int k = 0; k < CHUNK; k++) {
        if (ct == CT_F32) ((float *)buffer)[k] = (float)d;
        else if (ct == CT_F64) ((double *)buffer)[k] = d;
        else ((int64_t *)buffer)[k] = i;
    }
    View to = view_of(out);
    for (int64_t start = 0; start < out->numel; start += CHUNK) {
        int64_t n = out->numel - start < CHUNK ? out->numel - start : CHUNK;
        view_store(&to, start, n, ct, buffer);
    }
    return ACL_OK;
}

static bool whole_range(const Executor *e) {
    for (int i = 0; i < 3; i++) {
        if (dtype_is_float(e->args[i].s->dtype)) return false;
    }
    return true;
}

int check_arange(Executor *e) {
    const Tensor *out = e->args[3].t;
    double start = e->args[0].s->d, end = e->args[1].s->d, step = e->args[2].s->d;
    if (step == 0 || (end - start) * step < 0) return nn_fail(e, "range %g to %g by %g", start, end, step);
    int64_t n = (int64_t)ceil((end - start) / step);
    if (out->ndim != 1 || llabs(out->shape[0] - n) > 1) {
        return nn_fail(e, "the output has the shape %s, expected [%lld]", shape_text(out), (long long)n);
    }
    return ACL_OK;
}

int run_arange(Executor *e) {
    const Tensor *out = e->args[3].t;
    bool whole = whole_range(e);
    View to = view_of(out);
    for (int64_t start = 0; start < out->numel; start += CHUNK) {
        int64_t n = out->numel - start < CHUNK ? out->numel - start : CHUNK;
        union {
            int64_t i[CHUNK];
            double d[CHUNK];
        } values;
        for (int64_t k = 0; k < n; k++) {
            if (whole) values.i[k] = e->args[0].s->i + (start + k) * e->args[2].s->i;
            else values.d[k] = e->args[0].s->d + (double)(start + k) * e->args[2].s->d;
        }
        view_store(&to, start, n, whole ? CT_I64 : CT_F64, &values);
    }
    return ACL_OK;
}

int check_triangle(Executor *e) {
    if (e->args[0].t->ndim < 2) return nn_fail(e, "the input needs two dimensions");
    return need_same(e, e->args[0].t, e->args[2].t, "output");
}

int run_triangle(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[2].t;
    bool upper = e->op->variant == 1;
    int64_t diagonal = e->args[1].i, columns = out->shape[out->ndim - 1], rows = out->shape[out->ndim - 2];
    ComputeType ct = exact_type(in->dtype);
    View from = view_of(in), to = view_of(out);
    char *line = malloc((size_t)(columns > 0 ? columns : 1) * 8);
    size_t item = compute_size(ct);
    for (int64_t start = 0, r = 0; start < out->numel; start += columns, r = (r + 1) % rows) {
        const void *values = view_load(&from, start, columns, ct, line);
        if (values != line) memcpy(line, values, (size_t)columns * item);
        for (int64_t c = 0; c < columns; c++) {
            if (upper ? c - r < diagonal : c - r > diagonal) memset(line + (size_t)c * item, 0, item);
        }
        view_store(&to, start, columns, ct, line);
    }
    free(line);
    return ACL_OK;
}

/* ---- selection --------------------------------------------------------------------------------- */
int run_where(Executor *e) {
    const Tensor *out = e->args[3].t, *values[2] = {e->args[1].t, e->args[2].t};
    ComputeType ct = compute_type(values, 2);
    size_t item = compute_size(ct);
    _Alignas(64) char mask_buffer[CHUNK * 8], a_buffer[CHUNK * 8], b_buffer[CHUNK * 8], result[CHUNK * 8];
    View mask = view_as(e->args[0].t, out->shape, out->ndim), to = view_of(out);
    View a = view_as(values[0], out->shape, out->ndim), b = view_as(values[1], out->shape, out->ndim);
    for (int64_t start = 0; start < out->numel; start += CHUNK) {
        int64_t n = out->numel - start < CHUNK ? out->numel - start : CHUNK;
        const int64_t *m = view_load(&mask, start, n, CT_I64, mask_buffer);
        const char *x = view_load(&a, start, n, ct, a_buffer), *y = view_load(&b, start, n, ct, b_buffer);
        for (int64_t i = 0; i < n; i++) {
            memcpy(result + (size_t)i * item, (m[i] != 0 ? x : y) + (size_t)i * item, item);
        }
        view_store(&to, start, n, ct, result);
    }
    return ACL_OK;
}

int check_masked_fill(Executor *e) {
    const Tensor *self = e->args[0].t, *mask = e->args[1].t, *both[2] = {self, mask};
    int64_t shape[MAX_DIMS];
    int ndim;
    if (mask->dtype != DT_BOOL) return nn_fail(e, "the mask must be BOOL, got %s", dtype_name(mask->dtype));
    if (e->args[2].t->numel != 1) return nn_fail(e, "the value must have one element");
    if (!broadcast_shapes(both, 2, shape, &ndim)) return nn_fail(e, "the mask does not broadcast");
    return need_shape(e, self, shape, ndim, "selfRef");
}

int run_masked_fill(Executor *e) {
    const Tensor *self = e->args[0].t;
    ComputeType ct = exact_type(self->dtype);
    size_t item = compute_size(ct);
    char value[8], buffer[CHUNK * 8], mask_buffer[CHUNK * 8];
    View one = view_of(e->args[2].t), to = view_of(self), mask = view_as(e->args[1].t, self->shape, self->ndim);
    memcpy(value, view_load(&one, 0, 1, ct, buffer), item);
    for (int64_t start = 0; start < self->numel; start += CHUNK) {
        int64_t n = self->numel - start < CHUNK ? self->numel - start : CHUNK;
        const int64_t *m = view_load(&mask, start, n, CT_I64, mask_buffer);
        const void *old = view_load(&to, start, n, ct, buffer);
        if (old != buffer) memcpy(buffer, old, (size_t)n * item);
        for (int64_t i = 0; i < n; i++) {
            if (m[i] != 0) memcpy(buffer + (size_t)i * item, value, item);
        }
        view_store(&to, start, n, ct, buffer);
    }
    return ACL_OK;
}

/* ---- evenly spaced numbers, identity matrices -------------------------------------------------- */
int check_linspace(Executor *e) { /* start, end, steps, out */
    return need_shape(e, e->args[3].t, &e->args[2].i, 1, "the output");
}

int run_linspace(Executor *e) {
    const Tensor *out = e->args[3].t;
    double start = e->args[0].s->d, end = e->args[1].s->d,
           step = out->numel > 1 ? (end - start) / (double)(out->numel - 1) : 0;
    View v = view_of(out);
    for (int64_t i = 0; i < out->numel; i++) { /* from both ends, so that they are exact */
        double value = i < out->numel / 2 ? start + step * (double)i : end - step * (double)(out->numel - 1 - i);
        if (out->numel == 1) value = start;
        view_store(&v, i, 1, CT_F64, &value);
    }
    return ACL_OK;
}

int check_eye(Executor *e) { /* n, m, out */
    int64_t shape[2] = {e->args[0].i, e->args[1].i};
    return need_shape(e, e->args[2].t, shape, 2, "the output");
}

int run_eye(Executor *e) {
    const Tensor *out = e->args[2].t;
    View v = view_of(out);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t value = i / out->shape[1] == i % out->shape[1];
        view_store(&v, i, 1, CT_I64, &value);
    }
    return ACL_OK;
}
