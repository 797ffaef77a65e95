/* Reductions over dimensions, extremes with indices, and softmax. */
#include "kernels.h"

#include <math.h>

uint32_t reduced_dims(const Tensor *in, const IntArray *dims) {
    uint32_t mask = 0;
    for (uint64_t i = 0; i < dims->n; i++) mask |= 1u << normal_dim(dims->v[i], in->ndim);
    return dims->n == 0 ? (1u << MAX_DIMS) - 1 : mask;
}

Rows rows_of(const Tensor *in, uint32_t mask) {
    Rows r = {.t = *in, .outer = 1, .inner = 1};
    int at = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int d = 0; d < in->ndim; d++) {
            if ((mask >> d & 1u) != (uint32_t)pass) continue;
            r.t.shape[at] = in->shape[d];
            r.t.stride[at++] = in->stride[d];
            if (pass == 0) r.outer *= in->shape[d];
            else r.inner *= in->shape[d];
        }
        if (pass == 0) r.kept = at;
    }
    return r;
}

int check_reduced_dims(Executor *e, const int64_t *dims, int n, bool keep, const Tensor *out) {
    const Tensor *in = e->args[0].t;
    uint32_t seen = 0;
    for (int i = 0; i < n; i++) {
        int64_t d = normal_dim(dims[i], in->ndim);
        if (d < 0) return nn_fail(e, "dim %lld is out of range for rank %d", (long long)dims[i], in->ndim);
        if (seen >> d & 1u) return nn_fail(e, "dim %lld appears twice", (long long)dims[i]);
        seen |= 1u << d;
    }
    uint32_t mask = n == 0 ? (1u << MAX_DIMS) - 1 : seen;
    int64_t shape[MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < in->ndim; d++) {
        if ((mask >> d & 1u) == 0) shape[ndim++] = in->shape[d];
        else if (keep) shape[ndim++] = 1;
    }
    e->workspace = 1024;
    return need_shape(e, out, shape, ndim, "the output");
}

static int check_dims(Executor *e, const IntArray *dims, bool keep, const Tensor *out) {
    return check_reduced_dims(e, dims->v, (int)dims->n, keep, out);
}

int check_reduce(Executor *e) { return check_dims(e, e->args[1].ints, e->args[2].i != 0, e->args[3].t); }

int check_reduce_typed(Executor *e) {
    const Tensor *out = e->args[4].t;
    if (e->args[3].i != out->dtype) {
        return nn_fail(e, "dtype is %s, the output has %s", dtype_name((int)e->args[3].i), dtype_name(out->dtype));
    }
    if (e->op->variant == RED_MEAN && !dtype_is_float(out->dtype)) return nn_fail(e, "the mean needs a float type");
    return check_dims(e, e->args[1].ints, e->args[2].i != 0, out);
}

int check_reduce_all(Executor *e) { return need_shape(e, e->args[1].t, NULL, 0, "the output"); }

static double reduce_real(int op, const float *f, const double *d, int64_t n) {
    double total = op == RED_MAX ? -INFINITY : op == RED_MIN ? INFINITY : op == RED_ALL ? 1 : 0;
    double lanes[4] = {0};
    if (op == RED_SUM || op == RED_MEAN) {
        int64_t i = 0;
        if (f != NULL)
            for (; i + 4 <= n; i += 4)
                for (int k = 0; k < 4; k++) lanes[k] += f[i + k];
        for (; i < n; i++) lanes[0] += f != NULL ? f[i] : d[i];
        total = lanes[0] + lanes[1] + lanes[2] + lanes[3];
        return op == RED_MEAN ? total / (double)n : total;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = f != NULL ? f[i] : d[i];
        if (op == RED_ALL) total = total != 0 && x != 0;
        else if (op == RED_ANY) total = total != 0 || x != 0;
        else if (x != x) return x;
        else if (op == RED_MAX ? x > total : x < total) total = x;
    }
    return total;
}

static int64_t reduce_int(int op, const int64_t *x, int64_t n) {
    uint64_t total = 0;
    int64_t best = op == RED_MAX ? INT64_MIN : INT64_MAX;
    bool all = true, any = false;
    for (int64_t i = 0; i < n; i++) {
        total += (uint64_t)x[i];
        if (op == RED_MAX ? x[i] > best : x[i] < best) best = x[i];
        all &= x[i] != 0;
        any |= x[i] != 0;
    }
    switch (op) {
    case RED_SUM: return (int64_t)total;
    case RED_ALL: return all;
    case RED_ANY: return any;
    default: return best;
    }
}

