/* Layer normalization over the last dimensions of contiguous arrays. */
#include "kernels.h"

#define GROUP 32 /* rows whose share of the weight's gradient is added up together */
#define COLUMNS 64
#define MAX_DIMS 16

typedef struct {
    const void *x, *weight, *bias;
    void *out, *mean, *rstd;
    Py_ssize_t length;
    double eps;
} Forward;

typedef struct {
    const void *g, *x, *mean, *rstd, *weight;
    void *gx, *gw, *gb, *work;
    Py_ssize_t length, rows;
} Backward;

#define LOOPS "layer_norm.inc"
#include "each_type.h"

/* The number of leading dimensions of `x` that are not normalized, with the length of what is; -1 if the shapes do not
 * fit. */
static int leading(const Array *x, PyObject *normalized_shape, Py_ssize_t *length)
{
    Py_ssize_t sizes[MAX_DIMS];
    int inner = as_indices(normalized_shape, sizes, MAX_DIMS);
    if (inner < 1 || inner > x->ndim || x->ndim > MAX_DIMS || x->size == 0)
        return -1;
    int axis = x->ndim - inner;
    *length = 1;
    for (int i = 0; i < inner; i++) {
        if (x->shape[axis + i] != sizes[i])
            return -1;
        *length *= sizes[i];
    }
    return axis;
}

/* Opens a weight or bias: NULL data for None, failure for anything but a contiguous array of the normalized shape. */
static void open_parameter(Arrays *all, Array *parameter, PyObject *object, const Array *x, int axis)
{
    memset(parameter, 0, sizeof *parameter);
    if (object == Py_None)
        return;
    array_open(all, parameter, object, false);
    if (all->failed || !parameter->contiguous || parameter->type != x->type || parameter->ndim != x->ndim - axis
        || memcmp(parameter->shape, x->shape + axis, (size_t)parameter->ndim * sizeof *x->shape) != 0)
        all->failed = true;
}

static PyObject *layer_norm_made(Arrays *all, const Array *x, int axis, Forward *job)
{
    Array out, mean, rstd;
    Py_ssize_t shape[MAX_DIMS];
    for (int i = 0; i < x->ndim; i++)
        shape[i] = i < axis ? x->shape[i] : 1;
    PyObject *made[3] = {array_new(all, &out, x->ndim, x->shape, x->type, false), NULL, NULL};
    if (made[0] != NULL)
        made[1] = array_new(all, &mean, x->ndim, shape, x->type, false);
    if (made[1] != NULL)
        made[2] = array_new(all, &rstd, x->ndim, shape, x->type, false);
    PyObject *result = made[2] ? PyTuple_Pack(3, made[0], made[1], made[2]) : NULL;
    for (int i = 0; i < 3; i++)
        Py_XDECREF(made[i]);
    if (result == NULL)
        return NULL;
    job->out = out.data;
    job->mean = mean.data;
    job->rstd = rstd.data;
    run_loop(PICK(normalize_rows, x->type), job, x->size / job->length, 30 + (double)job->length);
    return result;
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps) */
static PyObject *layer_norm(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x, weight, bias;
    Forward job = {0};
    PyObject *result = DECLINED;
    array_open(&all, &x, args[0], false);
    int axis = all.failed || !is_real(&x) || !as_double(args[4], &job.eps) ? -1 : leading(&x, args[1], &job.length);
    if (axis >= 0) {
        open_parameter(&all, &weight, args[2], &x, axis);
        open_parameter(&all, &bias, args[3], &x, axis);
        if (!all.failed) {
            job.x = x.data;
            job.weight = weight.data;
            job.bias = bias.data;
            result = layer_norm_made(&all, &x, axis, &job);
        }
    }
    arrays_close(&all);
    return result;
}

static PyObject *gradients_made(Arrays *all, const Array *x, int axis, Backward *job, const bool *mask)
{
    Array out[3];
    PyObject *result = PyTuple_New(3);
    for (int i = 0; result != NULL && i < 3; i++) {
        int from = i == 0 ? 0 : axis;
        memset(&out[i], 0, sizeof out[i]);
        PyObject *made =
            mask[i] ? array_new(all, &out[i], x->ndim - from, x->shape + from, x->type, false) : Py_NewRef(Py_None);
        if (made == NULL)
            Py_CLEAR(result);
        else
            PyTuple_SET_ITEM(result, i, made);
    }
    if (result == NULL)
        return NULL;
    Py_ssize_t groups = (job->rows + GROUP - 1) / GROUP;
    job->gx = out[0].data;
    job->gw = out[1].data;
    job->gb = out[2].data;
    job->work = PyMem_Malloc((size_t)(groups * 3 * job->length) * (size_t)x->itemsize);
    if (job->work == NULL) {
        Py_DECREF(result);
        return PyErr_NoMemory();
    }
    run_loop(PICK(gradient_groups, x->type), job, groups, GROUP * 2 * (double)job->length);
    run_loop(PICK(gather_columns, x->type), job, job->length, (double)groups);
    PyMem_Free(job->work);
    return result;
}

/* native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
static PyObject *layer_norm_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array g, x, mean, rstd, weight;
    Backward job = {0};
    bool mask[3];
    PyObject *result = DECLINED;
    if (!(PyTuple_Check(args[7]) || PyList_Check(args[7])) || PySequence_Fast_GET_SIZE(args[7]) != 3)
        return DECLINED;
    for (int i = 0; i < 3; i++)
        mask[i] = PySequence_Fast_GET_ITEM(args[7], i) == Py_True;
    array_open(&all, &g, args[0], false);
    array_open(&all, &x, args[1], false);
    array_open(&all, &mean, args[3], false);
    array_open(&all, &rstd, args[4], false);
    int axis = all.failed || !is_real(&x) || !is_like(&g, &x) ? -1 : leading(&x, args[2], &job.length);
    if (axis >= 0) {
        open_parameter(&all, &weight, args[5], &x, axis);
        job.rows = x.size / job.length;
        if (!all.failed && mean.contiguous && rstd.contiguous && mean.type == x.type && rstd.type == x.type
            && mean.size == job.rows && rstd.size == job.rows) {
            job.g = g.data;
            job.x = x.data;
            job.mean = mean.data;
            job.rstd = rstd.data;
            job.weight = weight.data;
            result = gradients_made(&all, &x, axis, &job, mask);
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry LAYER_NORM_KERNELS[] = {
    {"native_layer_norm", layer_norm, 5},
    {"native_layer_norm_backward", layer_norm_backward, 8},
    {NULL, NULL, 0},
};
