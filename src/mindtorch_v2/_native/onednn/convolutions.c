/* Convolutions of 1 to 3 dimensions with groups, plain and transposed, and their gradients.

   The three passes of a plain convolution are all there is: the transposed one runs backward what the plain one runs
   forward. */
#include "onednn.h"

enum { OP_FORWARD = 1, OP_DATA, OP_WEIGHTS };

/* A plain convolution of images x (N, C, space) by weights w (O, C / groups, kernel) to y (N, O, space). */
typedef struct {
    View x, w, bias, y;
    int64_t strides[DIMS], dilates[DIMS], left[DIMS], right[DIMS];
    int64_t groups;
    int space;
    bool has_bias, channels_last;
} Convolution;

static int describe_forward(const Convolution *c, Handle x, Handle w, Handle bias, Handle y, Handle *made)
{
    return dnnl.convolution_forward_primitive_desc_create(made, engine, FORWARD_TRAINING, CONVOLUTION_DIRECT, x, w,
                                                          bias, y, c->strides, c->dilates, c->left, c->right,
                                                          attributes);
}

static int describe_plain(const Job *job, Handle *desc, Handle *made)
{
    return describe_forward(job->sizes, desc[0], desc[1], desc[2], desc[3], made);
}

static int describe_data(const Job *job, Handle *desc, Handle *made)
{
    const Convolution *c = job->sizes;
    Handle forward = NULL;
    int failed = describe_forward(c, desc[0], desc[1], NULL, desc[3], &forward)
                 || dnnl.convolution_backward_data_primitive_desc_create(made, engine, CONVOLUTION_DIRECT, desc[0],
                                                                         desc[1], desc[3], c->strides, c->dilates,
                                                                         c->left, c->right, forward, attributes);
    if (forward)
        dnnl.primitive_desc_destroy(forward);
    return failed;
}

static int describe_weights(const Job *job, Handle *desc, Handle *made)
{
    const Convolution *c = job->sizes;
    Handle forward = NULL;
    int failed = describe_forward(c, desc[0], desc[1], desc[2], desc[3], &forward)
                 || dnnl.convolution_backward_weights_primitive_desc_create(
                     made, engine, CONVOLUTION_DIRECT, desc[0], desc[1], desc[2], desc[3], c->strides, c->dilates,
                     c->left, c->right, forward, attributes);
    if (forward)
        dnnl.primitive_desc_destroy(forward);
    return failed;
}

/* The plan of one pass. Which arguments the four operands are, and which are written, is the pass's. */
static Plan *find_pass(Job *job, Convolution *c, int op)
{
    static const int ARGUMENTS[][4] = {
        [OP_FORWARD] = {ARG_SRC, ARG_WEIGHTS, ARG_BIAS, ARG_DST},
        [OP_DATA] = {ARG_DIFF_SRC, ARG_WEIGHTS, ARG_BIAS, ARG_DIFF_DST},
        [OP_WEIGHTS] = {ARG_SRC, ARG_DIFF_WEIGHTS, ARG_DIFF_BIAS, ARG_DIFF_DST},
    };
    bool is_weights = op == OP_WEIGHTS;
    job->count = 0;
    job->sizes = c;
    job->describe = op == OP_FORWARD ? describe_plain : op == OP_DATA ? describe_data : describe_weights;
    key_begin(&job->key, op);
    key_add(&job->key, c->groups);
    for (int i = 0; i < c->space; i++) {
        key_add(&job->key, c->strides[i] << 32 | c->dilates[i]);
        key_add(&job->key, c->left[i]);
    }
    job_add(job, ARGUMENTS[op][0], &c->x, op == OP_DATA, c->channels_last);
    job_add(job, ARGUMENTS[op][1], &c->w, is_weights, false);
    job_add(job, ARGUMENTS[op][2], c->has_bias && op != OP_DATA ? &c->bias : NULL, is_weights, true);
    job_add(job, ARGUMENTS[op][3], &c->y, op == OP_FORWARD, c->channels_last);
    return plan_find(job);
}

/* --- arguments ---------------------------------------------------------------------------------- */
typedef struct {
    PyObject *stride, *padding, *dilation, *groups;
} Lists;

/* Reads a list of sizes, of which one may stand for all dimensions. */
static bool read_sizes(PyObject *object, int64_t *sizes, int space, int64_t least)
{
    Py_ssize_t given[3];
    int count = as_indices(object, given, space);
    if (count != 1 && count != space)
        return false;
    for (int i = 0; i < space; i++) {
        sizes[i] = given[count == 1 ? 0 : i];
        if (sizes[i] < least)
            return false;
    }
    return true;
}

