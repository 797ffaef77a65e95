/* Convolutions with one input channel per group: each output channel is a sum of scaled shifts of one image. See
 * geometry.h. */
#include "geometry.h"

#define MAX_TAPS 128

typedef struct {
    Geometry geometry;
    char *image, *weight, *bias, *out, *scratch;
    Py_ssize_t group_out, out_channels, plane_height, plane_width;
} Depthwise;

#define LOOPS "depthwise.inc"
#include "each_type.h"

bool depthwise_fits(const Convolution *c)
{
    return c->group_in == 1 && c->geometry.kernel_h * c->geometry.kernel_w <= MAX_TAPS;
}

static Depthwise job_of(const Convolution *c)
{
    const Geometry *g = &c->geometry;
    Py_ssize_t last = (g->out_w + 7) / 8 * 8 - 1; /* a vector has at most eight elements */
    return (Depthwise){.geometry = *g,
                       .image = c->image,
                       .weight = c->weight,
                       .bias = c->bias,
                       .out = c->out,
                       .group_out = c->group_out,
                       .out_channels = c->out_channels,
                       .plane_height = (g->out_h - 1) * g->stride_h + (g->kernel_h - 1) * g->dilation_h + 1,
                       .plane_width = last * g->stride_w + (g->kernel_w - 1) * g->dilation_w + 1};
}

/* Runs a loop with a plane for every thread. */
static bool run(Arrays *all, Depthwise *job, loop_function loop, char type, Py_ssize_t count)
{
    Array scratch;
    const Geometry *g = &job->geometry;
    Py_ssize_t size = thread_slots() * job->plane_height * job->plane_width;
    PyObject *memory = array_new(all, &scratch, 1, &size, type, false);
    if (memory == NULL)
        return false;
    job->scratch = scratch.data;
    double work =
        (double)(g->batch * job->out_channels) * (double)(g->out_h * g->out_w) * (double)(g->kernel_h * g->kernel_w);
    run_loop(loop, job, count, 0.1 * work / (double)count);
    Py_DECREF(memory); /* `all` keeps its buffer until it is closed */
    return true;
}

bool depthwise_forward(Arrays *all, const Convolution *c, char type)
{
    Depthwise job = job_of(c);
    return run(all, &job, PICK(depthwise_forward, type), type, c->geometry.batch * c->out_channels);
}

/* With stride 1 and one output channel per group, the input's gradient is the convolution of the output's gradient with
 * the kernel turned around, over a padding that must not be negative. */
static bool is_turned_around(const Convolution *c)
{
    const Geometry *g = &c->geometry;
    return g->stride_h == 1 && g->stride_w == 1 && c->group_out == 1 && g->dilation_h * (g->kernel_h - 1) >= g->pad_h
           && g->dilation_w * (g->kernel_w - 1) >= g->pad_w;
}

static bool turned_around(Arrays *all, const Convolution *c, char type)
{
    const Geometry *g = &c->geometry;
    Py_ssize_t taps = g->kernel_h * g->kernel_w, size = c->out_channels * taps;
    size_t width = type == 'f' ? sizeof(float) : sizeof(double);
    Array weight;
    PyObject *memory = array_new(all, &weight, 1, &size, type, false);
    if (memory == NULL)
        return false;
    for (Py_ssize_t o = 0; o < c->out_channels; o++)
        for (Py_ssize_t k = 0; k < taps; k++)
            memcpy((char *)weight.data + (size_t)(o * taps + k) * width,
                   (const char *)c->weight + (size_t)(o * taps + taps - 1 - k) * width, width);
    Convolution turned = *c;
    turned.geometry.height = g->out_h;
    turned.geometry.width = g->out_w;
    turned.geometry.out_h = g->height;
    turned.geometry.out_w = g->width;
    turned.geometry.pad_h = g->dilation_h * (g->kernel_h - 1) - g->pad_h;
    turned.geometry.pad_w = g->dilation_w * (g->kernel_w - 1) - g->pad_w;
    turned.image = c->out;
    turned.out = c->image;
    turned.weight = weight.data;
    turned.bias = NULL;
    bool done = depthwise_forward(all, &turned, type);
    Py_DECREF(memory); /* `all` keeps its buffer until it is closed */
    return done;
}

bool depthwise_input_gradient(Arrays *all, const Convolution *c, char type)
{
    if (is_turned_around(c))
        return turned_around(all, c, type);
    Depthwise job = job_of(c);
    return run(all, &job, PICK(depthwise_input_gradient, type), type, c->geometry.batch * c->geometry.channels);
}

bool depthwise_weight_gradient(Arrays *all, const Convolution *c, char type)
{
    Depthwise job = job_of(c);
    return run(all, &job, PICK(depthwise_weight_gradient, type), type, c->out_channels);
}
