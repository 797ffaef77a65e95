/* Sampling at points of a grid, grids of affine maps; numbers with equal ratios; rounding to decimals. */
#include "kernels.h"

#include <math.h>

enum { BILINEAR, NEAREST };
enum { ZEROS, BORDER, REFLECTION };

typedef struct {
    double at, slope;
} Point; /* in pixels, and how it changes with the grid's number */

/* Reflected at the borders low and high, once for each time it crosses them. */
static Point reflect(Point p, double low, double high) {
    double span = high - low, away = fabs(p.at - low);
    if (span <= 0) return (Point){low, 0};
    double sign = p.at < low ? -1 : 1, extra = fmod(away, span);
    bool odd = fmod(floor(away / span), 2) != 0;
    return (Point){odd ? high - extra : low + extra, p.slope * (odd ? -sign : sign)};
}

static Point pixel(double g, int64_t size, int64_t padding, bool align) {
    Point p = align ? (Point){(g + 1) / 2 * (double)(size - 1), (double)(size - 1) / 2}
                    : (Point){((g + 1) * (double)size - 1) / 2, (double)size / 2};
    if (padding == REFLECTION) p = align ? reflect(p, 0, (double)(size - 1)) : reflect(p, -0.5, (double)size - 0.5);
    if (padding != ZEROS) {
        if (p.at <= 0) p = (Point){0, 0};
        else if (p.at >= (double)(size - 1)) p = (Point){(double)(size - 1), 0};
    }
    if (!(p.at > -1e9 && p.at < 1e9)) p = (Point){-100, 0}; /* far outside, or not a number */
    return p;
}

int check_grid_sampler(
    Executor *e) { /* input, grid, mode, padding, align, out; backward: dy first, a mask and two gradients */
    bool backward = e->op->variant == 1;
    const Arg *a = e->args + backward;
    const Tensor *in = a[0].t, *grid = a[1].t, *y = backward ? e->args[0].t : e->args[5].t;
    if (in->ndim != 4 || grid->ndim != 4 || grid->shape[3] != 2 || grid->shape[0] != in->shape[0]) {
        return nn_fail(e, "the input is %s, the grid %s", shape_text(in), shape_text(grid));
    }
    if (a[2].i != BILINEAR && a[2].i != NEAREST)
        return nn_fail(e, "interpolation %lld is not modelled", (long long)a[2].i);
    const int64_t shape[] = {in->shape[0], in->shape[1], grid->shape[1], grid->shape[2]};
    int code = need_shape(e, y, shape, 4, "the result");
    if (code == ACL_OK && backward && e->args[7].t != NULL)
        code = need_same(e, in, e->args[7].t, "the input's gradient");
    return code == ACL_OK && backward && e->args[8].t != NULL ? need_same(e, grid, e->args[8].t, "the grid's gradient")
                                                              : code;
}

typedef struct {
    const Tensor *in, *grid;
    int64_t mode, padding;
    bool align;
} Sampling;

/* The four pixels around a point, with their weights and the slopes of those; outside ones have the index -1. */
typedef struct {
    int64_t index[4];
    double weight[4], slope_x[4], slope_y[4];
} Corners;

static Corners corners_at(const Sampling *s, double gx, double gy) {
    int64_t height = s->in->shape[2], width = s->in->shape[3];
    Point x = pixel(gx, width, s->padding, s->align), y = pixel(gy, height, s->padding, s->align);
    Corners c = {{-1, -1, -1, -1}, {0}, {0}, {0}};
    if (s->mode == NEAREST) x = (Point){nearbyint(x.at), 0}, y = (Point){nearbyint(y.at), 0};
    double left = floor(x.at), top = floor(y.at), fx = x.at - left, fy = y.at - top;
    for (int k = 0; k < 4; k++) {
        int64_t px = (int64_t)left + k % 2, py = (int64_t)top + k / 2;
        double wx = k % 2 ? fx : 1 - fx, wy = k / 2 ? fy : 1 - fy;
        if (px < 0 || px >= width || py < 0 || py >= height) continue;
        c.index[k] = py * width + px;
        c.weight[k] = wx * wy;
        c.slope_x[k] = (k % 2 ? 1 : -1) * wy * x.slope;
        c.slope_y[k] = (k / 2 ? 1 : -1) * wx * y.slope;
    }
    return c;
}

int run_grid_sampler(Executor *e) {
    Sampling s = {e->args[0].t, e->args[1].t, e->args[2].i, e->args[3].i, e->args[4].i != 0};
    Values in = values_of(s.in), grid = values_of(s.grid), out = values_for(e->args[5].t);
    int64_t points = s.grid->shape[1] * s.grid->shape[2], channels = s.in->shape[1],
            area = s.in->shape[2] * s.in->shape[3];
    for (int64_t n = 0; n < s.in->shape[0]; n++) {
        for (int64_t p = 0; p < points; p++) {
            Corners c = corners_at(&s, grid.v[(n * points + p) * 2], grid.v[(n * points + p) * 2 + 1]);
            for (int64_t ch = 0; ch < channels; ch++) {
                double sum = 0;
                for (int k = 0; k < 4; k++) {
                    if (c.index[k] >= 0) sum += c.weight[k] * in.v[(n * channels + ch) * area + c.index[k]];
                }
                out.v[(n * channels + ch) * points + p] = sum;
            }
        }
    }
    values_free(&in);
    values_free(&grid);
    values_done(&out);
    return ACL_OK;
}

