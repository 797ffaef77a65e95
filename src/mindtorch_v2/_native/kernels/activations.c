/* Activation functions and their gradients: one pass over arrays whose rows are contiguous. */
#include "kernels.h"

typedef struct {
    const void *a, *b;
    void *out;
    double number, second, third;
} Elementwise;

typedef struct {
    double number, second, third;
} Numbers;

#define LOOPS "activations.inc"
#include "each_type.h"

/* The loop of a function for a type, and what a round of it costs (nanoseconds). */
typedef struct {
    loop_function (*loop)(char type);
    double cost_single, cost_double;
} Loops;

/* Whether the elements of every row lie side by side: a contiguous array, or a part of a matrix's columns. */
static bool has_rows(const Array *a)
{
    return is_real(a)
           || ((a->type == 'f' || a->type == 'd') && a->ndim == 2 && a->strides[1] == a->itemsize && a->size > 0
               && a->strides[0] > 0 && (uintptr_t)a->data % (uintptr_t)a->itemsize == 0
               && a->strides[0] % a->itemsize == 0);
}

/* Runs the loop over arrays of one shape; where one of them is not contiguous, row by row. `b` may be NULL. */
static void start(const Loops *loops, const Array *a, const Array *b, const Array *out, Numbers numbers)
{
    Elementwise job = {.a = a->data,
                       .b = b ? b->data : NULL,
                       .out = out->data,
                       .number = numbers.number,
                       .second = numbers.second,
                       .third = numbers.third};
    loop_function loop = loops->loop(a->type);
    if (a->contiguous && out->contiguous && (b == NULL || b->contiguous)) {
        run_loop(loop, &job, a->size, a->type == 'f' ? loops->cost_single : loops->cost_double);
        return;
    }
    for (Py_ssize_t row = 0; row < a->shape[0]; row++) {
        job.a = a->data + row * a->strides[0];
        job.b = b ? b->data + row * b->strides[0] : NULL;
        job.out = out->data + row * out->strides[0];
        loop(&job, 0, a->shape[1]);
    }
}

/* out = f(x), or x = f(x) */
static PyObject *one_operand_with(const Loops *loops, PyObject *object, bool in_place, Numbers numbers)
{
    Arrays all = {.count = 0};
    Array x, out;
    PyObject *result = DECLINED;
    array_open(&all, &x, object, in_place);
    if (!all.failed && has_rows(&x)) {
        if (in_place) {
            out = x;
            result = Py_NewRef(Py_None);
        } else {
            result = array_new(&all, &out, x.ndim, x.shape, x.type, false);
        }
        if (result != NULL)
            start(loops, &x, NULL, &out, numbers);
    }
    arrays_close(&all);
    return result;
}

static PyObject *one_operand(const Loops *loops, PyObject *object, bool in_place)
{
    return one_operand_with(loops, object, in_place, (Numbers){0});
}

/* Whether all elements are one number in memory, as in the gradient of a sum. */
static bool is_one_number(const Array *a)
{
    if ((a->type != 'f' && a->type != 'd') || a->size == 0 || (uintptr_t)a->data % (uintptr_t)a->itemsize != 0)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->strides[i] != 0 && a->shape[i] > 1)
            return false;
    return true;
}

/* out = the number of `from` in every element */
static void spread(const Array *from, Array *out)
{
    if (from->type == 'f')
        for (Py_ssize_t i = 0; i < out->size; i++)
            ((float *)out->data)[i] = *(const float *)from->data;
    else
        for (Py_ssize_t i = 0; i < out->size; i++)
            ((double *)out->data)[i] = *(const double *)from->data;
}

/* out = f(a, b): of gradients, `a` is the gradient of the result and `b` what the forward pass kept */
static PyObject *gradient(const Loops *loops, PyObject *gradient_object, PyObject *kept_object, Numbers numbers)
{
    Arrays all = {.count = 0};
    Array g, kept, out;
    PyObject *result = DECLINED;
    array_open(&all, &g, gradient_object, false);
    array_open(&all, &kept, kept_object, false);
    bool one = !all.failed && !has_rows(&g) && is_one_number(&g);
    if (!all.failed && (one || has_rows(&g)) && has_rows(&kept) && kept.type == g.type && same_shape(&kept, &g)) {
        result = array_new(&all, &out, g.ndim, g.shape, g.type, false);
        if (result != NULL && one) {
            spread(&g, &out);
            g = out;
        }
        if (result != NULL)
            start(loops, &g, &kept, &out, numbers);
    }
    arrays_close(&all);
    return result;
}

