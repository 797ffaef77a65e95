/* The steps of an observed call, recorded around the one kernel that does them all: the plan's steps (see
 * _dispatch/steps.py). */
#include "call.h"

static int mark(Core *core, PyObject *op, PyObject *const *args, Py_ssize_t count)
{
    return core_begin_op(core, op, args, count, NULL, -1) < 0 || core_end_op(core, true) < 0 ? -1 : 0;
}

/* Runs the kernel inside an event that was begun. Memory of a new result belongs to that step. */
static PyObject *run_inside(const Call *call, Arguments *arguments, int begun)
{
    Core *core = arguments->core;
    if (begun < 0)
        return NULL;
    PyObject *made = run_kernel(call, arguments);
    if (made && call->makes == MAKES_TENSOR && core->watches_memory && watch_memory(made) < 0)
        Py_CLEAR(made);
    if (core_end_op(core, made != NULL) < 0)
        Py_CLEAR(made);
    return made;
}

/* Begins the event of the step that the kernel runs inside; 0 where there is none for so many dimensions, 1 otherwise.
 */
static int begin_step(const Steps *steps, PyObject *first, int dimensions, Core *core)
{
    if (steps->kind == STEPS_NODE)
        return core_begin_node(core, steps->name, -1, boxed_key(0), &first, 1, false, false) < 0 ? -1 : 1;
    if (steps->dimensions >= 0 && dimensions > steps->dimensions)
        return 0;
    PyObject *constants = steps->dimensions < 0 || dimensions == steps->dimensions ? steps->constants : steps->fewer;
    PyObject *args[MAX_PARAMS] = {first};
    Py_ssize_t count = PyTuple_GET_SIZE(constants) + 1;
    for (Py_ssize_t i = 1; i < count; i++)
        args[i] = PyTuple_GET_ITEM(constants, i - 1);
    return core_begin_op(core, steps->op, args, count, NULL, -1) < 0 ? -1 : 1;
}

static PyObject *run_in_step(const Call *call, Arguments *arguments)
{
    int begun = begin_step(&call->steps, arguments->bound[0], fields_of(arguments->array[0])->nd, arguments->core);
    return begun == 0 ? run_kernel(call, arguments) : run_inside(call, arguments, begun);
}

/* What is added to a product is recorded as expanded where it has another shape than the result. */
static int mark_expand(const Call *call, Arguments *arguments, const ArrayFields *a, const ArrayFields *b)
{
    const ArrayFields *added = fields_of(arguments->array[0]);
    int rank = call->steps.rank;
    if (a->nd != rank || b->nd != rank || a->dimensions[rank - 1] != b->dimensions[rank - 2])
        return 0;
    bool same = added->nd == rank && added->dimensions[rank - 1] == b->dimensions[rank - 1];
    for (int i = 0; i < rank - 1 && same; i++)
        same = added->dimensions[i] == a->dimensions[i];
    if (same)
        return 0;
    PyObject *shape = PyTuple_New(rank);
    for (int i = 0; shape && i < rank; i++) {
        PyObject *size = PyLong_FromSsize_t(i == rank - 1 ? b->dimensions[i] : a->dimensions[i]);
        if (size)
            PyTuple_SET_ITEM(shape, i, size);
        else
            Py_CLEAR(shape);
    }
    PyObject *args[] = {arguments->bound[0], shape, Py_False};
    int marked = shape ? mark(arguments->core, call->steps.expand, args, 3) : -1;
    Py_XDECREF(shape);
    return marked;
}

static int mark_result(const Call *call, Core *core, PyObject *array, PyObject *dtype)
{
    PyObject *result = core->detail ? (PyObject *)tensor_of(array, cpu_tensor_keys(), dtype) : held(Py_None);
    int marked = result ? mark(core, call->steps.op, &result, 1) : -1;
    Py_XDECREF(result);
    return marked;
}

static PyObject *run_product(const Call *call, Arguments *arguments)
{
    const Steps *steps = &call->steps;
    Core *core = arguments->core;
    PyObject *const *operands = &arguments->bound[steps->first];
    const ArrayFields *a = fields_of(arguments->array[steps->first]),
                      *b = fields_of(arguments->array[steps->first + 1]);
    if ((steps->expand && mark_expand(call, arguments, a, b) < 0)
        || (steps->op && (mark(core, steps->op, operands, 1) < 0 || mark(core, steps->op, operands + 1, 1) < 0)))
        return NULL;
    PyObject *made = run_kernel(call, arguments);
    if (made && steps->lists_result && a->flags & b->flags & ARRAY_C_CONTIGUOUS
        && mark_result(call, core, made, ((Tensor *)operands[0])->dtype) < 0)
        Py_CLEAR(made);
    return made;
}

