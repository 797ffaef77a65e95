/* Random numbers: Philox 4x32-10, a function of (seed, offset, position), so a launch is reproducible. */
#include "kernels.h"

#include <math.h>

#define TWO_PI 6.28318530717958647692

static void philox(uint64_t seed, uint64_t offset, uint64_t position, uint32_t out[4]) {
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t c[4] = {(uint32_t)position, (uint32_t)(position >> 32), (uint32_t)offset, (uint32_t)(offset >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key[1],
                            (uint32_t)a};
        memcpy(c, next, sizeof next);
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

static double unit(uint32_t bits) { return (double)(bits >> 8) * 0x1p-24; } /* in [0, 1), exact in float32 */

int run_uniform(Executor *e) {
    const Tensor *out = e->args[0].t;
    double from = e->args[1].d, to = e->args[2].d;
    View v = view_of(out);
    for (int64_t i = 0; i < out->numel; i += 4) {
        uint32_t bits[4];
        double values[4];
        philox((uint64_t)e->args[3].i, (uint64_t)e->args[4].i, (uint64_t)i / 4, bits);
        for (int k = 0; k < 4; k++) values[k] = from + (to - from) * unit(bits[k]);
        view_store(&v, i, out->numel - i < 4 ? out->numel - i : 4, CT_F64, values);
    }
    return ACL_OK;
}

int run_normal(Executor *e) {
    const Tensor *out = e->args[0].t;
    double mean = e->args[1].d, std = e->args[2].d;
    View v = view_of(out);
    for (int64_t i = 0; i < out->numel; i += 4) {
        uint32_t bits[4];
        double values[4];
        philox((uint64_t)e->args[3].i, (uint64_t)e->args[4].i, (uint64_t)i / 4, bits);
        for (int k = 0; k < 4; k += 2) {
            double radius = sqrt(-2 * log(1 - unit(bits[k]))), angle = TWO_PI * unit(bits[k + 1]);
            values[k] = mean + std * radius * cos(angle);
            values[k + 1] = mean + std * radius * sin(angle);
        }
        view_store(&v, i, out->numel - i < 4 ? out->numel - i : 4, CT_F64, values);
    }
    return ACL_OK;
}

/* ---- dropout: a mask of bits, one per element, padded to 128 elements; a set bit keeps the element ---- */
static int64_t mask_bytes(int64_t numel) { return (numel + 127) / 128 * 128 / 8; }

static int check_probability(Executor *e, double p) {
    return p >= 0 && p <= 1 ? ACL_OK : nn_fail(e, "the probability %g is outside [0, 1]", p);
}

int check_dropout_mask(Executor *e) {
    int64_t numel = 1;
    for (uint64_t i = 0; i < e->args[0].ints->n; i++) numel *= e->args[0].ints->v[i];
    const Tensor *out = e->args[e->argc - 1].t;
    if (out->numel < mask_bytes(numel)) {
        return nn_fail(e, "the mask has %lld bytes, %lld are needed", (long long)out->numel,
                       (long long)mask_bytes(numel));
    }
    return check_probability(e, e->args[1].d);
}

int run_dropout_gen_mask(Executor *e) {
    const Tensor *out = e->args[e->argc - 1].t;
    double drop = e->args[1].d;
    View v = view_of(out);
    for (int64_t byte = 0; byte < out->numel; byte++) {
        int64_t value = 0;
        for (int half = 0; half < 2; half++) {
            uint32_t bits[4];
            philox((uint64_t)e->args[2].i, (uint64_t)e->args[3].i, (uint64_t)byte * 2 + (uint64_t)half, bits);
            for (int k = 0; k < 4; k++) value |= (int64_t)(unit(bits[k]) >= drop) << (half * 4 + k);
        }
        view_store(&v, byte, 1, CT_I64, &value);
    }
    return ACL_OK;
}

int check_dropout_do_mask(Executor *e) {
    const Tensor *self = e->args[0].t, *mask = e->args[1].t;
    int code = need_same(e, self, e->args[3].t, "self and output");
    if (code == 0) code = need_types(e, mask, BIT(DT_UINT8), "the mask");
    if (code == 0 && mask->numel < mask_bytes(self->numel)) code = nn_fail(e, "the mask is too short");
    return code != 0 ? code : check_probability(e, e->args[2].d);
}

int run_dropout_do_mask(Executor *e) {
    const Tensor *self = e->args[0].t, *mask = e->args[1].t, *out = e->args[3].t;
    if (out->numel == 0) return ACL_OK;
    double keep = 1 - e->args[2].d;
    float scale = keep > 0 ? (float)(1 / keep) : 0;
    void *own_x, *own_m, *own_y;
    const float *x = dense_f32(self, &own_x);
    const int64_t *m = dense_i64(mask, &own_m);
    float *y = out_f32(out, &own_y);
    for (int64_t i = 0; i < out->numel; i++) y[i] = (m[i / 8] >> (i % 8) & 1) != 0 ? x[i] * scale : 0;
    out_done(out, CT_F32, y, own_y);
    free(own_x);
    free(own_m);
    return ACL_OK;
}

/* ---- whole numbers, permutations, choices ------------------------------------------------------ */
static uint64_t wide_bits(uint64_t seed, uint64_t offset, int64_t at) {
    uint32_t bits[4];
    philox(seed, offset, (uint64_t)at, bits);
    return (uint64_t)bits[0] << 32 | bits[1];
}

int check_random(Executor *e) { /* selfRef, from, to, seed, offset */
    return e->args[1].i < e->args[2].i
               ? ACL_OK
               : nn_fail(e, "from is %lld, to is %lld", (long long)e->args[1].i, (long long)e->args[2].i);
}

int run_random(Executor *e) {
    const Tensor *out = e->args[0].t;
    uint64_t range = (uint64_t)e->args[2].i - (uint64_t)e->args[1].i;
    View v = view_of(out);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t value =
            (int64_t)(wide_bits((uint64_t)e->args[3].i, (uint64_t)e->args[4].i, i) % range + (uint64_t)e->args[1].i);
        view_store(&v, i, 1, CT_I64, &value);
    }
    return ACL_OK;
}

int check_randperm(Executor *e) { /* n, seed, offset, out */
    return need_shape(e, e->args[3].t, &e->args[0].i, 1, "the output");
}

int run_randperm(Executor *e) {
    const Tensor *out = e->args[3].t;
    int64_t n = out->numel, *order = malloc((size_t)(n > 0 ? n : 1) * sizeof *order);
    View v = view_of(out);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)(wide_bits((uint64_t)e->args[1].i, (uint64_t)e->args[2].i, i) % (uint64_t)(i + 1)),
                kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    for (int64_t i = 0; i < n; i++) view_store(&v, i, 1, CT_I64, &order[i]);
    free(order);
    return ACL_OK;
}

