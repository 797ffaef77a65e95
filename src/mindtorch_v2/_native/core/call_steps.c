/* The steps of an observed call, shown around the one kernel that does them all. */
#include "call.h"

static int mark(Core *core, PyObject *op, PyObject *const *args, Py_ssize_t count)
{
    return core_begin_op(core, op, args, count, NULL, -1) < 0 || core_end_op(core, true) < 0 ? -1 : 0;
}

static PyObject *run_inside(const Call *call, Arguments *arguments, Core *core)
{
    const Steps *steps = &call->steps;
    PyObject *args[MAX_PARAMS] = {arguments->bound[0]};
    Py_ssize_t count = PyTuple_GET_SIZE(steps->constants) + 1;
    for (Py_ssize_t i = 1; i < count; i++)
        args[i] = PyTuple_GET_ITEM(steps->constants, i - 1);
    int begun = steps->kind == STEP_NODE ? core_begin_node(core, steps->name, -1, steps->op, NULL, 0, false, false)
                                         : core_begin_op(core, steps->op, args, count, NULL, -1);
    if (begun < 0)
        return NULL;
    PyObject *made = plain_kernel(call, arguments);
    if (made && call->allocates_inside && core->watches_memory && watch_memory(made) < 0)
        Py_CLEAR(made);
    if (core_end_op(core, made != NULL) < 0)
        Py_CLEAR(made);
    return made;
}

/* What is added to a product is shown expanded where it has another shape than the result. */
static int mark_expand(const Call *call, Arguments *arguments, Core *core, const ArrayFields *a, const ArrayFields *b)
{
    const ArrayFields *added = fields_of(arguments->array[0]);
    if (a->nd != 2 || b->nd != 2 || a->dimensions[1] != b->dimensions[0]
        || (added->nd == 2 && added->dimensions[0] == a->dimensions[0] && added->dimensions[1] == b->dimensions[1]))
        return 0;
    PyObject *shape = core->detail ? Py_BuildValue("(nn)", a->dimensions[0], b->dimensions[1]) : held(Py_None);
    if (!shape)
        return -1;
    PyObject *args[] = {arguments->bound[0], shape, Py_False};
    int marked = mark(core, call->steps.expand, args, 3);
    Py_DECREF(shape);
    return marked;
}

static int mark_result(const Call *call, Core *core, PyObject *array, PyObject *dtype)
{
    PyObject *result = core->detail ? (PyObject *)tensor_of(array, cpu_tensor_keys(), dtype) : held(Py_None);
    int marked = result ? mark(core, call->steps.op, &result, 1) : -1;
    Py_XDECREF(result);
    return marked;
}

static PyObject *run_product(const Call *call, Arguments *arguments, Core *core)
{
    enum { C_CONTIGUOUS = 1 };
    const Steps *steps = &call->steps;
    PyObject *const *operands = &arguments->bound[steps->first];
    const ArrayFields *a = fields_of(arguments->array[steps->first]),
                      *b = fields_of(arguments->array[steps->first + 1]);
    if ((steps->expand && mark_expand(call, arguments, core, a, b) < 0) || mark(core, steps->op, operands, 1) < 0
        || mark(core, steps->op, operands + 1, 1) < 0)
        return NULL;
    PyObject *made = plain_kernel(call, arguments);
    if (made && steps->shows_result && a->flags & b->flags & C_CONTIGUOUS
        && mark_result(call, core, made, ((Tensor *)operands[0])->dtype) < 0)
        Py_CLEAR(made);
    return made;
}

bool steps_fit(const Call *call, const Arguments *arguments)
{
    const Steps *steps = &call->steps;
    if (steps->kind == NO_STEPS)
        return false;
    for (int i = 0; i < call->count; i++)
        if (call->params[i].kind == TENSOR_PARAM && !fields_of(arguments->array[i]))
            return false;
    return steps->dimensions < 0 || fields_of(arguments->array[0])->nd == steps->dimensions;
}

PyObject *steps_run(const Call *call, Arguments *arguments)
{
    Core *core = arguments->core;
    return call->steps.kind == STEPS_OF_PRODUCT ? run_product(call, arguments, core)
                                                : run_inside(call, arguments, core);
}

int steps_read(PyObject *given, Steps *steps)
{
    /* (kind, op, name, constants, dimensions, first operand, whether the result is shown, expand) */
    PyObject *expand;
    int shows;
    if (!PyArg_ParseTuple(given, "iOOO!iipO", &steps->kind, &steps->op, &steps->name, &PyTuple_Type, &steps->constants,
                          &steps->dimensions, &steps->first, &shows, &expand))
        return -1;
    if (PyTuple_GET_SIZE(steps->constants) >= MAX_PARAMS) {
        PyErr_SetString(PyExc_ValueError, "expected at most 15 constants");
        return -1;
    }
    Py_INCREF(steps->op);
    Py_INCREF(steps->name);
    Py_INCREF(steps->constants);
    steps->shows_result = shows;
    steps->expand = expand == Py_None ? NULL : held(expand);
    return 0;
}
