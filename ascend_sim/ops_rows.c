/* Operators on places, rows and triangles: put, diagonals, limited embeddings, unique slices, triangular systems,
 * angles. */
#include "kernels.h"

#include <math.h>

int check_put(Executor *e) { /* self, index, source, accumulate */
    if (e->args[1].t->numel == e->args[2].t->numel) return need_types(e, e->args[1].t, INDICES, "the index");
    return nn_fail(e, "the index is %s, the source %s", shape_text(e->args[1].t), shape_text(e->args[2].t));
}

int run_put(Executor *e) {
    const Tensor *self = e->args[0].t;
    void *owned = NULL;
    const int64_t *index = dense_i64(e->args[1].t, &owned);
    Values target = values_of(self), source = values_of(e->args[2].t), out = values_for(self);
    int code = ACL_OK;
    for (int64_t i = 0; i < self->numel; i++) out.v[i] = target.v[i];
    for (int64_t i = 0; i < e->args[1].t->numel && code == ACL_OK; i++) {
        int64_t at = index[i] < 0 ? index[i] + self->numel : index[i];
        if (at < 0 || at >= self->numel) {
            code = run_fail(e, "index %lld of %lld elements", (long long)index[i], (long long)self->numel);
        } else {
            out.v[at] = source.v[i] + (e->args[3].i != 0 ? out.v[at] : 0);
        }
    }
    free(owned);
    values_free(&target);
    values_free(&source);
    values_done(&out);
    return code;
}

int check_fill_diagonal(Executor *e) { /* self, value, wrap */
    const Tensor *self = e->args[0].t;
    if (self->ndim < 2) return nn_fail(e, "self is %s, expected two dimensions at least", shape_text(self));
    for (int i = 1; i < self->ndim && self->ndim > 2; i++) {
        if (self->shape[i] != self->shape[0]) return nn_fail(e, "the sizes of %s are not equal", shape_text(self));
    }
    return ACL_OK;
}

int run_fill_diagonal(Executor *e) {
    const Tensor *self = e->args[0].t;
    Values from = values_of(self), out = values_for(self);
    int64_t step = 0, rows = self->shape[0], columns = self->shape[1], end = self->numel;
    for (int i = self->ndim - 1, inner = 1; i >= 0; inner *= (int)self->shape[i], i--) step += inner;
    if (self->ndim == 2 && e->args[2].i == 0 && rows > columns) end = columns * columns;
    for (int64_t i = 0; i < self->numel; i++) out.v[i] = from.v[i];
    for (int64_t i = 0; i < end; i += step) out.v[i] = e->args[1].s->d;
    values_free(&from);
    values_done(&out);
    return ACL_OK;
}

int check_embedding_renorm(Executor *e) { /* self, indices, greatest norm, its kind */
    if (e->args[0].t->ndim != 2) return nn_fail(e, "self is %s", shape_text(e->args[0].t));
    return need_types(e, e->args[1].t, INDICES, "the indices");
}

int run_embedding_renorm(Executor *e) {
    const Tensor *self = e->args[0].t;
    int64_t n = self->shape[1];
    double p = e->args[3].d, limit = e->args[2].d;
    void *owned = NULL;
    const int64_t *indices = dense_i64(e->args[1].t, &owned);
    Values from = values_of(self), out = values_for(self);
    int code = ACL_OK;
    for (int64_t i = 0; i < self->numel; i++) out.v[i] = from.v[i];
    for (int64_t i = 0; i < e->args[1].t->numel; i++) {
        double norm = 0;
        if (indices[i] < 0 || indices[i] >= self->shape[0]) {
            code = run_fail(e, "row %lld of %lld", (long long)indices[i], (long long)self->shape[0]);
            continue;
        }
        const double *row = from.v + indices[i] * n;
        for (int64_t k = 0; k < n; k++) norm = isinf(p) ? fmax(norm, fabs(row[k])) : norm + pow(fabs(row[k]), p);
        if (!isinf(p)) norm = pow(norm, 1 / p);
        for (int64_t k = 0; norm > limit && k < n; k++) out.v[indices[i] * n + k] = row[k] * limit / (norm + 1e-7);
    }
    free(owned);
    values_free(&from);
    values_done(&out);
    return code;
}

int run_angle(Executor *e) { /* of real numbers */
    Values x = values_of(e->args[0].t), out = values_for(e->args[1].t);
    for (int64_t i = 0; i < e->args[0].t->numel; i++) out.v[i] = isnan(x.v[i]) ? x.v[i] : x.v[i] < 0 ? acos(-1.0) : 0;
    values_free(&x);
    values_done(&out);
    return ACL_OK;
}

