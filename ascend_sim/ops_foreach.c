/* Operators on lists of tensors: one elementwise computation per member. The last list is the output; a list alone is
 * updated in place. Scalars come as a scalar, as a list of scalars, or in a tensor of one or of as many elements. */
#include "kernels.h"

typedef struct {
    int n_lists;
    const TensorList *lists[4];
    const Tensor *scalar_tensor;
    const ScalarList *scalar_list;
    const Scalar *scalar;
} Lists;

static Lists lists_of(const Executor *e) {
    Lists l = {0};
    for (int i = 0; i < e->argc; i++) {
        switch (e->op->roles[i]) {
        case 'L': l.lists[l.n_lists++] = e->args[i].list; break;
        case 'S': l.scalar_list = e->args[i].scalars; break;
        case 's': l.scalar = e->args[i].s; break;
        default: l.scalar_tensor = e->args[i].t; break;
        }
    }
    return l;
}

int check_foreach(Executor *e) {
    Lists l = lists_of(e);
    uint64_t n = l.lists[0]->n;
    for (int i = 1; i < l.n_lists; i++) {
        if (l.lists[i]->n != n) return nn_fail(e, "the lists have different lengths");
        for (uint64_t k = 0; k < n; k++) {
            int code = need_same(e, l.lists[0]->v[k], l.lists[i]->v[k], "members of the lists");
            if (code != 0) return code;
        }
    }
    if (l.scalar_list != NULL && l.scalar_list->n != n)
        return nn_fail(e, "%d scalars for %d tensors", (int)l.scalar_list->n, (int)n);
    if (l.scalar_tensor != NULL && l.scalar_tensor->numel != 1 && (uint64_t)l.scalar_tensor->numel != n) {
        return nn_fail(e, "%d scalars for %d tensors", (int)l.scalar_tensor->numel, (int)n);
    }
    return ACL_OK;
}

static Scalar scalar_at(const Lists *l, int64_t k) {
    if (l->scalar != NULL) return *l->scalar;
    if (l->scalar_list != NULL) return *l->scalar_list->v[k];
    if (l->scalar_tensor == NULL) return (Scalar){DT_INT64, 1, 1};
    View v = view_of(l->scalar_tensor);
    double room;
    double value = *(const double *)view_load(&v, l->scalar_tensor->numel == 1 ? 0 : k, 1, CT_F64, &room);
    return (Scalar){l->scalar_tensor->dtype, value, (int64_t)value};
}

int run_foreach(Executor *e) {
    Lists l = lists_of(e);
    const TensorList *out = l.lists[l.n_lists - 1];
    int inputs = l.n_lists > 1 ? l.n_lists - 1 : 1;
    for (uint64_t k = 0; k < out->n; k++) {
        Scalar scalar = scalar_at(&l, (int64_t)k), one = {DT_INT64, 1, 1};
        Operands o = {.n_in = inputs, .n_scalars = 2, .scalars = {&scalar, &one}, .out = out->v[k]};
        for (int i = 0; i < inputs; i++) o.in[i] = l.lists[i]->v[k];
        elementwise_apply(e->op->variant, &o);
    }
    return ACL_OK;
}
