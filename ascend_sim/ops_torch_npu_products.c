/* Operators for other clients: products with vectors, distances, bags of embeddings, attention. */
#include "kernels.h"

#include <math.h>

/* ---- products ---------------------------------------------------------------------------------- */
typedef struct {
    const double *a, *b;
    int64_t batches, rows, inner, columns;
} Product;

static double product_at(const Product *p, int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t n = 0; n < p->batches; n++) {
        const double *a = p->a + (n * p->rows + row) * p->inner, *b = p->b + n * p->inner * p->columns + column;
        for (int64_t k = 0; k < p->inner; k++) sum += a[k] * b[k * p->columns];
    }
    return sum;
}

int run_client_product(Executor *e) {
    int kind = e->op->variant, first = kind >= CLIENT_ADDMV ? 1 : 0;
    const Tensor *a = e->args[first].t, *b = e->args[first + 1].t, *out = e->args[first == 0 ? 2 : 5].t;
    Values va = values_of(a), vb = values_of(b), to = values_for(out);
    Product p = {va.v, vb.v, 1, 1, 1, 1};
    if (kind == CLIENT_MV || kind == CLIENT_ADDMV) p.rows = a->shape[0], p.inner = a->shape[1];
    else if (kind == CLIENT_DOT) p.inner = a->numel;
    else if (kind == CLIENT_ADDR) p.rows = a->numel, p.columns = b->numel;
    else p.batches = a->shape[0], p.rows = a->shape[1], p.inner = a->shape[2], p.columns = b->shape[2];
    double alpha = 1, beta = 0;
    if (first == 1) { /* Addmv has alpha before beta, the others beta before alpha */
        alpha = e->args[kind == CLIENT_ADDMV ? 3 : 4].s->d;
        beta = e->args[kind == CLIENT_ADDMV ? 4 : 3].s->d;
    }
    View self = first == 1 ? view_as(e->args[0].t, out->shape, out->ndim) : (View){0};
    for (int64_t i = 0; i < out->numel; i++) {
        double room, before = beta == 0 ? 0 : beta * *(const double *)view_load(&self, i, 1, CT_F64, &room);
        to.v[i] = before + alpha * product_at(&p, i / p.columns, i % p.columns);
    }
    values_free(&va);
    values_free(&vb);
    values_done(&to);
    return ACL_OK;
}

int run_cdist(Executor *e) { /* x1 [.., P, M], x2 [.., R, M], p, mode, out [.., P, R] */
    const Tensor *a = e->args[0].t, *b = e->args[1].t, *out = e->args[4].t;
    double p = e->args[2].d;
    int64_t m = a->shape[a->ndim - 1], rows = a->shape[a->ndim - 2], columns = b->shape[b->ndim - 2];
    Values x = values_of(a), y = values_of(b), to = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
        double total = 0;
        for (int64_t k = 0; k < m; k++) {
            double d = fabs(x.v[(batch * rows + row) * m + k] - y.v[(batch * columns + column) * m + k]);
            if (isinf(p)) total = d > total ? d : total;
            else total += p == 0 ? d != 0 : p == 1 ? d : p == 2 ? d * d : pow(d, p);
        }
        to.v[i] = isinf(p) || p == 0 || p == 1 ? total : p == 2 ? sqrt(total) : pow(total, 1 / p);
    }
    values_free(&x);
    values_free(&y);
    values_done(&to);
    return ACL_OK;
}

/* ---- bags of embeddings: mode 0 sum, 1 mean, 2 maximum ----------------------------------------- */
typedef struct {
    Values weight, index, offsets, samples;
    int64_t mode, padding, width;
} Bags;

static void one_bag(const Bags *b, int64_t from, int64_t to, double *row, double *size, double *places) {
    int64_t n = 0;
    for (int64_t c = 0; c < b->width; c++) row[c] = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t at = (int64_t)b->index.v[i];
        if (at == b->padding) continue;
        double factor = b->samples.v != NULL ? b->samples.v[i] : 1;
        for (int64_t c = 0; c < b->width; c++) {
            double value = b->weight.v[at * b->width + c] * factor;
            if (b->mode == 2 && (n == 0 || value > row[c])) row[c] = value, places[c] = (double)at;
            else if (b->mode != 2) row[c] += value;
        }
        n++;
    }
    for (int64_t c = 0; b->mode == 1 && n > 0 && c < b->width; c++) row[c] /= (double)n;
    *size = (double)n;
}

