/* Functions of single elements. */
#include "onednn.h"

enum { OP_ELEMENTWISE = 20, OP_ELEMENTWISE_BACKWARD };

typedef struct {
    int algorithm;
} Function;

static Handle forward_of(const Function *f, Handle src)
{
    Handle made = NULL;
    return dnnl.eltwise_forward_primitive_desc_create(&made, engine, FORWARD_TRAINING, f->algorithm, src, src, 0, 0,
                                                      attributes)
               ? NULL
               : made;
}

static int describe_forward(const Job *job, Handle *desc, Handle *made)
{
    const Function *f = job->sizes;
    return dnnl.eltwise_forward_primitive_desc_create(made, engine, FORWARD_INFERENCE, f->algorithm, desc[0], desc[1],
                                                      f->algorithm == SWISH ? 1 : 0, 0, attributes);
}

static int describe_backward(const Job *job, Handle *desc, Handle *made)
{
    const Function *f = job->sizes;
    Handle forward = forward_of(f, desc[1]);
    int failed = forward == NULL
                 || dnnl.eltwise_backward_primitive_desc_create(made, engine, f->algorithm, desc[2], desc[0], desc[1],
                                                                0, 0, forward, attributes);
    if (forward)
        dnnl.primitive_desc_destroy(forward);
    return failed;
}

/* All elements in one row: shapes do not matter. */
static void flatten(View *view)
{
    view->ndim = 1;
    view->dims[0] = view->size;
    view->strides[0] = 1;
}

static PyObject *apply(PyObject *array, int algorithm)
{
    View x, y;
    if (!view_read(&x, array) || !is_contiguous(&x))
        return DECLINED;
    Function f = {.algorithm = algorithm};
    Job job = {.count = 0, .describe = describe_forward, .sizes = &f};
    View shape = view_like(&x);
    flatten(&x);
    y = x;
    key_begin(&job.key, OP_ELEMENTWISE);
    key_add(&job.key, algorithm);
    job_add(&job, ARG_SRC, &x, false, true);
    job_add(&job, ARG_DST, &y, true, true);
    Plan *plan = plan_find(&job);
    if (plan == NULL)
        return DECLINED;
    PyObject *made = view_allocate(&shape);
    y.data = shape.data;
    if (made != NULL && plan_run(plan, &job) < 0)
        Py_CLEAR(made);
    return made;
}

static int gelu_algorithm(PyObject *approximate)
{
    return PyUnicode_Check(approximate) && PyUnicode_CompareWithASCIIString(approximate, "tanh") == 0 ? GELU_TANH
                                                                                                      : GELU_ERF;
}

/* gelu_backward(grad_output, self, approximate) */
static PyObject *gelu_backward(PyObject *const *args, PyObject *fallback)
{
    (void)fallback;
    View grad, x, y;
    if (!view_read(&grad, args[0]) || !view_read(&x, args[1]) || !is_contiguous(&grad) || !is_contiguous(&x)
        || grad.type != x.type || grad.ndim != x.ndim || memcmp(grad.dims, x.dims, sizeof *x.dims * (size_t)x.ndim))
        return DECLINED;
    Function f = {.algorithm = gelu_algorithm(args[2])};
    Job job = {.count = 0, .describe = describe_backward, .sizes = &f};
    View shape = view_like(&x);
    flatten(&grad);
    flatten(&x);
    y = x;
    key_begin(&job.key, OP_ELEMENTWISE_BACKWARD);
    key_add(&job.key, f.algorithm);
    job_add(&job, ARG_DIFF_DST, &grad, false, true);
    job_add(&job, ARG_SRC, &x, false, true);
    job_add(&job, ARG_DIFF_SRC, &y, true, true);
    Plan *plan = plan_find(&job);
    if (plan == NULL)
        return DECLINED;
    PyObject *made = view_allocate(&shape);
    y.data = shape.data;
    if (made != NULL && plan_run(plan, &job) < 0)
        Py_CLEAR(made);
    return made;
}

#define UNARY(name, algorithm)                                                                                         \
    static PyObject *name(PyObject *const *args, PyObject *fallback)                                                   \
    {                                                                                                                  \
        (void)fallback;                                                                                                \
        return apply(args[0], algorithm);                                                                              \
    }
UNARY(take_tanh, TANH)
UNARY(sigmoid, SIGMOID)
UNARY(silu, SWISH)
UNARY(take_log, LOG)
UNARY(mish, MISH)

/* The library's relu, exp and softmax lose NaN, its gelu makes NaN of infinity: those are left to this package's own.
   Which of the others beat this package's own kernels, and from how many elements on, was measured
   (docs/onednn.md). */
const KernelEntry ELEMENTWISE[] = {
    {"gelu_backward", gelu_backward, 3, 1 << 14, false},
    {"mish", mish, 1, 1 << 10, false},
    {"tanh", take_tanh, 1, 1 << 10, true},
    {"sigmoid", sigmoid, 1, 1 << 10, true},
    {"log", take_log, 1, 1 << 10, true},
    {"silu", silu, 1, 1 << 10, true},
    {NULL, NULL, 0, 0, false},
};
