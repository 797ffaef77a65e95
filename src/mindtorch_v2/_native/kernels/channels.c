/* Batch and group normalization of contiguous arrays (batch, channels, length). */
#include "kernels.h"

#define LEAST_LENGTH 8 /* of a row; below it lies the next channel of a sample */

typedef struct {
    const void *x, *g, *weight, *bias;
    void *out, *mean, *rstd, *square, *sums, *products;
    Py_ssize_t batch, channels, length, groups;
    double eps;
} Channels;

#define LOOPS "channels.inc"
#include "each_type.h"

/* The memory of an array of `size` elements of the type of `x`; NULL for None. Sets `failed` for anything else. */
static char *take(Arrays *all, PyObject *object, const Array *x, Py_ssize_t size, bool written)
{
    Array a;
    if (object == Py_None)
        return NULL;
    array_open(all, &a, object, written);
    if (all->failed || !a.contiguous || a.type != x->type || a.size != size) {
        all->failed = true;
        return NULL;
    }
    return a.data;
}

/* Opens the array that is normalized, and `out`, which may be None. */
static void begin(Arrays *all, Array *x, Channels *job, PyObject *object, PyObject *out)
{
    array_open(all, x, object, false);
    if (all->failed || !is_real(x) || x->ndim != 3 || x->size == 0 || x->shape[2] < LEAST_LENGTH) {
        all->failed = true;
        return;
    }
    job->x = x->data;
    job->batch = x->shape[0];
    job->channels = x->shape[1];
    job->length = x->shape[2];
    job->out = take(all, out, x, x->size, true);
}

static PyObject *run(Arrays *all, const Array *x, loop_function loop, const Channels *job, Py_ssize_t rounds,
                     double cost)
{
    if (!all->failed)
        run_loop(loop, job, rounds, 30 + cost * (double)(x->size / rounds));
    PyObject *result = all->failed ? DECLINED : Py_NewRef(Py_None);
    arrays_close(all);
    return result;
}

/* normalize_channels(x, weight, bias, eps, out, mean, rstd, squares) */
static PyObject *normalize_channels(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x = {0};
    Channels job = {0};
    begin(&all, &x, &job, args[0], args[4]);
    job.weight = all.failed ? NULL : take(&all, args[1], &x, job.channels, false);
    job.bias = all.failed ? NULL : take(&all, args[2], &x, job.channels, false);
    job.mean = all.failed ? NULL : take(&all, args[5], &x, job.channels, true);
    job.rstd = all.failed ? NULL : take(&all, args[6], &x, job.channels, true);
    job.square = all.failed ? NULL : take(&all, args[7], &x, job.channels, true);
    all.failed = all.failed || !as_double(args[3], &job.eps);
    return run(&all, &x, PICK(normalize_channels, x.type), &job, job.channels, 0.3);
}

/* scale_channels(x, scale, shift, out) */
static PyObject *scale_channels(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x = {0};
    Channels job = {0};
    begin(&all, &x, &job, args[0], args[3]);
    job.weight = all.failed ? NULL : take(&all, args[1], &x, job.channels, false);
    job.bias = all.failed ? NULL : take(&all, args[2], &x, job.channels, false);
    return run(&all, &x, PICK(scale_channels, x.type), &job, job.batch * job.channels, 0.2);
}

/* channel_gradients(g, x, weight, mean, rstd, gx, sums, products) */
static PyObject *channel_gradients(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x = {0};
    Channels job = {0};
    begin(&all, &x, &job, args[1], args[5]);
    job.g = all.failed ? NULL : take(&all, args[0], &x, x.size, false);
    job.weight = all.failed ? NULL : take(&all, args[2], &x, job.channels, false);
    job.mean = all.failed ? NULL : take(&all, args[3], &x, job.channels, false);
    job.rstd = all.failed ? NULL : take(&all, args[4], &x, job.channels, false);
    job.sums = all.failed ? NULL : take(&all, args[6], &x, job.channels, true);
    job.products = all.failed ? NULL : take(&all, args[7], &x, job.channels, true);
    return run(&all, &x, PICK(channel_gradients, x.type), &job, job.channels, 0.5);
}

/* Reads the number of groups; false where it does not divide the channels. */
static bool read_groups(Arrays *all, Channels *job, PyObject *groups)
{
    all->failed = all->failed || !as_index(groups, &job->groups) || job->groups < 1 || job->channels % job->groups != 0;
    return !all->failed;
}

/* normalize_groups(x, weight, bias, groups, eps, out, mean, rstd) */
static PyObject *normalize_groups(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x = {0};
    Channels job = {0};
    begin(&all, &x, &job, args[0], args[5]);
    Py_ssize_t rows = read_groups(&all, &job, args[3]) ? job.batch * job.groups : 0;
    job.weight = all.failed ? NULL : take(&all, args[1], &x, job.channels, false);
    job.bias = all.failed ? NULL : take(&all, args[2], &x, job.channels, false);
    job.mean = all.failed ? NULL : take(&all, args[6], &x, rows, true);
    job.rstd = all.failed ? NULL : take(&all, args[7], &x, rows, true);
    all.failed = all.failed || !as_double(args[4], &job.eps);
    return run(&all, &x, PICK(normalize_groups, x.type), &job, rows, 0.3);
}

/* group_gradients(g, x, weight, groups, mean, rstd, gx, sums, products): the last two (batch, channels) */
static PyObject *group_gradients(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x = {0};
    Channels job = {0};
    begin(&all, &x, &job, args[1], args[6]);
    Py_ssize_t rows = read_groups(&all, &job, args[3]) ? job.batch * job.groups : 0;
    job.g = all.failed ? NULL : take(&all, args[0], &x, x.size, false);
    job.weight = all.failed ? NULL : take(&all, args[2], &x, job.channels, false);
    job.mean = all.failed ? NULL : take(&all, args[4], &x, rows, false);
    job.rstd = all.failed ? NULL : take(&all, args[5], &x, rows, false);
    job.sums = all.failed ? NULL : take(&all, args[7], &x, job.batch * job.channels, true);
    job.products = all.failed ? NULL : take(&all, args[8], &x, job.batch * job.channels, true);
    return run(&all, &x, PICK(group_gradients, x.type), &job, rows, 0.5);
}

const KernelEntry CHANNEL_KERNELS[] = {
    {"normalize_channels", normalize_channels, 8}, {"scale_channels", scale_channels, 4},
    {"channel_gradients", channel_gradients, 8},   {"normalize_groups", normalize_groups, 8},
    {"group_gradients", group_gradients, 9},       {NULL, NULL, 0},
};
