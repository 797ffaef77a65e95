/* Sums over all elements and over the last dimension, running sums, gradients of embeddings. */
#include "kernels.h"

#define PIECE 65536 /* elements of a long sum that are added up together, whoever does it */
#define COLUMNS 64
#define STRIPE 64 /* rows of an embedding's table that one thread writes */
#define MAX_DIMS 32

typedef struct {
    const void *a;
    void *out;
    Py_ssize_t length, inner;
} Reduction;

typedef struct {
    const void *rows, *index;
    void *table;
    Py_ssize_t count, width, skip;
    bool wide; /* 64-bit indices */
} Scatter;

#define LOOPS "reductions.inc"
#include "each_type.h"

static void put(Array *out, double value)
{
    if (out->type == 'f')
        *(float *)out->data = (float)value;
    else
        *(double *)out->data = value;
}

/* The sum of everything. Few elements are left to numpy. */
static PyObject *sum_everything(Arrays *all, const Array *x, bool keepdims)
{
    static const Py_ssize_t ones[MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                              1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    Array out;
    PyObject *result = array_new(all, &out, keepdims ? x->ndim : 0, ones, x->type, false);
    if (result == NULL)
        return NULL;
    Py_ssize_t pieces = (x->size + PIECE - 1) / PIECE;
    double few[64], *sums = few;
    if (pieces > 64) {
        sums = PyMem_Malloc((size_t)pieces * sizeof *sums);
        if (sums == NULL) {
            Py_DECREF(result);
            return PyErr_NoMemory();
        }
    }
    Reduction job = {.a = x->data, .out = sums, .length = x->size};
    run_loop(PICK(sum_pieces, x->type), &job, pieces, 0.15 * PIECE);
    put(&out, row_sum_d(sums, pieces));
    if (sums != few)
        PyMem_Free(sums);
    return result;
}

static PyObject *sum_last(Arrays *all, const Array *x, bool keepdims)
{
    Py_ssize_t shape[MAX_DIMS];
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    shape[x->ndim - 1] = 1;
    Array out;
    PyObject *result = array_new(all, &out, keepdims ? x->ndim : x->ndim - 1, shape, x->type, false);
    if (result != NULL) {
        Reduction job = {.a = x->data, .out = out.data, .length = x->shape[x->ndim - 1]};
        run_loop(PICK(sum_rows, x->type), &job, out.size, 10 + 0.2 * (double)job.length);
    }
    return result;
}

/* sum_over(array, axes, keepdims): axes is None, an int, or a tuple of one int. */
static PyObject *sum_over(PyObject *const *args, Py_ssize_t count)
{
    Arrays all = {.count = 0};
    Array x;
    Py_ssize_t axis;
    bool keepdims = count > 2 && args[2] == Py_True;
    PyObject *result = DECLINED;
    array_open(&all, &x, args[0], false);
    if (!all.failed && is_real(&x) && x.size > 0 && x.ndim <= MAX_DIMS) {
        if (args[1] == Py_None)
            result = sum_everything(&all, &x, keepdims);
        else if (x.ndim > 0 && (as_index(args[1], &axis) || as_indices(args[1], &axis, 1) == 1)) {
            if (x.ndim == 1 && (axis == 0 || axis == -1))
                result = sum_everything(&all, &x, keepdims);
            else if (axis == -1 || axis == x.ndim - 1)
                result = sum_last(&all, &x, keepdims);
        }
    }
    arrays_close(&all);
    return result;
}

/* cumsum(self, dim, dtype) */
static PyObject *cumsum(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x, out;
    Py_ssize_t dim;
    PyObject *result = DECLINED;
    array_open(&all, &x, args[0], false);
    if (!all.failed && is_real(&x) && x.size > 0 && args[2] == Py_None && as_index(args[1], &dim) && dim >= -x.ndim
        && dim < x.ndim) {
        result = array_new(&all, &out, x.ndim, x.shape, x.type, false);
        if (result != NULL) {
            Reduction job = {.a = x.data, .out = out.data, .inner = 1};
            int axis = (int)(dim < 0 ? dim + x.ndim : dim);
            job.length = x.shape[axis];
            for (int i = axis + 1; i < x.ndim; i++)
                job.inner *= x.shape[i];
            Py_ssize_t outer = x.size / (job.length * job.inner);
            loop_function loop = job.inner == 1 ? PICK(scan_rows, x.type) : PICK(scan_columns, x.type);
            run_loop(loop, &job, outer, (double)job.length * (double)job.inner);
        }
    }
    arrays_close(&all);
    return result;
}

static bool in_range(const Scatter *job, Py_ssize_t rows)
{
    for (Py_ssize_t i = 0; i < job->count; i++) {
        int64_t index = job->wide ? ((const int64_t *)job->index)[i] : ((const int32_t *)job->index)[i];
        if (index < 0 || index >= rows)
            return false;
    }
    return true;
}

/* embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
static PyObject *embedding_dense_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array g, index, table;
    Py_ssize_t rows;
    Scatter job = {0};
    PyObject *result = DECLINED;
    if (args[4] != Py_False || !as_index(args[2], &rows) || !as_index(args[3], &job.skip))
        return DECLINED;
    array_open(&all, &g, args[0], false);
    array_open(&all, &index, args[1], false);
    if (!all.failed && is_real(&g) && g.size > 0 && g.ndim == index.ndim + 1 && index.contiguous
        && (index.type == 'l' || index.type == 'i')) {
        job.rows = g.data;
        job.index = index.data;
        job.count = index.size;
        job.width = g.shape[g.ndim - 1];
        job.wide = index.type == 'l';
        if (job.count * job.width == g.size && in_range(&job, rows)) {
            Py_ssize_t shape[2] = {rows, job.width};
            result = array_new(&all, &table, 2, shape, g.type, true);
            if (result != NULL) {
                job.table = table.data;
                Py_ssize_t stripes = (rows + STRIPE - 1) / STRIPE;
                run_loop(PICK(add_rows, g.type), &job, stripes, 0.5 * (double)g.size / (double)stripes);
            }
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry REDUCTION_KERNELS[] = {
    {"sum_over", sum_over, 2},
    {"cumsum", cumsum, 3},
    {"embedding_dense_backward", embedding_dense_backward, 5},
    {NULL, NULL, 0},
};