/* ---- triangular systems: b, a, upper, transpose, unit diagonal, x, a copy of a ----------------- */
int check_triangular(Executor *e) {
    const Tensor *b = e->args[0].t, *a = e->args[1].t;
    bool fits = a->ndim >= 2 && b->ndim == a->ndim && a->shape[a->ndim - 1] == a->shape[a->ndim - 2] &&
                b->shape[b->ndim - 2] == a->shape[a->ndim - 1];
    for (int i = 0; fits && i < a->ndim - 2; i++) fits = a->shape[i] == b->shape[i];
    if (!fits) return nn_fail(e, "the matrix is %s, the right side %s", shape_text(a), shape_text(b));
    int code = need_same(e, b, e->args[5].t, "x");
    return code == ACL_OK ? need_same(e, a, e->args[6].t, "the copy") : code;
}

int run_triangular(Executor *e) {
    const Tensor *b = e->args[0].t;
    int64_t n = b->shape[b->ndim - 2], columns = b->shape[b->ndim - 1];
    bool transpose = e->args[3].i != 0, unit = e->args[4].i != 0, backward = (e->args[2].i != 0) != transpose;
    Values right = values_of(b), a = values_of(e->args[1].t), x = values_for(e->args[5].t),
           copy = values_for(e->args[6].t);
    for (int64_t i = 0; i < e->args[1].t->numel; i++) copy.v[i] = a.v[i];
    for (int64_t i = 0; i < b->numel; i++) x.v[i] = right.v[i];
    for (int64_t m = 0; n > 0 && columns > 0 && m < b->numel / (n * columns); m++) {
        const double *matrix = a.v + m * n * n;
        double *system = x.v + m * n * columns;
        for (int64_t i = 0; i < n * columns; i++) {
            int64_t row = backward ? n - 1 - i / columns : i / columns, column = i % columns;
            double value = system[row * columns + column];
            for (int64_t k = backward ? row + 1 : 0; k < (backward ? n : row); k++) {
                value -= (transpose ? matrix[k * n + row] : matrix[row * n + k]) * system[k * columns + column];
            }
            system[row * columns + column] = unit ? value : value / matrix[row * n + row];
        }
    }
    values_free(&right);
    values_free(&a);
    values_done(&x);
    values_done(&copy);
    return ACL_OK;
}

/* ---- unique slices along a dimension, in order: self, sorted, with inverse, dim, values, inverse, counts ---- */
typedef struct {
    const double *values;
    int64_t index, outer, count, inner;
} Slice;

static double slice_value(const Slice *s, int64_t i) {
    return s->values[(i / s->inner * s->count + s->index) * s->inner + i % s->inner];
}

static int by_slice(const void *left, const void *right) {
    const Slice *a = left, *b = right;
    for (int64_t i = 0; i < a->outer * a->inner; i++) {
        double x = slice_value(a, i), y = slice_value(b, i);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

int check_unique_dim(Executor *e) {
    if (normal_dim(e->args[3].i, e->args[0].t->ndim) < 0) {
        return nn_fail(e, "dimension %lld of %s", (long long)e->args[3].i, shape_text(e->args[0].t));
    }
    tensor_watch_output(e, 0);
    tensor_watch_output(e, 2);
    return ACL_OK;
}

int run_unique_dim(Executor *e) {
    const Tensor *self = e->args[0].t;
    int64_t dim = normal_dim(e->args[3].i, self->ndim), count = self->shape[dim], inner = 1, outer = 1, found = 0;
    for (int i = 0; i < self->ndim; i++) *(i < dim ? &outer : &inner) *= i == dim ? 1 : self->shape[i];
    Values x = values_of(self), out = values_zeroed(e->args[4].t), inverse = values_zeroed(e->args[5].t);
    Values counts = values_zeroed(e->args[6].t);
    Slice *slices = malloc((size_t)(count + 1) * sizeof *slices);
    for (int64_t i = 0; i < count; i++) slices[i] = (Slice){x.v, i, outer, count, inner};
    qsort(slices, (size_t)count, sizeof *slices, by_slice);
    int64_t *kept = malloc((size_t)(count + 1) * sizeof *kept);
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || by_slice(&slices[i], &slices[i - 1]) != 0) kept[found++] = i;
        if (slices[i].index < inverse.t->numel) inverse.v[slices[i].index] = (double)(found - 1);
        if (found <= counts.t->numel) counts.v[found - 1]++;
    }
    for (int64_t k = 0; k < found; k++) { /* dense in the shape that the client is told */
        for (int64_t i = 0; i < outer * inner; i++) {
            out.v[(i / inner * found + k) * inner + i % inner] = slice_value(&slices[kept[k]], i);
        }
    }
    free(slices);
    free(kept);
    values_free(&x);
    values_done(&out);
    values_done(&inverse);
    values_done(&counts);
    int64_t shape[MAX_DIMS];
    for (int i = 0; i < self->ndim; i++) shape[i] = i == dim ? found : self->shape[i];
    tensor_resized_output(e, 0, shape, self->ndim);
    tensor_resized_output(e, 2, &found, 1);
    return ACL_OK;
}
