/* Elements chosen by a mask or by places: results whose size only the kernel knows, masked writes, sums at places. */
#include "kernels.h"

typedef union {
    float f;
    double d;
    int64_t i;
} Number; /* one element in any compute type */

static ComputeType type_of(const Tensor *t) { return compute_type((const Tensor *const[]){t}, 1); }

static bool is_set(const View *v, int64_t at, bool real) {
    Number n;
    view_read(&n, v, at, real ? CT_F64 : CT_I64);
    return real ? n.d != 0 : n.i != 0;
}

/* ---- results of unknown size: outputs have room for all elements, and the client's tensor learns its shape ---- */
int check_nonzero(Executor *e) { /* self, out [elements, rank]; variant 1: [rank, elements] */
    const Tensor *in = e->args[0].t, *out = e->args[1].t;
    bool turned = e->op->variant == 1;
    int64_t shape[2] = {turned ? in->ndim : in->numel, turned ? in->numel : in->ndim};
    int code = need_types(e, out, BIT(DT_INT64), "the output");
    if (code == 0) code = need_shape(e, out, shape, 2, "the output");
    if (code == 0) tensor_watch(e);
    return code;
}

int run_nonzero(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[1].t;
    View from = view_of(in), to = view_of(out);
    bool real = dtype_is_float(in->dtype), turned = e->op->variant == 1;
    int64_t found = 0, count = 0;
    for (int64_t i = 0; turned && i < in->numel; i++) count += is_set(&from, i, real);
    for (int64_t i = 0; i < in->numel; i++) {
        if (!is_set(&from, i, real)) continue;
        int64_t left = i;
        for (int d = in->ndim - 1; d >= 0; d--) {
            int64_t coordinate = left % in->shape[d];
            view_store(&to, turned ? d * count + found : found * in->ndim + d, 1, CT_I64,
                       &coordinate); /* dense in the new shape */
            left /= in->shape[d];
        }
        found++;
    }
    tensor_resized(e, turned ? (int64_t[]){in->ndim, found} : (int64_t[]){found, in->ndim}, 2);
    return ACL_OK;
}

static int broadcast_pair(Executor *e, const Tensor *a, const Tensor *b, Tensor *both) {
    const Tensor *pair[2] = {a, b};
    *both = (Tensor){0};
    if (!broadcast_shapes(pair, 2, both->shape, &both->ndim)) {
        return nn_fail(e, "the shapes %s and %s do not broadcast", shape_text(a), shape_text(b));
    }
    both->numel = 1;
    for (int i = 0; i < both->ndim; i++) both->numel *= both->shape[i];
    return ACL_OK;
}

int check_masked_select(Executor *e) { /* self, mask, out [elements] */
    Tensor both;
    int code = broadcast_pair(e, e->args[0].t, e->args[1].t, &both);
    if (code == 0) code = need_types(e, e->args[1].t, BIT(DT_BOOL) | BIT(DT_UINT8), "the mask");
    if (code == 0 && e->args[2].t->dtype != e->args[0].t->dtype) code = nn_fail(e, "the output has another type");
    if (code == 0) code = need_shape(e, e->args[2].t, &both.numel, 1, "the output");
    if (code == 0) tensor_watch(e);
    return code;
}

int run_masked_select(Executor *e) {
    const Tensor *self = e->args[0].t;
    Tensor both;
    broadcast_pair(e, self, e->args[1].t, &both);
    View from = view_as(self, both.shape, both.ndim), mask = view_as(e->args[1].t, both.shape, both.ndim);
    View to = view_of(e->args[2].t);
    ComputeType ct = type_of(self);
    int64_t found = 0;
    Number room;
    for (int64_t i = 0; i < both.numel; i++) {
        if (is_set(&mask, i, false)) view_store(&to, found++, 1, ct, view_load(&from, i, 1, ct, &room));
    }
    tensor_resized(e, &found, 1);
    return ACL_OK;
}

