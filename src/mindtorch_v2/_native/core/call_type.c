/* The type of calls: made from the plan that _dispatch/native_call.py translates; Python sees functions. */
#include "call.h"
#include "common/enums.h"

static int read_param(PyObject *given, Param *param)
{
    /* (name, kind, length) or (name, kind, length, default) */
    PyObject *unset = NULL;
    if (!PyArg_ParseTuple(given, "Uii|O", &param->name, &param->kind, &param->length, &unset))
        return -1;
    Py_INCREF(param->name);
    PyUnicode_InternInPlace(&param->name);
    Py_XINCREF(unset);
    param->unset = unset;
    return 0;
}

static int read_saved(PyObject *given, SavedValue *value)
{
    /* (what, position, users, how to ask, what else) */
    if (!PyArg_ParseTuple(given, "iiIOO", &value->what, &value->position, &value->users, &value->fact, &value->absent))
        return -1;
    Py_INCREF(value->fact);
    Py_INCREF(value->absent);
    return 0;
}

static int read_gradient(PyObject *given, Gradient *gradient)
{
    /* (node class, view_edge, Slot, inputs, whether one is a list, saved values, only inexact, constant
     * outputs) */
    PyObject *node, *inputs, *saved;
    int lists, only;
    if (!PyArg_ParseTuple(given, "OOOO!pO!pI", &node, &gradient->view_edge, &gradient->slot, &PyTuple_Type, &inputs,
                          &lists, &PyTuple_Type, &saved, &only, &gradient->constant))
        return -1;
    Py_INCREF(gradient->view_edge);
    Py_INCREF(gradient->slot);
    if (!PyType_Check(node) || !PyType_IsSubtype((PyTypeObject *)node, &NodeFields_Type)
        || PyTuple_GET_SIZE(inputs) > MAX_PARAMS || PyTuple_GET_SIZE(saved) > MAX_PARAMS) {
        PyErr_SetString(PyExc_TypeError, "expected a node class and at most 16 inputs and saved values");
        return -1;
    }
    gradient->takes_lists = lists;
    gradient->only_inexact = only;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++)
        gradient->inputs[gradient->input_count++] = (int)PyLong_AsLong(PyTuple_GET_ITEM(inputs, i));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); i++)
        if (read_saved(PyTuple_GET_ITEM(saved, i), &gradient->saved[gradient->saved_count++]) < 0)
            return -1;
    gradient->node = (PyTypeObject *)held(node);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *or_null(PyObject *value)
{
    return value == Py_None ? NULL : held(value);
}

/* Reads what follows the plain values: parameters, gradient, steps. */
static int read_parts(Call *made, PyObject *params, PyObject *gradient, PyObject *steps)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(params); i++)
        if (read_param(PyTuple_GET_ITEM(params, i), &made->params[made->count++]) < 0)
            return -1;
    return (gradient != Py_None && read_gradient(gradient, &made->gradient) < 0)
                   || (steps != Py_None && steps_read(steps, &made->steps) < 0)
               ? -1
               : 0;
}

static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *words[] = {
        "function",       "op",         "unseeded",     "generator",       "kernel",        "direct",    "composite",
        "params",         "positional", "lead",         "casting",         "wants_inexact", "makes",     "result_type",
        "tuple_type",     "joins",      "is_view",      "is_graph_view",   "writes",        "has_steps", "steps",
        "below_autograd", "makes_new",  "enters_below", "has_sequence_id", "gradient",      "loop",      NULL};
    PyObject *function, *op, *unseeded, *kernel, *direct, *composite, *params, *tuple_type, *steps, *gradient;
    int generator, positional, lead, inexact, makes, result, joins, view, graph_view, writes, has_steps, below, new,
        enters, has_sequence_id, loop;
    unsigned casting;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOiOOOO!iiIpiiOpppppOppppOi", words, &function, &op, &unseeded,
                                     &generator, &kernel, &direct, &composite, &PyTuple_Type, &params, &positional,
                                     &lead, &casting, &inexact, &makes, &result, &tuple_type, &joins, &view,
                                     &graph_view, &writes, &has_steps, &steps, &below, &new, &enters, &has_sequence_id,
                                     &gradient, &loop))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(params);
    if (count > MAX_PARAMS || lead >= count || positional > count || generator >= count) {
        PyErr_SetString(PyExc_ValueError, "expected at most 16 parameters, the leading one among them");
        return NULL;
    }
    Call *made = (Call *)type->tp_alloc(type, 0);
    if (!made)
        return NULL;
    made->vectorcall = call_vector;
    made->function = held(function);
    made->op = held(op);
    made->unseeded = or_null(unseeded);
    made->generator = generator;
    made->kernel = or_null(kernel);
    made->direct = or_null(direct);
    made->composite = or_null(composite);
    made->positional = positional;
    made->lead = lead;
    made->casting = casting;
    made->wants_inexact = inexact;
    made->makes = makes;
    made->result_type = result;
    made->tuple_type = or_null(tuple_type);
    made->joins = joins;
    made->is_view = view;
    made->is_graph_view = graph_view;
    made->writes = writes;
    made->has_steps = has_steps;
    made->below_autograd = below;
    made->makes_new = new;
    made->enters_below = enters;
    made->has_sequence_id = has_sequence_id;
    made->loop = loop;
    if (read_parts(made, params, gradient, steps) < 0)
        Py_CLEAR(made);
    return (PyObject *)made;
}

