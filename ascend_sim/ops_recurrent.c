/* LSTM and GRU over whole sequences, made of directions of layers (ops_recurrent_steps.c).
 *
 * What the forward operator keeps for the backward one has the shape [steps, batch, hidden]; a sequence of a packed
 * batch has values in its own steps only. Dropout between layers is taken and ignored, as the vendor documents it. */
#include "recurrent.h"

/* ---- shapes ------------------------------------------------------------------------------------ */
static int parameters_per_direction(const Net *net) { return net->bias ? 4 : 2; }

static int read_sizes(Executor *e, Net *net, const Tensor *batch_sizes) {
    int64_t at = 0, padded = net->rows;
    void *owned = NULL;
    const int64_t *given = batch_sizes != NULL ? dense_i64(batch_sizes, &owned) : NULL;
    int64_t sum = 0;
    for (int64_t t = 0; given != NULL && t < net->steps; t++) sum += given[t];
    bool packed = given != NULL && sum == padded; /* otherwise every step has a row for every sequence */
    int code = ACL_OK;
    for (int64_t t = 0; t < net->steps; t++) {
        net->sizes[t] = given != NULL ? given[t] : net->batch;
        if (net->sizes[t] < 1 || net->sizes[t] > (t == 0 ? net->batch : net->sizes[t - 1])) {
            if (code == ACL_OK)
                code = run_fail(e, "batch size %lld of step %lld", (long long)net->sizes[t], (long long)t);
            net->sizes[t] = 0;
        }
        net->starts[t] = at;
        at += packed ? net->sizes[t] : net->batch;
    }
    free(owned);
    if (code == ACL_OK && at != padded)
        code = run_fail(e, "%lld rows of input for %lld", (long long)padded, (long long)at);
    return code;
}

/* input, batchSizes, parameters, a state of [layers * directions, batch, hidden]: the sizes of everything */
static Net net_of(const Tensor *input, const Tensor *batch_sizes, const TensorList *parameters, const Tensor *state,
                  int gates) {
    Net net = {.gates = gates, .kept = gates == LSTM_GATES ? LSTM_KEPT : GRU_KEPT};
    net.hidden = parameters->v[1]->shape[1];
    net.batch = state->shape[1];
    net.rows = input->ndim == 3 ? input->shape[0] * input->shape[1] : input->shape[0];
    net.steps = batch_sizes != NULL ? batch_sizes->numel : net.rows / (net.batch > 0 ? net.batch : 1);
    return net;
}

static void net_open(Net *net) {
    net->sizes = calloc((size_t)net->steps + 1, sizeof(int64_t));
    net->starts = calloc((size_t)net->steps + 1, sizeof(int64_t));
}

static void net_close(Net *net) {
    free(net->sizes);
    free(net->starts);
}

/* ---- whole networks ---------------------------------------------------------------------------- */
typedef struct {                         /* operands of one call as arrays of doubles */
    Values *parameters, *kept[MAX_KEPT]; /* kept: a list of layers * directions each, or NULL */
    uint64_t parameter_count, list_length;
    double *zero; /* [layers * directions, batch, hidden], for states that were not given */
} Arrays;

static Values *values_of_list(const TensorList *list, Values (*read)(const Tensor *)) {
    Values *all = calloc(list->n + 1, sizeof *all);
    for (uint64_t i = 0; i < list->n; i++) all[i] = read(list->v[i]);
    return all;
}

static void close_list(Values *all, uint64_t n, void (*end)(Values *)) {
    for (uint64_t i = 0; all != NULL && i < n; i++) end(&all[i]);
    free(all);
}

/* The direction's position in the lists; its parameters, what is kept, its initial states. */
static Pass pass_of(const Net *net, const Arrays *a, int64_t layer, int64_t direction, const double *x, int64_t inputs,
                    const double *h0, const double *c0) {
    int64_t at = layer * net->directions + direction, per = parameters_per_direction(net),
            state = at * net->batch * net->hidden;
    const Values *own = a->parameters + at * per;
    Pass p = {.net = net,
              .inputs = inputs,
              .column = direction * net->hidden,
              .backwards = direction == 1,
              .x = x,
              .weight_x = own[0].v,
              .weight_h = own[1].v,
              .bias_x = net->bias ? own[2].v : NULL,
              .bias_h = net->bias ? own[3].v : NULL,
              .h0 = (h0 != NULL ? h0 : a->zero) + state,
              .c0 = (c0 != NULL ? c0 : a->zero) + state};
    for (int k = 0; k < net->kept; k++) p.kept[k] = a->kept[k] != NULL ? a->kept[k][at].v : NULL;
    return p;
}

