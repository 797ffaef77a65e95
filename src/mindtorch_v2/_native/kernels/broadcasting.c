/* Sums, differences, products and quotients of two arrays of many elements, one of which may have one number for a
   whole row (messages times the weight of their edge) or one row for all (a bias). numpy begins anew with every row;
   with one thread, equal shapes are left to it. */
#include "kernels.h"

#define MAX_DIMS 8
#define LEAST_LENGTH 4 /* of a row */
#define FLAT_LENGTH 4096

typedef struct {
    const char *data;
    Py_ssize_t row, column; /* elements from one row to the next, and within a row: 1, or 0 for one number */
} RowOperand;

typedef struct {
    RowOperand a, b;
    char *out;
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

/* How the rows of an operand lie; false where they are not all equally far from each other. */
static bool read_rows(RowOperand *operand, const Array *array, int ndim, const Py_ssize_t *shape)
{
    Py_ssize_t item = array->itemsize, steps[MAX_DIMS], inner = 1;
    if ((uintptr_t)array->data % (uintptr_t)item != 0)
        return false;
    for (int i = 0; i < ndim; i++) {
        int own = i - (ndim - array->ndim);
        steps[i] = own < 0 || array->shape[own] == 1 ? 0 : array->strides[own];
        if (steps[i] < 0 || steps[i] % item != 0)
            return false;
        steps[i] /= item;
    }
    *operand = (RowOperand){.data = array->data, .column = steps[ndim - 1]};
    bool first = true;
    for (int i = ndim - 2; i >= 0; i--) {
        if (shape[i] == 1)
            continue;
        if (first)
            operand->row = steps[i];
        else if (steps[i] != operand->row * inner)
            return false;
        first = false;
        inner *= shape[i];
    }
    return operand->column <= 1;
}

static PyObject *arithmetic(loop_function (*pick)(char), PyObject *const *args)
{
    if (!array_is_large(args[0]) && !array_is_large(args[1]))
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
    if (fits && !(flat && threads_get() == 1) && read_rows(&job.a, &a, ndim, shape)
        && read_rows(&job.b, &b, ndim, shape) && job.a.column + job.b.column > 0 && shape[ndim - 1] >= LEAST_LENGTH) {
        result = array_new(&all, &out, ndim, shape, a.type, false);
        if (result != NULL) {
            job.out = out.data;
            job.total = out.size;
            job.length = shape[ndim - 1];
            if (flat)
                job.length = job.a.row = job.b.row = FLAT_LENGTH;
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
