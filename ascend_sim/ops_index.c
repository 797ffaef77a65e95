/* Operators that read positions from a tensor. A position out of range is a fault of the running kernel. */
#include "kernels.h"

/* A tensor as [outer][dim][inner], dense in an exact compute type. */
typedef struct {
    int64_t outer, size, inner;
} Slab;

static Slab slab_of(const Tensor *t, int64_t dim) {
    Slab s = {1, t->ndim == 0 ? 1 : t->shape[dim], 1};
    for (int i = 0; i < t->ndim; i++) {
        if (i < dim) s.outer *= t->shape[i];
        if (i > dim) s.inner *= t->shape[i];
    }
    return s;
}

static ComputeType type_of(const Tensor *t) { return compute_type((const Tensor *const[]){t}, 1); }

static int bad_index(Executor *e, int64_t index, int64_t size) {
    return run_fail(e, "index %lld is out of range for size %lld", (long long)index, (long long)size);
}

static int64_t wrapped(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

/* ---- index select and embedding ---------------------------------------------------------------- */
static int select_rows(Executor *e, const Tensor *in, int64_t dim, const Tensor *index, const Tensor *out) {
    if (out->numel == 0) return ACL_OK;
    Slab s = slab_of(in, dim);
    ComputeType ct = type_of(in);
    size_t row = (size_t)s.inner * compute_size(ct);
    void *own_x, *own_i, *own_y;
    const char *x = dense(in, ct, &own_x);
    const int64_t *at = dense_i64(index, &own_i);
    char *y = out_dense(out, ct, &own_y);
    int code = ACL_OK;
    for (int64_t o = 0; o < s.outer && code == 0; o++) {
        for (int64_t i = 0; i < index->numel; i++) {
            int64_t k = wrapped(at[i], s.size);
            if (k < 0 || k >= s.size) {
                code = bad_index(e, at[i], s.size);
                break;
            }
            memcpy(y + (size_t)(o * index->numel + i) * row, x + (size_t)(o * s.size + k) * row, row);
        }
    }
    if (code == 0) out_done(out, ct, y, own_y);
    else free(own_y);
    free(own_x);
    free(own_i);
    return code;
}

int check_index_select(Executor *e) {
    const Tensor *in = e->args[0].t, *index = e->args[2].t, *out = e->args[3].t;
    int64_t dim = normal_dim(e->args[1].i, in->ndim), shape[MAX_DIMS];
    if (dim < 0) return nn_fail(e, "dim %lld is out of range", (long long)e->args[1].i);
    if (index->ndim > 1) return nn_fail(e, "the index has rank %d", index->ndim);
    if (out->dtype != in->dtype) return nn_fail(e, "the output has another type");
    int code = need_types(e, index, INDICES, "the index");
    if (code != 0) return code;
    memcpy(shape, in->shape, sizeof shape);
    shape[dim] = index->numel;
    return need_shape(e, out, shape, in->ndim, "the output");
}

int run_index_select(Executor *e) {
    const Tensor *in = e->args[0].t;
    return select_rows(e, in, normal_dim(e->args[1].i, in->ndim), e->args[2].t, e->args[3].t);
}

int check_embedding(Executor *e) {
    const Tensor *weight = e->args[0].t, *index = e->args[1].t;
    if (weight->ndim != 2) return nn_fail(e, "the weight has rank %d", weight->ndim);
    if (index->ndim + 1 > MAX_DIMS) return nn_fail(e, "the indices have rank %d", index->ndim);
    int code = need_types(e, index, INDICES, "the indices");
    if (code != 0) return code;
    int64_t shape[MAX_DIMS];
    memcpy(shape, index->shape, sizeof shape);
    shape[index->ndim] = weight->shape[1];
    return need_shape(e, e->args[2].t, shape, index->ndim + 1, "the output");
}

int run_embedding(Executor *e) { return select_rows(e, e->args[0].t, 0, e->args[1].t, e->args[2].t); }

int check_embedding_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *index = e->args[1].t, *out = e->args[5].t;
    int code = need_types(e, index, INDICES, "the indices");
    if (code != 0) return code;
    if (grad->ndim < 1) return nn_fail(e, "the gradient is a scalar");
    int64_t shape[2] = {e->args[2].i, grad->shape[grad->ndim - 1]};
    if (grad->numel != index->numel * shape[1]) return nn_fail(e, "gradient and indices do not match");
    e->workspace = 1024;
    return need_shape(e, out, shape, 2, "the output");
}

int run_embedding_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *index = e->args[1].t, *out = e->args[5].t;
    if (out->numel == 0) return ACL_OK;
    int64_t rows = e->args[2].i, padding = e->args[3].i, width = out->shape[1];
    bool by_frequency = e->args[4].i != 0;
    void *own_g, *own_i, *own_y;
    const float *dy = dense_f32(grad, &own_g);
    const int64_t *at = dense_i64(index, &own_i);
    float *sum = out_f32(out, &own_y);
    int64_t *seen = calloc((size_t)rows, sizeof *seen);
    int code = ACL_OK;
    memset(sum, 0, (size_t)out->numel * sizeof *sum);
    for (int64_t i = 0; i < index->numel && code == 0; i++) {
        if (at[i] < 0 || at[i] >= rows) code = bad_index(e, at[i], rows);
        else seen[at[i]]++;
    }
    for (int64_t i = 0; i < index->numel && code == 0; i++) {
        if (at[i] == padding) continue;
        float scale = by_frequency ? 1.0f / (float)seen[at[i]] : 1.0f;
        for (int64_t k = 0; k < width; k++) sum[at[i] * width + k] += dy[i * width + k] * scale;
    }
    out_done(out, CT_F32, sum, own_y);
    free(seen);
    free(own_g);
    free(own_i);
    return code;
}