static double *zeros(int64_t n) { return calloc((size_t)(n > 0 ? n : 1), sizeof(double)); }

typedef struct {
    const double *h0, *c0;
    double *hy, *cy;
} States;

/* Runs all layers; gives the last one's output, to be freed. */
static double *run_layers(const Net *net, const Arrays *a, const double *input, int64_t inputs, States s) {
    int64_t state = net->batch * net->hidden, width = net->hidden * net->directions;
    double *x = NULL, *cell = zeros(state);
    for (int64_t layer = 0; layer < net->layers; layer++) {
        double *out = zeros(net->rows * width);
        for (int64_t d = 0; d < net->directions; d++) {
            Pass p = pass_of(net, a, layer, d, layer == 0 ? input : x, layer == 0 ? inputs : width, s.h0, s.c0);
            int64_t at = (layer * net->directions + d) * state;
            double *c = s.cy != NULL ? s.cy + at : cell;
            memcpy(s.hy + at, p.h0, (size_t)state * sizeof *out);
            memcpy(c, p.c0, (size_t)state * sizeof *out);
            run_direction(&p, s.hy + at, c, out);
        }
        free(x);
        x = out;
    }
    free(cell);
    return x;
}

/* The input of a layer above the first: what the layer below kept. */
static double *layer_input(const Net *net, const Arrays *a, int64_t layer) {
    int64_t n = net->hidden, width = n * net->directions;
    int what = net->gates == LSTM_GATES ? KEPT_H : KEPT_GRU_H;
    double *x = zeros(net->rows * width);
    for (int64_t d = 0; d < net->directions; d++) {
        const double *h = a->kept[what][(layer - 1) * net->directions + d].v;
        for (int64_t t = 0; t < net->steps; t++) {
            for (int64_t b = 0; b < net->sizes[t]; b++) {
                memcpy(x + row_of(net, t, b) * width + d * n, h + (t * net->batch + b) * n, (size_t)n * sizeof *x);
            }
        }
    }
    return x;
}

/* dh, dc: gradients of the last states, replaced by those of the first. Gives the gradient of the input, to be freed.
 */
static double *run_layers_backward(const Net *net, const Arrays *a, const double *input, int64_t inputs, States s,
                                   const double *dy, Values *grads) {
    int64_t state = net->batch * net->hidden, width = net->hidden * net->directions,
            per = parameters_per_direction(net);
    double *above = NULL, *cell = zeros(state);
    for (int64_t layer = net->layers - 1; layer >= 0; layer--) {
        double *x = layer > 0 ? layer_input(net, a, layer) : NULL,
               *dx = zeros(net->rows * (layer > 0 ? width : inputs));
        for (int64_t d = 0; d < net->directions; d++) {
            int64_t at = layer * net->directions + d;
            Pass p = pass_of(net, a, layer, d, layer > 0 ? x : input, layer > 0 ? width : inputs, s.h0, s.c0);
            Values *own = grads + at * per;
            Grads g = {.x = dx,
                       .weight_x = own[0].v,
                       .weight_h = own[1].v,
                       .bias_x = net->bias ? own[2].v : NULL,
                       .bias_h = net->bias ? own[3].v : NULL,
                       .h = s.hy + at * state,
                       .c = s.cy != NULL ? s.cy + at * state : cell};
            run_direction_backward(&p, layer == net->layers - 1 ? dy : above, &g);
        }
        free(x);
        free(above);
        above = dx;
    }
    free(cell);
    return above;
}

/* ---- operators --------------------------------------------------------------------------------- */
/* Where an operator has its arguments; -1 for what it does not have. */
typedef struct {
    int gates, params, hx, sizes, bias, layers, bidirectional, first, state, kept, kept_count;
} Positions;
static const Positions lstm_positions = {LSTM_GATES, 1, 2, 3, 4, 5, 8, 9, 11, 13, LSTM_KEPT};
static const Positions lstm_backward_positions = {LSTM_GATES, 2, 1, 13, 14, 15, 18, 19, 22, 6, LSTM_KEPT};
static const Positions gru_positions = {GRU_GATES, 1, 2, 3, 4, 5, 8, 9, 11, 12, GRU_KEPT};
static const Positions gru_backward_positions = {GRU_GATES, 1, 2, 10, 11, 12, 13, 14, 16, 5, GRU_KEPT};