/* The nested operators that allocate a copy; NULL where the steps have to run one by one: the memory format is an
 * unusual one, or more than the steps' names and times is recorded. */
static PyObject *allocating_ops(const Call *call, const Arguments *arguments, const Core *core)
{
    const Steps *steps = &call->steps;
    const ArrayFields *source = fields_of(arguments->array[0]);
    if (!source || core->detail || core->watches_memory)
        return NULL;
    if (arguments->bound[1] == Py_None)
        return source->flags & ARRAY_C_CONTIGUOUS ? steps->constants : NULL;
    return arguments->bound[1] == steps->format ? steps->fewer : NULL;
}

static PyObject *run_copy(const Call *call, Arguments *arguments)
{
    Core *core = arguments->core;
    PyObject *ops = allocating_ops(call, arguments, core);
    Py_ssize_t count = ops ? PyTuple_GET_SIZE(ops) : 0, begun = 0;
    bool failed = false;
    while (begun < count && !failed)
        failed = core_begin_op(core, PyTuple_GET_ITEM(ops, begun++), arguments->bound, 1, NULL, -1) < 0;
    for (begun -= failed; begun > 0; begun--)
        failed |= core_end_op(core, !failed) < 0;
    return failed ? NULL
                  : run_inside(call, arguments, core_begin_op(core, call->steps.op, arguments->bound, 1, NULL, -1));
}

bool steps_fit(const Call *call, const Arguments *arguments)
{
    if (call->steps.kind == STEPS_NONE)
        return false;
    if (call->steps.kind == STEPS_COPY)
        return allocating_ops(call, arguments, active_core) != NULL;
    for (int i = 0; i < call->count; i++)
        if (call->params[i].kind == ARGUMENT_TENSOR && !fields_of(arguments->array[i]))
            return false;
    return true;
}

PyObject *steps_run(const Call *call, Arguments *arguments)
{
    if (call->steps.kind == STEPS_PRODUCT)
        return run_product(call, arguments);
    if (call->steps.kind == STEPS_COPY)
        return run_copy(call, arguments);
    return run_in_step(call, arguments);
}

int steps_record(PyObject *callable, PyObject *const *args, Py_ssize_t count, Core *core)
{
    const Call *call = (const Call *)callable;
    const ArrayFields *fields = is_tensor(args[0]) ? fields_of(((Tensor *)args[0])->array) : NULL;
    if (!PyObject_TypeCheck(callable, &Call_Type) || !fields) {
        PyErr_SetString(PyExc_TypeError, "expected the native call of an operator and a tensor");
        return -1;
    }
    if (core_begin_op(core, call->op, args, count, NULL, -1) < 0)
        return -1;
    bool has_step = call->steps.kind == STEPS_INSIDE || call->steps.kind == STEPS_NODE;
    int begun = has_step ? begin_step(&call->steps, args[0], fields->nd, core) : 0;
    bool failed = begun < 0 || (begun > 0 && core_end_op(core, true) < 0);
    return core_end_op(core, !failed) < 0 || failed ? -1 : 0;
}

static PyObject *or_null(PyObject *value)
{
    return value == Py_None ? NULL : held(value);
}

int steps_read(PyObject *given, Steps *steps)
{
    /* (kind, op, name, constants, dimensions, constants for fewer, first operand, rank, whether the result is listed,
     * expand, memory format) */
    PyObject *op, *expand, *format;
    int lists_result;
    if (!PyArg_ParseTuple(given, "iOOO!iO!iipOO", &steps->kind, &op, &steps->name, &PyTuple_Type, &steps->constants,
                          &steps->dimensions, &PyTuple_Type, &steps->fewer, &steps->first, &steps->rank, &lists_result,
                          &expand, &format))
        return -1;
    Py_INCREF(steps->name);
    Py_INCREF(steps->constants);
    Py_INCREF(steps->fewer);
    steps->op = or_null(op);
    steps->expand = or_null(expand);
    steps->format = or_null(format);
    steps->lists_result = lists_result;
    if (PyTuple_GET_SIZE(steps->constants) < MAX_PARAMS && PyTuple_GET_SIZE(steps->fewer) < MAX_PARAMS)
        return 0;
    PyErr_SetString(PyExc_ValueError, "expected at most 15 constants");
    return -1;
}
