/* Shapes, broadcasting and the checks that several operators share. */
#include "kernels.h"

bool same_shape(const Tensor *a, const Tensor *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

bool broadcast_shapes(const Tensor *const *tensors, int n, int64_t *shape, int *ndim) {
    *ndim = 0;
    for (int i = 0; i < n; i++) {
        if (tensors[i]->ndim > *ndim) *ndim = tensors[i]->ndim;
    }
    for (int d = 0; d < *ndim; d++) {
        shape[d] = 1;
        for (int i = 0; i < n; i++) {
            int at = d - (*ndim - tensors[i]->ndim);
            int64_t size = at < 0 ? 1 : tensors[i]->shape[at];
            if (size == 1 || size == shape[d]) continue;
            if (shape[d] != 1) return false;
            shape[d] = size;
        }
    }
    return true;
}

const char *shape_text(const Tensor *t) {
    static _Thread_local char texts[4][128];
    static _Thread_local int turn;
    char *text = texts[turn++ % 4];
    size_t used = (size_t)snprintf(text, sizeof texts[0], "[");
    for (int i = 0; i < t->ndim && used < 100; i++) {
        used += (size_t)snprintf(text + used, sizeof texts[0] - used, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    }
    snprintf(text + used, sizeof texts[0] - used, "]");
    return text;
}

int64_t normal_dim(int64_t dim, int ndim) {
    int64_t range = ndim == 0 ? 1 : ndim;
    if (dim < -range || dim >= range) return -1;
    return dim < 0 ? dim + range : dim;
}

int need_types(const Executor *e, const Tensor *t, uint32_t types, const char *what) {
    if (t->dtype >= 0 && t->dtype < 32 && (types >> t->dtype & 1u) != 0) return ACL_OK;
    return nn_fail(e, "%s has the type %s, which is not supported", what, dtype_name(t->dtype));
}

int need_same(const Executor *e, const Tensor *a, const Tensor *b, const char *what) {
    if (same_shape(a, b)) return ACL_OK;
    return nn_fail(e, "%s: the shapes %s and %s differ", what, shape_text(a), shape_text(b));
}

int need_shape(const Executor *e, const Tensor *t, const int64_t *shape, int ndim, const char *what) {
    Tensor wanted = {.ndim = ndim};
    if (ndim > 0) memcpy(wanted.shape, shape, (size_t)ndim * sizeof *shape);
    if (same_shape(t, &wanted)) return ACL_OK;
    return nn_fail(e, "%s has the shape %s, expected %s", what, shape_text(t), shape_text(&wanted));
}

int check_none(Executor *e) {
    (void)e;
    return ACL_OK;
}

/* The inputs broadcast to exactly the shape of the output. */
int check_broadcast(Executor *e) {
    const Tensor *in[MAX_ARGS], *out = NULL;
    int n = 0;
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (role == 'i' || role == 'm') in[n++] = e->args[i].t;
        if (role == 'o' || role == 'm') out = e->args[i].t;
    }
    int64_t shape[MAX_DIMS];
    int ndim;
    if (!broadcast_shapes(in, n, shape, &ndim)) {
        return nn_fail(e, "the shapes %s and %s do not broadcast", shape_text(in[0]), shape_text(in[n - 1]));
    }
    return need_shape(e, out, shape, ndim, "the output");
}

int check_float_out(Executor *e) {
    int code = check_broadcast(e);
    return code != 0 ? code : need_types(e, e->args[e->argc - 1].t, FLOATS_D, "the output");
}

int check_clamp(Executor *e) {
    if (e->args[1].s == NULL && e->args[2].s == NULL) {
        return fail(NN_NULL_PARAM, "aclnnClamp: both limits are null");
    }
    return check_broadcast(e);
}

int check_cast(Executor *e) {
    const Tensor *out = e->args[2].t;
    if (e->args[1].i != out->dtype) {
        return nn_fail(e, "dtype is %s, the output has %s", dtype_name((int)e->args[1].i), dtype_name(out->dtype));
    }
    return need_same(e, e->args[0].t, out, "Cast");
}
