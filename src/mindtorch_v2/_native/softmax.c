/* Softmax over the last dimension of contiguous arrays. */
#include "kernels.h"
#include "vecmath.h"

typedef struct {
    const void *a, *b;
    void *out, *out2;
    Py_ssize_t length;
} Rows;

#include "as_float.h"
#include "rows.inc"
#include "softmax.inc"
#include "as_double.h"
#include "rows.inc"
#include "softmax.inc"

static bool is_last(const Array *a, PyObject *dim)
{
    Py_ssize_t d;
    return as_index(dim, &d) && a->ndim > 0 && (d == -1 || d == a->ndim - 1);
}

static void start(loop_function single, loop_function twice, const Array *like, Rows *job)
{
    job->length = like->shape[like->ndim - 1];
    if (like->type == 'f')
        run_loop(single, job, like->size / job->length, 20 + 1.5 * (double)job->length);
    else
        run_loop(twice, job, like->size / job->length, 20 + 4 * (double)job->length);
}

static PyObject *forward(loop_function single, loop_function twice, PyObject *const *args)
{
    Arrays all = {.count = 0};
    Array x, out;
    PyObject *result = DECLINED;
    array_open(&all, &x, args[0], false);
    if (!all.failed && is_real(&x) && x.size > 0 && is_last(&x, args[1]) && args[2] == Py_False) {
        result = array_new(&all, &out, x.ndim, x.shape, x.type, false);
        if (result != NULL)
            start(single, twice, &x, &(Rows){.a = x.data, .out = out.data});
    }
    arrays_close(&all);
    return result;
}

static PyObject *backward(loop_function single, loop_function twice, PyObject *const *args)
{
    Arrays all = {.count = 0};
    Array g, y, out;
    PyObject *result = DECLINED;
    array_open(&all, &g, args[0], false);
    array_open(&all, &y, args[1], false);
    if (!all.failed && is_real(&g) && g.size > 0 && is_like(&y, &g) && is_last(&g, args[2])) {
        result = array_new(&all, &out, g.ndim, g.shape, g.type, false);
        if (result != NULL)
            start(single, twice, &g, &(Rows){.a = g.data, .b = y.data, .out = out.data});
    }
    arrays_close(&all);
    return result;
}

static PyObject *softmax(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return forward(softmax_rows_f, softmax_rows_d, args);
}

static PyObject *log_softmax(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return forward(log_softmax_rows_f, log_softmax_rows_d, args);
}

static PyObject *softmax_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return backward(softmax_backward_rows_f, softmax_backward_rows_d, args);
}

static PyObject *log_softmax_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return backward(log_softmax_backward_rows_f, log_softmax_backward_rows_d, args);
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
            start(attention_rows_f, attention_rows_d, &x, &(Rows){.a = x.data, .out = sums.data, .out2 = tops.data});
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
