/* Softmax over the last dimension of contiguous arrays. */
#include "kernels.h"

typedef struct {
    const void *a, *b;
    void *out, *out2;
    Py_ssize_t length;
} Rows;

#define LOOPS "softmax.inc"
#include "each_type.h"

PICKER(softmax_rows)
PICKER(log_softmax_rows)
PICKER(softmax_backward_rows)
PICKER(log_softmax_backward_rows)

static bool is_last(const Array *a, PyObject *dim)
{
    Py_ssize_t d;
    return as_index(dim, &d) && a->ndim > 0 && (d == -1 || d == a->ndim - 1);
}

static void start(loop_function loop, const Array *like, Rows *job)
{
    job->length = like->shape[like->ndim - 1];
    run_loop(loop, job, like->size / job->length, 20 + (like->type == 'f' ? 1 : 3) * (double)job->length);
}

static PyObject *forward(loop_function (*pick)(char type), PyObject *const *args)
{
    Arrays all = {.count = 0};
    Array x, out;
    PyObject *result = DECLINED;
    array_open(&all, &x, args[0], false);
    if (!all.failed && is_real(&x) && x.size > 0 && is_last(&x, args[1]) && args[2] == Py_False) {
        result = array_new(&all, &out, x.ndim, x.shape, x.type, false);
        if (result != NULL)
            start(pick(x.type), &x, &(Rows){.a = x.data, .out = out.data});
    }
    arrays_close(&all);
    return result;
}

static PyObject *backward(loop_function (*pick)(char type), PyObject *const *args)
{
    Arrays all = {.count = 0};
    Array g, y, out;
    PyObject *result = DECLINED;
    array_open(&all, &g, args[0], false);
    array_open(&all, &y, args[1], false);
    if (!all.failed && is_real(&g) && g.size > 0 && is_like(&y, &g) && is_last(&g, args[2])) {
        result = array_new(&all, &out, g.ndim, g.shape, g.type, false);
        if (result != NULL)
            start(pick(g.type), &g, &(Rows){.a = g.data, .b = y.data, .out = out.data});
    }
    arrays_close(&all);
    return result;
}

static PyObject *softmax(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return forward(softmax_rows_pick, args);
}

static PyObject *log_softmax(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return forward(log_softmax_rows_pick, args);
}

static PyObject *softmax_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return backward(softmax_backward_rows_pick, args);
}

static PyObject *log_softmax_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return backward(log_softmax_backward_rows_pick, args);
}

/* exp_rows(scores) -> (sums, tops), both with a last dimension of 1 */
static PyObject *exp_rows(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x, sums, tops;
    PyObject *result = DECLINED;
    array_open(&all, &x, args[0], true);
    if (!all.failed && is_real(&x) && x.size > 0 && 0 < x.ndim && x.ndim <= 8) {
        Py_ssize_t shape[8];
        memcpy(shape, x.shape, (size_t)x.ndim * sizeof *shape);
        shape[x.ndim - 1] = 1;
        PyObject *first = array_new(&all, &sums, x.ndim, shape, x.type, false);
        PyObject *second = first ? array_new(&all, &tops, x.ndim, shape, x.type, false) : NULL;
        result = second ? PyTuple_Pack(2, first, second) : NULL;
        if (result != NULL)
            start(PICK(attention_rows, x.type), &x, &(Rows){.a = x.data, .out = sums.data, .out2 = tops.data});
        Py_XDECREF(first);
        Py_XDECREF(second);
    }
    arrays_close(&all);
    return result;
}

const KernelEntry SOFTMAX_KERNELS[] = {
    {"_softmax", softmax, 3},
    {"_log_softmax", log_softmax, 3},
    {"_softmax_backward_data", softmax_backward, 4},
    {"_log_softmax_backward_data", log_softmax_backward, 4},
    {"exp_rows", exp_rows, 1},
    {NULL, NULL, 0},
};
