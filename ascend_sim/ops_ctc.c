/* Connectionist temporal classification: the loss and its gradient, by forward and backward variables in log space. */
#include "kernels.h"

#include <math.h>

typedef struct {
    int64_t steps, batch, classes, blank, widest; /* widest: states of the longest target, 2 * length + 1 */
    const IntArray *input_lengths, *target_lengths;
    Values probabilities;
    int64_t *labels;
    void *labels_owned;
    bool rows; /* targets are [batch, longest]; otherwise they follow each other */
    int64_t stride;
} Ctc;

static int check_sizes(const Executor *e, const Tensor *p, const Tensor *targets, const IntArray *inputs,
                       const IntArray *lengths, int64_t blank) {
    if (p->ndim != 3) return nn_fail(e, "the probabilities are %s", shape_text(p));
    if ((int64_t)inputs->n != p->shape[1] || (int64_t)lengths->n != p->shape[1]) {
        return nn_fail(e, "%d and %d lengths for a batch of %lld", (int)inputs->n, (int)lengths->n,
                       (long long)p->shape[1]);
    }
    if (blank < 0 || blank >= p->shape[2])
        return nn_fail(e, "the blank %lld of %lld", (long long)blank, (long long)p->shape[2]);
    int64_t sum = 0;
    for (uint64_t i = 0; i < lengths->n; i++) {
        bool fits = lengths->v[i] >= 0 && (targets->ndim == 1 || lengths->v[i] <= targets->shape[1]);
        if (!fits || inputs->v[i] < 0 || inputs->v[i] > p->shape[0])
            return nn_fail(e, "the lengths of sequence %d", (int)i);
        sum += lengths->v[i];
    }
    if (targets->ndim == 1 && sum > targets->numel) {
        return nn_fail(e, "%lld targets, %lld given", (long long)sum, (long long)targets->numel);
    }
    return ACL_OK;
}

int check_ctc(
    Executor *e) { /* probabilities, targets, input lengths, target lengths, blank, zero infinity, loss, log alpha */
    int code = check_sizes(e, e->args[0].t, e->args[1].t, e->args[2].ints, e->args[3].ints, e->args[4].i);
    if (code == ACL_OK && e->args[6].t->numel != e->args[0].t->shape[1]) {
        return nn_fail(e, "the loss is %s", shape_text(e->args[6].t));
    }
    return code;
}

int check_ctc_backward(
    Executor *e) { /* dloss, probabilities, targets, lengths, lengths, loss, log alpha, blank, zero infinity, out */
    int code = check_sizes(e, e->args[1].t, e->args[2].t, e->args[3].ints, e->args[4].ints, e->args[7].i);
    if (code == ACL_OK && e->args[0].t->numel != e->args[1].t->shape[1]) {
        return nn_fail(e, "dloss is %s", shape_text(e->args[0].t));
    }
    return code == ACL_OK ? need_same(e, e->args[1].t, e->args[9].t, "the gradient") : code;
}

static Ctc ctc_open(const Tensor *p, const Tensor *targets, const IntArray *inputs, const IntArray *lengths,
                    int64_t blank) {
    Ctc c = {.steps = p->shape[0],
             .batch = p->shape[1],
             .classes = p->shape[2],
             .blank = blank,
             .input_lengths = inputs,
             .target_lengths = lengths,
             .probabilities = values_of(p),
             .rows = targets->ndim == 2};
    c.labels = dense_i64(targets, &c.labels_owned);
    c.stride = c.rows ? targets->shape[1] : 0;
    c.widest = 1;
    for (uint64_t i = 0; i < lengths->n; i++) {
        if (2 * lengths->v[i] + 1 > c.widest) c.widest = 2 * lengths->v[i] + 1;
    }
    return c;
}

static void ctc_close(Ctc *c) {
    values_free(&c->probabilities);
    free(c->labels_owned);
}

static const int64_t *labels_of(const Ctc *c, int64_t b) {
    int64_t at = c->rows ? b * c->stride : 0;
    for (int64_t i = 0; !c->rows && i < b; i++) at += c->target_lengths->v[i];
    return c->labels + at;
}

static int64_t label_at(const Ctc *c, const int64_t *labels, int64_t state) {
    return state % 2 ? labels[state / 2] : c->blank;
}

static double probability(const Ctc *c, int64_t step, int64_t b, int64_t label) {
    if (label < 0 || label >= c->classes) return -INFINITY; /* no such class: the path is impossible */
    return c->probabilities.v[(step * c->batch + b) * c->classes + label];
}

static double log_sum(double a, double b) {
    double high = a > b ? a : b;
    return isinf(high) && high < 0 ? high : high + log(exp(a - high) + exp(b - high));
}

/* A state may be entered from the one two before it where a label other than the last one begins. */
static bool may_skip(const Ctc *c, const int64_t *labels, int64_t state) {
    return state % 2 == 1 && state > 1 && label_at(c, labels, state) != label_at(c, labels, state - 2);
}

