/* Maximum of windows of images (..., height, width) with its positions, and the gradient. */
#include "kernels.h"

#define MAX_DIMS 16

typedef struct {
    const void *x;
    void *out;
    int64_t *positions;
    Py_ssize_t height, width, out_h, out_w;
    Py_ssize_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
} Pool;

#define LOOPS "pooling.inc"
#include "each_type.h"

/* The fields of a Windows tuple: kernel, stride, padding, dilation, out; two numbers each. */
static bool read_windows(PyObject *windows, Pool *job)
{
    Py_ssize_t *fields[5][2] = {{&job->kernel_h, &job->kernel_w},
                                {&job->stride_h, &job->stride_w},
                                {&job->pad_h, &job->pad_w},
                                {&job->dilation_h, &job->dilation_w},
                                {&job->out_h, &job->out_w}};
    if (!PyTuple_Check(windows) || PyTuple_GET_SIZE(windows) != 5)
        return false;
    for (int i = 0; i < 5; i++) {
        Py_ssize_t pair[2];
        if (as_indices(PyTuple_GET_ITEM(windows, i), pair, 2) != 2)
            return false;
        *fields[i][0] = pair[0];
        *fields[i][1] = pair[1];
    }
    return job->dilation_h > 0 && job->dilation_w > 0 && job->out_h > 0 && job->out_w > 0;
}

/* max_pool(x, windows) -> (values, positions) */
static PyObject *max_pool(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x, out, positions;
    Pool job = {0};
    PyObject *result = DECLINED;
    if (!read_windows(args[1], &job))
        return DECLINED;
    array_open(&all, &x, args[0], false);
    if (!all.failed && is_real(&x) && x.size > 0 && 2 <= x.ndim && x.ndim <= MAX_DIMS) {
        Py_ssize_t shape[MAX_DIMS];
        memcpy(shape, x.shape, (size_t)x.ndim * sizeof *shape);
        job.height = shape[x.ndim - 2];
        job.width = shape[x.ndim - 1];
        shape[x.ndim - 2] = job.out_h;
        shape[x.ndim - 1] = job.out_w;
        PyObject *first = array_new(&all, &out, x.ndim, shape, x.type, false);
        PyObject *second = first ? array_new(&all, &positions, x.ndim, shape, 'l', false) : NULL;
        result = second ? PyTuple_Pack(2, first, second) : NULL;
        Py_XDECREF(first);
        Py_XDECREF(second);
        if (result != NULL) {
            job.x = x.data;
            job.out = out.data;
            job.positions = (int64_t *)positions.data;
            double cost = (double)(job.out_h * job.out_w) * (double)(job.kernel_h * job.kernel_w);
            run_loop(PICK(pool_planes, x.type), &job, x.size / (job.height * job.width), cost);
        }
    }
    arrays_close(&all);
    return result;
}

/* scatter_positions(grad, positions, shape, rank, overlapping) */
static PyObject *scatter_positions(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array g, positions, out;
    Py_ssize_t shape[MAX_DIMS], rank, planes = 1, plane = 1, each = 1;
    PyObject *result = DECLINED;
    int ndim = as_indices(args[2], shape, MAX_DIMS);
    if (!as_index(args[3], &rank) || rank < 1 || ndim < rank)
        return DECLINED;
    array_open(&all, &g, args[0], false);
    array_open(&all, &positions, args[1], false);
    if (!all.failed && is_real(&g) && g.size > 0 && g.ndim == ndim && positions.contiguous && positions.type == 'l'
        && same_shape(&g, &positions)) {
        for (int i = 0; i < ndim; i++) {
            *(i < ndim - rank ? &planes : &plane) *= shape[i];
            each *= i < ndim - rank ? 1 : g.shape[i];
        }
        bool fits = planes * each == g.size;
        for (Py_ssize_t i = 0; fits && i < g.size; i++)
            fits = (uint64_t)((const int64_t *)positions.data)[i] < (uint64_t)plane;
        if (fits)
            result = array_new(&all, &out, ndim, shape, g.type, true);
        if (fits && result != NULL) {
            Pool job = {.x = g.data,
                        .out = out.data,
                        .positions = (int64_t *)positions.data,
                        .height = plane,
                        .width = 1,
                        .out_h = each,
                        .out_w = 1};
            run_loop(PICK(unpool_planes, g.type), &job, planes, 1.5 * (double)each);
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry POOLING_KERNELS[] = {
    {"max_pool", max_pool, 2},
    {"scatter_positions", scatter_positions, 5},
    {NULL, NULL, 0},
};
