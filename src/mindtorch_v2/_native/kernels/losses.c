/* Negative log likelihood of samples (N, C), reduced to one number, and its gradient. */
#include "kernels.h"

typedef struct {
    const void *x, *weight;
    const int64_t *target;
    Py_ssize_t count, classes, ignored;
} Picks;

#define LOOPS "losses.inc"
#include "each_type.h"

/* Opens input, target and weight; false unless everything is as the loops need it, all classes in range. */
static bool open_picks(Arrays *all, Array *x, PyObject *const *args, Picks *job)
{
    Array target, weight = {0};
    array_open(all, x, args[0], false);
    array_open(all, &target, args[1], false);
    if (args[2] != Py_None)
        array_open(all, &weight, args[2], false);
    if (all->failed || !is_real(x) || x->ndim != 2 || x->size == 0 || target.ndim != 1 || !target.contiguous
        || target.type != 'l' || target.size != x->shape[0])
        return false;
    if (args[2] != Py_None
        && (!weight.contiguous || weight.type != x->type || weight.ndim != 1 || weight.size != x->shape[1]))
        return false;
    job->x = x->data;
    job->weight = weight.data;
    job->target = (const int64_t *)target.data;
    job->count = x->shape[0];
    job->classes = x->shape[1];
    for (Py_ssize_t i = 0; i < job->count; i++)
        if (job->target[i] != job->ignored && (job->target[i] < 0 || job->target[i] >= job->classes))
            return false;
    return true;
}

static void put(Array *out, double value)
{
    if (out->type == 'f')
        *(float *)out->data = (float)value;
    else
        *(double *)out->data = value;
}

/* nll_loss_forward(self, target, weight, reduction, ignore_index) */
static PyObject *nll_loss_forward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x, loss, total;
    Picks job;
    Py_ssize_t reduction;
    PyObject *result = DECLINED;
    if (!as_index(args[3], &reduction) || (reduction != REDUCE_MEAN && reduction != REDUCE_SUM)
        || !as_index(args[4], &job.ignored))
        return DECLINED;
    if (open_picks(&all, &x, args, &job)) {
        PyObject *first = array_new(&all, &loss, 0, NULL, x.type, false);
        PyObject *second = first ? array_new(&all, &total, 0, NULL, x.type, false) : NULL;
        result = second ? PyTuple_Pack(2, first, second) : NULL;
        Py_XDECREF(first);
        Py_XDECREF(second);
        if (result != NULL) {
            double sum, weights;
            if (x.type == 'f')
                pick_classes_f(&job, &sum, &weights);
            else
                pick_classes_d(&job, &sum, &weights);
            put(&loss, reduction == REDUCE_MEAN ? sum / weights : sum);
            put(&total, weights);
        }
    }
    arrays_close(&all);
    return result;
}

static double get(const Array *a)
{
    return a->type == 'f' ? (double)*(const float *)a->data : *(const double *)a->data;
}

/* nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight) */
static PyObject *nll_loss_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array g, total, x, out;
    Picks job;
    Py_ssize_t reduction;
    PyObject *result = DECLINED;
    if (!as_index(args[4], &reduction) || (reduction != REDUCE_MEAN && reduction != REDUCE_SUM)
        || !as_index(args[5], &job.ignored))
        return DECLINED;
    array_open(&all, &g, args[0], false);
    array_open(&all, &total, args[6], false);
    if (!all.failed && is_real(&g) && is_real(&total) && g.ndim == 0 && total.ndim == 0
        && open_picks(&all, &x, args + 1, &job) && g.type == x.type && total.type == x.type) {
        result = array_new(&all, &out, 2, x.shape, x.type, true);
        if (result != NULL) {
            double each = reduction == REDUCE_MEAN ? get(&g) / get(&total) : get(&g);
            if (x.type == 'f')
                spread_to_classes_f(&job, (float)each, (float *)out.data);
            else
                spread_to_classes_d(&job, each, (double *)out.data);
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry LOSS_KERNELS[] = {
    {"nll_loss_forward", nll_loss_forward, 5},
    {"nll_loss_backward", nll_loss_backward, 7},
    {NULL, NULL, 0},
};