int run_grid_sampler_backward(Executor *e) { /* dy, input, grid, mode, padding, align, mask, then the gradients */
    Sampling s = {e->args[1].t, e->args[2].t, e->args[3].i, e->args[4].i, e->args[5].i != 0};
    Values none = {0}, dy = values_of(e->args[0].t), in = values_of(s.in), grid = values_of(s.grid);
    Values dx = e->args[7].t ? values_zeroed(e->args[7].t) : none,
           dgrid = e->args[8].t ? values_zeroed(e->args[8].t) : none;
    int64_t points = s.grid->shape[1] * s.grid->shape[2], channels = s.in->shape[1],
            area = s.in->shape[2] * s.in->shape[3];
    for (int64_t i = 0; i < s.in->shape[0] * points * channels; i++) {
        int64_t p = i % points, plane = i / points, at = plane / channels * points + p;
        Corners c = corners_at(&s, grid.v[at * 2], grid.v[at * 2 + 1]);
        for (int k = 0; k < 4; k++) {
            if (c.index[k] < 0) continue;
            double grad = dy.v[i], value = in.v[plane * area + c.index[k]];
            if (dx.v != NULL) dx.v[plane * area + c.index[k]] += grad * c.weight[k];
            if (dgrid.v != NULL) {
                dgrid.v[at * 2] += grad * value * c.slope_x[k];
                dgrid.v[at * 2 + 1] += grad * value * c.slope_y[k];
            }
        }
    }
    Values *read[] = {&dy, &in, &grid};
    for (int i = 0; i < 3; i++) values_free(read[i]);
    if (dx.t != NULL) values_done(&dx);
    if (dgrid.t != NULL) values_done(&dgrid);
    return ACL_OK;
}

/* ---- grids of affine maps: theta [batch, n, n + 1], sizes [batch, channels, ...], align, out ---- */
int check_affine_grid(Executor *e) {
    const Tensor *theta = e->args[0].t, *out = e->args[3].t;
    const IntArray *size = e->args[1].ints;
    int64_t dims = (int64_t)size->n - 2, numel = dims > 0 ? dims : 0;
    for (uint64_t i = 0; i < size->n; i++) numel *= i == 1 ? 1 : size->v[i];
    const int64_t shape[] = {size->n > 0 ? size->v[0] : 0, dims, dims + 1};
    if (dims != 2 && dims != 3) return nn_fail(e, "the size has %d values, expected 4 or 5", (int)size->n);
    if (out->numel != numel) return nn_fail(e, "out is %s, expected %lld elements", shape_text(out), (long long)numel);
    return need_shape(e, theta, shape, 3, "theta");
}

int run_affine_grid(Executor *e) {
    const IntArray *size = e->args[1].ints;
    int64_t dims = (int64_t)size->n - 2, points = 1;
    for (int64_t d = 0; d < dims; d++) points *= size->v[2 + d];
    Values theta = values_of(e->args[0].t), out = values_for(e->args[3].t);
    for (int64_t i = 0; i < size->v[0] * points; i++) {
        double at[4] = {0, 0, 0, 0};
        int64_t rest = i % points;
        for (int64_t d = dims - 1; d >= 0; d--) { /* the last dimension of the size is x */
            double n = (double)size->v[2 + d], k = (double)(rest % size->v[2 + d]);
            at[dims - 1 - d] = e->args[2].i == 0 ? (2 * k + 1) / n - 1 : n > 1 ? 2 * k / (n - 1) - 1 : 0;
            rest /= size->v[2 + d];
        }
        at[dims] = 1;
        for (int64_t r = 0; r < dims; r++) {
            out.v[i * dims + r] = 0;
            for (int64_t k = 0; k <= dims; k++) {
                out.v[i * dims + r] += theta.v[((i / points) * dims + r) * (dims + 1) + k] * at[k];
            }
        }
    }
    values_free(&theta);
    values_done(&out);
    return ACL_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------- */
int run_logspace(Executor *e) { /* start, end, steps, base, out */
    double start = e->args[0].s->d, end = e->args[1].s->d, base = e->args[3].d;
    Values out = values_for(e->args[4].t);
    int64_t n = e->args[4].t->numel;
    for (int64_t i = 0; i < n; i++)
        out.v[i] = pow(base, n > 1 ? start + (end - start) * (double)i / (double)(n - 1) : start);
    values_done(&out);
    return ACL_OK;
}

int run_round_decimals(Executor *e) { /* self, decimals, out; in place: self, decimals */
    const Tensor *to = e->argc == 3 ? e->args[2].t : e->args[0].t;
    Values in = values_of(e->args[0].t), out = values_for(to);
    double scale = pow(10, (double)llabs(e->args[1].i));
    for (int64_t i = 0; i < to->numel; i++) {
        out.v[i] = e->args[1].i >= 0 ? nearbyint(in.v[i] * scale) / scale : nearbyint(in.v[i] / scale) * scale;
    }
    values_free(&in);
    values_done(&out);
    return ACL_OK;
}