/* Weights as (groups, O / groups, C / groups, kernel). */
static void split_groups(View *w, int64_t groups)
{
    memmove(w->dims + 1, w->dims, (size_t)w->ndim * sizeof *w->dims);
    memmove(w->strides + 1, w->strides, (size_t)w->ndim * sizeof *w->strides);
    w->ndim++;
    w->dims[0] = groups;
    w->dims[1] /= groups;
    w->strides[0] = w->strides[1] * w->dims[1];
}

/* Fills what follows from the views x, w and y, whose shapes are known: false where they do not fit together. */
static bool complete(Convolution *c, const Lists *lists)
{
    int space = c->space = c->x.ndim - 2;
    Py_ssize_t groups;
    if (space < 1 || space > 3 || c->w.ndim != c->x.ndim || c->y.ndim != c->x.ndim || c->x.type != c->w.type
        || c->y.type != c->x.type || !as_index(lists->groups, &groups) || groups < 1
        || !read_sizes(lists->stride, c->strides, space, 1) || !read_sizes(lists->padding, c->left, space, 0)
        || !read_sizes(lists->dilation, c->dilates, space, 1))
        return false;
    c->groups = groups;
    if (c->x.dims[0] != c->y.dims[0] || c->x.dims[1] != c->w.dims[1] * c->groups || c->w.dims[0] % c->groups
        || c->y.dims[1] != c->w.dims[0])
        return false;
    for (int i = 0; i < space; i++) {
        int64_t reach = (c->w.dims[2 + i] - 1) * c->dilates[i] + 1;
        c->right[i] = (c->y.dims[2 + i] - 1) * c->strides[i] + reach - c->x.dims[2 + i] - c->left[i];
        if (reach > c->x.dims[2 + i] + 2 * c->left[i] || c->y.dims[2 + i] < 1)
            return false;
        c->dilates[i]--; /* the library counts the elements between */
    }
    if (c->groups > 1)
        split_groups(&c->w, c->groups);
    return true;
}

static bool read_bias(Convolution *c, PyObject *bias, const View *w)
{
    c->has_bias = bias != Py_None;
    return !c->has_bias
           || (view_read(&c->bias, bias) && c->bias.ndim == 1 && c->bias.dims[0] == w->dims[0]
               && c->bias.type == w->type && c->bias.strides[0] == 1);
}

/* --- passes ------------------------------------------------------------------------------------- */
typedef struct {
    Convolution c;
    Job job;
    Plan *plan;
    View weights; /* as the array has them, without a dimension of groups */
    int op;
} Pass;

/* Whether this package's own kernels are quicker, as measured (docs/onednn.md). With few positions and many
   channels the gradient of the weights is mostly moved between layouts; images of a few channels fill no blocks. */
static bool is_better_left(const Convolution *c, int op)
{
    int64_t positions = c->y.size / c->y.dims[1];
    return c->x.type == TYPE_F32
           && ((op == OP_WEIGHTS && positions <= 64 && c->groups == 1)
               || (op == OP_DATA && c->x.dims[1] < 8 && c->groups == 1));
}

/* Finds the plan of a pass over arrays of these shapes; the one that the pass writes needs no data. False where there
 * is none. */
static bool prepare(Pass *pass, int op, const View *x, const View *w, const View *y, const Lists *lists)
{
    Convolution *c = &pass->c;
    pass->op = op;
    c->x = *x, c->w = *w, c->y = *y;
    c->bias = (View){
        .ndim = 1, .type = x->type, .dims = {w->dims[0]}, .strides = {1}, .size = w->dims[0], .data = c->bias.data};
    View *written = op == OP_DATA ? &c->x : op == OP_WEIGHTS ? &c->w : &c->y;
    view_lay_out(written, c->channels_last && written->ndim > 3);
    pass->weights = c->w;
    if (!complete(c, lists) || is_better_left(c, op))
        return false;
    pass->plan = find_pass(&pass->job, c, op);
    return pass->plan != NULL;
}

/* Computes the result of a prepared pass; with its bias in made[1] for that of weights. False with an error. */
static bool run_pass(Pass *pass, PyObject **made)
{
    Convolution *c = &pass->c;
    View *written = pass->op == OP_DATA ? &c->x : pass->op == OP_WEIGHTS ? &pass->weights : &c->y;
    made[0] = view_allocate(written);
    if (made[0] == NULL)
        return false;
    c->w.data = pass->weights.data;
    if (pass->op == OP_WEIGHTS && c->has_bias && (made[1] = view_allocate(&c->bias)) == NULL)
        return false;
    return plan_run(pass->plan, &pass->job) == 0;
}

