/* Sizes of a two-dimensional convolution, as kernels read them from Python. */
#ifndef MINDTORCH_GEOMETRY_H
#define MINDTORCH_GEOMETRY_H

#include "kernels.h"

typedef struct {
    Py_ssize_t batch, channels, height, width, out_h, out_w;
    Py_ssize_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
} Geometry;

/* One position of the kernel: output (oh, ow) reads the image at (oh * stride_h + down, ow * stride_w + shift), which
   lies inside the image's width for ow from first to last - 1. */
typedef struct {
    Py_ssize_t down, shift, first, last;
} Tap;

INLINE Tap tap_at(const Geometry *g, Py_ssize_t tap)
{
    Py_ssize_t shift = tap % g->kernel_w * g->dilation_w - g->pad_w;
    Py_ssize_t low = shift < 0 ? (-shift + g->stride_w - 1) / g->stride_w : 0;
    Py_ssize_t high = g->width - shift <= 0 ? 0 : (g->width - shift - 1) / g->stride_w + 1;
    Py_ssize_t last = high < g->out_w ? high : g->out_w;
    return (Tap){tap / g->kernel_w * g->dilation_h - g->pad_h, shift, low < last ? low : last, last};
}

/* Reads kernel, out, stride, padding, dilation: two numbers each. */
bool read_geometry(PyObject *const *args, Geometry *geometry);

/* A convolution: image (N, C, H, W), weight (O, C / groups, kernel), out or its gradient (N, O, out), bias (O) or NULL.
 */
typedef struct {
    Geometry geometry;
    char *image, *weight, *bias, *out;
    Py_ssize_t groups, group_in, group_out, out_channels;
} Convolution;

/* Convolutions with one input channel per group (depthwise.c). False with an exception where memory runs out. */
bool depthwise_fits(const Convolution *convolution);
bool depthwise_forward(Arrays *all, const Convolution *convolution, char type);
bool depthwise_input_gradient(Arrays *all, const Convolution *convolution, char type);
bool depthwise_weight_gradient(Arrays *all, const Convolution *convolution, char type);

#endif