/* weight, indices, offsets, scaleGradByFreq, mode, sparse, perSampleWeights, includeLastOffset, paddingIdx, output,
 * offset2bag, bagSize, maxIndices */
int run_embedding_bag(Executor *e) {
    Bags b = {.weight = values_of(e->args[0].t),
              .index = values_of(e->args[1].t),
              .offsets = values_of(e->args[2].t),
              .mode = e->args[4].i,
              .padding = e->args[8].i};
    if (e->args[6].t != NULL && e->args[6].t->numel > 0) b.samples = values_of(e->args[6].t);
    b.width = b.weight.t->shape[1];
    Values out = values_for(e->args[9].t), owner = values_for(e->args[10].t), sizes = values_for(e->args[11].t);
    Values places = values_for(e->args[12].t);
    bool room = e->args[12].t->numel >= out.t->numel;
    int64_t bags = out.t->shape[0], total = b.index.t->numel;
    double *scratch = calloc((size_t)b.width + 1, sizeof *scratch);
    for (int64_t i = 0; i < places.t->numel; i++) places.v[i] = 0;
    for (int64_t i = 0; i < sizes.t->numel; i++) sizes.v[i] = 0;
    for (int64_t k = 0; k < bags; k++) {
        int64_t from = (int64_t)b.offsets.v[k], to = k + 1 < b.offsets.t->numel ? (int64_t)b.offsets.v[k + 1] : total;
        double size;
        one_bag(&b, from, to, out.v + k * b.width, &size, room ? places.v + k * b.width : scratch);
        if (k < sizes.t->numel) sizes.v[k] = size;
        for (int64_t i = from; i < to && i < owner.t->numel; i++) owner.v[i] = (double)k;
    }
    free(scratch);
    values_free(&b.weight);
    values_free(&b.index);
    values_free(&b.offsets);
    values_free(&b.samples);
    values_done(&out);
    values_done(&owner);
    values_done(&sizes);
    values_done(&places);
    return ACL_OK;
}

/* ---- attention: operands in a layout of batch (B), heads (N), sequence (S), head size (D), heads and size together
 * (H) ---- */
typedef struct {
    int64_t batch, heads, length, size, strides[4];
} Layout; /* strides of B, N, S, D in the dense operand */

static bool layout_of(const Tensor *t, const char *text, int64_t heads, Layout *l) {
    *l = (Layout){1, heads, 1, 1, {0}};
    if ((int)strlen(text) != t->ndim) return false;
    int64_t stride = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        switch (text[i]) {
        case 'B':
            l->batch = t->shape[i];
            l->strides[0] = stride;
            break;
        case 'N':
            l->heads = t->shape[i];
            l->strides[1] = stride;
            break;
        case 'S':
            l->length = t->shape[i];
            l->strides[2] = stride;
            break;
        case 'D':
            l->size = t->shape[i];
            l->strides[3] = stride;
            break;
        case 'H':
            l->size = t->shape[i] / heads;
            l->strides[3] = stride;
            l->strides[1] = stride * l->size;
            break;
        default: return false;
        }
        stride *= t->shape[i];
    }
    return true;
}

int check_attention(Executor *e) {
    bool backward = e->argc > 20;
    /* scale, keepProb, preTokens, nextTokens, headNum, layout, precision, sparse mode */
    const Arg *options = e->args + (backward ? 13 : 8);
    Layout l;
    if (!layout_of(e->args[0].t, options[5].text, options[4].i, &l)) {
        return nn_fail(e, "the layout %s is not modelled", options[5].text);
    }
    if (options[1].d < 1 && e->args[backward ? 5 : 4].t != NULL)
        return nn_fail(e, "dropout inside attention is not modelled by the simulator");
    if (options[7].i < 0 || options[7].i > 4)
        return nn_fail(e, "sparse mode %lld is not modelled", (long long)options[7].i);
    return ACL_OK;
}

