/* Resizing and padding: every coordinate of the large tensor is a weighted sum of a few coordinates of the source,
 * dimension by dimension. Backward spreads the gradients with the same weights. */
#include "kernels.h"

#include <math.h>

#define MAX_TAPS 4
typedef struct {
    int n;
    int64_t at[MAX_TAPS];
    float weight[MAX_TAPS];
} Taps; /* what one coordinate of the result is made of */
typedef struct {
    int spatial;
    bool align, backward;
    int64_t in[3], out[3];
    double scale[3];
    const IntArray *sizes[2];
} Plan;

/* The arguments of a row: lists of sizes, scales and the switch come in the order of the spatial dimensions. */
static Plan plan_of(const Executor *e) {
    Plan p = {0};
    int lists = 0, scales = 0, tensors = 0;
    for (int i = 0; i < e->argc; i++) {
        char role = e->op->roles[i];
        if (role == 'I' && lists < 2) p.sizes[lists++] = e->args[i].ints;
        if ((role == 'd' || role == 'f') && scales < 3) p.scale[scales++] = e->args[i].d;
        if (role == 'q') p.align = e->args[i].i != 0;
        tensors += role == 'i';
    }
    p.backward = lists == 2 || tensors == 2;
    return p;
}

static void set_spatial(Plan *p, const Tensor *source, const Tensor *result, int spatial) {
    p->spatial = spatial;
    for (int i = 0; i < 3; i++) p->in[i] = p->out[i] = 1;
    for (int i = 0; i < spatial; i++) {
        p->in[3 - spatial + i] = source->shape[source->ndim - spatial + i];
        p->out[3 - spatial + i] = result->shape[result->ndim - spatial + i];
    }
}

