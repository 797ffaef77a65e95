/* LSTM and GRU of the older interface: one direction of one layer a call, weights with a column for each unit of each
 * gate. */
#include "aclop.h"
#include "recurrent.h"

/* Where an operator has its operands; 0 (where x is always) for what it does not have. */
typedef struct {
    int gates, weight, weight_h, bias, bias_h, mask, h0, c0;
    int kept[MAX_KEPT];                                               /* in the order of recurrent.h */
    int y;                                                            /* forward */
    int dy, dh, dc, dweight, dweight_h, dbias, dbias_h, dx, dh0, dc0; /* backward */
} Positions;

static const Positions positions[] = {
    [ACLOP_RNN] = {LSTM_GATES, 1, 0, 2, 0, 3, 4, 5, {9, 10, 11, 12, 7, 8, 13}, .y = 6},
    [ACLOP_RNN_V2] = {LSTM_GATES, 1, 2, 3, 0, 4, 5, 6, {10, 11, 12, 13, 8, 9, 14}, .y = 7},
    [ACLOP_GRU] = {GRU_GATES, 1, 2, 3, 4, 5, 6, 0, {10, 9, 11, 12, 8}, .y = 7},
    [ACLOP_RNN_GRAD] = {LSTM_GATES,
                        1,
                        0,
                        2,
                        0,
                        16,
                        4,
                        5,
                        {11, 12, 13, 14, 6, 7, 15},
                        .dy = 8,
                        .dh = 9,
                        .dc = 10,
                        .dweight = 21,
                        .dbias = 22,
                        .dx = 23,
                        .dh0 = 24,
                        .dc0 = 25},
    [ACLOP_RNN_V2_GRAD] = {LSTM_GATES,
                           1,
                           2,
                           0,
                           0,
                           16,
                           4,
                           5,
                           {11, 12, 13, 14, 6, 7, 15},
                           .dy = 8,
                           .dh = 9,
                           .dc = 10,
                           .dweight = 21,
                           .dweight_h = 22,
                           .dbias = 23,
                           .dx = 24,
                           .dh0 = 25,
                           .dc0 = 26},
    [ACLOP_GRU_GRAD] = {GRU_GATES,
                        1,
                        2,
                        0,
                        0,
                        12,
                        4,
                        0,
                        {9, 8, 10, 11, 5},
                        .dy = 6,
                        .dh = 7,
                        .dweight = 14,
                        .dweight_h = 15,
                        .dbias = 16,
                        .dbias_h = 17,
                        .dx = 18,
                        .dh0 = 19},
};

static const Tensor *operand(const Executor *e, int at) { return at == 0 ? NULL : e->args[at].t; }

static int hidden_at(const Positions *p) { return p->kept[p->gates == LSTM_GATES ? KEPT_H : KEPT_GRU_H]; }

typedef struct {
    int64_t steps, batch, inputs, hidden;
} Sizes;

static Sizes sizes_of(const Tensor *x, const Tensor *h) { /* of a single step the first dimension may be missing */
    bool whole = x->ndim == 3;
    return (Sizes){whole ? x->shape[0] : 1, x->shape[whole], x->shape[x->ndim - 1], h->shape[h->ndim - 1]};
}

static int check_numel(const Executor *e, int at, int64_t numel, const char *what) {
    const Tensor *t = operand(e, at);
    if (t == NULL || t->numel == numel) return ACL_OK;
    return nn_fail(e, "%s is %s, expected %lld elements", what, shape_text(t), (long long)numel);
}