/* alpha: [steps, widest] of one sequence. Gives the negative log likelihood. */
static double forward_variables(const Ctc *c, int64_t b, double *alpha) {
    int64_t steps = c->input_lengths->v[b], states = 2 * c->target_lengths->v[b] + 1;
    const int64_t *labels = labels_of(c, b);
    if (steps == 0) return states == 1 ? 0 : INFINITY;
    for (int64_t i = 0; i < c->steps * c->widest; i++) alpha[i] = -INFINITY;
    for (int64_t s = 0; s < states && s < 2; s++) alpha[s] = probability(c, 0, b, label_at(c, labels, s));
    for (int64_t t = 1; t < steps; t++) {
        const double *before = alpha + (t - 1) * c->widest;
        for (int64_t s = 0; s < states; s++) {
            double sum = before[s];
            if (s > 0) sum = log_sum(sum, before[s - 1]);
            if (may_skip(c, labels, s)) sum = log_sum(sum, before[s - 2]);
            alpha[t * c->widest + s] = sum + probability(c, t, b, label_at(c, labels, s));
        }
    }
    const double *last = alpha + (steps - 1) * c->widest;
    return -(states > 1 ? log_sum(last[states - 1], last[states - 2]) : last[0]);
}

int run_ctc(Executor *e) {
    Ctc c = ctc_open(e->args[0].t, e->args[1].t, e->args[2].ints, e->args[3].ints, e->args[4].i);
    Values loss = values_for(e->args[6].t), kept = values_zeroed(e->args[7].t);
    double *alpha = malloc((size_t)(c.steps * c.widest + 1) * sizeof *alpha);
    int64_t room = c.batch > 0 ? e->args[7].t->numel / c.batch : 0;
    for (int64_t b = 0; b < c.batch; b++) {
        loss.v[b] = forward_variables(&c, b, alpha);
        if (e->args[5].i != 0 && isinf(loss.v[b])) loss.v[b] = 0;
        for (int64_t i = 0; i < room && i < c.steps * c.widest; i++) kept.v[b * room + i] = alpha[i];
    }
    free(alpha);
    values_done(&loss);
    values_done(&kept);
    ctc_close(&c);
    return ACL_OK;
}

/* beta: [steps, widest]; the path from a state on, its own probability included. */
static void backward_variables(const Ctc *c, int64_t b, double *beta) {
    int64_t steps = c->input_lengths->v[b], states = 2 * c->target_lengths->v[b] + 1;
    const int64_t *labels = labels_of(c, b);
    for (int64_t i = 0; i < c->steps * c->widest; i++) beta[i] = -INFINITY;
    for (int64_t t = steps - 1; t >= 0; t--) {
        for (int64_t s = 0; s < states; s++) {
            double sum = t == steps - 1 && s >= states - 2 ? 0 : -INFINITY;
            if (t < steps - 1) {
                const double *after = beta + (t + 1) * c->widest;
                sum = after[s];
                if (s + 1 < states) sum = log_sum(sum, after[s + 1]);
                if (s + 2 < states && may_skip(c, labels, s + 2)) sum = log_sum(sum, after[s + 2]);
            }
            beta[t * c->widest + s] = sum + probability(c, t, b, label_at(c, labels, s));
        }
    }
}

static void sequence_gradient(const Ctc *c, int64_t b, double scale, bool zero_infinity, double *alpha, double *beta,
                              double *out) {
    double loss = forward_variables(c, b, alpha);
    if (c->input_lengths->v[b] == 0 || (zero_infinity && isinf(loss))) return;
    backward_variables(c, b, beta);
    const int64_t *labels = labels_of(c, b);
    for (int64_t t = 0; t < c->input_lengths->v[b]; t++) {
        double *row = out + (t * c->batch + b) * c->classes;
        for (int64_t k = 0; k < c->classes; k++) row[k] = scale * exp(probability(c, t, b, k));
        for (int64_t s = 0; s < 2 * c->target_lengths->v[b] + 1; s++) {
            int64_t label = label_at(c, labels, s);
            if (label < 0 || label >= c->classes) continue;
            double path = alpha[t * c->widest + s] + beta[t * c->widest + s] - probability(c, t, b, label);
            row[label] -= scale * exp(path + loss);
        }
    }
}

int run_ctc_backward(Executor *e) {
    Ctc c = ctc_open(e->args[1].t, e->args[2].t, e->args[3].ints, e->args[4].ints, e->args[7].i);
    Values given = values_of(e->args[0].t), out = values_zeroed(e->args[9].t);
    double *alpha = malloc((size_t)(c.steps * c.widest * 2 + 1) * sizeof *alpha);
    for (int64_t b = 0; b < c.batch; b++) {
        sequence_gradient(&c, b, given.v[b], e->args[8].i != 0, alpha, alpha + c.steps * c.widest, out.v);
    }
    free(alpha);
    values_free(&given);
    values_done(&out);
    ctc_close(&c);
    return ACL_OK;
}
