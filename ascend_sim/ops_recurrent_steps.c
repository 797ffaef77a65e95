/* One direction of one layer of an LSTM or GRU, forward and backward, in double; and one step of an LSTM by itself. */
#include "recurrent.h"

#include <math.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* ---- forward ----------------------------------------------------------------------------------- */
/* One gate of one unit: both products, kept apart where the operator wants the hidden one by itself. */
static void gate_sums(const Pass *p, const double *x, const double *h, int64_t gate, int64_t unit, double *from_x,
                      double *from_h) {
    int64_t n = p->net->hidden, row = gate * n + unit;
    double sx = p->bias_x != NULL ? p->bias_x[row] : 0, sh = p->bias_h != NULL ? p->bias_h[row] : 0;
    for (int64_t k = 0; k < p->inputs; k++) sx += p->weight_x[row * p->inputs + k] * x[k];
    for (int64_t k = 0; k < n; k++) sh += p->weight_h[row * n + k] * h[k];
    *from_x = sx;
    *from_h = sh;
}

static double gate_sum(const Pass *p, const double *x, const double *h, int64_t gate, int64_t unit) {
    double from_x, from_h;
    gate_sums(p, x, h, gate, unit, &from_x, &from_h);
    return from_x + from_h;
}

static void keep(const Pass *p, int what, int64_t at, double value) {
    if (p->kept[what] != NULL) p->kept[what][at] = value;
}

static double lstm_unit(const Pass *p, const double *x, const double *h, double *c, int64_t unit, int64_t at) {
    double i = sigmoid(gate_sum(p, x, h, 0, unit)), f = sigmoid(gate_sum(p, x, h, 1, unit));
    double g = tanh(gate_sum(p, x, h, 2, unit)), o = sigmoid(gate_sum(p, x, h, 3, unit));
    *c = f * *c + i * g;
    double squashed = tanh(*c), result = o * squashed;
    const double values[LSTM_KEPT] = {i, g, f, o, result, *c, squashed};
    for (int k = 0; k < LSTM_KEPT; k++) keep(p, k, at, values[k]);
    return result;
}

static double gru_unit(const Pass *p, const double *x, const double *h, int64_t unit, int64_t at) {
    double r = sigmoid(gate_sum(p, x, h, 0, unit)), z = sigmoid(gate_sum(p, x, h, 1, unit)), from_x, hn;
    gate_sums(p, x, h, 2, unit, &from_x, &hn);
    double n = tanh(from_x + r * hn), result = (1 - z) * n + z * h[unit];
    const double values[GRU_KEPT] = {r, z, n, hn, result};
    for (int k = 0; k < GRU_KEPT; k++) keep(p, k, at, values[k]);
    return result;
}

void run_direction(const Pass *p, double *h, double *c, double *out) {
    const Net *net = p->net;
    int64_t n = net->hidden, width = n * net->directions;
    double *next = malloc((size_t)(n > 0 ? n : 1) * sizeof *next);
    for (int64_t k = 0; k < net->steps; k++) {
        int64_t step = p->backwards ? net->steps - 1 - k : k;
        for (int64_t b = 0; b < net->sizes[step]; b++) {
            int64_t row = row_of(net, step, b), at = (step * net->batch + b) * n;
            const double *x = p->x + row * p->inputs;
            for (int64_t u = 0; u < n; u++) {
                next[u] = net->gates == LSTM_GATES ? lstm_unit(p, x, h + b * n, &c[b * n + u], u, at + u)
                                                   : gru_unit(p, x, h + b * n, u, at + u);
            }
            memcpy(h + b * n, next, (size_t)n * sizeof *next);
            memcpy(out + row * width + p->column, next, (size_t)n * sizeof *next);
        }
    }
    free(next);
}

/* ---- backward ---------------------------------------------------------------------------------- */
/* The state before a step of a sequence: the initial one at its first step, else what was kept for the step before. */
static const double *state_before(const Pass *p, const double *initial, int what, int64_t step, int64_t b) {
    const Net *net = p->net;
    bool first = p->backwards ? step + 1 == net->steps || b >= net->sizes[step + 1] : step == 0;
    int64_t before = p->backwards ? step + 1 : step - 1;
    return first ? initial + b * net->hidden : p->kept[what] + (before * net->batch + b) * net->hidden;
}

