/* The type of calls: made from the plan that _dispatch/native_call.py reads off an op, shown to Python as a function. */
#include "call.h"

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
    /* (what, parameter, users, has version, how to ask, what else) */
    int versioned;
    if (!PyArg_ParseTuple(given, "iiIpOO", &value->what, &value->param, &value->users, &versioned, &value->fact,
                          &value->otherwise))
        return -1;
    value->has_version = versioned;
    Py_INCREF(value->fact);
    Py_INCREF(value->otherwise);
    return 0;
}

static int read_gradient(PyObject *given, Gradient *gradient)
{
    /* (node class, view_edge, versions_of, inputs, saved values, only inexact) */
    PyObject *node, *inputs, *saved;
    int only;
    if (!PyArg_ParseTuple(given, "OOOO!O!p", &node, &gradient->view_edge, &gradient->versions_of, &PyTuple_Type,
                          &inputs, &PyTuple_Type, &saved, &only))
        return -1;
    if (!PyType_Check(node) || !PyType_IsSubtype((PyTypeObject *)node, &NodeFields_Type)
        || PyTuple_GET_SIZE(inputs) > MAX_PARAMS || PyTuple_GET_SIZE(saved) > MAX_PARAMS) {
        PyErr_SetString(PyExc_TypeError, "expected a node class and at most 16 inputs and saved values");
        return -1;
    }
    Py_INCREF(gradient->view_edge);
    Py_INCREF(gradient->versions_of);
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

static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *words[] = {"function",      "op",
                            "kernel",        "direct",
                            "shown",         "params",
                            "positional",    "lead",
                            "result_type",   "casting",
                            "wants_inexact", "inplace",
                            "is_view",       "is_graph_view",
                            "is_observable", "allocates_inside",
                            "gradient",      "steps",
                            "is_composite",  "on_devices",
                            "joins",         NULL};
    PyObject *function, *op, *kernel, *direct, *shown, *params, *gradient, *steps;
    int positional, lead, result, inexact, inplace, view, graph_view, observable, inside, composite, devices, joins;
    unsigned casting;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOO!iiiIppppppOOppp", words, &function, &op, &kernel, &direct,
                                     &shown, &PyTuple_Type, &params, &positional, &lead, &result, &casting, &inexact,
                                     &inplace, &view, &graph_view, &observable, &inside, &gradient, &steps, &composite,
                                     &devices, &joins))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(params);
    if (count > MAX_PARAMS || (!composite && (lead < 0 || lead >= count)) || positional > count) {
        PyErr_SetString(PyExc_ValueError, "expected at most 16 parameters, the leading one among them");
        return NULL;
    }
    Call *made = (Call *)type->tp_alloc(type, 0);
    if (!made)
        return NULL;
    made->vectorcall = call_vector;
    made->is_composite = composite;
    made->function = held(function);
    made->op = held(op);
    made->kernel = held(kernel);
    made->direct = or_null(direct);
    made->shown = or_null(shown);
    made->positional = positional;
    made->lead = lead;
    made->result_type = result;
    made->casting = casting;
    made->wants_inexact = inexact;
    made->inplace = inplace;
    made->is_view = view;
    made->is_graph_view = graph_view;
    made->is_observable = observable;
    made->allocates_inside = inside;
    made->on_devices = devices;
    made->joins = joins;
    for (Py_ssize_t i = 0; i < count; i++)
        if (read_param(PyTuple_GET_ITEM(params, i), &made->params[made->count++]) < 0) {
            Py_DECREF(made);
            return NULL;
        }
    if ((gradient != Py_None && read_gradient(gradient, &made->gradient) < 0)
        || (steps != Py_None && steps_read(steps, &made->steps) < 0))
        Py_CLEAR(made);
    return (PyObject *)made;
}

static void call_dealloc(Call *self)
{
    PyObject_GC_UnTrack(self);
    PyObject *own_objects[] = {self->function,
                               self->op,
                               self->kernel,
                               self->direct,
                               self->shown,
                               self->device_kernel,
                               (PyObject *)self->gradient.node,
                               self->gradient.view_edge,
                               self->gradient.versions_of,
                               self->steps.op,
                               self->steps.name,
                               self->steps.constants,
                               self->steps.expand};
    for (size_t i = 0; i < sizeof own_objects / sizeof *own_objects; i++)
        Py_XDECREF(own_objects[i]);
    for (int i = 0; i < self->count; i++) {
        Py_XDECREF(self->params[i].name);
        Py_XDECREF(self->params[i].unset);
    }
    for (int i = 0; i < self->gradient.saved_count; i++) {
        Py_XDECREF(self->gradient.saved[i].fact);
        Py_XDECREF(self->gradient.saved[i].otherwise);
    }
    Py_TYPE(self)->tp_free(self);
}

static int call_traverse(Call *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->kernel);
    Py_VISIT(self->device_kernel);
    Py_VISIT(self->gradient.node);
    return 0;
}

static PyObject *call_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    return instance == NULL || instance == Py_None ? held(self) : PyMethod_New(self, instance);
}

/* What is asked of a function, the function in Python answers. */
static PyObject *call_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__doc__") != 0
        && PyUnicode_CompareWithASCIIString(name, "__module__") != 0) {
        PyObject *found = PyObject_GenericGetAttr(self, name);
        if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
            return found;
        PyErr_Clear();
    }
    return PyObject_GetAttr(((Call *)self)->function, name);
}

static PyObject *call_reduce(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(((Call *)self)->function, "__qualname__"); /* pickled by name */
}

static PyObject *call_repr(PyObject *self)
{
    return PyObject_Repr(((Call *)self)->function);
}

static PyMethodDef call_methods[] = {
    {"__reduce__", call_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Call_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Call",
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = call_new,
    .tp_dealloc = (destructor)call_dealloc,
    .tp_traverse = (traverseproc)call_traverse,
    .tp_descr_get = call_get,
    .tp_getattro = call_getattro,
    .tp_repr = call_repr,
    .tp_methods = call_methods,
};
