/* Matrix products. Operands are packed to dense float32, multiplied by a blocked kernel, and written back. */
#include "kernels.h"

#define ROWS 4  /* rows of c in registers */
#define COLS 16 /* columns of c in registers */
#define KBLOCK 256

typedef float Lanes __attribute__((vector_size(32)));
enum { LANES = COLS / 8 };

/* One tile: c[rows][COLS] += a[rows][k] * b[k][COLS], b packed to COLS columns and aligned. `a` always has ROWS rows
 * (missing ones repeat the last), so that the sums stay in registers. */
WIDE static void tile(int64_t k, const float *const *a, const float *b, float *c, int64_t ldc, int64_t rows,
                      int64_t cols, float alpha) {
    Lanes sum[ROWS][LANES] = {{{0}}};
    const Lanes *row = (const Lanes *)b;
    for (int64_t p = 0; p < k; p++, row += LANES) {
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 2
            for (int j = 0; j < LANES; j++) sum[r][j] += a[r][p] * row[j];
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        const float *values = (const float *)sum[r];
        for (int64_t j = 0; j < cols; j++) c[r * ldc + j] += alpha * values[j];
    }
}

static void pack(const float *b, int64_t ldb, int64_t k, int64_t cols, float *packed) {
    for (int64_t p = 0; p < k; p++) {
        for (int64_t j = 0; j < COLS; j++) packed[p * COLS + j] = j < cols ? b[p * ldb + j] : 0.0f;
    }
}

void gemm_f32(int64_t m, int64_t n, int64_t k, float alpha, const float *a, const float *b, float beta, float *c) {
    if (beta == 0) memset(c, 0, (size_t)(m * n) * sizeof *c);
    else if (beta != 1)
        for (int64_t i = 0; i < m * n; i++) c[i] *= beta;
    float *packed = aligned_alloc(64, KBLOCK * COLS * sizeof *packed);
    for (int64_t p = 0; p < k; p += KBLOCK) {
        int64_t depth = k - p < KBLOCK ? k - p : KBLOCK;
        for (int64_t j = 0; j < n; j += COLS) {
            int64_t cols = n - j < COLS ? n - j : COLS;
            pack(b + p * n + j, n, depth, cols, packed);
            for (int64_t i = 0; i < m; i += ROWS) {
                int64_t rows = m - i < ROWS ? m - i : ROWS;
                const float *lines[ROWS];
                for (int r = 0; r < ROWS; r++) lines[r] = a + (i + (r < rows ? r : rows - 1)) * k + p;
                tile(depth, lines, packed, c + i * n + j, n, rows, cols, alpha);
            }
        }
    }
    free(packed);
}

/* ---- shapes ------------------------------------------------------------------------------------ */
typedef struct {
    const Tensor *self, *a, *b, *out; /* self: the added tensor or NULL */
    float alpha, beta;
    int64_t math_type;
} Product;

static Product product_of(const Executor *e) {
    if (e->argc == 4) return (Product){NULL, e->args[0].t, e->args[1].t, e->args[2].t, 1, 0, e->args[3].i};
    return (Product){e->args[0].t,           e->args[1].t,           e->args[2].t, e->args[5].t,
                     (float)e->args[4].s->d, (float)e->args[3].s->d, e->args[6].i};
}

/* Vectors become matrices; the batch dimensions broadcast. Returns the shape of the result. */
typedef struct {
    Tensor a, b;
    int64_t batch[MAX_DIMS], m, n, k;
    int batch_dims;
    bool row, column;
} Plan;

static bool plan_product(const Product *p, Plan *plan) {
    plan->a = *p->a;
    plan->b = *p->b;
    plan->row = p->a->ndim == 1;
    plan->column = p->b->ndim == 1;
    if (p->a->ndim == 0 || p->b->ndim == 0) return false;
    if (plan->row) {
        plan->a.ndim = 2;
        plan->a.shape[1] = p->a->shape[0];
        plan->a.stride[1] = p->a->stride[0];
        plan->a.shape[0] = 1;
        plan->a.stride[0] = 0;
    }
    if (plan->column) {
        plan->b.ndim = 2;
        plan->b.shape[1] = 1;
        plan->b.stride[1] = 0;
    }
    Tensor *a = &plan->a, *b = &plan->b;
    plan->m = a->shape[a->ndim - 2];
    plan->k = a->shape[a->ndim - 1];
    plan->n = b->shape[b->ndim - 1];
    if (b->shape[b->ndim - 2] != plan->k) return false;
    Tensor batches[2] = {*a, *b};
    batches[0].ndim -= 2;
    batches[1].ndim -= 2;
    const Tensor *both[2] = {&batches[0], &batches[1]};
    return broadcast_shapes(both, 2, plan->batch, &plan->batch_dims);
}