int check_aclop_recurrent(Executor *e) {
    const Positions *p = &positions[e->op->variant];
    const Tensor *x = e->args[0].t, *h = operand(e, hidden_at(p)), *weight = operand(e, p->weight);
    if (x == NULL || x->ndim < 2 || h == NULL || h->ndim < 2 || weight == NULL) {
        return nn_fail(e, "an input [steps, batch, features], weights and a state are needed");
    }
    if (p->weight_h != 0 && operand(e, p->weight_h) == NULL) return nn_fail(e, "the weights of the state are needed");
    Sizes s = sizes_of(x, h);
    int64_t hidden = s.hidden, state = s.batch * hidden, wide = p->gates * hidden,
            rows = s.inputs + (p->weight_h == 0 ? hidden : 0);
    const struct {
        int at;
        int64_t numel;
        const char *what;
    } wanted[] = {
        {p->weight, rows * wide, "the weight"},
        {p->weight_h, hidden * wide, "the weight of the state"},
        {p->bias, wide, "the bias"},
        {p->bias_h, wide, "the bias of the state"},
        {p->h0, state, "the first state"},
        {p->c0, state, "the first cell"},
        {p->y, s.steps * state, "y"},
        {p->dy, s.steps * state, "dy"},
        {p->dh, state, "dh"},
        {p->dc, state, "dc"},
        {p->dweight, rows * wide, "the weight's gradient"},
        {p->dweight_h, hidden * wide, "the gradient of the state's weight"},
        {p->dx, x->numel, "dx"},
        {p->dbias, wide, "the bias's gradient"},
        {p->dbias_h, wide, "the gradient of the state's bias"},
        {p->dh0, state, "the first state's gradient"},
        {p->dc0, state, "the first cell's gradient"},
    };
    int code = ACL_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && code == ACL_OK; i++) {
        code = check_numel(e, wanted[i].at, wanted[i].numel, wanted[i].what);
    }
    for (int k = 0; k < MAX_KEPT && code == ACL_OK; k++)
        code = check_numel(e, p->kept[k], s.steps * state, "a kept tensor");
    return code;
}

/* ---- weights: [rows, gates in the operator's order * hidden] here, [gates * hidden, rows] in recurrent.h ---- */
typedef struct {
    int order[LSTM_GATES];
} Order; /* column block of each gate of recurrent.h: i f g o, or r z n */

static Order order_of(const Executor *e, int gates) {
    const char *text = attribute_text(aclop_attributes(e), "gate_order", gates == LSTM_GATES ? "ijfo" : "zrh");
    Order o = {{0, 1, 2, 3}};
    for (int i = 0; i < gates && text[i] != '\0'; i++) {
        static const char lstm[] = "ifjo", gru[] = "rzh";
        char letter = text[i] == 'c' ? 'j' : text[i]; /* both name the candidate for the cell */
        const char *found = strchr(gates == LSTM_GATES ? lstm : gru, letter);
        if (found != NULL) o.order[found - (gates == LSTM_GATES ? lstm : gru)] = i;
    }
    return o;
}

typedef struct {
    const Net *net;
    Order order;
    int64_t first, rows;
} Layout; /* of rows first to first + rows of a weight */

static int64_t column_of(const Layout *l, int64_t j) {
    return l->order.order[j / l->net->hidden] * l->net->hidden + j % l->net->hidden;
}

static double *weight_from(const Layout *l, const Tensor *t) {
    int64_t wide = l->net->gates * l->net->hidden;
    double *w = malloc((size_t)(wide * l->rows + 1) * sizeof *w);
    Values from = values_of(t);
    for (int64_t j = 0; j < wide; j++) {
        for (int64_t k = 0; k < l->rows; k++) w[j * l->rows + k] = from.v[(l->first + k) * wide + column_of(l, j)];
    }
    values_free(&from);
    return w;
}

static void weight_to(const Layout *l, const double *w, Values *to) {
    int64_t wide = l->net->gates * l->net->hidden;
    for (int64_t j = 0; to->v != NULL && j < wide; j++) {
        for (int64_t k = 0; k < l->rows; k++) to->v[(l->first + k) * wide + column_of(l, j)] = w[j * l->rows + k];
    }
}

/* ---- one call ---------------------------------------------------------------------------------- */
typedef struct {
    const Positions *at;
    Net net;
    Pass pass;
    Layout of_x, of_h, of_bias;
    Values x, kept[MAX_KEPT];
    double *owned[6]; /* weights, biases and states in the order of recurrent.h */
} Call;

