/* Operators for other clients that move elements: padding, rolling, repeating, choosing. Elements are copied as bytes.
 */
#include "kernels.h"

#include <math.h>

static char *element(const Tensor *t, int64_t at) { /* address of the element with this index in row-major order */
    int64_t offset = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        offset += at % t->shape[d] * t->stride[d];
        at /= t->shape[d];
    }
    return (char *)device_pointer(t->data) + offset * (int64_t)t->item;
}

static void copy_element(const Tensor *to, int64_t target, const Tensor *from, int64_t source) {
    memcpy(element(to, target), element(from, source), to->item);
}

static void coordinates_of(const Tensor *t, int64_t at, int64_t *coordinates) {
    for (int d = t->ndim - 1; d >= 0; d--) {
        coordinates[d] = at % t->shape[d];
        at /= t->shape[d];
    }
}

static int64_t row_major(const Tensor *t, const int64_t *coordinates) {
    int64_t at = 0;
    for (int d = 0; d < t->ndim; d++) at = at * t->shape[d] + coordinates[d];
    return at;
}

static void fill(const Tensor *t, double value) {
    Values v = values_for(t);
    for (int64_t i = 0; i < t->numel; i++) v.v[i] = value;
    values_done(&v);
}

/* ---- whole tensors ----------------------------------------------------------------------------- */
int run_constant_pad(Executor *e) { /* self, pad (pairs from the last dimension), value, out; negative pads cut */
    const Tensor *in = e->args[0].t, *out = e->args[3].t;
    const IntArray *pad = e->args[1].ints;
    fill(out, e->args[2].s->d);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        bool inside = true;
        coordinates_of(out, i, coordinates);
        for (int d = 0; d < in->ndim; d++) {
            uint64_t pair = (uint64_t)(in->ndim - 1 - d);
            if (2 * pair < pad->n) coordinates[d] -= pad->v[2 * pair];
            inside = inside && coordinates[d] >= 0 && coordinates[d] < in->shape[d];
        }
        if (inside) copy_element(out, i, in, row_major(in, coordinates));
    }
    return ACL_OK;
}

int run_roll(Executor *e) { /* self, shifts, dims (none: flattened), out */
    const Tensor *in = e->args[0].t, *out = e->args[3].t;
    const IntArray *shifts = e->args[1].ints, *dims = e->args[2].ints;
    for (int64_t i = 0; i < in->numel; i++) {
        if (dims->n == 0) {
            copy_element(out, ((i + shifts->v[0]) % in->numel + in->numel) % in->numel, in, i);
            continue;
        }
        int64_t coordinates[MAX_DIMS];
        coordinates_of(in, i, coordinates);
        for (uint64_t k = 0; k < dims->n; k++) {
            int64_t d = normal_dim(dims->v[k], in->ndim), n = in->shape[d];
            coordinates[d] = ((coordinates[d] + shifts->v[k]) % n + n) % n;
        }
        copy_element(out, row_major(out, coordinates), in, i);
    }
    return ACL_OK;
}

int run_channel_shuffle(Executor *e) { /* self, groups, out */
    const Tensor *in = e->args[0].t, *out = e->args[2].t;
    int64_t groups = e->args[1].i, each = in->shape[1] / groups;
    for (int64_t i = 0; i < in->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        coordinates_of(in, i, coordinates);
        coordinates[1] = coordinates[1] % each * groups + coordinates[1] / each;
        copy_element(out, row_major(out, coordinates), in, i);
    }
    return ACL_OK;
}

/* ---- repeating --------------------------------------------------------------------------------- */
/* for each row of the result, the row it comes from */
static int64_t *source_rows(const Executor *e, int64_t length, int64_t *total) {
    Values repeats = {0};
    if (e->op->roles[1] == 'i') repeats = values_of(e->args[1].t);
    *total = 0;
    for (int64_t k = 0; k < length; k++) {
        *total += repeats.v != NULL ? (int64_t)repeats.v[repeats.t->numel == 1 ? 0 : k] : e->args[1].i;
    }
    int64_t *rows = malloc((size_t)(*total + 1) * sizeof *rows), at = 0;
    for (int64_t k = 0; k < length; k++) {
        int64_t n = repeats.v != NULL ? (int64_t)repeats.v[repeats.t->numel == 1 ? 0 : k] : e->args[1].i;
        while (n-- > 0) rows[at++] = k;
    }
    values_free(&repeats);
    return rows;
}

