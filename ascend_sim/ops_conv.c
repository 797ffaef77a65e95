/* Convolution in one to three dimensions by unfolding and a matrix product.
 *
 * Both directions are seen from one geometry: an "image" that is unfolded and a "column" side with one point per window
 * position. For a convolution the image is the input; for a transposed one it is the output. The weight is
 * [column channels, image channels / groups, kernel] in both cases. */
#include "kernels.h"

typedef struct {
    int64_t batch, groups, image_channels, column_channels; /* channels are of all groups */
    int64_t image[3], column[3], kernel[3], stride[3], padding[3], dilation[3];
    int64_t image_points, column_points, kernel_points;
} Geometry;

typedef struct {
    const IntArray *stride, *padding, *dilation;
    bool transposed;
    int64_t groups;
} Options;

static int64_t pick(const IntArray *a, int dims, int at) { /* one value may stand for all dimensions */
    int index = at - (3 - dims);
    if (index < 0 || a->n == 0) return -1;
    return a->v[a->n == (uint64_t)dims ? index : 0];
}

static void spatial(const Tensor *t, int dims, int64_t *out) {
    for (int i = 0; i < 3; i++) out[i] = i < 3 - dims ? 1 : t->shape[t->ndim - 3 + i];
}

static Geometry geometry_of(const Tensor *input, const Tensor *weight, const Tensor *output, Options o) {
    int dims = weight->ndim - 2;
    const Tensor *image = o.transposed ? output : input, *column = o.transposed ? input : output;
    bool batched = input->ndim == weight->ndim;
    Geometry g = {.batch = batched ? input->shape[0] : 1, .groups = o.groups};
    g.image_channels = weight->shape[1] * o.groups;
    g.column_channels = weight->shape[0];
    spatial(image, dims, g.image);
    spatial(column, dims, g.column);
    spatial(weight, dims, g.kernel);
    g.image_points = g.column_points = g.kernel_points = 1;
    for (int i = 0; i < 3; i++) {
        bool used = i >= 3 - dims;
        g.stride[i] = used ? pick(o.stride, dims, i) : 1;
        g.padding[i] = used ? pick(o.padding, dims, i) : 0;
        g.dilation[i] = used ? pick(o.dilation, dims, i) : 1;
        g.image_points *= g.image[i];
        g.column_points *= g.column[i];
        g.kernel_points *= g.kernel[i];
    }
    return g;
}

/* Visits every (kernel point, window) pair of one channel: unfolds into `columns`, or adds `columns` back. */
static void fold(const Geometry *g, float *image, float *columns, bool back) {
    for (int64_t kd = 0; kd < g->kernel[0]; kd++)
        for (int64_t kh = 0; kh < g->kernel[1]; kh++)
            for (int64_t kw = 0; kw < g->kernel[2]; kw++)
                for (int64_t d = 0; d < g->column[0]; d++)
                    for (int64_t h = 0; h < g->column[1]; h++, columns += g->column[2]) {
                        int64_t z = d * g->stride[0] - g->padding[0] + kd * g->dilation[0];
                        int64_t y = h * g->stride[1] - g->padding[1] + kh * g->dilation[1];
                        bool inside = z >= 0 && z < g->image[0] && y >= 0 && y < g->image[1];
                        float *line = inside ? image + (z * g->image[1] + y) * g->image[2] : NULL;
                        int64_t x = kw * g->dilation[2] - g->padding[2];
                        for (int64_t w = 0; w < g->column[2]; w++, x += g->stride[2]) {
                            bool hit = inside && x >= 0 && x < g->image[2];
                            if (!back) columns[w] = hit ? line[x] : 0.0f;
                            else if (hit) line[x] += columns[w];
                        }
                    }
}

static void transpose(int64_t rows, int64_t columns, const float *in, float *out) {
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) out[j * rows + i] = in[i * columns + j];
    }
}

typedef enum { TO_COLUMN, TO_IMAGE, TO_WEIGHT } Direction;

/* TO_COLUMN: column = weight * unfold(image); TO_IMAGE: image = fold(weight' * column);
 * TO_WEIGHT: weight += column * unfold(image)'. The target must be zero for the last two. */
