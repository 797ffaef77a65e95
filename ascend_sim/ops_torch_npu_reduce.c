/* Operators for other clients: reductions, scans, order statistics, distinct values. */
#include "kernels.h"

#include <math.h>

/* ---- one result per group of elements: dims say what is reduced, none means all ---------------- */
static void mark_dims(const Tensor *in, const int64_t *dims, uint64_t n, bool *reduced) {
    for (int d = 0; d < in->ndim; d++) reduced[d] = n == 0;
    for (uint64_t k = 0; k < n; k++) {
        int64_t d = normal_dim(dims[k], in->ndim);
        if (d >= 0 && d < in->ndim) reduced[d] = true;
    }
}

static int64_t group_of(const Tensor *in, const bool *reduced, int64_t at) { /* index in the dense result */
    int64_t group = 0, scale = 1;
    for (int d = in->ndim - 1; d >= 0; d--) {
        int64_t index = at % in->shape[d];
        at /= in->shape[d];
        if (reduced[d]) continue;
        group += index * scale;
        scale *= in->shape[d];
    }
    return group;
}

static void fold(int kind, double order, double x, double high, double *total) {
    double a = fabs(x);
    switch (kind) {
    case CLIENT_NORM:
        if (isinf(order)) *total = order > 0 ? (a > *total ? a : *total) : (a < *total ? a : *total);
        else *total += order == 0 ? a != 0 : order == 1 ? a : order == 2 ? a * a : pow(a, order);
        break;
    case CLIENT_LOG_SUM_EXP: *total += isinf(high) ? 0 : exp(x - high); break;
    default: *total += x != x ? 0 : x; break;
    }
}

static double finished(int kind, double order, double total, double high) {
    if (kind == CLIENT_LOG_SUM_EXP) return isinf(high) ? high : high + log(total);
    if (kind != CLIENT_NORM || isinf(order) || order == 0 || order == 1) return total;
    return order == 2 ? sqrt(total) : pow(total, 1 / order);
}

int run_client_reduce(Executor *e) {
    int kind = e->op->variant, outputs = kind == CLIENT_AMINMAX ? 2 : 1;
    bool reduced[MAX_DIMS];
    Values x = values_of(e->args[0].t), first = values_for(e->args[e->argc - outputs].t);
    Values last = values_for(e->args[e->argc - 1].t);
    char role = e->op->roles[kind == CLIENT_NORM ? 2 : 1];
    Arg dims = e->args[kind == CLIENT_NORM ? 2 : 1];
    if (role == 'I') mark_dims(x.t, dims.ints->v, dims.ints->n, reduced);
    else mark_dims(x.t, &dims.i, role == 'l', reduced);
    double order = kind == CLIENT_NORM ? e->args[1].s->d : 0;
    int64_t groups = first.t->numel;
    double *low = malloc((size_t)(groups + 1) * sizeof *low), *high = malloc((size_t)(groups + 1) * sizeof *high);
    double *total = malloc((size_t)(groups + 1) * sizeof *total);
    for (int64_t g = 0; g < groups; g++) {
        low[g] = INFINITY;
        high[g] = -INFINITY;
        total[g] = kind == CLIENT_NORM && order == -INFINITY ? INFINITY : 0;
    }
    for (int64_t i = 0; i < x.t->numel; i++) {
        int64_t g = group_of(x.t, reduced, i);
        if (x.v[i] != x.v[i] || x.v[i] < low[g]) low[g] = x.v[i];
        if (x.v[i] != x.v[i] || x.v[i] > high[g]) high[g] = x.v[i];
    }
    for (int64_t i = 0; i < x.t->numel; i++) {
        int64_t g = group_of(x.t, reduced, i);
        fold(kind, order, x.v[i], high[g], &total[g]);
    }
    for (int64_t g = 0; g < groups; g++) {
        first.v[g] = outputs == 2 ? low[g] : finished(kind, order, total[g], high[g]);
        if (outputs == 2) last.v[g] = high[g];
    }
    free(low);
    free(high);
    free(total);
    values_free(&x);
    values_done(&first);
    if (outputs == 2) values_done(&last);
    else values_free(&last);
    return ACL_OK;
}

/* ---- along one dimension ----------------------------------------------------------------------- */
typedef struct {
    int64_t outer, length, inner;
} Lanes;