static const Positions *positions_of(const Executor *e) {
    static const Positions *const all[] = {&lstm_positions, &lstm_backward_positions, &gru_positions,
                                           &gru_backward_positions};
    return all[e->op->variant];
}

static Net net_from(const Executor *e, const Positions *at) {
    Net net = net_of(e->args[0].t, e->args[at->sizes].t, e->args[at->params].list, e->args[at->state].t, at->gates);
    net.bias = e->args[at->bias].i != 0;
    net.layers = e->args[at->layers].i;
    net.directions = e->args[at->bidirectional].i != 0 ? 2 : 1;
    net.batch_first = e->args[at->first].i != 0 && e->args[at->sizes].t == NULL;
    return net;
}

static int check_parameters(const Executor *e, const Net *net, const TensorList *list, int64_t inputs) {
    int64_t per = parameters_per_direction(net), wanted = net->layers * net->directions * per;
    if (net->layers < 1 || (int64_t)list->n != wanted) {
        return nn_fail(e, "%d parameters for %lld layers need to be %lld", (int)list->n, (long long)net->layers,
                       (long long)wanted);
    }
    for (int64_t i = 0; i < wanted; i++) {
        bool first = i / (per * net->directions) == 0;
        int64_t width = i % per == 1 ? net->hidden : first ? inputs : net->hidden * net->directions;
        const int64_t shape[] = {net->hidden * net->gates, width};
        int code = need_shape(e, list->v[i], shape, i % per < 2 ? 2 : 1, "a parameter");
        if (code != ACL_OK) return code;
    }
    return ACL_OK;
}

/* Lists that the forward operator fills in training, empty otherwise. */
static int check_kept(const Executor *e, const Net *net, const Positions *at, bool needed) {
    const int64_t shape[] = {net->steps, net->batch, net->hidden};
    for (int k = 0; k < at->kept_count; k++) {
        const TensorList *list = e->args[at->kept + k].list;
        uint64_t n = list != NULL ? list->n : 0;
        if (n == 0 && !needed) continue;
        if ((int64_t)n != net->layers * net->directions) return nn_fail(e, "list %d has %d tensors", k, (int)n);
        for (uint64_t i = 0; i < n; i++) {
            int code = need_shape(e, list->v[i], shape, 3, "a kept tensor");
            if (code != ACL_OK) return code;
        }
    }
    return ACL_OK;
}

int check_recurrent(Executor *e) {
    const Positions *at = positions_of(e);
    const Tensor *in = e->args[0].t, *state = e->args[at->state].t;
    const TensorList *params = e->args[at->params].list;
    bool backward = at == &lstm_backward_positions || at == &gru_backward_positions;
    if (in->ndim != (e->args[at->sizes].t != NULL ? 2 : 3)) return nn_fail(e, "the input is %s", shape_text(in));
    if (params->n < 2 || params->v[1]->ndim != 2) return nn_fail(e, "weights are missing");
    if (state->ndim != 3) return nn_fail(e, "the state is %s", shape_text(state));
    Net net = net_from(e, at);
    const int64_t shape[] = {net.layers * net.directions, net.batch, net.hidden};
    if (in->ndim == 3 && in->shape[net.batch_first ? 0 : 1] != net.batch) {
        return nn_fail(e, "the input is %s for a batch of %lld", shape_text(in), (long long)net.batch);
    }
    int code = need_shape(e, state, shape, 3, "the state");
    if (code == ACL_OK) code = check_parameters(e, &net, params, in->shape[in->ndim - 1]);
    if (code == ACL_OK && backward)
        code = check_parameters(e, &net, e->args[e->argc - 1].list, in->shape[in->ndim - 1]);
    return code == ACL_OK && (backward || e->args[7].i != 0) ? check_kept(e, &net, at, backward) : code;
}

/* The initial states: a list of two for an LSTM, one tensor for a GRU, each possibly absent. */
static void read_states(const Executor *e, const Positions *at, Values states[2]) {
    const Tensor *h = NULL, *c = NULL;
    if (at->gates == GRU_GATES) h = e->args[at->hx].t;
    else if (e->args[at->hx].list != NULL && e->args[at->hx].list->n == 2) {
        h = e->args[at->hx].list->v[0];
        c = e->args[at->hx].list->v[1];
    }
    states[0] = h != NULL ? values_of(h) : (Values){0};
    states[1] = c != NULL ? values_of(c) : (Values){0};
}