typedef struct {
    Values q, k, v, bias, mask;
    Layout lq, lk, lv;
    const Arg *options;
} Attention;

static Attention attention_of(const Executor *e, bool backward) {
    int extra = backward ? 4 : 3; /* where pse stands */
    Attention a = {.q = values_of(e->args[0].t),
                   .k = values_of(e->args[1].t),
                   .v = values_of(e->args[2].t),
                   .options = e->args + (backward ? 13 : 8)};
    if (e->args[extra].t != NULL) a.bias = values_of(e->args[extra].t);
    if (e->args[extra + 3].t != NULL) a.mask = values_of(e->args[extra + 3].t);
    const char *text = a.options[5].text;
    int64_t heads = a.options[4].i;
    layout_of(a.q.t, text, heads, &a.lq);
    int64_t shared = a.k.t->shape[a.k.t->ndim - 1] / a.lq.size; /* heads of keys, where H holds them */
    layout_of(a.k.t, text, strchr(text, 'H') ? shared : heads, &a.lk);
    layout_of(a.v.t, text, strchr(text, 'H') ? shared : heads, &a.lv);
    return a;
}

static void attention_free(Attention *a) {
    values_free(&a->q);
    values_free(&a->k);
    values_free(&a->v);
    values_free(&a->bias);
    values_free(&a->mask);
}

static int64_t at_layout(const Layout *l, int64_t b, int64_t n, int64_t s, int64_t d) {
    return b * l->strides[0] + n * l->strides[1] + s * l->strides[2] + d * l->strides[3];
}

/* modes 2 to 4 have a compressed causal mask */
static bool hidden(const Attention *a, int64_t b, int64_t n, int64_t i, int64_t j) {
    int64_t mode = a->options[7].i, shift = a->lk.length - a->lq.length;
    if (mode == 2) return j > i;
    if (mode == 3) return j > i + shift;
    if (a->mask.v == NULL) return false;
    if (mode == 0 && (j < i - a->options[2].i || j > i + a->options[3].i)) return true;
    if (mode == 4) return j > i + shift + a->options[3].i || j < i + shift - a->options[2].i;
    const Tensor *t = a->mask.t;
    int64_t columns = t->shape[t->ndim - 1], rows = t->shape[t->ndim - 2], plane = rows * columns;
    int64_t planes = t->numel / plane, at = planes == 1 ? 0 : planes == a->lq.batch ? b : b * a->lq.heads + n;
    return a->mask.v[at * plane + i % rows * columns + j] != 0;
}

/* Probabilities of one query; gives the largest score and the sum of the exponentials. */
static void row_of(const Attention *a, int64_t b, int64_t n, int64_t i, double *p, double *high, double *sum) {
    int64_t kn = n * a->lk.heads / a->lq.heads;
    *high = -INFINITY;
    for (int64_t j = 0; j < a->lk.length; j++) {
        double dot = 0;
        for (int64_t d = 0; d < a->lq.size; d++)
            dot += a->q.v[at_layout(&a->lq, b, n, i, d)] * a->k.v[at_layout(&a->lk, b, kn, j, d)];
        p[j] = dot * a->options[0].d;
        if (a->bias.v != NULL) {
            int64_t plane = a->lq.length * a->lk.length, planes = a->bias.t->numel / plane;
            int64_t at = planes == a->lq.heads ? n : planes == a->lq.batch * a->lq.heads ? b * a->lq.heads + n : 0;
            p[j] += a->bias.v[at * plane + i * a->lk.length + j];
        }
        if (hidden(a, b, n, i, j)) p[j] = -INFINITY;
        *high = p[j] > *high ? p[j] : *high;
    }
    *sum = 0;
    for (int64_t j = 0; j < a->lk.length; j++) *sum += p[j] = isinf(*high) ? 0 : exp(p[j] - *high);
    for (int64_t j = 0; j < a->lk.length; j++) p[j] = *sum > 0 ? p[j] / *sum : 0;
}