/* A mask of [steps, batch, hidden] says which sequences have which steps; a single number says that all have all. */
static int64_t *sizes_from(const Executor *e, const Positions *at, int64_t steps, int64_t batch) {
    int64_t *sizes = calloc((size_t)steps + 1, sizeof *sizes);
    const Tensor *mask = operand(e, at->mask);
    bool given =
        mask != NULL && mask->ndim == 3 && mask->shape[0] == steps && mask->shape[1] == batch && mask->numel > 0;
    Values m = given ? values_of(mask) : (Values){0};
    for (int64_t t = 0; t < steps; t++) {
        for (int64_t b = 0; b < batch; b++) sizes[t] += !given || m.v[(t * batch + b) * mask->shape[2]] != 0;
    }
    values_free(&m);
    return sizes;
}

static double *state_from(const Executor *e, int at, int64_t numel) {
    double *state = calloc((size_t)numel + 1, sizeof *state);
    const Tensor *t = operand(e, at);
    if (t == NULL) return state;
    Values from = values_of(t);
    memcpy(state, from.v, (size_t)numel * sizeof *state);
    values_free(&from);
    return state;
}

static void call_open(const Executor *e, Call *c, Values (*kept)(const Tensor *)) {
    const Positions *at = c->at = &positions[e->op->variant];
    const Tensor *x = e->args[0].t, *h = operand(e, hidden_at(at));
    Sizes s = sizes_of(x, h);
    c->net = (Net){.steps = s.steps,
                   .batch = s.batch,
                   .hidden = s.hidden,
                   .layers = 1,
                   .directions = 1,
                   .rows = s.steps * s.batch,
                   .gates = at->gates,
                   .kept = at->gates == LSTM_GATES ? LSTM_KEPT : GRU_KEPT};
    c->net.sizes = sizes_from(e, at, c->net.steps, c->net.batch);
    c->net.starts = calloc((size_t)c->net.steps + 1, sizeof(int64_t));
    for (int64_t t = 0; t < c->net.steps; t++) c->net.starts[t] = t * c->net.batch;
    Order order = order_of(e, at->gates);
    int64_t inputs = s.inputs, state = c->net.batch * c->net.hidden;
    c->of_x = (Layout){&c->net, order, 0, inputs};
    c->of_h = (Layout){&c->net, order, at->weight_h == 0 ? inputs : 0, c->net.hidden};
    c->of_bias = (Layout){&c->net, order, 0, 1};
    c->x = values_of(x);
    c->owned[0] = weight_from(&c->of_x, operand(e, at->weight));
    c->owned[1] = weight_from(&c->of_h, operand(e, at->weight_h == 0 ? at->weight : at->weight_h));
    c->owned[2] = operand(e, at->bias) != NULL ? weight_from(&c->of_bias, operand(e, at->bias)) : NULL;
    c->owned[3] = operand(e, at->bias_h) != NULL ? weight_from(&c->of_bias, operand(e, at->bias_h)) : NULL;
    c->owned[4] = state_from(e, at->h0, state);
    c->owned[5] = state_from(e, at->c0, state);
    c->pass = (Pass){.net = &c->net,
                     .inputs = inputs,
                     .x = c->x.v,
                     .weight_x = c->owned[0],
                     .weight_h = c->owned[1],
                     .bias_x = c->owned[2],
                     .bias_h = c->owned[3],
                     .h0 = c->owned[4],
                     .c0 = c->owned[5],
                     .backwards = strcmp(attribute_text(aclop_attributes(e), "direction", ""), "REDIRECTIONAL") == 0};
    for (int k = 0; k < c->net.kept; k++) {
        const Tensor *t = operand(e, at->kept[k]);
        c->kept[k] = t != NULL ? kept(t) : (Values){0};
        c->pass.kept[k] = c->kept[k].v;
    }
}