static Lanes lanes_of(const Tensor *t, int64_t dim) {
    Lanes l = {1, 1, 1};
    int64_t d = normal_dim(dim, t->ndim);
    for (int i = 0; i < t->ndim; i++) *(i < d ? &l.outer : i == d ? &l.length : &l.inner) *= t->shape[i];
    return l;
}

int run_cumulative_extreme(
    Executor *e) { /* self, dim, values, indices; variant 1: maximum; ties take the later index */
    Values x = values_of(e->args[0].t), out = values_for(e->args[2].t), at = values_for(e->args[3].t);
    Lanes l = lanes_of(x.t, e->args[1].i);
    for (int64_t lane = 0; lane < l.outer * l.inner; lane++) {
        int64_t base = lane / l.inner * l.length * l.inner + lane % l.inner, best = base, index = 0;
        for (int64_t k = 0; k < l.length; k++) {
            int64_t i = base + k * l.inner;
            double a = x.v[i], b = x.v[best];
            if (a != a || (b == b && (e->op->variant ? a >= b : a <= b))) best = i, index = k;
            out.v[i] = x.v[best];
            at.v[i] = (double)index;
        }
    }
    values_free(&x);
    values_done(&out);
    values_done(&at);
    return ACL_OK;
}

typedef struct {
    double value;
    int64_t index;
} Ranked;

