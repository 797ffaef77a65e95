/* Advanced indexing and scatter. In a list of indices an empty vector stands for a whole dimension. */
#include "kernels.h"

static int bad_index(Executor *e, int64_t index, int64_t size) {
    return run_fail(e, "index %lld is out of range for size %lld", (long long)index, (long long)size);
}

typedef union {
    float f;
    double d;
    int64_t i;
} Number; /* one element in any compute type */

static ComputeType type_of(const Tensor *t) { return compute_type((const Tensor *const[]){t}, 1); }

/* ---- self[indices] ----------------------------------------------------------------------------- */
typedef struct {
    int n_indices, index_ndim, first; /* first: where the index dimensions stand in the result */
    int64_t index_shape[MAX_DIMS];
    bool indexed[MAX_DIMS];
    int64_t shape[MAX_DIMS];
    int ndim;
} Selection;

static bool is_whole(const TensorList *list, int dim) {
    return dim >= (int)list->n || (list->v[dim]->numel == 0 && list->v[dim]->ndim <= 1);
}

static bool choose(const Tensor *self, const TensorList *list, Selection *s) {
    const Tensor *used[MAX_DIMS];
    bool adjacent = true;
    *s = (Selection){.first = -1};
    if ((int)list->n > self->ndim) return false;
    for (int d = 0; d < self->ndim; d++) {
        s->indexed[d] = !is_whole(list, d);
        if (!s->indexed[d]) continue;
        if (s->first >= 0 && !s->indexed[d - 1]) adjacent = false;
        if (s->first < 0) s->first = d;
        used[s->n_indices++] = list->v[d];
    }
    if (s->n_indices == 0 || !broadcast_shapes(used, s->n_indices, s->index_shape, &s->index_ndim)) return false;
    if (!adjacent) s->first = 0;
    int kept = 0;
    for (int d = 0; d < self->ndim || kept == s->first; d++) {
        if (kept == s->first && s->ndim == kept) {
            for (int i = 0; i < s->index_ndim; i++) s->shape[s->ndim++] = s->index_shape[i];
        }
        if (d >= self->ndim) break;
        if (s->indexed[d]) continue;
        if (s->ndim >= MAX_DIMS) return false;
        s->shape[s->ndim++] = self->shape[d];
        kept++;
    }
    return s->ndim <= MAX_DIMS;
}

int check_index(Executor *e) { /* Index: self, indices, out; IndexPutImpl: self, indices, values, accumulate, unsafe */
    const TensorList *list = e->args[1].list;
    Selection s;
    for (uint64_t i = 0; i < list->n; i++) {
        int code = is_whole(list, (int)i) ? ACL_OK : need_types(e, list->v[i], INDICES, "an index");
        if (code != 0) return code;
    }
    if (!choose(e->args[0].t, list, &s)) return nn_fail(e, "the indices do not fit %s", shape_text(e->args[0].t));
    if (e->argc == 3) return need_shape(e, e->args[2].t, s.shape, s.ndim, "the output");
    Tensor result = {.ndim = s.ndim};
    memcpy(result.shape, s.shape, sizeof s.shape);
    const Tensor *both[2] = {&result, e->args[2].t};
    int64_t shape[MAX_DIMS];
    int ndim;
    if (!broadcast_shapes(both, 2, shape, &ndim)) return nn_fail(e, "the values do not broadcast");
    return need_shape(e, &result, shape, ndim, "the values");
}

/* Device position of element `i` of the selection; false when an index is out of range. */
static bool locate(const Tensor *self, const Selection *s, const View *indices, int64_t i, int64_t *offset,
                   int64_t *bad) {
    int64_t at[MAX_DIMS], room, flat = 0;
    for (int d = s->ndim - 1; d >= 0; d--) {
        at[d] = i % s->shape[d];
        i /= s->shape[d];
    }
    for (int k = 0; k < s->index_ndim; k++) flat = flat * s->index_shape[k] + at[s->first + k];
    *offset = 0;
    for (int d = 0, kept = 0, used = 0; d < self->ndim; d++) {
        int64_t position;
        if (s->indexed[d]) {
            position = *(const int64_t *)view_load(&indices[used++], flat, 1, CT_I64, &room);
            *bad = position;
            if (position < 0) position += self->shape[d];
            if (position < 0 || position >= self->shape[d]) return false;
        } else {
            position = at[kept < s->first ? kept : kept + s->index_ndim];
            kept++;
        }
        *offset += position * self->stride[d];
    }
    return true;
}

