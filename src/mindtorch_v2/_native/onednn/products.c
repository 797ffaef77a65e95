/* Matrix products: mm, bmm, addmm and baddbmm with what is added along the last dimension only. */
#include "onednn.h"

enum { OP_PRODUCT = 10 };

static int describe(const Job *job, Handle *desc, Handle *made)
{
    (void)job;
    return dnnl.matmul_primitive_desc_create(made, engine, desc[0], desc[1], desc[2], desc[3], attributes);
}

/* Whether the library takes a matrix as it lies: one of the last two strides is 1 and nothing overlaps. */
static bool is_matrix(const View *v)
{
    int64_t rows = v->dims[v->ndim - 2], columns = v->dims[v->ndim - 1];
    int64_t down = v->strides[v->ndim - 2], across = v->strides[v->ndim - 1];
    return (across == 1 && (down >= columns || rows == 1)) || (down == 1 && (across >= rows || columns == 1));
}

static double least_work(int type);

/* The product of two matrices or batches of them, plus the bias if there is one; `shape`, if given, is the result's. */
static PyObject *multiply(const View *a, const View *b, View *bias, const View *shape)
{
    int n = a->ndim;
    if (a->type != b->type || b->ndim != n || a->dims[n - 1] != b->dims[n - 2] || (n == 3 && a->dims[0] != b->dims[0])
        || !is_matrix(a) || !is_matrix(b))
        return DECLINED;
    View left = *a, right = *b, product = *a;
    product.dims[n - 1] = b->dims[n - 1];
    view_lay_out(&product, false);
    product.size = a->size / a->dims[n - 1] * b->dims[n - 1];
    if ((double)a->size * (double)b->dims[n - 1] < least_work(a->type))
        return DECLINED;
    Job job = {.count = 0, .describe = describe};
    key_begin(&job.key, OP_PRODUCT);
    job_add(&job, ARG_SRC, &left, false, true);
    job_add(&job, ARG_WEIGHTS, &right, false, true);
    job_add(&job, ARG_BIAS, bias, false, true);
    job_add(&job, ARG_DST, &product, true, true);
    Plan *plan = plan_find(&job);
    if (plan == NULL)
        return DECLINED;
    PyObject *made = shape ? view_allocate_as(&product, shape->ndim, shape->dims) : view_allocate(&product);
    if (made != NULL && plan_run(plan, &job) < 0)
        Py_CLEAR(made);
    return made;
}

/* Below this many multiplications the call itself costs more. */
static double least_work(int type)
{
    return type == TYPE_F32 ? 1 << 16 : 1 << 12;
}

static PyObject *product(PyObject *const *args, int ndim)
{
    View a, b;
    if (!view_read(&a, args[0]) || !view_read(&b, args[1]) || a.ndim != ndim || b.ndim != ndim)
        return DECLINED;
    return multiply(&a, &b, NULL, NULL);
}

/* mm(self, mat2) */
static PyObject *mm(PyObject *const *args, PyObject *fallback)
{
    (void)fallback;
    return product(args, 2);
}

/* bmm(self, mat2) */
static PyObject *bmm(PyObject *const *args, PyObject *fallback)
{
    (void)fallback;
    return product(args, 3);
}

/* Batches of matrices as one dimension; false where they do not lie one after the other. */
static bool fold_batch(View *v)
{
    for (int i = 0; i < v->ndim - 3; i++)
        if (v->dims[i] != 1 && v->strides[i] != v->strides[i + 1] * v->dims[i + 1])
            return false;
    int64_t count = 1;
    for (int i = 0; i < v->ndim - 2; i++)
        count *= v->dims[i];
    int skip = v->ndim - 3;
    memmove(v->dims, v->dims + skip, 3 * sizeof *v->dims);
    memmove(v->strides, v->strides + skip, 3 * sizeof *v->strides);
    v->dims[0] = count;
    v->ndim = 3;
    return true;
}

/* matmul(self, other): matrices, batches of equally many of them, or a contiguous batch times one matrix. */
static PyObject *matmul(PyObject *const *args, PyObject *fallback)
{
    (void)fallback;
    View a, b;
    if (!view_read(&a, args[0]) || !view_read(&b, args[1]) || a.ndim < 2 || b.ndim < 2)
        return DECLINED;
    if (a.ndim == 2 && b.ndim == 2)
        return multiply(&a, &b, NULL, NULL);
    View shape = a;
    shape.dims[a.ndim - 1] = b.dims[b.ndim - 1];
    if (b.ndim == 2 && is_contiguous(&a)) {
        a.dims[0] = a.size / a.dims[a.ndim - 1];
        a.dims[1] = a.dims[a.ndim - 1];
        a.ndim = 2;
        view_lay_out(&a, false);
        return multiply(&a, &b, NULL, &shape);
    }
    if (a.ndim != b.ndim || memcmp(a.dims, b.dims, (size_t)(a.ndim - 2) * sizeof *a.dims) != 0 || !fold_batch(&a)
        || !fold_batch(&b))
        return DECLINED;
    return multiply(&a, &b, NULL, &shape);
}

/* addmm(self, mat1, mat2, beta, alpha) with a vector to be added and both numbers 1: a linear layer. */
static PyObject *addmm(PyObject *const *args, PyObject *fallback)
{
    (void)fallback;
    View a, b, bias;
    double beta, alpha;
    if (!view_read(&bias, args[0]) || !view_read(&a, args[1]) || !view_read(&b, args[2]) || a.ndim != 2 || b.ndim != 2
        || bias.type != a.type || bias.ndim != 1 || bias.dims[0] != b.dims[1] || bias.strides[0] != 1
        || !as_double(args[3], &beta) || !as_double(args[4], &alpha) || beta != 1 || alpha != 1)
        return DECLINED;
    bias.ndim = 2;
    bias.dims[1] = bias.dims[0], bias.strides[1] = 1;
    bias.dims[0] = 1, bias.strides[0] = bias.dims[1];
    return multiply(&a, &b, &bias, NULL);
}

const KernelEntry PRODUCTS[] = {
    {"mm", mm, 2, 1, false},       {"bmm", bmm, 2, 1, false}, {"matmul", matmul, 2, 1, false},
    {"addmm", addmm, 5, 1, false}, {NULL, NULL, 0, 0, false},
};
