/* Two-dimensional convolutions of contiguous images (N, C, H, W) and their gradients, in pieces that fit into the
   cache.

   Some output rows at a time are unrolled into columns, one row for each (channel, tap), and multiplied with the
   weights. Output rows are counted over the whole batch. Products are made per image, or, where images have few
   positions, for the whole batch at once: a span is the output rows whose gradient lies in one matrix (channels,
   positions). */
#include "blas.h"
#include "geometry.h"

typedef struct {
    Convolution conv;
    char *scratch;
    Py_ssize_t span_rows, span_blocks, row_block; /* output rows of a span, blocks of rows in it, rows of a block */
    Py_ssize_t channel_block, parts;              /* input channels of a round; parts of a group's output channels */
    Py_ssize_t slot_size;
    bool plain; /* one tap that reads the image as it is: no columns are needed */
} Product;

#define LOOPS "conv_products.inc"
#include "each_type.h"

#define COLUMN_ELEMENTS 65536 /* columns of one round */
#define SHORT_SPAN 64         /* positions of an image below which the batch is multiplied at once */

static Py_ssize_t at_least(Py_ssize_t value, Py_ssize_t low)
{
    return value > low ? value : low;
}
static Py_ssize_t at_most(Py_ssize_t value, Py_ssize_t high)
{
    return value < high ? value : high;
}

/* Checks image, weight and out against each other and fills in the sizes. args: kernel, out, stride, padding, dilation,
 * groups */
static bool read_product(Product *job, const Array *image, const Array *weight, const Array *out, PyObject *const *args)
{
    Geometry *g = &job->conv.geometry;
    if (!is_real(image) || image->ndim != 4 || weight->ndim != 4 || out->ndim != 4 || image->size == 0
        || weight->size == 0 || out->size == 0 || !weight->contiguous || weight->type != image->type || !out->contiguous
        || out->type != image->type || !read_geometry(args, g) || !as_index(args[5], &job->conv.groups)
        || job->conv.groups < 1)
        return false;
    g->batch = image->shape[0];
    g->channels = image->shape[1];
    g->height = image->shape[2];
    g->width = image->shape[3];
    job->conv.out_channels = weight->shape[0];
    job->conv.group_in = weight->shape[1];
    job->conv.group_out = job->conv.out_channels / job->conv.groups;
    job->conv.image = image->data;
    job->conv.weight = weight->data;
    job->conv.out = out->data;
    job->plain =
        g->kernel_h == 1 && g->kernel_w == 1 && g->stride_h == 1 && g->stride_w == 1 && g->pad_h == 0 && g->pad_w == 0;
    return g->channels == job->conv.groups * job->conv.group_in
           && job->conv.out_channels == job->conv.groups * job->conv.group_out && weight->shape[2] == g->kernel_h
           && weight->shape[3] == g->kernel_w;
}

/* Multiply-adds of the whole convolution, in nanoseconds of one thread. */
static double product_cost(const Product *job)
{
    const Geometry *g = &job->conv.geometry;
    return 0.03 * (double)(g->batch * g->out_h * g->out_w)
           * (double)(job->conv.out_channels * job->conv.group_in * g->kernel_h * g->kernel_w);
}

static bool run(Arrays *all, Product *job, loop_function loop, char type, Py_ssize_t count)
{
    Array scratch;
    Py_ssize_t size = thread_slots() * job->slot_size;
    PyObject *memory = array_new(all, &scratch, 1, &size, type, false);
    if (memory == NULL)
        return false;
    job->scratch = scratch.data;
    run_loop(loop, job, count, product_cost(job) / (double)count);
    Py_DECREF(memory); /* `all` keeps its buffer until it is closed */
    return true;
}

static void together(Product *job, bool whole_batch)
{
    job->span_rows = whole_batch ? job->conv.geometry.batch * job->conv.geometry.out_h : job->conv.geometry.out_h;
    job->plain = job->plain && !whole_batch;
}

static bool forward(Arrays *all, Product *job, char type)
{
    const Geometry *g = &job->conv.geometry;
    if (depthwise_fits(&job->conv))
        return depthwise_forward(all, &job->conv, type);
    Py_ssize_t depth = job->conv.group_in * g->kernel_h * g->kernel_w;
    together(job, g->batch > 1 && g->out_h * g->out_w < SHORT_SPAN);
    Py_ssize_t positions = at_least(COLUMN_ELEMENTS / depth, 128);
    job->row_block = at_least(at_most(positions / g->out_w, job->span_rows), 1);
    job->span_blocks = (job->span_rows + job->row_block - 1) / job->row_block;
    Py_ssize_t blocks = g->batch * g->out_h / job->span_rows * job->span_blocks * job->conv.groups;
    job->parts = blocks < 2 * threads_get() && threads_get() > 1 ? at_most(threads_get(), job->conv.group_out) : 1;
    job->slot_size = job->row_block * g->out_w * (depth + job->conv.group_out);
    return run(all, job, PICK(conv_forward, type), type, blocks * job->parts);
}