int run_index(Executor *e) {
    const Tensor *self = e->args[0].t;
    bool puts = e->argc == 5, accumulate = puts && e->args[3].i != 0;
    Selection s;
    View indices[MAX_DIMS], other;
    choose(self, e->args[1].list, &s);
    for (int d = 0, used = 0; d < self->ndim; d++) {
        if (s.indexed[d]) indices[used++] = view_as(e->args[1].list->v[d], s.index_shape, s.index_ndim);
    }
    other = view_as(e->args[2].t, s.shape, s.ndim);
    int64_t n = 1, bad = 0;
    for (int d = 0; d < s.ndim; d++) n *= s.shape[d];
    ComputeType ct = type_of(self);
    for (int64_t i = 0; i < n; i++) {
        int64_t offset;
        Number a, b;
        if (!locate(self, &s, indices, i, &offset, &bad)) return bad_index(e, bad, self->shape[s.first]);
        View item = {.base = (char *)device_pointer(self->data) + offset * (int64_t)self->item,
                     .dtype = self->dtype,
                     .ndim = 1,
                     .shape = {1},
                     .stride = {1},
                     .item = self->item,
                     .dense = true};
        if (!puts) {
            view_store(&other, i, 1, ct, view_load(&item, 0, 1, ct, &a));
            continue;
        }
        const void *value = view_load(&other, i, 1, ct, &a), *old = view_load(&item, 0, 1, ct, &b);
        if (accumulate) {
            if (ct == CT_F32) a.f = *(const float *)value + *(const float *)old;
            else if (ct == CT_F64) a.d = *(const double *)value + *(const double *)old;
            else a.i = *(const int64_t *)value + *(const int64_t *)old;
            value = &a;
        }
        view_store(&item, 0, 1, ct, value);
    }
    return ACL_OK;
}

/* ---- scatter: variant 0 writes to an output, 1 in place; the source is a tensor or a scalar ---- */
enum { SCATTER_REPLACE, SCATTER_ADD, SCATTER_MULTIPLY };

int check_scatter(Executor *e) {
    const Tensor *self = e->args[0].t, *index = e->args[2].t;
    if (normal_dim(e->args[1].i, self->ndim) < 0) return nn_fail(e, "dim is out of range");
    if (index->ndim != self->ndim) return nn_fail(e, "self and index have different ranks");
    if (e->args[4].i < SCATTER_REPLACE || e->args[4].i > SCATTER_MULTIPLY) return nn_fail(e, "reduce is unknown");
    int code = need_types(e, index, INDICES, "the index");
    return code != 0 || e->argc == 5 ? code : need_same(e, self, e->args[5].t, "self and output");
}

static double combined(int64_t how, double old, double value) {
    return how == SCATTER_ADD ? old + value : how == SCATTER_MULTIPLY ? old * value : value;
}

int run_scatter(Executor *e) {
    const Tensor *self = e->args[0].t, *index = e->args[2].t, *out = e->argc == 5 ? self : e->args[5].t;
    bool from_tensor = e->op->roles[3] == 'i', whole = !dtype_is_float(self->dtype);
    int64_t dim = normal_dim(e->args[1].i, self->ndim);
    Tensor part = *out; /* the region of the result that the index covers */
    View indices = view_of(index), source = {0}, from = view_of(self), to = view_of(out);
    if (from_tensor) {
        Tensor src = *e->args[3].t;
        memcpy(src.shape, index->shape, sizeof src.shape);
        source = view_of(&src);
    }
    Number room;
    for (int64_t i = 0; out != self && i < self->numel; i++) {
        if (whole) view_store(&to, i, 1, CT_I64, view_load(&from, i, 1, CT_I64, &room));
        else view_store(&to, i, 1, CT_F64, view_load(&from, i, 1, CT_F64, &room));
    }
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t k, left = i, offset = 0, size = self->ndim == 0 ? 1 : self->shape[dim];
        int64_t position = *(const int64_t *)view_load(&indices, i, 1, CT_I64, &k);
        if (position < 0) position += size;
        if (position < 0 || position >= size) return bad_index(e, position, size);
        for (int d = index->ndim - 1; d >= 0; d--) {
            offset += (d == dim ? position : left % index->shape[d]) * part.stride[d];
            left /= index->shape[d];
        }
        double old, value = from_tensor ? *(const double *)view_load(&source, i, 1, CT_F64, &room) : e->args[3].s->d;
        View item = {.base = (char *)device_pointer(out->data) + offset * (int64_t)out->item,
                     .dtype = out->dtype,
                     .ndim = 1,
                     .shape = {1},
                     .stride = {1},
                     .item = out->item,
                     .dense = true};
        double before = *(const double *)view_load(&item, 0, 1, CT_F64, &old);
        double after = combined(e->args[4].i, before, value);
        view_store(&item, 0, 1, CT_F64, &after);
    }
    return ACL_OK;
}