/* Gradients before the gates' functions: gx of the sums with x, gh of those with h; the state's own are replaced. */
static void lstm_unit_backward(const Pass *p, int64_t at, double dh, double *dc, double c_before, int64_t unit,
                               double *gx, double *gh) {
    double i = p->kept[KEPT_I][at], g = p->kept[KEPT_G][at], f = p->kept[KEPT_F][at], o = p->kept[KEPT_O][at];
    double squashed = p->kept[KEPT_TANH][at], total = dh * o * (1 - squashed * squashed) + *dc;
    int64_t n = p->net->hidden;
    gx[unit] = total * g * i * (1 - i);
    gx[n + unit] = total * c_before * f * (1 - f);
    gx[2 * n + unit] = total * i * (1 - g * g);
    gx[3 * n + unit] = dh * squashed * o * (1 - o);
    for (int k = 0; k < LSTM_GATES; k++) gh[k * n + unit] = gx[k * n + unit];
    *dc = total * f;
}

static double gru_unit_backward(const Pass *p, int64_t at, double dh, double h_before, int64_t unit, double *gx,
                                double *gh) {
    double r = p->kept[KEPT_R][at], z = p->kept[KEPT_Z][at], n = p->kept[KEPT_N][at], hn = p->kept[KEPT_HN][at];
    double dn = dh * (1 - z) * (1 - n * n);
    int64_t width = p->net->hidden;
    gx[unit] = gh[unit] = dn * hn * r * (1 - r);
    gx[width + unit] = gh[width + unit] = dh * (h_before - n) * z * (1 - z);
    gx[2 * width + unit] = dn;
    gh[2 * width + unit] = dn * r;
    return dh * z; /* what goes straight to the state before */
}

static void spread(const Pass *p, const Grads *g, const double *gx, const double *gh, const double *h, int64_t row,
                   double *dh) {
    int64_t n = p->net->hidden, total = n * p->net->gates;
    const double *x = p->x + row * p->inputs;
    for (int64_t j = 0; j < total; j++) {
        for (int64_t k = 0; k < p->inputs; k++) {
            g->x[row * p->inputs + k] += gx[j] * p->weight_x[j * p->inputs + k];
            g->weight_x[j * p->inputs + k] += gx[j] * x[k];
        }
        for (int64_t k = 0; k < n; k++) {
            dh[k] += gh[j] * p->weight_h[j * n + k];
            g->weight_h[j * n + k] += gh[j] * h[k];
        }
        if (g->bias_x != NULL) g->bias_x[j] += gx[j];
        if (g->bias_h != NULL) g->bias_h[j] += gh[j];
    }
}

void run_direction_backward(const Pass *p, const double *dy, const Grads *g) {
    const Net *net = p->net;
    int64_t n = net->hidden, width = n * net->directions;
    double *gx = calloc((size_t)(n * net->gates * 2 + n), sizeof *gx), *gh = gx + n * net->gates,
           *next = gh + n * net->gates;
    for (int64_t k = 0; k < net->steps; k++) {
        int64_t step = p->backwards ? k : net->steps - 1 - k;
        for (int64_t b = 0; b < net->sizes[step]; b++) {
            int64_t row = row_of(net, step, b), at = (step * net->batch + b) * n;
            bool lstm = net->gates == LSTM_GATES;
            const double *h = state_before(p, p->h0, lstm ? KEPT_H : KEPT_GRU_H, step, b);
            const double *c = lstm ? state_before(p, p->c0, KEPT_C, step, b) : NULL;
            for (int64_t u = 0; u < n; u++) {
                double dh = g->h[b * n + u] + (dy != NULL ? dy[row * width + p->column + u] : 0);
                next[u] = 0;
                if (lstm) lstm_unit_backward(p, at + u, dh, &g->c[b * n + u], c[u], u, gx, gh);
                else next[u] = gru_unit_backward(p, at + u, dh, h[u], u, gx, gh);
            }
            spread(p, g, gx, gh, h, row, next);
            memcpy(g->h + b * n, next, (size_t)n * sizeof *next);
        }
    }
    free(gx);
}

/* ---- one step of an LSTM ----------------------------------------------------------------------- */
int check_lstm_cell(Executor *e) { /* inputGates, hiddenGates, cx, inputBias, hiddenBias, hy, cy, storage */
    const Tensor *gates = e->args[0].t, *cx = e->args[2].t;
    if (cx->ndim != 2) return nn_fail(e, "cx is %s", shape_text(cx));
    const int64_t wide[] = {cx->shape[0], cx->shape[1] * LSTM_GATES};
    int code = need_shape(e, gates, wide, 2, "inputGates");
    if (code == ACL_OK) code = need_same(e, gates, e->args[1].t, "hiddenGates");
    for (int i = 3; i < 5 && code == ACL_OK; i++) {
        if (e->args[i].t != NULL) code = need_shape(e, e->args[i].t, wide + 1, 1, "a bias");
    }
    for (int i = 5; i < 7 && code == ACL_OK; i++) code = need_same(e, cx, e->args[i].t, "a new state");
    return code == ACL_OK ? need_same(e, gates, e->args[7].t, "storage") : code;
}