static int result_shape(const Plan *plan, int64_t *shape) {
    int ndim = plan->batch_dims;
    memcpy(shape, plan->batch, (size_t)ndim * sizeof *shape);
    if (!plan->row) shape[ndim++] = plan->m;
    if (!plan->column) shape[ndim++] = plan->n;
    return ndim;
}

int check_matmul(Executor *e) {
    static const int ranks[] = {[MM_MM] = 2, [MM_BMM] = 3, [MM_ADDMM] = 2, [MM_BADDBMM] = 3, [MM_MATMUL] = 0};
    Product p = product_of(e);
    Plan plan;
    int rank = ranks[e->op->variant];
    if (rank != 0 && (p.a->ndim != rank || p.b->ndim != rank)) {
        return nn_fail(e, "needs matrices of rank %d, got %s and %s", rank, shape_text(p.a), shape_text(p.b));
    }
    if (!plan_product(&p, &plan)) return nn_fail(e, "cannot multiply %s and %s", shape_text(p.a), shape_text(p.b));
    if (rank == 3 && p.a->shape[0] != p.b->shape[0]) return nn_fail(e, "the batches differ");
    if (p.math_type < 0 || p.math_type > 4) return nn_fail(e, "cubeMathType %lld", (long long)p.math_type);
    if (p.math_type == 0 && p.a->dtype == DT_FLOAT && !config()->soc.keeps_float32) {
        return nn_fail(e, "cubeMathType 0 is not supported for FLOAT on %s", config()->soc.name);
    }
    int code = need_types(e, p.b, FLOATS, "the second matrix");
    if (code == 0) code = need_types(e, p.out, FLOATS, "the output");
    if (code == 0 && p.a->dtype != p.b->dtype) {
        code = nn_fail(e, "the matrices have the types %s and %s", dtype_name(p.a->dtype), dtype_name(p.b->dtype));
    }
    int64_t shape[MAX_DIMS];
    int ndim = result_shape(&plan, shape);
    if (code == 0) code = need_shape(e, p.out, shape, ndim, "the output");
    if (code == 0 && p.self != NULL) {
        const Tensor *both[2] = {p.self, p.out};
        if (!broadcast_shapes(both, 2, shape, &ndim) || ndim != p.out->ndim) {
            return nn_fail(e, "self %s does not broadcast to %s", shape_text(p.self), shape_text(p.out));
        }
    }
    e->workspace = 4096;
    return code;
}

/* ---- execution --------------------------------------------------------------------------------- */
static Tensor batched(const Tensor *t, const Plan *plan) { /* batch dimensions expanded to those of the result */
    Tensor wide = *t;
    wide.ndim = plan->batch_dims + 2;
    wide.numel = t->shape[t->ndim - 2] * t->shape[t->ndim - 1];
    for (int i = 0; i < wide.ndim; i++) {
        int at = i - (wide.ndim - t->ndim);
        wide.shape[i] = i < plan->batch_dims ? plan->batch[i] : t->shape[at];
        wide.stride[i] = at < 0 || (i < plan->batch_dims && t->shape[at] == 1) ? 0 : t->stride[at];
        if (i < plan->batch_dims) wide.numel *= plan->batch[i];
    }
    return wide;
}

int run_matmul(Executor *e) {
    Product p = product_of(e);
    Plan plan;
    plan_product(&p, &plan);
    if (p.out->numel == 0) return ACL_OK;
    void *own_a, *own_b, *own_out;
    Tensor wide_a = batched(&plan.a, &plan), wide_b = batched(&plan.b, &plan);
    float *a = dense_f32(&wide_a, &own_a), *b = dense_f32(&wide_b, &own_b);
    int64_t m = plan.m, n = plan.n, k = plan.k, batches = p.out->numel / (m * n);
    float *out = malloc((size_t)p.out->numel * sizeof *out); /* the output may share memory with an operand */
    bool adds = p.self != NULL && p.beta != 0;
    if (adds) {
        View self = view_as(p.self, p.out->shape, p.out->ndim);
        const float *values = view_load(&self, 0, p.out->numel, CT_F32, out);
        if (values != out) memcpy(out, values, (size_t)p.out->numel * sizeof *out);
    }
    for (int64_t i = 0; i < batches; i++) {
        gemm_f32(m, n, k, p.alpha, a + i * m * k, b + i * k * n, adds ? p.beta : 0, out + i * m * n);
    }
    float *target = out_f32(p.out, &own_out);
    memcpy(target, out, (size_t)p.out->numel * sizeof *out);
    out_done(p.out, CT_F32, target, own_out);
    free(out);
    free(own_a);
    free(own_b);
    return ACL_OK;
}
