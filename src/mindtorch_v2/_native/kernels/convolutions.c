/* What stands around the matrix product of a convolution: images (N, C, H, W) unrolled into columns, and columns added
 * up. */
#include "geometry.h"

typedef struct {
    char *image, *columns;
    Geometry geometry;
    bool batch_inside; /* columns are (C, kernel, N, out), else (N, C, kernel, out) */
} Columns;

#define LOOPS "convolutions.inc"
#include "each_type.h"

bool read_geometry(PyObject *const *args, Geometry *g)
{
    Py_ssize_t *fields[5][2] = {{&g->kernel_h, &g->kernel_w},
                                {&g->out_h, &g->out_w},
                                {&g->stride_h, &g->stride_w},
                                {&g->pad_h, &g->pad_w},
                                {&g->dilation_h, &g->dilation_w}};
    for (int i = 0; i < 5; i++) {
        Py_ssize_t pair[2];
        if (as_indices(args[i], pair, 2) != 2 || pair[0] < (i == 3 ? 0 : 1) || pair[1] < (i == 3 ? 0 : 1))
            return false;
        *fields[i][0] = pair[0];
        *fields[i][1] = pair[1];
    }
    return true;
}

static double cost(const Geometry *g, double each)
{
    return each * (double)(g->kernel_h * g->kernel_w) * (double)(g->out_h * g->out_w);
}

/* unroll(x, kernel, out, stride, padding, dilation, batch_inside) */
static PyObject *unroll(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array x, columns;
    Columns job = {.batch_inside = args[6] == Py_True};
    Geometry *g = &job.geometry;
    PyObject *result = DECLINED;
    array_open(&all, &x, args[0], false);
    if (!all.failed && is_real(&x) && x.ndim == 4 && x.size > 0 && read_geometry(args + 1, g)) {
        g->batch = x.shape[0];
        g->channels = x.shape[1];
        g->height = x.shape[2];
        g->width = x.shape[3];
        Py_ssize_t apart[6] = {g->batch, g->channels, g->kernel_h, g->kernel_w, g->out_h, g->out_w};
        Py_ssize_t together[6] = {g->channels, g->kernel_h, g->kernel_w, g->batch, g->out_h, g->out_w};
        result = array_new(&all, &columns, 6, job.batch_inside ? together : apart, x.type, false);
        if (result != NULL) {
            job.image = x.data;
            job.columns = columns.data;
            run_loop(PICK(unroll, x.type), &job, g->batch * g->channels, cost(g, 0.3));
        }
    }
    arrays_close(&all);
    return result;
}

/* fold(columns, size, kernel, out, stride, padding, dilation), with columns (N, C, kernel positions, output positions)
 */
static PyObject *fold(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array columns, image;
    Columns job = {.image = NULL};
    Geometry *g = &job.geometry;
    Py_ssize_t size[2];
    PyObject *result = DECLINED;
    array_open(&all, &columns, args[0], false);
    if (!all.failed && is_real(&columns) && columns.ndim == 4 && columns.size > 0 && as_indices(args[1], size, 2) == 2
        && size[0] > 0 && size[1] > 0 && read_geometry(args + 2, g) && columns.shape[2] == g->kernel_h * g->kernel_w
        && columns.shape[3] == g->out_h * g->out_w) {
        g->batch = columns.shape[0];
        g->channels = columns.shape[1];
        g->height = size[0];
        g->width = size[1];
        Py_ssize_t shape[4] = {g->batch, g->channels, g->height, g->width};
        result = array_new(&all, &image, 4, shape, columns.type, true);
        if (result != NULL) {
            job.image = image.data;
            job.columns = columns.data;
            run_loop(PICK(fold, columns.type), &job, g->batch * g->channels, cost(g, 0.5));
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry CONVOLUTION_KERNELS[] = {
    {"unroll", unroll, 7},
    {"fold", fold, 7},
    {NULL, NULL, 0},
};
