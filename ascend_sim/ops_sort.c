/* Sorting along a dimension, the largest or smallest elements, and places in a sorted sequence. NaN counts as the
 * largest. */
#include "kernels.h"

typedef struct {
    double d;
    int64_t i, at;
} Item; /* its value (d for floats, i for integers) and where it came from */
typedef struct {
    bool whole, descending;
} Order;

static int compare_values(const Item *a, const Item *b, bool whole) {
    if (whole) return (a->i > b->i) - (a->i < b->i);
    bool a_nan = a->d != a->d, b_nan = b->d != b->d;
    if (a_nan || b_nan) return a_nan - b_nan;
    return (a->d > b->d) - (a->d < b->d);
}

static int compare_items(const void *x, const void *y, void *context) {
    const Item *a = x, *b = y;
    const Order *order = context;
    int found = compare_values(a, b, order->whole);
    if (found != 0) return order->descending ? -found : found;
    return (a->at > b->at) - (a->at < b->at); /* equal elements keep their order */
}

/* The first `kept` of every sorted row go to the outputs. */
static int sort_rows(const Tensor *in, int64_t dim, bool descending, int64_t kept, const Tensor *values,
                     const Tensor *indices) {
    if (values->numel == 0) return ACL_OK;
    uint32_t mask = in->ndim == 0 ? 0 : 1u << normal_dim(dim, in->ndim);
    Rows rows = rows_of(in, mask);
    Tensor to_values = rows_of(values, mask).t, to_indices = rows_of(indices, mask).t;
    View from = view_of(&rows.t), value_view = view_of(&to_values), index_view = view_of(&to_indices);
    Order order = {!dtype_is_float(in->dtype), descending};
    Item *items = malloc((size_t)rows.inner * sizeof *items);
    for (int64_t r = 0; r < rows.outer; r++) {
        for (int64_t i = 0; i < rows.inner; i++) {
            items[i] = (Item){.at = i};
            if (order.whole) view_read(&items[i].i, &from, r * rows.inner + i, CT_I64);
            else view_read(&items[i].d, &from, r * rows.inner + i, CT_F64);
        }
        qsort_r(items, (size_t)rows.inner, sizeof *items, compare_items, &order);
        for (int64_t i = 0; i < kept; i++) {
            if (order.whole) view_store(&value_view, r * kept + i, 1, CT_I64, &items[i].i);
            else view_store(&value_view, r * kept + i, 1, CT_F64, &items[i].d);
            view_store(&index_view, r * kept + i, 1, CT_I64, &items[i].at);
        }
    }
    free(items);
    return ACL_OK;
}

int check_sort(Executor *e) { /* self, stable, dim, descending, values, indices */
    const Tensor *in = e->args[0].t;
    if (normal_dim(e->args[2].i, in->ndim) < 0) return nn_fail(e, "dim %lld is out of range", (long long)e->args[2].i);
    int code = need_same(e, in, e->args[4].t, "self and values");
    if (code == 0) code = need_same(e, in, e->args[5].t, "self and indices");
    if (code == 0 && in->dtype != e->args[4].t->dtype) code = nn_fail(e, "values have another type");
    return code != 0 ? code : need_types(e, e->args[5].t, BIT(DT_INT64), "the indices");
}

int run_sort(Executor *e) {
    const Tensor *in = e->args[0].t;
    int64_t dim = e->args[2].i, size = in->ndim == 0 ? 1 : in->shape[normal_dim(dim, in->ndim)];
    return sort_rows(in, dim, e->args[3].i != 0, size, e->args[4].t, e->args[5].t);
}

int check_topk(Executor *e) { /* self, k, dim, largest, sorted, values, indices */
    const Tensor *in = e->args[0].t;
    int64_t k = e->args[1].i, dim = normal_dim(e->args[2].i, in->ndim), shape[MAX_DIMS];
    if (dim < 0) return nn_fail(e, "dim %lld is out of range", (long long)e->args[2].i);
    if (k < 0 || k > (in->ndim == 0 ? 1 : in->shape[dim])) return nn_fail(e, "k is %lld", (long long)k);
    memcpy(shape, in->shape, sizeof shape);
    if (in->ndim > 0) shape[dim] = k;
    int code = need_shape(e, e->args[5].t, shape, in->ndim, "values");
    if (code == 0) code = need_shape(e, e->args[6].t, shape, in->ndim, "indices");
    return code != 0 ? code : need_types(e, e->args[6].t, BIT(DT_INT64), "the indices");
}

int run_topk(Executor *e) {
    return sort_rows(e->args[0].t, e->args[2].i, e->args[3].i != 0, e->args[1].i, e->args[5].t, e->args[6].t);
}

/* ---- places in sorted rows --------------------------------------------------------------------- */
int check_search_sorted(Executor *e) { /* sortedSequence, self, outInt32, right, sorter, out */
    const Tensor *sorted = e->args[0].t, *self = e->args[1].t, *out = e->args[5].t;
    if (e->args[4].t != NULL) return nn_fail(e, "a sorter is not supported");
    if (sorted->ndim == 0) return nn_fail(e, "sortedSequence has no dimension");
    if (sorted->ndim > 1) {
        bool fits = sorted->ndim == self->ndim;
        for (int i = 0; fits && i < sorted->ndim - 1; i++) fits = sorted->shape[i] == self->shape[i];
        if (!fits) return nn_fail(e, "the shapes %s and %s do not match", shape_text(sorted), shape_text(self));
    }
    int code = need_same(e, self, out, "self and output");
    return code != 0 ? code : need_types(e, out, BIT(e->args[2].i != 0 ? DT_INT32 : DT_INT64), "the output");
}

int run_search_sorted(Executor *e) {
    const Tensor *sorted = e->args[0].t, *self = e->args[1].t, *out = e->args[5].t;
    bool whole = !dtype_is_float(sorted->dtype) && !dtype_is_float(self->dtype), right = e->args[3].i != 0;
    int64_t size = sorted->shape[sorted->ndim - 1], width = sorted->ndim > 1 ? self->shape[self->ndim - 1] : 1;
    View sequence = view_of(sorted), wanted = view_of(self), to = view_of(out);
    ComputeType ct = whole ? CT_I64 : CT_F64;
    for (int64_t i = 0; i < self->numel; i++) {
        int64_t start = sorted->ndim > 1 ? i / width * size : 0, low = 0, high = size;
        Item target = {0}, item = {0};
        view_read(whole ? (void *)&target.i : (void *)&target.d, &wanted, i, ct);
        while (low < high) {
            int64_t middle = (low + high) / 2;
            view_read(whole ? (void *)&item.i : (void *)&item.d, &sequence, start + middle, ct);
            int found = compare_values(&item, &target, whole);
            if (found < 0 || (right && found == 0)) low = middle + 1;
            else high = middle;
        }
        view_store(&to, i, 1, CT_I64, &low);
    }
    return ACL_OK;
}