static void apply(const Geometry *g, Direction direction, float *image, float *column, float *weight) {
    int64_t ci = g->image_channels / g->groups, co = g->column_channels / g->groups, k = ci * g->kernel_points;
    float *unfolded = malloc((size_t)(k * g->column_points + 1) * sizeof *unfolded);
    float *turned =
        malloc((size_t)((k > 0 ? k : 1) * (g->column_points > co ? g->column_points : co) + 1) * sizeof *turned);
    for (int64_t n = 0; n < g->batch; n++) {
        for (int64_t group = 0; group < g->groups; group++) {
            float *x = image + (n * g->image_channels + group * ci) * g->image_points;
            float *y = column + (n * g->column_channels + group * co) * g->column_points;
            float *w = weight + group * co * k;
            if (direction == TO_IMAGE) {
                transpose(co, k, w, turned);
                gemm_f32(k, g->column_points, co, 1, turned, y, 0, unfolded);
            }
            for (int64_t c = 0; c < ci; c++) {
                float *part = unfolded + c * g->kernel_points * g->column_points;
                fold(g, x + c * g->image_points, part, direction == TO_IMAGE);
            }
            if (direction == TO_COLUMN) gemm_f32(co, g->column_points, k, 1, w, unfolded, 0, y);
            if (direction == TO_WEIGHT) {
                transpose(k, g->column_points, unfolded, turned);
                gemm_f32(co, k, g->column_points, 1, y, turned, 1, w);
            }
        }
    }
    free(unfolded);
    free(turned);
}

/* ---- checks ------------------------------------------------------------------------------------ */
static int check_geometry(Executor *e, const Tensor *in, const Tensor *weight, const Tensor *out, Options o,
                          const IntArray *output_padding, int64_t math_type) {
    int dims = weight->ndim - 2;
    if (dims < 1 || dims > 3) return nn_fail(e, "the weight has rank %d", weight->ndim);
    if (in->ndim != weight->ndim && in->ndim != weight->ndim - 1) return nn_fail(e, "the input has rank %d", in->ndim);
    if (out->ndim != in->ndim) return nn_fail(e, "the output has rank %d", out->ndim);
    if (in->dtype != weight->dtype) return nn_fail(e, "input and weight have different types");
    if (o.groups < 1) return nn_fail(e, "groups is %lld", (long long)o.groups);
    const IntArray *lists[3] = {o.stride, o.padding, o.dilation};
    for (int i = 0; i < 3; i++) {
        if (lists[i]->n != (uint64_t)dims && lists[i]->n != 1) {
            return nn_fail(e, "stride, padding and dilation need %d values", dims);
        }
        for (uint64_t k = 0; k < lists[i]->n; k++) {
            if (lists[i]->v[k] < (i == 1 ? 0 : 1)) return nn_fail(e, "a negative or zero stride, padding or dilation");
        }
    }
    if (math_type == 0 && in->dtype == DT_FLOAT && !config()->soc.keeps_float32) {
        return nn_fail(e, "cubeMathType 0 is not supported for FLOAT on %s", config()->soc.name);
    }
    Geometry g = geometry_of(in, weight, out, o);
    int at = in->ndim - dims - 1;
    int64_t in_channels = o.transposed ? g.column_channels : g.image_channels;
    int64_t out_channels = o.transposed ? g.image_channels : g.column_channels;
    if (in->shape[at] != in_channels || g.column_channels % o.groups != 0) {
        return nn_fail(e, "input %s does not match weight %s with %lld groups", shape_text(in), shape_text(weight),
                       (long long)o.groups);
    }
    if (out->shape[at] != out_channels || (at == 1 && out->shape[0] != in->shape[0])) {
        return nn_fail(e, "the output has the shape %s", shape_text(out));
    }
    for (int i = 3 - dims; i < 3; i++) {
        int64_t reach = g.dilation[i] * (g.kernel[i] - 1) + 1;
        int64_t extra =
            o.transposed && output_padding != NULL && output_padding->n > 0 ? pick(output_padding, dims, i) : 0;
        int64_t expected = o.transposed ? (g.column[i] - 1) * g.stride[i] - 2 * g.padding[i] + reach + extra
                                        : (g.image[i] + 2 * g.padding[i] - reach) / g.stride[i] + 1;
        int64_t found = o.transposed ? g.image[i] : g.column[i];
        if (found != expected) {
            return nn_fail(e, "the output has the shape %s: %lld expected, not %lld", shape_text(out),
                           (long long)expected, (long long)found);
        }
    }
    e->workspace = 16384;
    return ACL_OK;
}

static Options forward_options(const Executor *e) {
    return (Options){e->args[3].ints, e->args[4].ints, e->args[5].ints, e->args[6].i != 0, e->args[8].i};
}

static Options backward_options(const Executor *e) {
    return (Options){e->args[4].ints, e->args[5].ints, e->args[6].ints, e->args[7].i != 0, e->args[9].i};
}