static int by_value(const void *a, const void *b) { /* not-a-numbers last, ties by index */
    const Ranked *x = a, *y = b;
    if (x->value != x->value || y->value != y->value) {
        int order = (x->value != x->value) - (y->value != y->value);
        return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
    }
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Median: self, out; MedianDim: self, dim, keepDim, values, indices; Kthvalue: self, k, dim, keepdim, ... */
int run_median(Executor *e) {
    int kind = e->op->variant;
    Values x = values_of(e->args[0].t), out = values_for(e->args[kind == CLIENT_MEDIAN_ALL ? 1 : e->argc - 2].t);
    Values at = values_for(e->args[e->argc - 1].t);
    Lanes l = kind == CLIENT_MEDIAN_ALL ? (Lanes){1, x.t->numel, 1}
                                        : lanes_of(x.t, e->args[kind == CLIENT_KTHVALUE ? 2 : 1].i);
    Ranked *ranked = malloc((size_t)(l.length + 1) * sizeof *ranked);
    for (int64_t lane = 0; lane < l.outer * l.inner && l.length > 0; lane++) {
        int64_t base = lane / l.inner * l.length * l.inner + lane % l.inner;
        for (int64_t k = 0; k < l.length; k++) ranked[k] = (Ranked){x.v[base + k * l.inner], k};
        qsort(ranked, (size_t)l.length, sizeof *ranked, by_value);
        int64_t rank = kind == CLIENT_KTHVALUE ? e->args[1].i - 1 : (l.length - 1) / 2;
        if (kind != CLIENT_KTHVALUE && ranked[l.length - 1].value != ranked[l.length - 1].value) rank = l.length - 1;
        out.v[lane] = ranked[rank].value;
        if (kind != CLIENT_MEDIAN_ALL) at.v[lane] = (double)ranked[rank].index;
    }
    free(ranked);
    values_free(&x);
    values_done(&out);
    if (kind != CLIENT_MEDIAN_ALL) values_done(&at);
    else values_free(&at);
    return ACL_OK;
}

int run_renorm(Executor *e) { /* self, p, dim, maxNorm, out */
    Values x = values_of(e->args[0].t), out = values_for(e->args[4].t);
    double p = e->args[1].s->d, limit = e->args[3].s->d;
    Lanes l = lanes_of(x.t, e->args[2].i);
    for (int64_t k = 0; k < l.length; k++) {
        double norm = 0;
        for (int64_t i = 0; i < x.t->numel; i++) {
            if (i / l.inner % l.length == k) norm += pow(fabs(x.v[i]), p);
        }
        norm = pow(norm, 1 / p);
        for (int64_t i = 0; i < x.t->numel; i++) {
            if (i / l.inner % l.length == k) out.v[i] = norm > limit ? x.v[i] * limit / (norm + 1e-7) : x.v[i];
        }
    }
    values_free(&x);
    values_done(&out);
    return ACL_OK;
}

int run_trace(Executor *e) {
    Values x = values_of(e->args[0].t), out = values_for(e->args[1].t);
    double sum = 0;
    for (int64_t i = 0; i < x.t->shape[0] && i < x.t->shape[1]; i++) sum += x.v[i * x.t->shape[1] + i];
    out.v[0] = sum;
    values_free(&x);
    values_done(&out);
    return ACL_OK;
}

/* ---- counts ------------------------------------------------------------------------------------ */
int run_bincount(Executor *e) { /* self, weights, minlength, out */
    Values x = values_of(e->args[0].t), out = values_for(e->args[3].t), weights = {0};
    if (e->args[1].t != NULL) weights = values_of(e->args[1].t);
    for (int64_t k = 0; k < out.t->numel; k++) out.v[k] = 0;
    for (int64_t i = 0; i < x.t->numel; i++) {
        int64_t bin = (int64_t)x.v[i];
        if (bin >= 0 && bin < out.t->numel) out.v[bin] += weights.v != NULL && weights.t->numel > 0 ? weights.v[i] : 1;
    }
    values_free(&x);
    values_free(&weights);
    values_done(&out);
    return ACL_OK;
}

int run_histc(Executor *e) { /* self, bins, min, max, out */
    Values x = values_of(e->args[0].t), out = values_for(e->args[4].t);
    double low = e->args[2].s->d, high = e->args[3].s->d;
    int64_t bins = e->args[1].i;
    if (low == high && x.t->numel > 0) {
        low = high = x.v[0];
        for (int64_t i = 1; i < x.t->numel; i++)
            low = x.v[i] < low ? x.v[i] : low, high = x.v[i] > high ? x.v[i] : high;
    }
    if (low == high) low -= 1, high += 1;
    for (int64_t k = 0; k < bins; k++) out.v[k] = 0;
    for (int64_t i = 0; i < x.t->numel; i++) {
        if (!(x.v[i] >= low && x.v[i] <= high)) continue;
        int64_t bin = (int64_t)((x.v[i] - low) / (high - low) * (double)bins);
        out.v[bin < bins ? bin : bins - 1] += 1;
    }
    values_free(&x);
    values_done(&out);
    return ACL_OK;
}

/* ---- distinct values: outputs have room for all elements, the client's tensors learn their shapes ---- */
int check_unique(Executor *e) { /* self, sorted or inverse, inverse or counts, counts or dim, values, inverse, counts */
    if (e->op->variant == 1 && e->args[0].t->ndim > 1 && e->args[3].i >= 0 && e->args[3].i < e->args[0].t->ndim) {
        return nn_fail(e, "a dimension is not modelled by the simulator");
    }
    tensor_watch_output(e, 0);
    tensor_watch_output(e, 2);
    return ACL_OK;
}

int run_unique(Executor *e) { /* variant 1: only neighbours are compared */
    bool consecutive = e->op->variant == 1;
    Values x = values_of(e->args[0].t), out = values_for(e->args[4].t), inverse = {0}, counts = {0};
    bool with_inverse = e->args[5].t != NULL && e->args[5].t->numel >= x.t->numel, with_counts = e->args[6].t != NULL;
    if (with_inverse) inverse = values_for(e->args[5].t);
    if (with_counts) counts = values_for(e->args[6].t);
    with_counts = with_counts && counts.t->numel >= x.t->numel;
    int64_t n = x.t->numel, found = 0;
    Ranked *ranked = malloc((size_t)(n + 1) * sizeof *ranked);
    for (int64_t i = 0; i < n; i++) ranked[i] = (Ranked){x.v[i], i};
    if (!consecutive) qsort(ranked, (size_t)n, sizeof *ranked, by_value);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || ranked[i].value != ranked[i - 1].value) {
            out.v[found] = ranked[i].value;
            if (with_counts) counts.v[found] = 0;
            found++;
        }
        if (with_inverse) inverse.v[ranked[i].index] = (double)(found - 1);
        if (with_counts) counts.v[found - 1] += 1;
    }
    for (int64_t i = found; i < out.t->numel; i++) out.v[i] = 0;
    for (int64_t i = found; with_counts && i < counts.t->numel; i++) counts.v[i] = 0;
    free(ranked);
    values_free(&x);
    values_done(&out);
    if (inverse.t != NULL) values_done(&inverse);
    if (with_counts) values_done(&counts);
    else values_free(&counts);
    tensor_resized_output(e, 0, &found, 1);
    if (with_counts) tensor_resized_output(e, 2, &found, 1);
    return ACL_OK;
}
