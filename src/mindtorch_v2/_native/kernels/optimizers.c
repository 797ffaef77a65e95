/* What optimizers do in every step, in one pass over contiguous arrays: add_ with a factor, addcmul_, addcdiv_, lerp_,
   and the fused steps of SGD and Adam. */
#include "kernels.h"

typedef struct {
    void *self;
    const void *a, *b;
    double value;
} Mixture;

typedef struct {
    void *param, *buffer;
    const void *grad;
    double weight_decay, momentum, lr, dampening;
    bool nesterov, maximize, first;
} Sgd;

typedef struct {
    void *param, *mean, *square, *most;
    const void *grad;
    double lr, size, correction, beta1, beta2, weight_decay, eps;
    bool maximize, decoupled;
} Adam;

#define LOOPS "optimizers.inc"
#include "each_type.h"

PICKER(add_scaled)
PICKER(addcmul)
PICKER(addcdiv)
PICKER(lerp_near)
PICKER(lerp_far)

/* Opens `count` arrays that are like the first, which is written. None becomes NULL data where allowed. */
static bool open_alike(Arrays *all, Array *arrays, PyObject *const *objects, int count, const bool *written)
{
    for (int i = 0; i < count; i++) {
        memset(&arrays[i], 0, sizeof arrays[i]);
        if (i > 0 && objects[i] == Py_None)
            continue;
        array_open(all, &arrays[i], objects[i], written[i]);
        if (all->failed || (i == 0 ? !is_real(&arrays[0]) : !is_like(&arrays[i], &arrays[0])))
            return false;
        for (int k = 0; k < i; k++)
            if ((written[i] || written[k]) && arrays[k].data && !apart(&arrays[i], &arrays[k]))
                return false;
    }
    return true;
}

/* self += ..., for one or two other operands of the same kind */
static PyObject *mixture(PyObject *const *args, int operands, loop_function (*pick)(char type), double value)
{
    static const bool written[3] = {true, false, false};
    Arrays all = {.count = 0};
    Array arrays[3] = {{0}};
    PyObject *result = DECLINED;
    for (int i = 0; i <= operands; i++)
        if (args[i] == Py_None)
            return DECLINED;
    if (open_alike(&all, arrays, args, operands + 1, written)) {
        Mixture job = {.self = arrays[0].data, .a = arrays[1].data, .b = arrays[2].data, .value = value};
        run_loop(pick(arrays[0].type), &job, arrays[0].size, 0.1 * (double)arrays[0].itemsize);
        result = Py_NewRef(Py_None);
    }
    arrays_close(&all);
    return result;
}

static PyObject *add_(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double alpha;
    if (!as_double(args[2], &alpha) || alpha == 1)
        return DECLINED; /* numpy's plain sum is as fast */
    return mixture(args, 1, add_scaled_pick, alpha);
}

static PyObject *sub_(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double alpha;
    if (!as_double(args[2], &alpha) || alpha == 1)
        return DECLINED;
    return mixture(args, 1, add_scaled_pick, -alpha);
}

static PyObject *addcmul_(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double value;
    return as_double(args[3], &value) ? mixture(args, 2, addcmul_pick, value) : DECLINED;
}

static PyObject *addcdiv_(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double value;
    return as_double(args[3], &value) ? mixture(args, 2, addcdiv_pick, value) : DECLINED;
}

static PyObject *lerp_(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double weight;
    if (!as_double(args[2], &weight))
        return DECLINED;
    return fabs(weight) < 0.5 ? mixture(args, 1, lerp_near_pick, weight) : mixture(args, 1, lerp_far_pick, weight);
}

static bool as_doubles(PyObject *const *args, double **values, int count)
{
    for (int i = 0; i < count; i++)
        if (!as_double(args[i], values[i]))
            return false;
    return true;
}

/* sgd_step(param, grad, buffer, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step) */
static PyObject *sgd_step(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    static const bool written[3] = {true, false, true};
    Arrays all = {.count = 0};
    Array arrays[3];
    Sgd job = {.nesterov = args[7] == Py_True, .maximize = args[8] == Py_True, .first = args[9] == Py_True};
    double *numbers[] = {&job.weight_decay, &job.momentum, &job.lr, &job.dampening};
    PyObject *result = DECLINED;
    if (as_doubles(args + 3, numbers, 4) && args[1] != Py_None && open_alike(&all, arrays, args, 3, written)) {
        job.param = arrays[0].data;
        job.grad = arrays[1].data;
        job.buffer = job.momentum != 0 ? arrays[2].data : NULL;
        run_loop(PICK(sgd, arrays[0].type), &job, arrays[0].size, arrays[0].type == 'f' ? 0.6 : 1.2);
        result = Py_NewRef(Py_None);
    }
    arrays_close(&all);
    return result;
}

/* adam_step(param, grad, mean, square, most, lr, size, correction, beta1, beta2, weight_decay, eps, maximize,
 * decoupled) */
static PyObject *adam_step(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    static const bool written[5] = {true, false, true, true, true};
    Arrays all = {.count = 0};
    Array arrays[5];
    Adam job = {.maximize = args[12] == Py_True, .decoupled = args[13] == Py_True};
    double *numbers[] = {&job.lr, &job.size, &job.correction, &job.beta1, &job.beta2, &job.weight_decay, &job.eps};
    PyObject *result = DECLINED;
    if (as_doubles(args + 5, numbers, 7) && args[1] != Py_None && args[2] != Py_None && args[3] != Py_None
        && open_alike(&all, arrays, args, 5, written)) {
        job.param = arrays[0].data;
        job.grad = arrays[1].data;
        job.mean = arrays[2].data;
        job.square = arrays[3].data;
        job.most = arrays[4].data;
        run_loop(PICK(adam, arrays[0].type), &job, arrays[0].size, arrays[0].type == 'f' ? 1.2 : 3);
        result = Py_NewRef(Py_None);
    }
    arrays_close(&all);
    return result;
}

const KernelEntry OPTIMIZER_KERNELS[] = {
    {"add_", add_, 3},   {"sub_", sub_, 3},          {"addcmul_", addcmul_, 4},    {"addcdiv_", addcdiv_, 4},
    {"lerp_", lerp_, 3}, {"sgd_step", sgd_step, 10}, {"adam_step", adam_step, 14}, {NULL, NULL, 0},
};