/* Blocks of rows and channels for gradients, whose columns fit into COLUMN_ELEMENTS. Blocks of channels are of one
   size, and where other rounds are few there is one for every thread. */
static void plan_gradient(Product *job, bool whole_batch, bool by_span, Py_ssize_t positions)
{
    const Geometry *g = &job->conv.geometry;
    Py_ssize_t taps = g->kernel_h * g->kernel_w;
    together(job, whole_batch);
    job->row_block = at_least(at_most(positions / g->out_w, job->span_rows), 1);
    Py_ssize_t most = at_least(2 * COLUMN_ELEMENTS / (taps * job->row_block * g->out_w), 1);
    Py_ssize_t blocks = (job->conv.group_in + most - 1) / most, threads = threads_get();
    Py_ssize_t others = job->conv.groups * (by_span ? g->batch * g->out_h / job->span_rows : 1);
    if (threads > 1 && others < 2 * threads)
        blocks = at_most((blocks + threads - 1) / threads * threads, job->conv.group_in);
    job->channel_block = (job->conv.group_in + blocks - 1) / blocks;
    job->slot_size = job->channel_block * taps * job->row_block * g->out_w;
}

/* conv_forward(image, weight, bias, out, kernel, out size, stride, padding, dilation, groups): fills out. */
static PyObject *conv_forward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array image, weight, bias, out;
    Product job = {.scratch = NULL};
    array_open(&all, &image, args[0], false);
    array_open(&all, &weight, args[1], false);
    array_open(&all, &out, args[3], true);
    PyObject *result = DECLINED;
    bool fits = blas_ready() && !all.failed && read_product(&job, &image, &weight, &out, args + 4);
    if (fits && args[2] != Py_None) {
        array_open(&all, &bias, args[2], false);
        fits = !all.failed && bias.contiguous && bias.type == image.type && bias.size == job.conv.out_channels;
        job.conv.bias = bias.data;
    }
    if (fits)
        result = forward(&all, &job, image.type) ? Py_NewRef(Py_True) : NULL;
    arrays_close(&all);
    return result;
}

/* conv_input_gradient(image, weight, grad, whole_batch, kernel, out size, stride, padding, dilation, groups): adds to
   image, which holds zeros. With whole_batch, grad is (out channels, N, H, W). */
static PyObject *conv_input_gradient(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array image, weight, grad;
    Product job = {.scratch = NULL};
    array_open(&all, &image, args[0], true);
    array_open(&all, &weight, args[1], false);
    array_open(&all, &grad, args[2], false);
    PyObject *result = DECLINED;
    if (blas_ready() && !all.failed && read_product(&job, &image, &weight, &grad, args + 4)) {
        const Geometry *g = &job.conv.geometry;
        bool done;
        if (args[3] != Py_True && depthwise_fits(&job.conv)) {
            done = depthwise_input_gradient(&all, &job.conv, image.type);
        } else {
            plan_gradient(&job, args[3] == Py_True, true, 256);
            Py_ssize_t blocks = (job.conv.group_in + job.channel_block - 1) / job.channel_block;
            done = run(&all, &job, PICK(conv_input_gradient, image.type), image.type,
                       blocks * job.conv.groups * (g->batch * g->out_h / job.span_rows));
        }
        result = done ? Py_NewRef(Py_True) : NULL;
    }
    arrays_close(&all);
    return result;
}

/* conv_weight_gradient(image, weight, grad, whole_batch, ...) as above: fills weight. */
static PyObject *conv_weight_gradient(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array image, weight, grad;
    Product job = {.scratch = NULL};
    array_open(&all, &image, args[0], false);
    array_open(&all, &weight, args[1], true);
    array_open(&all, &grad, args[2], false);
    PyObject *result = DECLINED;
    if (blas_ready() && !all.failed && read_product(&job, &image, &weight, &grad, args + 4)) {
        bool done;
        if (args[3] != Py_True && depthwise_fits(&job.conv)) {
            done = depthwise_weight_gradient(&all, &job.conv, image.type);
        } else {
            plan_gradient(&job, args[3] == Py_True, false, 512);
            Py_ssize_t blocks = (job.conv.group_in + job.channel_block - 1) / job.channel_block;
            done = run(&all, &job, PICK(conv_weight_gradient, image.type), image.type, blocks * job.conv.groups);
        }
        result = done ? Py_NewRef(Py_True) : NULL;
    }
    arrays_close(&all);
    return result;
}

const KernelEntry CONV_PRODUCT_KERNELS[] = {
    {"conv_forward", conv_forward, 10},
    {"conv_input_gradient", conv_input_gradient, 10},
    {"conv_weight_gradient", conv_weight_gradient, 10},
    {NULL, NULL, 0},
};