/* ---- resizing ---------------------------------------------------------------------------------- */
static double cubic_weight(double x) { /* Keys' kernel with a = -0.75 */
    const double a = -0.75;
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static int64_t within(int64_t at, int64_t size) { return at < 0 ? 0 : at >= size ? size - 1 : at; }

static Taps resize_taps(int mode, int64_t at, int64_t in, int64_t out, double given, bool align) {
    double ratio = given > 0 ? 1 / given : (double)in / (double)out;
    if (mode == RESIZE_NEAREST || mode == RESIZE_NEAREST_EXACT) {
        double center = ((double)at + (mode == RESIZE_NEAREST_EXACT ? 0.5 : 0)) * (double)(float)ratio;
        return (Taps){1, {within((int64_t)floor(center), in)}, {1}};
    }
    if (align) ratio = out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    double center = align ? ratio * (double)at : ratio * ((double)at + 0.5) - 0.5;
    if (mode == RESIZE_LINEAR) {
        if (center < 0) center = 0;
        int64_t low = within((int64_t)center, in);
        float part = (float)(center - (double)low);
        return (Taps){2, {low, within(low + 1, in)}, {1 - part, part}};
    }
    int64_t low = (int64_t)floor(center);
    Taps taps = {.n = 4};
    for (int k = 0; k < 4; k++) {
        taps.at[k] = within(low - 1 + k, in);
        taps.weight[k] = (float)cubic_weight(center - (double)(low - 1 + k));
    }
    return taps;
}

/* ---- padding ----------------------------------------------------------------------------------- */
static Taps pad_taps(int mode, int64_t at, int64_t in, int64_t before) {
    int64_t source = at - before;
    if (mode == PAD_REFLECT) {
        if (source < 0) source = -source;
        if (source >= in) source = 2 * (in - 1) - source;
    }
    return (Taps){1, {within(source, in)}, {1}};
}

/* ---- applying a table of taps ------------------------------------------------------------------ */
static void combine(const Plan *p, Taps *const table[3], float *source, float *result) {
    for (int64_t o = 0; o < p->out[0] * p->out[1] * p->out[2]; o++) {
        const Taps *x = &table[0][o / (p->out[1] * p->out[2])], *y = &table[1][o / p->out[2] % p->out[1]];
        const Taps *z = &table[2][o % p->out[2]];
        double sum = 0;
        for (int i = 0; i < x->n; i++) {
            for (int j = 0; j < y->n; j++) {
                float *row = source + (x->at[i] * p->in[1] + y->at[j]) * p->in[2], outer = x->weight[i] * y->weight[j];
                for (int k = 0; k < z->n; k++) {
                    if (p->backward) row[z->at[k]] += outer * z->weight[k] * result[o];
                    else sum += (double)outer * z->weight[k] * row[z->at[k]];
                }
            }
        }
        if (!p->backward) result[o] = (float)sum;
    }
}

static int apply(const Executor *e, const Plan *p, Taps *const table[3]) {
    const Tensor *in = e->args[0].t, *out = e->args[e->argc - 1].t;
    void *own_in, *own_out;
    float *x = dense_f32(in, &own_in), *y = out_f32(out, &own_out);
    if (p->backward) memset(y, 0, (size_t)out->numel * sizeof *y);
    float *source = p->backward ? y : x, *result = p->backward ? x : y;
    int64_t points = p->in[0] * p->in[1] * p->in[2], made = p->out[0] * p->out[1] * p->out[2];
    int64_t planes = points == 0 ? 0 : (p->backward ? out : in)->numel / points;
    for (int64_t i = 0; i < planes; i++) combine(p, table, source + i * points, result + i * made);
    out_done(out, CT_F32, y, own_out);
    free(own_in);
    return ACL_OK;
}

static int spatial_of(const Executor *e) { /* the digit in the operator's name */
    const char *digit = strpbrk(e->op->name, "123");
    return digit[0] - '0';
}

static int run_separable(Executor *e, bool pads) {
    const Tensor *first = e->args[0].t, *last = e->args[e->argc - 1].t;
    if (last->numel == 0) return ACL_OK;
    Plan p = plan_of(e);
    int spatial = spatial_of(e);
    set_spatial(&p, p.backward ? last : first, p.backward ? first : last, spatial);
    Taps *table[3];
    for (int d = 0; d < 3; d++) {
        int own = d - (3 - spatial); /* which of the operator's dimensions, or negative */
        table[d] = malloc((size_t)(p.out[d] + 1) * sizeof(Taps));
        for (int64_t at = 0; at < p.out[d]; at++) {
            if (own < 0) table[d][at] = (Taps){1, {at}, {1}};
            else if (pads) table[d][at] = pad_taps(e->op->variant, at, p.in[d], p.sizes[0]->v[2 * (spatial - 1 - own)]);
            else table[d][at] = resize_taps(e->op->variant, at, p.in[d], p.out[d], p.scale[own], p.align);
        }
    }
    int code = apply(e, &p, table);
    for (int d = 0; d < 3; d++) free(table[d]);
    return code;
}

int run_resize(Executor *e) { return run_separable(e, false); }

int run_pad(Executor *e) { return run_separable(e, true); }

/* ---- checks ------------------------------------------------------------------------------------ */
static int need_sizes(Executor *e, const Tensor *t, const IntArray *sizes, int skip, const char *what) {
    if ((int)sizes->n + skip != t->ndim) return nn_fail(e, "%s: %d sizes for rank %d", what, (int)sizes->n, t->ndim);
    for (uint64_t i = 0; i < sizes->n; i++) {
        if (sizes->v[i] != t->shape[skip + (int)i]) return nn_fail(e, "%s has the shape %s", what, shape_text(t));
    }
    return ACL_OK;
}

int check_resize(
    Executor *e) { /* self, outputSize, ..., out; backward: gradOutput, outputSize, inputSize, ..., gradInput */
    const Tensor *first = e->args[0].t, *last = e->args[e->argc - 1].t;
    Plan p = plan_of(e);
    const Tensor *large = p.backward ? first : last, *source = p.backward ? last : first;
    if (source->ndim != spatial_of(e) + 2)
        return nn_fail(e, "the input has rank %d, expected %d", source->ndim, spatial_of(e) + 2);
    if (large->ndim != source->ndim || large->shape[0] != source->shape[0] || large->shape[1] != source->shape[1]) {
        return nn_fail(e, "the shapes %s and %s differ", shape_text(source), shape_text(large));
    }
    int code = need_sizes(e, large, p.sizes[0], 2, "the resized tensor");
    return code != 0 || !p.backward ? code : need_sizes(e, source, p.sizes[1], 0, "the input");
}

int check_pad(Executor *e) { /* self, padding, out; backward: gradOutput, self, padding, gradInput */
    Plan p = plan_of(e);
    int spatial = spatial_of(e);
    const Tensor *in = e->args[p.backward ? 1 : 0].t, *padded = e->args[p.backward ? 0 : 2].t;
    if (in->ndim != spatial + 1 && in->ndim != spatial + 2) return nn_fail(e, "the input has rank %d", in->ndim);
    if ((int)p.sizes[0]->n != 2 * spatial)
        return nn_fail(e, "padding has %d values, expected %d", (int)p.sizes[0]->n, 2 * spatial);
    int64_t shape[MAX_DIMS];
    memcpy(shape, in->shape, sizeof shape);
    for (int i = 0; i < spatial; i++) {
        int d = in->ndim - 1 - i;
        int64_t before = p.sizes[0]->v[2 * i], after = p.sizes[0]->v[2 * i + 1];
        bool too_far = e->op->variant == PAD_REFLECT && (before >= in->shape[d] || after >= in->shape[d]);
        if (before < 0 || after < 0 || too_far)
            return nn_fail(e, "padding does not fit the size %lld", (long long)in->shape[d]);
        shape[d] += before + after;
    }
    int code = need_shape(e, padded, shape, in->ndim, "the padded tensor");
    return code != 0 || !p.backward ? code : need_same(e, in, e->args[3].t, "gradInput");
}

/* ---- columns of windows (im2col) and back ------------------------------------------------------ */
typedef struct {
    int64_t image[2], kernel[2], dilation[2], padding[2], stride[2], steps[2];
} Columns;

static Columns columns_of(const Tensor *image, const Arg *lists) {
    Columns c;
    for (int i = 0; i < 2; i++) {
        c.image[i] = image->shape[image->ndim - 2 + i];
        c.kernel[i] = lists[0].ints->v[i];
        c.dilation[i] = lists[1].ints->v[i];
        c.padding[i] = lists[2].ints->v[i];
        c.stride[i] = lists[3].ints->v[i];
        c.steps[i] = (c.image[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1) / c.stride[i] + 1;
    }
    return c;
}

int check_columns(
    Executor *e) { /* Im2col: self, kernel, dilation, padding, stride, out; backward: gradOutput, inputSize, the same */
    bool backward = e->argc == 7;
    const Arg *lists = &e->args[backward ? 2 : 1];
    const Tensor *image = e->args[backward ? 6 : 0].t, *columns = e->args[backward ? 0 : 5].t;
    if (image->ndim != 3 && image->ndim != 4) return nn_fail(e, "the image has rank %d", image->ndim);
    for (int i = 0; i < 4; i++) {
        for (uint64_t k = 0; k < 2; k++) {
            if (lists[i].ints->n != 2 || lists[i].ints->v[k] < (i == 2 ? 0 : 1))
                return nn_fail(e, "a list needs 2 positive values");
        }
    }
    if (backward && (e->args[1].ints->n != 2 || e->args[1].ints->v[0] != image->shape[image->ndim - 2] ||
                     e->args[1].ints->v[1] != image->shape[image->ndim - 1])) {
        return nn_fail(e, "inputSize does not match %s", shape_text(image));
    }
    Columns c = columns_of(image, lists);
    int64_t shape[3] = {image->ndim == 4 ? image->shape[0] : 0,
                        image->shape[image->ndim - 3] * c.kernel[0] * c.kernel[1], c.steps[0] * c.steps[1]};
    return need_shape(e, columns, shape + (4 - image->ndim), image->ndim - 1, "the columns");
}

int run_columns(Executor *e) {
    bool backward = e->argc == 7;
    const Tensor *from = e->args[0].t, *to = e->args[e->argc - 1].t, *image = backward ? to : from;
    if (to->numel == 0) return ACL_OK;
    Columns c = columns_of(image, &e->args[backward ? 2 : 1]);
    void *own_from, *own_to;
    float *x = dense_f32(from, &own_from), *y = out_f32(to, &own_to);
    memset(y, 0, (size_t)to->numel * sizeof *y);
    int64_t points = c.image[0] * c.image[1], steps = c.steps[0] * c.steps[1], kernel = c.kernel[0] * c.kernel[1];
    int64_t rows = image->numel / points * kernel;
    for (int64_t r = 0; r < rows; r++) {
        int64_t base = r / kernel * points, kh = r % kernel / c.kernel[1], kw = r % c.kernel[1];
        for (int64_t s = 0; s < steps; s++) {
            int64_t h = s / c.steps[1] * c.stride[0] - c.padding[0] + kh * c.dilation[0];
            int64_t w = s % c.steps[1] * c.stride[1] - c.padding[1] + kw * c.dilation[1];
            if (h < 0 || w < 0 || h >= c.image[0] || w >= c.image[1]) continue;
            if (backward) y[base + h * c.image[1] + w] += x[r * steps + s];
            else y[r * steps + s] = x[base + h * c.image[1] + w];
        }
    }
    out_done(to, CT_F32, y, own_to);
    free(own_from);
    return ACL_OK;
}