int check_convolution(Executor *e) {
    const Tensor *bias = e->args[2].t, *out = e->args[9].t;
    int code = check_geometry(e, e->args[0].t, e->args[1].t, out, forward_options(e), e->args[7].ints, e->args[10].i);
    if (code != 0 || bias == NULL) return code;
    int64_t channels = out->shape[out->ndim - (e->args[1].t->ndim - 2) - 1];
    return need_shape(e, bias, &channels, 1, "the bias");
}

int check_convolution_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *in = e->args[1].t, *weight = e->args[2].t;
    const BoolArray *mask = e->args[10].bools;
    int code = check_geometry(e, in, weight, grad, backward_options(e), e->args[8].ints, e->args[11].i);
    if (code != 0) return code;
    if (mask->n != 3) return nn_fail(e, "outputMask needs 3 values");
    for (int i = 0; i < 3; i++) {
        if (mask->v[i] && e->args[12 + i].t == NULL) return nn_fail(e, "a masked gradient is null");
    }
    if (mask->v[0]) code = need_same(e, in, e->args[12].t, "gradInput");
    if (code == 0 && mask->v[1]) code = need_same(e, weight, e->args[13].t, "gradWeight");
    return code;
}

/* ---- kernels ----------------------------------------------------------------------------------- */
int run_convolution(Executor *e) {
    const Tensor *in = e->args[0].t, *weight = e->args[1].t, *bias = e->args[2].t, *out = e->args[9].t;
    if (out->numel == 0) return ACL_OK;
    Options o = forward_options(e);
    Geometry g = geometry_of(in, weight, out, o);
    void *own_x, *own_w, *own_y, *own_b;
    float *x = dense_f32(in, &own_x), *w = dense_f32(weight, &own_w), *y = out_f32(out, &own_y);
    memset(y, 0, (size_t)out->numel * sizeof *y);
    if (o.transposed) apply(&g, TO_IMAGE, y, x, w);
    else apply(&g, TO_COLUMN, x, y, w);
    if (bias != NULL) {
        const float *b = dense_f32(bias, &own_b);
        int64_t channels = bias->numel, points = out->numel / g.batch / channels;
        for (int64_t i = 0; i < out->numel; i++) y[i] += b[i / points % channels];
        free(own_b);
    }
    out_done(out, CT_F32, y, own_y);
    free(own_x);
    free(own_w);
    return ACL_OK;
}

static void bias_gradient(const Tensor *out, const float *dy, int64_t batch, int64_t total) {
    void *owned;
    float *sums = out_f32(out, &owned);
    int64_t channels = out->numel, points = total / batch / channels;
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0;
        for (int64_t n = 0; n < batch; n++) {
            for (int64_t i = 0; i < points; i++) sum += dy[(n * channels + c) * points + i];
        }
        sums[c] = (float)sum;
    }
    out_done(out, CT_F32, sums, owned);
}

int run_convolution_backward(Executor *e) {
    const Tensor *grad = e->args[0].t, *in = e->args[1].t, *weight = e->args[2].t;
    const BoolArray *mask = e->args[10].bools;
    Options o = backward_options(e);
    Geometry g = geometry_of(in, weight, grad, o);
    if (grad->numel == 0) return ACL_OK;
    void *own_dy, *own_x, *own_w, *own_out;
    float *dy = dense_f32(grad, &own_dy), *x = dense_f32(in, &own_x), *w = dense_f32(weight, &own_w);
    if (mask->v[0]) {
        const Tensor *t = e->args[12].t;
        float *dx = out_f32(t, &own_out);
        memset(dx, 0, (size_t)t->numel * sizeof *dx);
        if (o.transposed) apply(&g, TO_COLUMN, dy, dx, w);
        else apply(&g, TO_IMAGE, dx, dy, w);
        out_done(t, CT_F32, dx, own_out);
    }
    if (mask->v[1]) {
        const Tensor *t = e->args[13].t;
        float *dw = out_f32(t, &own_out);
        memset(dw, 0, (size_t)t->numel * sizeof *dw);
        if (o.transposed) apply(&g, TO_WEIGHT, dy, x, dw);
        else apply(&g, TO_WEIGHT, x, dy, dw);
        out_done(t, CT_F32, dw, own_out);
    }
    if (mask->v[2]) bias_gradient(e->args[14].t, dy, g.batch, grad->numel);
    free(own_dy);
    free(own_x);
    free(own_w);
    return ACL_OK;
}