#define COSTS(name, single, twice)                                                                                     \
    PICKER(name##_loop)                                                                                                \
    static const Loops name##_loops = {name##_loop_pick, single, twice};
#define OUT_OF_PLACE(name)                                                                                             \
    static PyObject *name##_kernel(PyObject *const *args, Py_ssize_t count)                                            \
    {                                                                                                                  \
        (void)count;                                                                                                   \
        return one_operand(&name##_loops, args[0], false);                                                             \
    }
#define IN_PLACE(name)                                                                                                 \
    static PyObject *name##_in_place(PyObject *const *args, Py_ssize_t count)                                          \
    {                                                                                                                  \
        (void)count;                                                                                                   \
        return one_operand(&name##_loops, args[0], true);                                                              \
    }
#define GRADIENT(name)                                                                                                 \
    static PyObject *name##_kernel(PyObject *const *args, Py_ssize_t count)                                            \
    {                                                                                                                  \
        (void)count;                                                                                                   \
        return gradient(&name##_loops, args[0], args[1], (Numbers){0});                                                \
    }

COSTS(relu, 0.3, 0.6)
COSTS(exp, 0.8, 2)
COSTS(sigmoid, 1, 3)
COSTS(silu, 1, 3)
COSTS(gelu, 1.5, 25)
COSTS(gelu_tanh, 1.2, 3)
COSTS(threshold_backward, 0.4, 0.8)
COSTS(sigmoid_backward, 0.4, 0.8)
COSTS(tanh_backward, 0.4, 0.8)
COSTS(silu_backward, 1.2, 3)
COSTS(gelu_backward, 2, 27)
COSTS(gelu_tanh_backward, 1.5, 3)
COSTS(leaky_relu, 0.3, 0.6)
COSTS(hardtanh, 0.3, 0.6)
COSTS(hardswish, 0.4, 0.8)
COSTS(leaky_relu_backward, 0.4, 0.8)
COSTS(hardtanh_backward, 0.4, 0.8)
COSTS(hardswish_backward, 0.5, 1)

COSTS(reciprocal, 0.3, 0.8)
COSTS(rsqrt, 0.4, 1)
COSTS(sign, 0.3, 0.6)
COSTS(log1p, 1, 12)
COSTS(softplus, 1.5, 20)
COSTS(softplus_backward, 1, 3)
COSTS(elu, 1, 12)
COSTS(elu_backward, 1, 3)
COSTS(nan_to_num, 0.3, 0.6)
COSTS(smooth_l1, 0.4, 0.8)
COSTS(smooth_l1_slope, 0.4, 0.8)
COSTS(huber, 0.4, 0.8)
COSTS(huber_slope, 0.4, 0.8)

OUT_OF_PLACE(reciprocal)
OUT_OF_PLACE(rsqrt)
OUT_OF_PLACE(sign)
OUT_OF_PLACE(log1p)
OUT_OF_PLACE(exp)
OUT_OF_PLACE(relu)
IN_PLACE(relu)
OUT_OF_PLACE(sigmoid)
IN_PLACE(sigmoid)
OUT_OF_PLACE(silu)
IN_PLACE(silu)
GRADIENT(sigmoid_backward)
GRADIENT(tanh_backward)
GRADIENT(silu_backward)
OUT_OF_PLACE(hardswish)
GRADIENT(hardswish_backward)

/* 0 for gelu's exact form, 1 for the tanh form, -1 for what is neither. */
static int gelu_form(PyObject *word)
{
    if (!PyUnicode_Check(word))
        return -1;
    return PyUnicode_CompareWithASCIIString(word, "none") == 0   ? 0
           : PyUnicode_CompareWithASCIIString(word, "tanh") == 0 ? 1
                                                                 : -1;
}

static PyObject *gelu_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    int form = gelu_form(args[1]);
    return form < 0 ? DECLINED : one_operand(form ? &gelu_tanh_loops : &gelu_loops, args[0], false);
}

static PyObject *gelu_backward_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    int form = gelu_form(args[2]);
    return form < 0 ? DECLINED
                    : gradient(form ? &gelu_tanh_backward_loops : &gelu_backward_loops, args[0], args[1], (Numbers){0});
}

static PyObject *threshold_backward_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double threshold;
    return as_double(args[2], &threshold)
               ? gradient(&threshold_backward_loops, args[0], args[1], (Numbers){.number = threshold})
               : DECLINED;
}

/* leaky_relu(x, slope) */
static PyObject *leaky_relu_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Numbers numbers = {0};
    return as_double(args[1], &numbers.number) ? one_operand_with(&leaky_relu_loops, args[0], false, numbers)
                                               : DECLINED;
}

/* leaky_relu_backward(gradient, x, slope, whether x is the result): for that the slope has to be positive */
static PyObject *leaky_relu_backward_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Numbers numbers = {0};
    bool fits = as_double(args[2], &numbers.number) && (args[3] == Py_False || numbers.number >= 0);
    return fits ? gradient(&leaky_relu_backward_loops, args[0], args[1], numbers) : DECLINED;
}

/* hardtanh(x, low, high), which is also clamp with two numbers. Every result of a limit that is NaN is NaN: left to the
 * function in Python. */