/* ---- writes ------------------------------------------------------------------------------------ */
int check_masked_scatter(Executor *e) { /* selfRef, mask, source */
    Tensor both;
    int code = broadcast_pair(e, e->args[0].t, e->args[1].t, &both);
    if (code == 0) code = need_shape(e, e->args[0].t, both.shape, both.ndim, "selfRef");
    if (code == 0) code = need_types(e, e->args[1].t, BIT(DT_BOOL) | BIT(DT_UINT8), "the mask");
    if (code == 0 && e->args[2].t->dtype != e->args[0].t->dtype) code = nn_fail(e, "the source has another type");
    return code;
}

int run_masked_scatter(Executor *e) {
    const Tensor *self = e->args[0].t, *source = e->args[2].t;
    View to = view_of(self), mask = view_as(e->args[1].t, self->shape, self->ndim), from = view_of(source);
    ComputeType ct = type_of(self);
    int64_t used = 0;
    Number room;
    for (int64_t i = 0; i < self->numel; i++) {
        if (!is_set(&mask, i, false)) continue;
        if (used == source->numel) return run_fail(e, "the source has fewer elements than the mask chooses");
        view_store(&to, i, 1, ct, view_load(&from, used++, 1, ct, &room));
    }
    return ACL_OK;
}

int check_index_add(Executor *e) { /* self, dim, index, source, alpha, out */
    const Tensor *self = e->args[0].t, *index = e->args[2].t, *source = e->args[3].t;
    int64_t dim = normal_dim(e->args[1].i, self->ndim), shape[MAX_DIMS];
    if (dim < 0) return nn_fail(e, "dim %lld is out of range", (long long)e->args[1].i);
    if (index->ndim > 1) return nn_fail(e, "the index has rank %d", index->ndim);
    int code = need_types(e, index, INDICES, "the index");
    memcpy(shape, self->shape, sizeof shape);
    if (self->ndim > 0) shape[dim] = index->numel;
    if (code == 0) code = need_shape(e, source, shape, self->ndim, "the source");
    if (code == 0 && source->dtype != self->dtype) code = nn_fail(e, "the source has another type");
    return code != 0 ? code : need_same(e, self, e->args[5].t, "self and output");
}

int run_index_add(Executor *e) {
    const Tensor *self = e->args[0].t, *index = e->args[2].t, *source = e->args[3].t, *out = e->args[5].t;
    if (out->numel == 0) return ACL_OK;
    int64_t dim = normal_dim(e->args[1].i, self->ndim), size = self->ndim == 0 ? 1 : self->shape[dim], inner = 1;
    for (int i = (int)dim + 1; i < self->ndim; i++) inner *= self->shape[i];
    bool whole = !dtype_is_float(self->dtype);
    ComputeType ct = whole ? CT_I64 : CT_F64;
    void *own_x, *own_s, *own_i, *own_y;
    const Number *x = dense(self, ct, &own_x), *s = dense(source, ct, &own_s);
    const int64_t *at = dense_i64(index, &own_i);
    Number *y = out_dense(out, ct, &own_y);
    if (y != x) memcpy(y, x, (size_t)self->numel * sizeof *y);
    int code = ACL_OK;
    for (int64_t i = 0; i < source->numel && code == 0; i++) {
        int64_t row = at[i / inner % index->numel];
        if (row < 0 || row >= size) {
            code = run_fail(e, "index %lld is out of range for size %lld", (long long)row, (long long)size);
            break;
        }
        Number *target = &y[(i / inner / index->numel * size + row) * inner + i % inner];
        if (whole) target->i += e->args[4].s->i * s[i].i;
        else target->d += e->args[4].s->d * s[i].d;
    }
    if (code == 0) out_done(out, ct, y, own_y);
    else free(own_y);
    free(own_x);
    free(own_s);
    free(own_i);
    return code;
}