static void store_statistic(Values *v, int64_t row, double value) { /* [B, N, S, 8]: the same number eight times */
    int64_t width = v->t->ndim > 0 ? v->t->shape[v->t->ndim - 1] : 0;
    for (int64_t k = 0; k < width && row * width + k < v->t->numel; k++) v->v[row * width + k] = value;
}

int run_attention(Executor *e) { /* outputs: maxima, sums, (unused), attention */
    Attention a = attention_of(e, false);
    Values maxima = values_for(e->args[16].t), sums = values_for(e->args[17].t), out = values_for(e->args[19].t);
    double *p = malloc((size_t)(a.lk.length + 1) * sizeof *p), high, sum;
    for (int64_t row = 0; row < a.lq.batch * a.lq.heads * a.lq.length; row++) {
        int64_t i = row % a.lq.length, n = row / a.lq.length % a.lq.heads, b = row / a.lq.length / a.lq.heads;
        int64_t vn = n * a.lv.heads / a.lq.heads;
        row_of(&a, b, n, i, p, &high, &sum);
        store_statistic(&maxima, row, high);
        store_statistic(&sums, row, sum);
        for (int64_t d = 0; d < a.lv.size; d++) {
            double total = 0;
            for (int64_t j = 0; j < a.lk.length; j++) total += p[j] * a.v.v[at_layout(&a.lv, b, vn, j, d)];
            out.v[at_layout(&a.lq, b, n, i, d)] = total;
        }
    }
    free(p);
    attention_free(&a);
    values_done(&maxima);
    values_done(&sums);
    values_done(&out);
    return ACL_OK;
}

static void row_backward(const Attention *a, const Values *dy, int64_t b, int64_t n, int64_t i, const double *p,
                         double *dp, Values *grads) {
    int64_t kn = n * a->lk.heads / a->lq.heads;
    double mean = 0;
    for (int64_t j = 0; j < a->lk.length; j++) {
        dp[j] = 0;
        for (int64_t d = 0; d < a->lv.size; d++) {
            double g = dy->v[at_layout(&a->lq, b, n, i, d)];
            dp[j] += g * a->v.v[at_layout(&a->lv, b, kn, j, d)];
            grads[2].v[at_layout(&a->lv, b, kn, j, d)] += p[j] * g;
        }
        mean += p[j] * dp[j];
    }
    for (int64_t j = 0; j < a->lk.length; j++) {
        double ds = p[j] * (dp[j] - mean) * a->options[0].d;
        for (int64_t d = 0; d < a->lq.size; d++) {
            grads[0].v[at_layout(&a->lq, b, n, i, d)] += ds * a->k.v[at_layout(&a->lk, b, kn, j, d)];
            grads[1].v[at_layout(&a->lk, b, kn, j, d)] += ds * a->q.v[at_layout(&a->lq, b, n, i, d)];
        }
    }
}

int run_attention_backward(Executor *e) { /* outputs: gradients of query, key, value, (bias: left alone) */
    Attention a = attention_of(e, true);
    Values dy = values_of(e->args[3].t), grads[3];
    for (int k = 0; k < 3; k++) {
        grads[k] = values_for(e->args[21 + k].t);
        for (int64_t i = 0; i < grads[k].t->numel; i++) grads[k].v[i] = 0;
    }
    double *p = malloc((size_t)(a.lk.length + 1) * sizeof *p), *dp = malloc((size_t)(a.lk.length + 1) * sizeof *dp),
           high, sum;
    for (int64_t row = 0; row < a.lq.batch * a.lq.heads * a.lq.length; row++) {
        int64_t i = row % a.lq.length, n = row / a.lq.length % a.lq.heads, b = row / a.lq.length / a.lq.heads;
        row_of(&a, b, n, i, p, &high, &sum);
        row_backward(&a, &dy, b, n, i, p, dp, grads);
    }
    free(p);
    free(dp);
    attention_free(&a);
    values_free(&dy);
    for (int k = 0; k < 3; k++) values_done(&grads[k]);
    return ACL_OK;
}