static Arrays arrays_of(const Executor *e, const Positions *at, const Net *net, Values (*read_kept)(const Tensor *)) {
    Arrays a = {.parameters = values_of_list(e->args[at->params].list, values_of),
                .parameter_count = e->args[at->params].list->n,
                .list_length = (uint64_t)(net->layers * net->directions)};
    for (int k = 0; k < at->kept_count; k++) {
        const TensorList *list = e->args[at->kept + k].list;
        if (list != NULL && list->n > 0 && list->v[0]->ndim == 3) a.kept[k] = values_of_list(list, read_kept);
    }
    a.zero = zeros(net->layers * net->directions * net->batch * net->hidden);
    return a;
}

static void arrays_close(Arrays *a, void (*end_kept)(Values *)) {
    close_list(a->parameters, a->parameter_count, values_free);
    for (int k = 0; k < MAX_KEPT; k++) close_list(a->kept[k], a->list_length, end_kept);
    free(a->zero);
}

static Values started(const Tensor *out,
                      const Tensor *from) { /* an output that starts as another operand, or as zeros */
    Values v = values_zeroed(out);
    if (from == NULL) return v;
    Values given = values_of(from);
    for (int64_t i = 0; i < out->numel && i < from->numel; i++) v.v[i] = given.v[i];
    values_free(&given);
    return v;
}

int run_recurrent(Executor *e) {
    const Positions *at = positions_of(e);
    Net net = net_from(e, at);
    net_open(&net);
    int code = read_sizes(e, &net, e->args[at->sizes].t);
    if (code == ACL_OK) {
        Arrays a = arrays_of(e, at, &net, values_zeroed);
        Values states[2], input = values_of(e->args[0].t), out = values_zeroed(e->args[10].t),
                          hy = values_for(e->args[11].t);
        Values cy = at->gates == LSTM_GATES ? values_for(e->args[12].t) : (Values){0};
        read_states(e, at, states);
        States s = {states[0].v, states[1].v, hy.v, cy.v};
        double *last = run_layers(&net, &a, input.v, e->args[0].t->shape[e->args[0].t->ndim - 1], s);
        int64_t n = net.rows * net.hidden * net.directions;
        memcpy(out.v, last, (size_t)(n < e->args[10].t->numel ? n : e->args[10].t->numel) * sizeof *last);
        free(last);
        values_done(&out);
        values_done(&hy);
        if (cy.t != NULL) values_done(&cy);
        values_free(&states[0]);
        values_free(&states[1]);
        values_free(&input);
        arrays_close(&a, values_done);
    }
    net_close(&net);
    return code;
}

/* dy, dh and, of an LSTM, dc follow each other, and so do the gradients of the input, of h and, of an LSTM, of c. */
static void recurrent_backward(Executor *e, const Positions *at, const Net *net) {
    bool lstm = at->gates == LSTM_GATES;
    const Arg *given = e->args + 3, *wanted = e->args + (lstm ? 21 : 15);
    TensorList *list = e->args[e->argc - 1].list;
    Arrays a = arrays_of(e, at, net, values_of);
    Values states[2], input = values_of(e->args[0].t), dx = values_zeroed(wanted[0].t),
                      dh = started(wanted[1].t, given[1].t);
    Values dc = lstm ? started(wanted[2].t, given[2].t) : (Values){0}, *grads = values_of_list(list, values_zeroed);
    Values dy = given[0].t != NULL ? values_of(given[0].t) : (Values){0};
    read_states(e, at, states);
    States s = {states[0].v, states[1].v, dh.v, dc.v};
    double *first = run_layers_backward(net, &a, input.v, e->args[0].t->shape[e->args[0].t->ndim - 1], s, dy.v, grads);
    memcpy(dx.v, first, (size_t)wanted[0].t->numel * sizeof *first);
    free(first);
    values_done(&dx);
    values_done(&dh);
    if (lstm) values_done(&dc);
    values_free(&dy);
    values_free(&states[0]);
    values_free(&states[1]);
    values_free(&input);
    close_list(grads, list->n, values_done);
    arrays_close(&a, values_free);
}

int run_recurrent_backward(Executor *e) {
    const Positions *at = positions_of(e);
    Net net = net_from(e, at);
    net_open(&net);
    int code = read_sizes(e, &net, e->args[at->sizes].t);
    if (code == ACL_OK) recurrent_backward(e, at, &net);
    net_close(&net);
    return code;
}