static void call_close(Call *c, void (*end)(Values *)) {
    for (int k = 0; k < c->net.kept; k++) {
        if (c->kept[k].t != NULL) end(&c->kept[k]);
    }
    for (size_t i = 0; i < sizeof c->owned / sizeof *c->owned; i++) free(c->owned[i]);
    values_free(&c->x);
    free(c->net.sizes);
    free(c->net.starts);
}

/* States of the steps that a sequence does not have: its last one, or its first one where it has not begun. */
static void carry(const Call *c, double *kept, const double *initial) {
    int64_t n = c->net.hidden, batch = c->net.batch;
    for (int64_t t = 0; kept != NULL && t < c->net.steps; t++) {
        for (int64_t b = c->net.sizes[t]; b < batch; b++) {
            const double *from = c->pass.backwards || t == 0 ? initial + b * n : kept + ((t - 1) * batch + b) * n;
            memcpy(kept + (t * batch + b) * n, from, (size_t)n * sizeof *kept);
        }
    }
}

int run_aclop_recurrent(Executor *e) {
    Call c;
    call_open(e, &c, values_zeroed);
    int64_t state = c.net.batch * c.net.hidden;
    double *h = state_from(e, c.at->h0, state), *cell = state_from(e, c.at->c0, state);
    Values y = values_zeroed(operand(e, c.at->y));
    run_direction(&c.pass, h, cell, y.v);
    carry(&c, c.pass.kept[c.at->gates == LSTM_GATES ? KEPT_H : KEPT_GRU_H], c.pass.h0);
    if (c.at->gates == LSTM_GATES) carry(&c, c.pass.kept[KEPT_C], c.pass.c0);
    free(h);
    free(cell);
    values_done(&y);
    call_close(&c, values_done);
    return ACL_OK;
}

int run_aclop_recurrent_backward(Executor *e) {
    Call c;
    call_open(e, &c, values_of);
    int64_t n = c.net.hidden, wide = n * c.net.gates, inputs = c.pass.inputs;
    const int outputs[] = {c.at->dweight, c.at->dweight_h, c.at->dbias, c.at->dbias_h, c.at->dx, c.at->dh0, c.at->dc0};
    enum { WEIGHT, WEIGHT_H, BIAS, BIAS_H, X, H, C, OUTPUTS };
    Values out[OUTPUTS], dy = operand(e, c.at->dy) != NULL ? values_of(operand(e, c.at->dy)) : (Values){0};
    for (int i = 0; i < OUTPUTS; i++) {
        out[i] = operand(e, outputs[i]) != NULL ? values_zeroed(operand(e, outputs[i])) : (Values){0};
    }
    double *made = calloc((size_t)(wide * (inputs + n + 2) + c.net.rows * inputs + 1), sizeof *made);
    Grads g = {.weight_x = made,
               .weight_h = made + wide * inputs,
               .bias_x = made + wide * (inputs + n),
               .bias_h = made + wide * (inputs + n + 1),
               .x = made + wide * (inputs + n + 2),
               .h = state_from(e, c.at->dh, c.net.batch * n),
               .c = state_from(e, c.at->dc, c.net.batch * n)};
    run_direction_backward(&c.pass, dy.v, &g);
    weight_to(&c.of_x, g.weight_x, &out[WEIGHT]);
    weight_to(&c.of_h, g.weight_h, c.at->weight_h == 0 ? &out[WEIGHT] : &out[WEIGHT_H]);
    weight_to(&c.of_bias, g.bias_x, &out[BIAS]);
    weight_to(&c.of_bias, g.bias_h, &out[BIAS_H]);
    const double *rest[] = {g.x, g.h, g.c};
    for (int i = X; i < OUTPUTS; i++) {
        if (out[i].t != NULL) memcpy(out[i].v, rest[i - X], (size_t)out[i].t->numel * sizeof *made);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (out[i].t != NULL) values_done(&out[i]);
    }
    free(g.h);
    free(g.c);
    free(made);
    values_free(&dy);
    call_close(&c, values_free);
    return ACL_OK;
}
