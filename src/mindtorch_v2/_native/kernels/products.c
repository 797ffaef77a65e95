/* Matrix products shared among the threads of this package instead of those of the BLAS library: the thread that asks
   never waits for one that has not begun, so that products are no slower where other processes keep a processor busy,
   and products and own loops never compete for processors.

   With one thread and without AVX-512 every call is declined: then numpy's own call does the same with less around
   it. */
#include "blas.h"

#define FLOPS_PER_NS 40.0 /* of one thread, about */
#define LEAST_PIECE 256   /* rows or columns of a piece: both operands are packed again for each */
#define PIECE_STEP 16

/* A matrix as BLAS reads it. */
typedef struct {
    char *data;
    Py_ssize_t step;       /* elements from one row, of the transposed matrix where it is one, to the next */
    Py_ssize_t batch_step; /* bytes from one matrix of a batch to the next */
    bool transposed;
} Operand;

typedef struct {
    Operand a, b;
    char *out;
    Py_ssize_t m, n, k;
    Py_ssize_t piece, pieces; /* rows or columns of a piece; pieces of one product */
    bool by_columns;
    char type;
} Product;

/* One piece of one product: rows or columns from `begin` on. */
static void run_piece(const Product *job, Py_ssize_t batch, Py_ssize_t begin)
{
    Py_ssize_t whole = job->by_columns ? job->n : job->m;
    Py_ssize_t length = whole - begin < job->piece ? whole - begin : job->piece;
    Py_ssize_t m = job->by_columns ? job->m : length, n = job->by_columns ? length : job->n;
    const Operand *a = &job->a, *b = &job->b;
    Py_ssize_t to_a = job->by_columns ? 0 : begin * (a->transposed ? 1 : a->step);
    Py_ssize_t to_b = job->by_columns ? begin * (b->transposed ? b->step : 1) : 0;
    Py_ssize_t to_out = batch * job->m * job->n + (job->by_columns ? begin : begin * job->n);
    const char *first = a->data + batch * a->batch_step, *second = b->data + batch * b->batch_step;
    if (job->type == 'f')
        gemm_f(a->transposed, b->transposed, m, n, job->k, 1, (const float *)first + to_a, a->step,
               (const float *)second + to_b, b->step, 0, (float *)job->out + to_out, job->n);
    else
        gemm_d(a->transposed, b->transposed, m, n, job->k, 1, (const double *)first + to_a, a->step,
               (const double *)second + to_b, b->step, 0, (double *)job->out + to_out, job->n);
}

static void run_pieces(const void *argument, Py_ssize_t begin, Py_ssize_t end)
{
    const Product *job = argument;
    for (Py_ssize_t round = begin; round < end; round++)
        run_piece(job, round / job->pieces, round % job->pieces * job->piece);
}

/* Fills in an operand whose last two dimensions BLAS can read, as they are or transposed; false for any other. */
static bool read_operand(Operand *operand, const Array *array)
{
    Py_ssize_t item = array->itemsize, rows = array->shape[array->ndim - 2], columns = array->shape[array->ndim - 1];
    Py_ssize_t down = array->strides[array->ndim - 2], right = array->strides[array->ndim - 1];
    *operand = (Operand){.data = array->data, .batch_step = array->ndim == 3 ? array->strides[0] : 0};
    if ((uintptr_t)array->data % (uintptr_t)item != 0 || down % item != 0 || right % item != 0
        || operand->batch_step % item != 0)
        return false;
    operand->transposed = right != item || (rows > 1 && down < columns * item);
    Py_ssize_t step = (operand->transposed ? right : down) / item, least = operand->transposed ? rows : columns;
    operand->step = step > least ? step : least;
    return operand->transposed ? down == item && (columns == 1 || right >= rows * item)
                               : right == item && (rows == 1 || down >= columns * item);
}

/* How a product is cut: along its longer side, into several pieces for each thread where they are large enough. */
static void cut(Product *job, Py_ssize_t batches)
{
    Py_ssize_t threads = threads_get(), whole = job->m >= job->n ? job->m : job->n;
    job->by_columns = job->n > job->m;
    job->piece = whole / (4 * threads);
    if (job->piece < LEAST_PIECE)
        job->piece = LEAST_PIECE;
    if (job->piece * threads > whole)
        job->piece = (whole + threads - 1) / threads;
    if (threads == 1 || batches >= 2 * threads)
        job->piece = whole;
    job->piece = (job->piece + PIECE_STEP - 1) / PIECE_STEP * PIECE_STEP;
    job->pieces = (whole + job->piece - 1) / job->piece;
}

static PyObject *product_of(PyObject *const *args, int ndim)
{
    if ((threads_get() == 1 && machine != MACHINE_AVX512) || !blas_ready())
        return DECLINED;
    Arrays all = {.count = 0};
    Array a, b, out;
    Product job;
    PyObject *result = DECLINED;
    array_open(&all, &a, args[0], false);
    array_open(&all, &b, args[1], false);
    if (!all.failed && (a.type == 'f' || a.type == 'd') && b.type == a.type && a.ndim == ndim && b.ndim == ndim
        && a.size > 0 && b.size > 0 && a.shape[ndim - 1] == b.shape[ndim - 2] && (ndim == 2 || a.shape[0] == b.shape[0])
        && a.shape[ndim - 2] > 1 && b.shape[ndim - 1] > 1 && read_operand(&job.a, &a) && read_operand(&job.b, &b)
        && !(a.data == b.data && job.a.transposed != job.b.transposed)) { /* numpy makes that one symmetric */
        Py_ssize_t batches = ndim == 3 ? a.shape[0] : 1;
        job.m = a.shape[ndim - 2];
        job.k = a.shape[ndim - 1];
        job.n = b.shape[ndim - 1];
        job.type = a.type;
        Py_ssize_t shape[3] = {batches, job.m, job.n};
        result = array_new(&all, &out, ndim, shape + 3 - ndim, a.type, false);
        if (result != NULL) {
            job.out = out.data;
            cut(&job, batches);
            double flops = 2.0 * (double)job.m * (double)job.n * (double)job.k / (double)job.pieces;
            run_loop(run_pieces, &job, batches * job.pieces, flops / (FLOPS_PER_NS / (double)(a.itemsize / 4)));
        }
    }
    arrays_close(&all);
    return result;
}

/* matrix_product(a, b): both (rows, columns) */
static PyObject *matrix_product(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return product_of(args, 2);
}

/* batch_product(a, b): both (batch, rows, columns) */
static PyObject *batch_product(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return product_of(args, 3);
}

const KernelEntry PRODUCT_KERNELS[] = {
    {"matrix_product", matrix_product, 2},
    {"batch_product", batch_product, 2},
    {NULL, NULL, 0},
};