int run_repeat_interleave(Executor *e) { /* self, repeats, [dim,] outputSize, out */
    const Tensor *in = e->args[0].t, *out = e->args[e->argc - 1].t;
    bool flat = e->op->variant == CLIENT_REPEAT_FLAT;
    int64_t d = flat ? 0 : normal_dim(e->args[2].i, in->ndim), total;
    int64_t *rows = source_rows(e, flat ? in->numel : in->shape[d], &total);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        if (flat) {
            copy_element(out, i, in, rows[i]);
            continue;
        }
        coordinates_of(out, i, coordinates);
        coordinates[d] = rows[coordinates[d]];
        copy_element(out, i, in, row_major(in, coordinates));
    }
    free(rows);
    return ACL_OK;
}

int run_repeat_interleave_backward(Executor *e) { /* gradOutput, repeats, dim, gradInput */
    Values grad = values_of(e->args[0].t), out = values_for(e->args[3].t);
    int64_t d = normal_dim(e->args[2].i, out.t->ndim), total;
    int64_t *rows = source_rows(e, out.t->shape[d], &total);
    for (int64_t i = 0; i < out.t->numel; i++) out.v[i] = 0;
    for (int64_t i = 0; i < grad.t->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        coordinates_of(grad.t, i, coordinates);
        coordinates[d] = rows[coordinates[d]];
        out.v[row_major(out.t, coordinates)] += grad.v[i];
    }
    free(rows);
    values_free(&grad);
    values_done(&out);
    return ACL_OK;
}

/* ---- places given by tensors ------------------------------------------------------------------- */
int run_one_hot(Executor *e) { /* self, numClasses, onValue, offValue, axis, out */
    const Tensor *in = e->args[0].t, *out = e->args[5].t;
    int64_t d = e->args[4].i < 0 ? out->ndim - 1 : e->args[4].i;
    Values x = values_of(in), on = values_of(e->args[2].t), off = values_of(e->args[3].t), to = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t coordinates[MAX_DIMS], rest[MAX_DIMS];
        coordinates_of(out, i, coordinates);
        for (int k = 0, n = 0; k < out->ndim; k++) {
            if (k != d) rest[n++] = coordinates[k];
        }
        to.v[i] = (int64_t)x.v[row_major(in, rest)] == coordinates[d] ? on.v[0] : off.v[0];
    }
    values_free(&x);
    values_free(&on);
    values_free(&off);
    values_done(&to);
    return ACL_OK;
}

int run_take(Executor *e) { /* self, index, out */
    const Tensor *in = e->args[0].t;
    Values index = values_of(e->args[1].t);
    int code = ACL_OK;
    for (int64_t i = 0; i < index.t->numel && code == 0; i++) {
        int64_t at = (int64_t)index.v[i];
        bool inside = at >= -in->numel && at < in->numel;
        if (!inside) code = run_fail(e, "index %lld of %lld elements", (long long)at, (long long)in->numel);
        else copy_element(e->args[2].t, i, in, at < 0 ? at + in->numel : at);
    }
    values_free(&index);
    return code;
}

static void copy_whole(const Tensor *to, const Tensor *from) {
    for (int64_t i = 0; i < to->numel; i++) copy_element(to, i, from, i);
}

static int64_t index_at(const Executor *e, int64_t k, int64_t *count) { /* argument 2: a tensor or a list */
    if (e->op->roles[2] == 'I') {
        *count = (int64_t)e->args[2].ints->n;
        return k < *count ? e->args[2].ints->v[k] : 0;
    }
    *count = e->args[2].t->numel;
    if (k >= *count) return 0;
    View v = view_of(e->args[2].t);
    int64_t room;
    return *(const int64_t *)view_load(&v, k, 1, CT_I64, &room);
}