static PyObject *hardtanh(PyObject *const *args, bool in_place)
{
    Numbers numbers = {0};
    bool fits = as_double(args[1], &numbers.number) && as_double(args[2], &numbers.second) && !isnan(numbers.number)
                && !isnan(numbers.second);
    return fits ? one_operand_with(&hardtanh_loops, args[0], in_place, numbers) : DECLINED;
}

static PyObject *hardtanh_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return hardtanh(args, false);
}

static PyObject *hardtanh_in_place(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return hardtanh(args, true);
}

/* hardtanh_backward(gradient, x, low, high) */
static PyObject *hardtanh_backward_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Numbers numbers = {0};
    bool fits = as_double(args[2], &numbers.number) && as_double(args[3], &numbers.second);
    return fits ? gradient(&hardtanh_backward_loops, args[0], args[1], numbers) : DECLINED;
}

/* The numbers that follow the arrays of a call; false for what is no number. */
static bool read_numbers(PyObject *const *args, int count, Numbers *numbers)
{
    double *const fields[] = {&numbers->number, &numbers->second, &numbers->third};
    for (int i = 0; i < count; i++)
        if (!as_double(args[i], fields[i]))
            return false;
    return true;
}

/* A function of an array, or of two of one shape, and some numbers. */
#define WITH_NUMBERS(name, arrays, count, fits)                                                                        \
    static PyObject *name##_kernel(PyObject *const *args, Py_ssize_t given)                                            \
    {                                                                                                                  \
        (void)given;                                                                                                   \
        Numbers numbers = {0};                                                                                         \
        if (!read_numbers(args + arrays, count, &numbers) || !(fits))                                                  \
            return DECLINED;                                                                                           \
        return arrays == 1 ? one_operand_with(&name##_loops, args[0], false, numbers)                                  \
                           : gradient(&name##_loops, args[0], args[arrays - 1], numbers);                              \
    }

WITH_NUMBERS(softplus, 1, 2, numbers.number > 0)
WITH_NUMBERS(softplus_backward, 2, 2, numbers.number > 0)
WITH_NUMBERS(elu, 1, 3, true)
WITH_NUMBERS(nan_to_num, 1, 3, true)
WITH_NUMBERS(smooth_l1, 2, 1, numbers.number > 0)
WITH_NUMBERS(smooth_l1_slope, 2, 2, numbers.number > 0)
WITH_NUMBERS(huber, 2, 1, numbers.number > 0)
WITH_NUMBERS(huber_slope, 2, 2, numbers.number > 0)

/* elu_backward(gradient, alpha, scale, input_scale, whether x is the result, x) */
static PyObject *elu_backward_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Numbers numbers = {0};
    bool fits = args[4] == Py_False && read_numbers(args + 1, 3, &numbers);
    return fits ? gradient(&elu_backward_loops, args[0], args[5], numbers) : DECLINED;
}

const KernelEntry ACTIVATION_KERNELS[] = {
    {"reciprocal", reciprocal_kernel, 1},
    {"rsqrt", rsqrt_kernel, 1},
    {"sign", sign_kernel, 1},
    {"log1p", log1p_kernel, 1},
    {"softplus", softplus_kernel, 3},
    {"softplus_backward", softplus_backward_kernel, 4},
    {"elu", elu_kernel, 4},
    {"elu_backward", elu_backward_kernel, 6},
    {"nan_to_num", nan_to_num_kernel, 4},
    {"smooth_l1", smooth_l1_kernel, 3},
    {"smooth_l1_slope", smooth_l1_slope_kernel, 4},
    {"huber", huber_kernel, 3},
    {"huber_slope", huber_slope_kernel, 4},
    {"relu", relu_kernel, 1},
    {"relu_", relu_in_place, 1},
    {"exp", exp_kernel, 1},
    {"sigmoid", sigmoid_kernel, 1},
    {"sigmoid_", sigmoid_in_place, 1},
    {"silu", silu_kernel, 1},
    {"silu_", silu_in_place, 1},
    {"gelu", gelu_kernel, 2},
    {"gelu_backward", gelu_backward_kernel, 3},
    {"threshold_backward", threshold_backward_kernel, 3},
    {"sigmoid_backward", sigmoid_backward_kernel, 2},
    {"tanh_backward", tanh_backward_kernel, 2},
    {"silu_backward", silu_backward_kernel, 2},
    {"leaky_relu", leaky_relu_kernel, 2},
    {"leaky_relu_backward", leaky_relu_backward_kernel, 4},
    {"hardtanh", hardtanh_kernel, 3},
    {"hardtanh_", hardtanh_in_place, 3},
    {"hardtanh_backward", hardtanh_backward_kernel, 4},
    {"hardswish", hardswish_kernel, 1},
    {"hardswish_backward", hardswish_backward_kernel, 2},
    {NULL, NULL, 0},
};