static void call_dealloc(Call *self)
{
    PyObject_GC_UnTrack(self);
    PyObject *objects[] = {self->function,
                           self->op,
                           self->unseeded,
                           self->kernel,
                           self->direct,
                           self->composite,
                           self->boxed,
                           self->tuple_type,
                           (PyObject *)self->gradient.node,
                           self->gradient.view_edge,
                           self->gradient.slot,
                           self->steps.op,
                           self->steps.name,
                           self->steps.constants,
                           self->steps.fewer,
                           self->steps.expand};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        Py_XDECREF(objects[i]);
    for (int i = 0; i < self->count; i++) {
        Py_XDECREF(self->params[i].name);
        Py_XDECREF(self->params[i].unset);
    }
    for (int i = 0; i < self->gradient.saved_count; i++) {
        Py_XDECREF(self->gradient.saved[i].fact);
        Py_XDECREF(self->gradient.saved[i].absent);
    }
    Py_TYPE(self)->tp_free(self);
}

static int call_traverse(Call *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->kernel);
    Py_VISIT(self->composite);
    Py_VISIT(self->boxed);
    Py_VISIT(self->gradient.node);
    return 0;
}

PyObject *function_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    return instance == NULL || instance == Py_None ? held(self) : PyMethod_New(self, instance);
}

/* What is asked of a function, the function in Python answers. */
PyObject *function_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__module__") != 0) {
        PyObject *found = PyObject_GenericGetAttr(self, name);
        if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
            return found;
        PyErr_Clear();
    }
    return PyObject_GetAttr(((BeforeFunction *)self)->function, name);
}

/* A descriptor, because `help` asks the object for its own `__doc__` and passes `function_getattro` by. */
static PyObject *function_doc(PyObject *self, void *Py_UNUSED(closure))
{
    return PyObject_GetAttrString(((BeforeFunction *)self)->function, "__doc__");
}

PyGetSetDef function_attributes[] = {
    {"__doc__", function_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyObject *function_reduce(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(((BeforeFunction *)self)->function, "__qualname__"); /* pickled by name */
}

static PyObject *call_repr(PyObject *self)
{
    return PyObject_Repr(((Call *)self)->function);
}

static PyMethodDef call_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Call_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Call",
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = call_new,
    .tp_dealloc = (destructor)call_dealloc,
    .tp_traverse = (traverseproc)call_traverse,
    .tp_getattro = function_getattro,
    .tp_repr = call_repr,
    .tp_methods = call_methods,
    .tp_getset = function_attributes,
};

/* The same as a method: as an attribute of a class it gets the instance. Functions do not, as PyTorch's do not. */
PyTypeObject CallMethod_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.CallMethod",
    .tp_base = &Call_Type,
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = (traverseproc)call_traverse,
    .tp_descr_get = function_get,
    .tp_getset = function_attributes, /* a type without a docstring of its own hides that of its base */
};

#define WITH_VALUE(prefix, name) {#name, prefix##_##name},

int calls_export(PyObject *module)
{
    static const NamedCode kinds[] = {ARGUMENT_KINDS(WITH_VALUE)}, makes[] = {MAKES(WITH_VALUE)},
                           types[] = {RESULT_TYPES(WITH_VALUE)}, saved[] = {SAVED_KINDS(WITH_VALUE)},
                           steps[] = {STEPS_KINDS(WITH_VALUE)}, limits[] = {{"MAX_PARAMS", MAX_PARAMS}};
    bool failed = EXPORT_CODES(module, "ArgumentKind", kinds) < 0 || EXPORT_CODES(module, "Makes", makes) < 0
                  || EXPORT_CODES(module, "ResultType", types) < 0 || EXPORT_CODES(module, "SavedKind", saved) < 0
                  || EXPORT_CODES(module, "StepsKind", steps) < 0 || EXPORT_CODES(module, "CallLimits", limits) < 0;
    return failed ? -1 : 0;
}