int run_index_fill(Executor *e) { /* self, dim, index, value[, out]; odd variants change self */
    const Tensor *in = e->args[0].t, *out = e->op->variant % 2 == 1 ? in : e->args[4].t;
    int64_t d = normal_dim(e->args[1].i, in->ndim), count = 0;
    if (out != in) copy_whole(out, in);
    Values to = values_of(out), changed = values_for(out);
    if (to.v != changed.v) memcpy(changed.v, to.v, (size_t)out->numel * sizeof *to.v);
    index_at(e, 0, &count);
    for (int64_t k = 0; k < count; k++) {
        int64_t row = index_at(e, k, &count);
        if (row < 0) row += in->shape[d];
        for (int64_t i = 0; i < out->numel; i++) {
            int64_t coordinates[MAX_DIMS] = {0};
            coordinates_of(out, i, coordinates);
            if (coordinates[d] == row) changed.v[i] = e->args[3].s->d;
        }
    }
    values_free(&to);
    values_done(&changed);
    return ACL_OK;
}

int run_index_copy(Executor *e) { /* self, dim, index, source[, out]; variant 1 changes self */
    const Tensor *in = e->args[0].t, *source = e->args[3].t, *out = e->op->variant == 1 ? in : e->args[4].t;
    int64_t d = normal_dim(e->args[1].i, in->ndim), count = 0;
    if (out != in) copy_whole(out, in);
    for (int64_t i = 0; i < source->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        coordinates_of(source, i, coordinates);
        int64_t row = index_at(e, coordinates[d], &count);
        coordinates[d] = row < 0 ? row + in->shape[d] : row;
        copy_element(out, row_major(out, coordinates), source, i);
    }
    return ACL_OK;
}

/* ---- along one dimension ----------------------------------------------------------------------- */
int run_cross(Executor *e) { /* self, other, dim, out */
    const Tensor *out = e->args[3].t;
    int64_t d = normal_dim(e->args[2].i, out->ndim);
    Values a = values_of(e->args[0].t), b = values_of(e->args[1].t), to = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        coordinates_of(out, i, coordinates);
        int64_t axis = coordinates[d];
        coordinates[d] = (axis + 1) % 3;
        int64_t next = row_major(out, coordinates);
        coordinates[d] = (axis + 2) % 3;
        int64_t last = row_major(out, coordinates);
        to.v[i] = a.v[next] * b.v[last] - a.v[last] * b.v[next];
    }
    values_free(&a);
    values_free(&b);
    values_done(&to);
    return ACL_OK;
}

int run_glu(Executor *e) { /* self, dim, out */
    const Tensor *in = e->args[0].t, *out = e->args[2].t;
    int64_t d = normal_dim(e->args[1].i, in->ndim);
    Values x = values_of(in), to = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        coordinates_of(out, i, coordinates);
        double a = x.v[row_major(in, coordinates)];
        coordinates[d] += out->shape[d];
        to.v[i] = a / (1 + exp(-x.v[row_major(in, coordinates)]));
    }
    values_free(&x);
    values_done(&to);
    return ACL_OK;
}

int run_glu_backward(Executor *e) { /* gradOut, self, dim, out */
    const Tensor *grad = e->args[0].t, *in = e->args[1].t, *out = e->args[3].t;
    int64_t d = normal_dim(e->args[2].i, in->ndim);
    Values g = values_of(grad), x = values_of(in), to = values_for(out);
    for (int64_t i = 0; i < grad->numel; i++) {
        int64_t coordinates[MAX_DIMS];
        coordinates_of(grad, i, coordinates);
        int64_t first = row_major(in, coordinates);
        coordinates[d] += grad->shape[d];
        int64_t second = row_major(in, coordinates);
        double gate = 1 / (1 + exp(-x.v[second]));
        to.v[first] = g.v[i] * gate;
        to.v[second] = g.v[i] * x.v[first] * gate * (1 - gate);
    }
    values_free(&g);
    values_free(&x);
    values_done(&to);
    return ACL_OK;
}

/* ---- formats: only plain memory is modelled, so every cast ends in the source's own format ---- */
API int32_t aclnnNpuFormatCastCalculateSizeAndFormat(const Tensor *source, int32_t format, int32_t dtype,
                                                     int64_t **shape, uint64_t *ndim, int32_t *actual) {
    (void)format, (void)dtype;
    if (source == NULL || shape == NULL || ndim == NULL || actual == NULL)
        return fail(NN_NULL_PARAM, "aclnnNpuFormatCast: null argument");
    *shape = malloc(((size_t)source->ndim + 1) * sizeof **shape); /* the caller's from here */
    memcpy(*shape, source->shape, (size_t)source->ndim * sizeof **shape);
    *ndim = (uint64_t)source->ndim;
    *actual = source->format;
    return ACL_OK;
}