int run_reduce(Executor *e) {
    int op = e->op->variant;
    const Tensor *in = e->args[0].t, *out = e->args[e->argc - 1].t;
    if (out->numel == 0) return ACL_OK;
    if (in->numel == 0 && (op == RED_MAX || op == RED_MIN)) return run_fail(e, "no elements to reduce");
    uint32_t everything = (1u << MAX_DIMS) - 1;
    Rows rows = rows_of(in, e->argc == 2 ? everything : reduced_dims(in, e->args[1].ints));
    const Tensor *types[1] = {in};
    ComputeType ct = compute_type(types, 1);
    if (ct == CT_I64 && dtype_is_float(out->dtype)) ct = CT_F64;
    View from = view_of(&rows.t), to = view_of(out);
    void *buffer = malloc((size_t)(rows.inner > 0 ? rows.inner : 1) * 8);
    for (int64_t r = 0; r < rows.outer; r++) {
        const void *x = rows.inner > 0 ? view_load(&from, r * rows.inner, rows.inner, ct, buffer) : buffer;
        if (ct == CT_I64) {
            int64_t value = reduce_int(op, x, rows.inner);
            view_store(&to, r, 1, CT_I64, &value);
        } else {
            double value = reduce_real(op, ct == CT_F32 ? x : NULL, ct == CT_F64 ? x : NULL, rows.inner);
            view_store(&to, r, 1, CT_F64, &value);
        }
    }
    free(buffer);
    return ACL_OK;
}

/* ---- running sums (variant 0) and products (variant 1, whose dimension is a scalar) ------------ */
static int64_t running_dim(const Executor *e) { return e->op->variant == 1 ? e->args[1].s->i : e->args[1].i; }

int check_cumsum(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[3].t;
    if (normal_dim(running_dim(e), in->ndim) < 0)
        return nn_fail(e, "dim %lld is out of range", (long long)running_dim(e));
    if (e->args[2].i != out->dtype) return nn_fail(e, "dtype and output differ");
    return need_same(e, in, out, "input and output");
}

int run_cumsum(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[3].t;
    if (out->numel == 0) return ACL_OK;
    uint32_t mask = in->ndim == 0 ? 0 : 1u << normal_dim(running_dim(e), in->ndim);
    Rows from = rows_of(in, mask), to = rows_of(out, mask);
    View source = view_of(&from.t), target = view_of(&to.t);
    bool whole = !dtype_is_float(in->dtype) && !dtype_is_float(out->dtype), product = e->op->variant == 1;
    double real = 0, value;
    uint64_t exact = 0; /* integers wrap */
    int64_t item;
    for (int64_t i = 0; i < in->numel; i++) {
        if (i % from.inner == 0) real = (double)(exact = product);
        if (whole) {
            view_read(&item, &source, i, CT_I64);
            exact = product ? exact * (uint64_t)item : exact + (uint64_t)item;
            view_store(&target, i, 1, CT_I64, &exact);
        } else {
            view_read(&value, &source, i, CT_F64);
            real = product ? real * value : real + value;
            view_store(&target, i, 1, CT_F64, &real);
        }
    }
    return ACL_OK;
}

/* ---- extremes with their index: variant bit 0 indices only, bit 1 minimum ---------------------- */
int check_reduce_dim(Executor *e) {
    const Tensor *in = e->args[0].t;
    int64_t d = normal_dim(e->args[1].i, in->ndim), shape[MAX_DIMS];
    if (d < 0) return nn_fail(e, "dim %lld is out of range for rank %d", (long long)e->args[1].i, in->ndim);
    int ndim = 0;
    for (int i = 0; i < in->ndim; i++) {
        if (i != d) shape[ndim++] = in->shape[i];
        else if (e->args[2].i != 0) shape[ndim++] = 1;
    }
    for (int i = 3; i < e->argc; i++) {
        int code = need_shape(e, e->args[i].t, shape, ndim, "an output");
        if (code != 0) return code;
    }
    e->workspace = 1024;
    return need_types(e, e->args[e->argc - 1].t, INDICES, "the indices");
}

