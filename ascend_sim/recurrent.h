/* What ops_recurrent.c (whole networks, operators) and ops_recurrent_steps.c (one direction of one layer) share. */
#ifndef ASCEND_SIM_RECURRENT_H
#define ASCEND_SIM_RECURRENT_H

#include "kernels.h"

enum { LSTM_GATES = 4, GRU_GATES = 3, MAX_KEPT = 7 };
enum { KEPT_I, KEPT_G, KEPT_F, KEPT_O, KEPT_H, KEPT_C, KEPT_TANH, LSTM_KEPT };
enum { KEPT_R, KEPT_Z, KEPT_N, KEPT_HN, KEPT_GRU_H, GRU_KEPT };

typedef struct { /* one call: sizes, and where the rows of a step begin */
    int64_t steps, batch, hidden, layers, directions, rows;
    int gates, kept;
    bool bias, batch_first;
    int64_t *sizes, *starts;
} Net;

typedef struct { /* one direction of one layer */
    const Net *net;
    int64_t inputs, column;
    bool backwards;
    const double *x, *weight_x, *weight_h, *bias_x, *bias_h, *h0, *c0;
    double *kept[MAX_KEPT];
} Pass;

typedef struct {
    double *x, *weight_x, *weight_h, *bias_x, *bias_h, *h, *c;
} Grads; /* h, c: of the state, [batch, hidden] */

static inline int64_t row_of(const Net *net, int64_t step, int64_t b) {
    return net->batch_first ? b * net->steps + step : net->starts[step] + b;
}

/* h and c: [batch, hidden], first the initial state, at the end the last one. out: rows of directions * hidden. */
void run_direction(const Pass *p, double *h, double *c, double *out);
/* dy: rows of directions * hidden, or NULL. */
void run_direction_backward(const Pass *p, const double *dy, const Grads *g);

#endif
