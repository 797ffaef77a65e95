/* Activation functions and their gradients: one pass over contiguous arrays. */
#include "kernels.h"

typedef struct {
    const void *a, *b;
    void *out;
    double number;
} Elementwise;

#define LOOPS "activations.inc"
#include "each_type.h"

/* The loop of a function for a type, and what a round of it costs (nanoseconds). */
typedef struct {
    loop_function (*loop)(char type);
    double cost_single, cost_double;
} Loops;

static void start(const Loops *loops, const Array *like, const Elementwise *job)
{
    run_loop(loops->loop(like->type), job, like->size, like->type == 'f' ? loops->cost_single : loops->cost_double);
}

/* out = f(x), or x = f(x) */
static PyObject *one_operand(const Loops *loops, PyObject *object, bool in_place)
{
    Arrays all = {.count = 0};
    Array x, out;
    PyObject *result = DECLINED;
    array_open(&all, &x, object, in_place);
    if (!all.failed && is_real(&x)) {
        if (in_place) {
            out = x;
            result = Py_NewRef(Py_None);
        } else {
            result = array_new(&all, &out, x.ndim, x.shape, x.type, false);
        }
        if (result != NULL) {
            Elementwise job = {.a = x.data, .out = out.data};
            start(loops, &x, &job);
        }
    }
    arrays_close(&all);
    return result;
}

/* out = f(gradient, what the forward pass kept) */
static PyObject *gradient(const Loops *loops, PyObject *gradient_object, PyObject *kept_object, double number)
{
    Arrays all = {.count = 0};
    Array g, kept, out;
    PyObject *result = DECLINED;
    array_open(&all, &g, gradient_object, false);
    array_open(&all, &kept, kept_object, false);
    if (!all.failed && is_real(&g) && is_like(&kept, &g)) {
        result = array_new(&all, &out, g.ndim, g.shape, g.type, false);
        if (result != NULL) {
            Elementwise job = {.a = g.data, .b = kept.data, .out = out.data, .number = number};
            start(loops, &g, &job);
        }
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
        return gradient(&name##_loops, args[0], args[1], 0);                                                           \
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
    return form < 0 ? DECLINED : gradient(form ? &gelu_tanh_backward_loops : &gelu_backward_loops, args[0], args[1], 0);
}

static PyObject *threshold_backward_kernel(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double threshold;
    return as_double(args[2], &threshold) ? gradient(&threshold_backward_loops, args[0], args[1], threshold) : DECLINED;
}

const KernelEntry ACTIVATION_KERNELS[] = {
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
    {NULL, NULL, 0},
};