int run_lstm_cell(Executor *e) { /* storage: the gates after their functions, in the order of the operands */
    Values x = values_of(e->args[0].t), h = values_of(e->args[1].t), cx = values_of(e->args[2].t);
    Values none = {0}, bias_x = e->args[3].t ? values_of(e->args[3].t) : none,
           bias_h = e->args[4].t ? values_of(e->args[4].t) : none;
    Values hy = values_for(e->args[5].t), cy = values_for(e->args[6].t), storage = values_for(e->args[7].t);
    int64_t n = e->args[2].t->shape[1];
    for (int64_t i = 0; i < e->args[2].t->numel; i++) {
        int64_t unit = i % n, base = i / n * n * LSTM_GATES + unit;
        double gate[LSTM_GATES];
        for (int64_t k = 0; k < LSTM_GATES; k++) {
            double sum = x.v[base + k * n] + h.v[base + k * n];
            if (bias_x.v != NULL) sum += bias_x.v[k * n + unit];
            if (bias_h.v != NULL) sum += bias_h.v[k * n + unit];
            storage.v[base + k * n] = gate[k] = k == 2 ? tanh(sum) : sigmoid(sum);
        }
        cy.v[i] = gate[1] * cx.v[i] + gate[0] * gate[2];
        hy.v[i] = gate[3] * tanh(cy.v[i]);
    }
    Values *read[] = {&x, &h, &cx, &bias_x, &bias_h}, *made[] = {&hy, &cy, &storage};
    for (int i = 0; i < 5; i++) values_free(read[i]);
    for (int i = 0; i < 3; i++) values_done(made[i]);
    return ACL_OK;
}

int check_lstm_cell_backward(Executor *e) { /* gradHy, gradCy, cx, cy, storage, hasBias, gradGates, gradCx, gradBias */
    const Tensor *cx = e->args[2].t, *storage = e->args[4].t;
    if (cx->ndim != 2) return nn_fail(e, "cx is %s", shape_text(cx));
    const int64_t wide[] = {cx->shape[0], cx->shape[1] * LSTM_GATES};
    int code = need_shape(e, storage, wide, 2, "storage");
    const int like_state[] = {0, 1, 3, 7};
    for (int i = 0; i < 4 && code == ACL_OK; i++) {
        if (e->args[like_state[i]].t != NULL) code = need_same(e, cx, e->args[like_state[i]].t, "a state");
    }
    if (code == ACL_OK) code = need_same(e, storage, e->args[6].t, "gradGates");
    return code == ACL_OK && e->args[8].t != NULL ? need_shape(e, e->args[8].t, wide + 1, 1, "gradBias") : code;
}

int run_lstm_cell_backward(Executor *e) {
    Values none = {0}, dh = e->args[0].t ? values_of(e->args[0].t) : none,
           dc = e->args[1].t ? values_of(e->args[1].t) : none;
    Values cx = values_of(e->args[2].t), cy = values_of(e->args[3].t), gates = values_of(e->args[4].t);
    Values out = values_for(e->args[6].t), dcx = values_for(e->args[7].t),
           bias = e->args[8].t ? values_for(e->args[8].t) : none;
    int64_t n = e->args[2].t->shape[1];
    for (int64_t i = 0; bias.v != NULL && i < n * LSTM_GATES; i++) bias.v[i] = 0;
    for (int64_t at = 0; at < e->args[2].t->numel; at++) {
        int64_t unit = at % n, base = at / n * n * LSTM_GATES + unit;
        double i = gates.v[base], f = gates.v[base + n], g = gates.v[base + 2 * n], o = gates.v[base + 3 * n];
        double grad = dh.v != NULL ? dh.v[at] : 0, squashed = tanh(cy.v[at]);
        double cell = grad * o * (1 - squashed * squashed) + (dc.v != NULL ? dc.v[at] : 0);
        const double made[LSTM_GATES] = {cell * g * i * (1 - i), cell * cx.v[at] * f * (1 - f), cell * i * (1 - g * g),
                                         grad * squashed * o * (1 - o)};
        dcx.v[at] = cell * f;
        for (int64_t k = 0; k < LSTM_GATES; k++) {
            out.v[base + k * n] = made[k];
            if (bias.v != NULL) bias.v[k * n + unit] += made[k];
        }
    }
    Values *read[] = {&dh, &dc, &cx, &cy, &gates};
    for (int i = 0; i < 5; i++) values_free(read[i]);
    values_done(&out);
    values_done(&dcx);
    if (bias.t != NULL) values_done(&bias);
    return ACL_OK;
}