/* The shape of a plain convolution's output; false where there is none. */
static bool shape_output(View *y, const View *x, const View *w, const Lists *lists)
{
    int64_t step[DIMS], pad[DIMS], apart[DIMS];
    int space = x->ndim - 2;
    *y = *x;
    y->dims[1] = w->dims[0];
    if (space < 1 || w->ndim != x->ndim || !read_sizes(lists->stride, step, space, 1)
        || !read_sizes(lists->padding, pad, space, 0) || !read_sizes(lists->dilation, apart, space, 1))
        return false;
    y->size = y->dims[0] * y->dims[1];
    for (int i = 0; i < space; i++) {
        y->dims[2 + i] = (x->dims[2 + i] + 2 * pad[i] - apart[i] * (w->dims[2 + i] - 1) - 1) / step[i] + 1;
        y->size *= y->dims[2 + i];
    }
    return y->size > 0;
}

/* --- kernels ------------------------------------------------------------------------------------ */
/* mkldnn_convolution(self, weight, bias, padding, stride, dilation, groups) */
static PyObject *convolution(PyObject *const *args, PyObject *fallback)
{
    (void)fallback;
    Pass pass = {.op = 0};
    View x, w, y;
    Lists lists = {args[4], args[3], args[5], args[6]};
    if (!view_read(&x, args[0]) || !view_read(&w, args[1]) || !read_bias(&pass.c, args[2], &w)
        || !shape_output(&y, &x, &w, &lists))
        return DECLINED;
    pass.c.channels_last = is_channels_last(&x) || is_channels_last(&w);
    if (!prepare(&pass, OP_FORWARD, &x, &w, &y, &lists))
        return DECLINED;
    PyObject *made[2] = {NULL, NULL};
    if (!run_pass(&pass, made))
        Py_CLEAR(made[0]);
    return made[0];
}

static bool read_mask(PyObject *object, bool *mask)
{
    if (!PyList_Check(object) && !PyTuple_Check(object))
        return false;
    for (int i = 0; i < 3; i++)
        mask[i] = PySequence_Fast_GET_SIZE(object) == 3 && PySequence_Fast_GET_ITEM(object, i) == Py_True;
    return PySequence_Fast_GET_SIZE(object) == 3;
}

/* The gradients that are left, from the fallback kernel. */
static bool run_rest(PyObject *const *args, const bool *rest, PyObject *fallback, PyObject **made)
{
    PyObject *given[11];
    memcpy(given, args, sizeof given);
    given[10] = Py_BuildValue("[OOO]", rest[0] ? Py_True : Py_False, rest[1] ? Py_True : Py_False,
                              rest[2] ? Py_True : Py_False);
    PyObject *all = given[10] ? PyObject_Vectorcall(fallback, given, 11, NULL) : NULL;
    Py_XDECREF(given[10]);
    for (int i = 0; all != NULL && i < 3; i++)
        if (rest[i])
            made[i] = PySequence_GetItem(all, i);
    Py_XDECREF(all);
    return all != NULL && !PyErr_Occurred();
}

/* convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
   groups, output_mask). The gradient of a transposed convolution with respect to its input is a plain convolution, and
   the images of its weights are the gradients. */
static PyObject *convolution_backward(PyObject *const *args, PyObject *fallback)
{
    (void)fallback;
    Pass to_input = {.op = 0}, to_weight = {.op = 0};
    bool mask[3], transposed = args[7] == Py_True;
    View grad, input, w;
    Lists lists = {args[4], args[5], args[6], args[9]};
    if (!read_mask(args[10], mask) || !view_read(&grad, args[0]) || !view_read(&input, args[1])
        || !view_read(&w, args[2]) || grad.ndim < 3)
        return DECLINED;
    const View *x = transposed ? &grad : &input, *y = transposed ? &input : &grad;
    to_input.c.channels_last = to_weight.c.channels_last = is_channels_last(&input) || is_channels_last(&w);
    to_weight.c.has_bias = mask[2] && !transposed;
    bool runs[2] = {mask[0] && prepare(&to_input, transposed ? OP_FORWARD : OP_DATA, x, &w, y, &lists),
                    mask[1] && prepare(&to_weight, OP_WEIGHTS, x, &w, y, &lists)};
    if (!runs[0] && !runs[1])
        return DECLINED;
    PyObject *made[3] = {NULL, NULL, NULL}, *result = NULL;
    bool done = (!runs[0] || run_pass(&to_input, made)) && (!runs[1] || run_pass(&to_weight, made + 1));
    bool rest[3] = {mask[0] && !made[0], mask[1] && !made[1], mask[2] && !made[2]};
    if (done && (rest[0] || rest[1] || rest[2]))
        done = run_rest(args, rest, fallback, made);
    if (done)
        result =
            Py_BuildValue("OOO", made[0] ? made[0] : Py_None, made[1] ? made[1] : Py_None, made[2] ? made[2] : Py_None);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(made[i]);
    return result;
}

const KernelEntry CONVOLUTIONS[] = {
    {"mkldnn_convolution", convolution, 7, 1, false},
    {"convolution_backward", convolution_backward, 11, 1, false},
    {NULL, NULL, 0, 0, false},
};
