/* Functions of one operand, distances between rows, and QR, of the older interface. */
#include "aclop.h"

#include <math.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double tanh_softplus(double x) { return tanh(x > 30 ? x : log1p(exp(x))); }

/* ---- x * sigmoid(scale x), mish, leaky relu ---------------------------------------------------- */
int check_aclop_map(Executor *e) { /* the output is the last operand, the others look like it */
    const Tensor *out = e->args[e->argc - 2].t;
    if (out == NULL) return nn_fail(e, "the output is missing");
    for (int i = 0; i < e->argc - 2; i++) {
        int needed = e->op->variant >= ACLOP_SWISH_GRAD ? 2 : 1;
        if (e->args[i].t == NULL && i < needed) return nn_fail(e, "input %d is missing", i);
        int code = e->args[i].t != NULL ? need_same(e, out, e->args[i].t, "an input") : ACL_OK;
        if (code != ACL_OK) return code;
    }
    return ACL_OK;
}

static double mapped(int variant, double x, double number) {
    if (variant == ACLOP_SWISH) return x * sigmoid(number * x);
    if (variant == ACLOP_MISH) return x * tanh_softplus(x);
    return x > 0 ? x : number * x;
}

static double mapped_slope(int variant, double x, double number) {
    double s = sigmoid(number * x), t = tanh_softplus(x);
    return variant == ACLOP_SWISH_GRAD ? s * (1 + number * x * (1 - s)) : t + x * sigmoid(x) * (1 - t * t);
}

int run_aclop_map(Executor *e) {
    const Tensor *out = e->args[e->argc - 2].t;
    bool backward = e->op->variant >= ACLOP_SWISH_GRAD;
    const char *name = e->op->variant == ACLOP_LEAKY_RELU ? "negative_slope" : "scale";
    double number = attribute_number(aclop_attributes(e), name, e->op->variant == ACLOP_LEAKY_RELU ? 0 : 1);
    Values first = values_of(e->args[0].t), x = backward ? values_of(e->args[1].t) : (Values){0}, y = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) {
        y.v[i] = backward ? first.v[i] * mapped_slope(e->op->variant, x.v[i], number)
                          : mapped(e->op->variant, first.v[i], number);
    }
    values_free(&first);
    values_free(&x);
    values_done(&y);
    return ACL_OK;
}

/* ---- distances between all pairs of rows ------------------------------------------------------- */
int check_aclop_pdist(Executor *e) {
    const Tensor *x = e->args[0].t, *out = e->args[1].t;
    if (x == NULL || out == NULL || x->ndim != 2 || out->numel != x->shape[0] * (x->shape[0] - 1) / 2) {
        return nn_fail(e, "rows [n, m] and n (n - 1) / 2 distances are needed");
    }
    return ACL_OK;
}

int run_aclop_pdist(Executor *e) {
    const Tensor *t = e->args[0].t;
    double p = attribute_number(aclop_attributes(e), "p", 2);
    Values x = values_of(t), out = values_for(e->args[1].t);
    int64_t at = 0, n = t->shape[1];
    for (int64_t i = 0; i < t->shape[0]; i++) {
        for (int64_t j = i + 1; j < t->shape[0]; j++, at++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) {
                double away = fabs(x.v[i * n + k] - x.v[j * n + k]);
                sum = isinf(p) ? fmax(sum, away) : sum + (p == 0 ? away != 0 : pow(away, p));
            }
            out.v[at] = isinf(p) || p == 0 ? sum : pow(sum, 1 / p);
        }
    }
    values_free(&x);
    values_done(&out);
    return ACL_OK;
}

/* ---- QR by reflections, signs as LAPACK's ------------------------------------------------------ */
int check_aclop_qr(Executor *e) { /* a; q, r */
    const Tensor *a = e->args[0].t, *q = e->args[1].t, *r = e->args[2].t;
    if (a == NULL || q == NULL || r == NULL || a->ndim < 2) return nn_fail(e, "a matrix and both results are needed");
    int64_t m = a->shape[a->ndim - 2], n = a->shape[a->ndim - 1];
    bool whole = attribute_number(aclop_attributes(e), "full_matrices", 0) != 0;
    int64_t k = whole || m < n ? m : n, count = m * n > 0 ? a->numel / (m * n) : 0;
    if (q->numel == count * m * k && r->numel == count * k * n) return ACL_OK;
    return nn_fail(e, "q is %s and r %s for %s", shape_text(q), shape_text(r), shape_text(a));
}

/* Reflects columns `from` on of a matrix of m rows and n columns by v, whose first element stands in row `row`. */
static void reflect_columns(double *matrix, int64_t m, int64_t n, int64_t from, int64_t row, const double *v,
                            double scale) {
    for (int64_t c = from; c < n; c++) {
        double dot = 0;
        for (int64_t i = row; i < m; i++) dot += v[i] * matrix[i * n + c];
        for (int64_t i = row; i < m; i++) matrix[i * n + c] -= scale * dot * v[i];
    }
}

static void factor(double *a, int64_t m, int64_t n, double *q) { /* a becomes r, q (m x m) starts as one */
    double *v = calloc((size_t)m + 1, sizeof *v);
    for (int64_t k = 0; k < n && k < m - 1; k++) {
        double norm = 0, square = 0;
        for (int64_t i = k; i < m; i++) norm += a[i * n + k] * a[i * n + k];
        norm = a[k * n + k] > 0 ? -sqrt(norm) : sqrt(norm);
        for (int64_t i = k; i < m; i++) {
            v[i] = a[i * n + k] - (i == k ? norm : 0);
            square += v[i] * v[i];
        }
        if (square == 0) continue;
        reflect_columns(a, m, n, k, k, v, 2 / square);
        for (int64_t r = 0; r < m; r++) { /* q times the reflection */
            double dot = 0;
            for (int64_t i = k; i < m; i++) dot += q[r * m + i] * v[i];
            for (int64_t i = k; i < m; i++) q[r * m + i] -= 2 / square * dot * v[i];
        }
    }
    free(v);
}

int run_aclop_qr(Executor *e) {
    const Tensor *t = e->args[0].t;
    int64_t m = t->shape[t->ndim - 2], n = t->shape[t->ndim - 1], matrices = m * n > 0 ? t->numel / (m * n) : 0;
    Values a = values_of(t), q = values_for(e->args[1].t), r = values_for(e->args[2].t);
    double *work = malloc((size_t)(m * n + m * m + 1) * sizeof *work), *square = work + m * n;
    int64_t k = matrices > 0 ? q.t->numel / (matrices * m) : 0;
    for (int64_t b = 0; b < matrices; b++) {
        memcpy(work, a.v + b * m * n, (size_t)(m * n) * sizeof *work);
        for (int64_t i = 0; i < m * m; i++) square[i] = i % (m + 1) == 0;
        factor(work, m, n, square);
        for (int64_t i = 0; i < m * k; i++) q.v[b * m * k + i] = square[i / k * m + i % k];
        for (int64_t i = 0; i < k * n; i++) r.v[b * k * n + i] = i / n > i % n ? 0 : work[i];
    }
    free(work);
    values_free(&a);
    values_done(&q);
    values_done(&r);
    return ACL_OK;
}