/* ---- gather and scatter ------------------------------------------------------------------------ */
static int check_index_shape(Executor *e, const Tensor *in, int64_t dim, const Tensor *index) {
    int code = need_types(e, index, INDICES, "the index");
    if (code != 0) return code;
    if (index->ndim != in->ndim) return nn_fail(e, "input and index have the ranks %d and %d", in->ndim, index->ndim);
    for (int i = 0; i < in->ndim; i++) {
        if (i != dim && index->shape[i] > in->shape[i]) {
            return nn_fail(e, "the index %s is larger than %s", shape_text(index), shape_text(in));
        }
    }
    return ACL_OK;
}

int check_gather(Executor *e) {
    const Tensor *in = e->args[0].t, *index = e->args[2].t, *out = e->args[3].t;
    int64_t dim = normal_dim(e->args[1].i, in->ndim);
    if (dim < 0) return nn_fail(e, "dim %lld is out of range", (long long)e->args[1].i);
    int code = check_index_shape(e, in, dim, index);
    if (code == 0 && out->dtype != in->dtype) return nn_fail(e, "the output has another type");
    return code != 0 ? code : need_same(e, index, out, "index and output");
}

/* Flat position in a dense tensor of shape `of` for element `i` of shape `shape`, with `dim` replaced by `k`. */
static int64_t target_of(const Tensor *shape, int64_t i, const Tensor *of, int64_t dim, int64_t k) {
    int64_t position = 0, scale = 1;
    for (int d = shape->ndim - 1; d >= 0; d--) {
        int64_t at = i % shape->shape[d];
        i /= shape->shape[d];
        position += (d == dim ? k : at) * scale;
        scale *= of->shape[d];
    }
    return position;
}

int run_gather(Executor *e) {
    const Tensor *in = e->args[0].t, *index = e->args[2].t, *out = e->args[3].t;
    if (out->numel == 0) return ACL_OK;
    int64_t dim = normal_dim(e->args[1].i, in->ndim), size = in->ndim == 0 ? 1 : in->shape[dim];
    ComputeType ct = type_of(in);
    size_t item = compute_size(ct);
    void *own_x, *own_i, *own_y;
    const char *x = dense(in, ct, &own_x);
    const int64_t *at = dense_i64(index, &own_i);
    char *y = out_dense(out, ct, &own_y);
    int code = ACL_OK;
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t k = wrapped(at[i], size);
        if (k < 0 || k >= size) {
            code = bad_index(e, at[i], size);
            break;
        }
        memcpy(y + (size_t)i * item, x + (size_t)target_of(index, i, in, dim, k) * item, item);
    }
    if (code == 0) out_done(out, ct, y, own_y);
    else free(own_y);
    free(own_x);
    free(own_i);
    return code;
}

int check_scatter_add(Executor *e) {
    const Tensor *self = e->args[0].t, *index = e->args[2].t, *src = e->args[3].t, *out = e->args[4].t;
    int64_t dim = normal_dim(e->args[1].i, self->ndim);
    if (dim < 0) return nn_fail(e, "dim %lld is out of range", (long long)e->args[1].i);
    int code = check_index_shape(e, self, dim, index);
    if (code == 0) code = need_same(e, self, out, "self and output");
    if (code == 0 && src->ndim != index->ndim) code = nn_fail(e, "src and index have different ranks");
    if (code == 0 && src->dtype != self->dtype) code = nn_fail(e, "src and self have different types");
    for (int i = 0; code == 0 && i < index->ndim; i++) {
        if (index->shape[i] > src->shape[i]) code = nn_fail(e, "the index is larger than src");
    }
    e->workspace = 1024;
    return code;
}

static void add_item(ComputeType ct, char *sum, int64_t at, const char *values, int64_t from) {
    if (ct == CT_F32) ((float *)sum)[at] += ((const float *)values)[from];
    else if (ct == CT_F64) ((double *)sum)[at] += ((const double *)values)[from];
    else ((uint64_t *)sum)[at] += ((const uint64_t *)values)[from];
}

int run_scatter_add(Executor *e) {
    const Tensor *self = e->args[0].t, *index = e->args[2].t, *src = e->args[3].t, *out = e->args[4].t;
    if (out->numel == 0) return ACL_OK;
    int64_t dim = normal_dim(e->args[1].i, self->ndim), size = self->ndim == 0 ? 1 : self->shape[dim];
    ComputeType ct = type_of(self);
    void *own_x, *own_i, *own_s, *own_y;
    const char *x = dense(self, ct, &own_x), *values = dense(src, ct, &own_s);
    const int64_t *at = dense_i64(index, &own_i);
    char *sum = out_dense(out, ct, &own_y);
    int code = ACL_OK;
    if (sum != x) memcpy(sum, x, (size_t)out->numel * compute_size(ct));
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t k = wrapped(at[i], size);
        if (k < 0 || k >= size) {
            code = bad_index(e, at[i], size);
            break;
        }
        int64_t from = target_of(index, i, src, -1, 0);
        add_item(ct, sum, target_of(index, i, self, dim, k), values, from);
    }
    out_done(out, ct, sum, own_y);
    free(own_x);
    free(own_i);
    free(own_s);
    return code;
}