int run_extreme_dim(Executor *e) {
    bool indices_only = e->op->variant & 1, minimum = e->op->variant & 2;
    const Tensor *in = e->args[0].t, *values = indices_only ? NULL : e->args[3].t, *indices = e->args[e->argc - 1].t;
    if (indices->numel == 0) return ACL_OK;
    Rows rows = rows_of(in, in->ndim == 0 ? 0 : 1u << normal_dim(e->args[1].i, in->ndim));
    bool whole = !dtype_is_float(in->dtype);
    View from = view_of(&rows.t), to_index = view_of(indices), to_value;
    if (values != NULL) to_value = view_of(values);
    void *buffer = malloc((size_t)rows.inner * 8);
    for (int64_t r = 0; r < rows.outer; r++) {
        const void *x = view_load(&from, r * rows.inner, rows.inner, whole ? CT_I64 : CT_F64, buffer);
        int64_t best = 0;
        for (int64_t i = 1; i < rows.inner; i++) {
            if (whole) {
                int64_t a = ((const int64_t *)x)[i], b = ((const int64_t *)x)[best];
                if (minimum ? a < b : a > b) best = i;
            } else {
                double a = ((const double *)x)[i], b = ((const double *)x)[best];
                if (b == b && (a != a || (minimum ? a < b : a > b))) best = i;
            }
        }
        view_store(&to_index, r, 1, CT_I64, &best);
        if (values != NULL) view_store(&to_value, r, 1, whole ? CT_I64 : CT_F64, (const int64_t *)x + best);
    }
    free(buffer);
    return ACL_OK;
}

/* ---- softmax: variant 1 is the logarithm ------------------------------------------------------- */
int check_softmax(Executor *e) {
    int at = e->argc == 3 ? 1 : 2;
    const Tensor *in = e->args[0].t, *out = e->args[e->argc - 1].t;
    if (normal_dim(e->args[at].i, in->ndim) < 0) {
        return nn_fail(e, "dim %lld is out of range for rank %d", (long long)e->args[at].i, in->ndim);
    }
    int code = at == 2 ? need_same(e, in, e->args[1].t, "gradOutput and output") : ACL_OK;
    return code != 0 ? code : need_same(e, in, out, "output");
}

static Tensor dim_last(const Tensor *t, int64_t dim) {
    return t->ndim == 0 ? *t : rows_of(t, 1u << normal_dim(dim, t->ndim)).t;
}

static void softmax_row(double *x, int64_t n, bool logarithm) {
    double top = -INFINITY, total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] != x[i] || x[i] > top) top = x[i];
    }
    for (int64_t i = 0; i < n; i++) total += (double)expf((float)(x[i] - top));
    double shift = top + log(total), scale = 1 / total;
    for (int64_t i = 0; i < n; i++) x[i] = logarithm ? x[i] - shift : (double)expf((float)(x[i] - top)) * scale;
}

static void softmax_row_f64(double *x, int64_t n, bool logarithm) {
    double top = -INFINITY, total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] != x[i] || x[i] > top) top = x[i];
    }
    for (int64_t i = 0; i < n; i++) total += exp(x[i] - top);
    for (int64_t i = 0; i < n; i++) x[i] = logarithm ? x[i] - top - log(total) : exp(x[i] - top) / total;
}

int run_softmax(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[2].t;
    if (out->numel == 0) return ACL_OK;
    Tensor from = dim_last(in, e->args[1].i), to = dim_last(out, e->args[1].i);
    View source = view_of(&from), target = view_of(&to);
    int64_t inner = in->ndim == 0 ? 1 : from.shape[in->ndim - 1];
    double *row = malloc((size_t)inner * sizeof *row);
    for (int64_t start = 0; start < in->numel; start += inner) {
        const double *x = view_load(&source, start, inner, CT_F64, row);
        if (x != row) memcpy(row, x, (size_t)inner * sizeof *row);
        if (in->dtype == DT_DOUBLE) softmax_row_f64(row, inner, e->op->variant == 1);
        else softmax_row(row, inner, e->op->variant == 1);
        view_store(&target, start, inner, CT_F64, row);
    }
    free(row);
    return ACL_OK;
}

int run_softmax_backward(Executor *e) {
    const Tensor *out = e->args[3].t;
    if (out->numel == 0) return ACL_OK;
    Tensor g = dim_last(e->args[0].t, e->args[2].i), y = dim_last(e->args[1].t, e->args[2].i);
    Tensor to = dim_last(out, e->args[2].i);
    View grad = view_of(&g), value = view_of(&y), target = view_of(&to);
    int64_t inner = out->ndim == 0 ? 1 : g.shape[out->ndim - 1];
    double *room = malloc((size_t)inner * 3 * sizeof *room), *result = room + 2 * inner;
    for (int64_t start = 0; start < out->numel; start += inner) {
        const double *dy = view_load(&grad, start, inner, CT_F64, room);
        const double *v = view_load(&value, start, inner, CT_F64, room + inner);
        double total = 0;
        for (int64_t i = 0; i < inner; i++) total += e->op->variant == 1 ? dy[i] : dy[i] * v[i];
        for (int64_t i = 0; i < inner; i++) {
            result[i] = e->op->variant == 1 ? dy[i] - exp(v[i]) * total : v[i] * (dy[i] - total);
        }
        view_store(&target, start, inner, CT_F64, result);
    }
    free(room);
    return ACL_OK;
}
