/* Sums, differences, products and quotients of two arrays of many elements, one of which may have one number for a
   whole row (messages times the weight of their edge) or one row for all (a bias). numpy begins anew with every row;
   with one thread, equal shapes are left to it. */
#include "kernels.h"

#define MAX_DIMS 8
#define LEAST_LENGTH 4 /* of a row */
#define FLAT_LENGTH 4096
#define LEAST_SPREAD 16 /* elements of each of two arrays, */
#define SPREAD 65536    /* and their product, for results that may be large though both are small */

typedef struct {
    const char *data;
    Py_ssize_t outer[MAX_DIMS]; /* elements from one row to the next, per dimension outside the rows */
    Py_ssize_t column;          /* and within a row: 1, or 0 for one number */
} RowOperand;

typedef struct {
    RowOperand a, b;
    char *out;
    int ndim; /* of the dimensions outside the rows */
    Py_ssize_t shape[MAX_DIMS];
    Py_ssize_t length, total; /* of a row; of all, where the last row is shorter */
} Rows;

#define LOOPS "broadcasting.inc"
#include "each_type.h"

/* The shape of the result; false where there is none or it has too many dimensions. */
static bool broadcast_shape(const Array *a, const Array *b, int *ndim, Py_ssize_t *shape)
{
    *ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    if (*ndim > MAX_DIMS || *ndim == 0)
        return false;
    for (int i = 0; i < *ndim; i++) {
        int in_a = i - (*ndim - a->ndim), in_b = i - (*ndim - b->ndim);
        Py_ssize_t m = in_a < 0 ? 1 : a->shape[in_a], n = in_b < 0 ? 1 : b->shape[in_b];
        if (m != n && m != 1 && n != 1)
            return false;
        shape[i] = m == 1 ? n : m;
    }
    return true;
}

/* The steps of an operand along the dimensions of the result, 0 where it has one element for all. False for what cannot
 * be read element by element, or lies in memory in another order than its dimensions, in which the result has to lie.
 */
static bool read_steps(const Array *array, int ndim, Py_ssize_t *steps)
{
    Py_ssize_t item = array->itemsize, before = PY_SSIZE_T_MAX;
    if ((uintptr_t)array->data % (uintptr_t)item != 0)
        return false;
    for (int i = 0; i < ndim; i++) {
        int own = i - (ndim - array->ndim);
        steps[i] = own < 0 || array->shape[own] == 1 ? 0 : array->strides[own];
        if (steps[i] < 0 || steps[i] % item != 0 || steps[i] > before)
            return false;
        before = steps[i] > 0 ? steps[i] : before;
        steps[i] /= item;
    }
    return true;
}

/* Cuts the result into rows, as long as both operands allow: neighbouring dimensions that both of them walk through as
 * one become one. False where the elements of a row do not lie side by side. */
static bool read_rows(Rows *job, const Array *a, const Array *b, int ndim, const Py_ssize_t *shape)
{
    Py_ssize_t of_a[MAX_DIMS], of_b[MAX_DIMS];
    if (shape[ndim - 1] < LEAST_LENGTH || !read_steps(a, ndim, of_a) || !read_steps(b, ndim, of_b))
        return false;
    int count = 0; /* dimensions that are left, at the front of the arrays */
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 1)
            continue;
        bool joins = count > 0 && of_a[count - 1] == of_a[i] * shape[i] && of_b[count - 1] == of_b[i] * shape[i];
        job->shape[count] = joins ? job->shape[count - 1] * shape[i] : shape[i];
        of_a[count] = of_a[i];
        of_b[count] = of_b[i];
        if (joins) {
            job->shape[count - 1] = job->shape[count];
            of_a[count - 1] = of_a[i];
            of_b[count - 1] = of_b[i];
        } else {
            count++;
        }
    }
    if (count == 0)
        return false;
    job->ndim = count - 1;
    job->length = job->shape[count - 1];
    job->a = (RowOperand){.data = a->data, .column = of_a[count - 1]};
    job->b = (RowOperand){.data = b->data, .column = of_b[count - 1]};
    memcpy(job->a.outer, of_a, sizeof of_a);
    memcpy(job->b.outer, of_b, sizeof of_b);
    return job->a.column <= 1 && job->b.column <= 1 && job->a.column + job->b.column > 0;
}

/* Whether both arrays are of some length and at least one is repeated for the elements of the other: the result may be
 * large where they are not. */
static bool arrays_spread(PyObject *a, PyObject *b)
{
    return array_size(a) >= LEAST_SPREAD && array_size(b) >= LEAST_SPREAD && array_size(a) * array_size(b) >= SPREAD
           && !arrays_match(a, b);
}

static PyObject *arithmetic(loop_function (*pick)(char), PyObject *const *args)
{
    if (!array_is_large(args[0]) && !array_is_large(args[1]) && !arrays_spread(args[0], args[1]))
        return DECLINED;
    Arrays all = {.count = 0};
    Array a, b, out;
    Rows job;
    Py_ssize_t shape[MAX_DIMS], count = 1;
    int ndim;
    PyObject *result = DECLINED;
    array_open(&all, &a, args[0], false);
    array_open(&all, &b, args[1], false);
    bool fits = !all.failed && (a.type == 'f' || a.type == 'd') && b.type == a.type && a.size > 0 && b.size > 0
                && broadcast_shape(&a, &b, &ndim, shape);
    bool flat = fits && a.contiguous && b.contiguous && same_shape(&a, &b);
    if (fits && !(flat && threads_get() == 1) && read_rows(&job, &a, &b, ndim, shape)) {
        result = array_new(&all, &out, ndim, shape, a.type, false);
        if (result != NULL) {
            job.out = out.data;
            job.total = out.size;
            if (job.ndim == 0) { /* one row: cut into pieces, which lie next to each other */
                job.ndim = 1;
                job.length = FLAT_LENGTH;
                job.shape[0] = PY_SSIZE_T_MAX;
                job.a.outer[0] = job.a.column * FLAT_LENGTH;
                job.b.outer[0] = job.b.column * FLAT_LENGTH;
            }
            count = (job.total + job.length - 1) / job.length;
            run_loop(pick(a.type), &job, count, 3 + 0.05 * (double)(job.length * a.itemsize));
        }
    }
    arrays_close(&all);
    return result;
}

#define ARITHMETIC(name)                                                                                               \
    PICKER(name##_rows_of)                                                                                             \
    static PyObject *name##_kernel(PyObject *const *args, Py_ssize_t count)                                            \
    {                                                                                                                  \
        (void)count;                                                                                                   \
        return arithmetic(name##_rows_of_pick, args);                                                                  \
    }

ARITHMETIC(add)
ARITHMETIC(sub)
ARITHMETIC(mul)
ARITHMETIC(div)

const KernelEntry BROADCASTING_KERNELS[] = {
    {"add", add_kernel, 2}, {"sub", sub_kernel, 2}, {"mul", mul_kernel, 2}, {"div", div_kernel, 2}, {NULL, NULL, 0},
};