int check_multinomial(Executor *e) { /* self, samples, replacement, seed, offset, out */
    const Tensor *self = e->args[0].t, *out = e->args[5].t;
    int64_t samples = e->args[1].i;
    if (self->ndim != 1 && self->ndim != 2) return nn_fail(e, "self has rank %d", self->ndim);
    if (samples <= 0) return nn_fail(e, "%lld samples", (long long)samples);
    if (e->args[2].i == 0 && samples > self->shape[self->ndim - 1]) return nn_fail(e, "more samples than categories");
    int64_t shape[2] = {self->shape[0], samples};
    int code = need_shape(e, out, shape + (2 - self->ndim), self->ndim, "the output");
    return code != 0 ? code : need_types(e, out, BIT(DT_INT64), "the output");
}

int run_multinomial(Executor *e) {
    const Tensor *self = e->args[0].t;
    int64_t samples = e->args[1].i, classes = self->shape[self->ndim - 1], rows = self->ndim == 2 ? self->shape[0] : 1;
    View from = view_of(self), to = view_of(e->args[5].t);
    double *weights = malloc((size_t)(classes > 0 ? classes : 1) * sizeof *weights);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < classes; c++) view_read(&weights[c], &from, r * classes + c, CT_F64);
        for (int64_t i = 0; i < samples; i++) {
            uint32_t bits[4];
            double total = 0, sum = 0;
            int64_t chosen = -1;
            philox((uint64_t)e->args[3].i, (uint64_t)e->args[4].i, (uint64_t)(r * samples + i), bits);
            for (int64_t c = 0; c < classes; c++) total += weights[c];
            double wanted = unit(bits[0]) * total;
            for (int64_t c = 0; c < classes && (chosen < 0 || sum <= wanted); c++) {
                if (weights[c] <= 0) continue;
                sum += weights[c];
                chosen = c;
            }
            if (chosen < 0) chosen = 0;
            view_store(&to, r * samples + i, 1, CT_I64, &chosen);
            if (e->args[2].i == 0) weights[chosen] = 0;
        }
    }
    free(weights);
    return ACL_OK;
}

double random_unit(uint64_t seed, uint64_t offset, int64_t at) {
    return unit((uint32_t)(wide_bits(seed, offset, at) >> 32));
}
