/* Several overloads of one name, chosen by the classes of the arguments.
 *
 * The Python function chooses (see _dispatch/overloads.py) and has the choice remembered here; calls by position with
 * classes that are known go to their overload at once, everything else to the Python function. */
#include "call.h"

#include <stddef.h>
#include <string.h>

enum { MOST_CHOICES = 24, MOST_CLASSES = 5 };

typedef struct {
    Py_ssize_t count;
    PyTypeObject *class[MOST_CLASSES]; /* held */
    PyTypeObject *first[MOST_CLASSES]; /* of what a list or tuple begins with, held; NULL where it is empty */
    PyObject *target;
} Choice;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
    Choice choices[MOST_CHOICES];
    int count;
} Overloads;

/* The class of what a list or tuple begins with; NULL for an empty one and for everything else. */
static PyTypeObject *first_class(PyObject *object)
{
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return NULL;
    return PySequence_Fast_GET_SIZE(object) ? Py_TYPE(PySequence_Fast_GET_ITEM(object, 0)) : NULL;
}

static bool is_chosen(const Choice *choice, PyObject *const *args, Py_ssize_t count)
{
    if (choice->count != count)
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (Py_TYPE(args[i]) != choice->class[i] || first_class(args[i]) != choice->first[i])
            return false;
    return true;
}

static PyObject *overloads_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Overloads *overloads = (Overloads *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    for (int i = 0; !keywords && i < overloads->count; i++)
        if (is_chosen(&overloads->choices[i], args, count))
            return PyObject_Vectorcall(overloads->choices[i].target, args, flags, NULL);
    return PyObject_Vectorcall(overloads->function, args, flags, keywords);
}

static PyObject *remember(PyObject *self, PyObject *args)
{
    /* remember(classes, target): which overload calls by position with arguments of these classes go to. The class of a
     * list or tuple is a pair: its own, and that of what it begins with or None. Beyond some, nothing is kept. */
    Overloads *overloads = (Overloads *)self;
    PyObject *classes, *target;
    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &classes, &target))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(classes);
    if (overloads->count == MOST_CHOICES || count > MOST_CLASSES)
        Py_RETURN_NONE;
    Choice *choice = &overloads->choices[overloads->count];
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *class = PyTuple_GET_ITEM(classes, i), *first = Py_None;
        if (PyTuple_CheckExact(class) && PyTuple_GET_SIZE(class) == 2) {
            first = PyTuple_GET_ITEM(class, 1);
            class = PyTuple_GET_ITEM(class, 0);
        }
        if (!PyType_Check(class) || (first != Py_None && !PyType_Check(first)))
            return PyErr_Format(PyExc_TypeError, "expected classes, got %R", PyTuple_GET_ITEM(classes, i));
        choice->class[i] = (PyTypeObject *)class;
        choice->first[i] = first == Py_None ? NULL : (PyTypeObject *)first;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_INCREF(choice->class[i]);
        Py_XINCREF(choice->first[i]);
    }
    choice->count = count;
    choice->target = held(target);
    overloads->count++;
    Py_RETURN_NONE;
}

static PyObject *overloads_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *words[] = {"function", NULL};
    PyObject *function;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", words, &function))
        return NULL;
    Overloads *made = (Overloads *)type->tp_alloc(type, 0);
    if (!made)
        return NULL;
    made->vectorcall = overloads_call;
    made->function = held(function);
    return (PyObject *)made;
}

static void overloads_dealloc(Overloads *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    for (int i = 0; i < self->count; i++) {
        for (Py_ssize_t k = 0; k < self->choices[i].count; k++) {
            Py_DECREF(self->choices[i].class[k]);
            Py_XDECREF(self->choices[i].first[k]);
        }
        Py_DECREF(self->choices[i].target);
    }
    Py_TYPE(self)->tp_free(self);
}

static int overloads_traverse(Overloads *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    for (int i = 0; i < self->count; i++)
        Py_VISIT(self->choices[i].target);
    return 0;
}

static PyObject *overloads_repr(PyObject *self)
{
    return PyObject_Repr(((Overloads *)self)->function);
}

static PyMethodDef overloads_methods[] = {
    {"remember", remember, METH_VARARGS, "remember(classes, target): which overload calls with these classes go to."},
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Overloads_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Overloads",
    .tp_basicsize = sizeof(Overloads),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Overloads, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = overloads_new,
    .tp_dealloc = (destructor)overloads_dealloc,
    .tp_traverse = (traverseproc)overloads_traverse,
    .tp_getattro = function_getattro,
    .tp_repr = overloads_repr,
    .tp_methods = overloads_methods,
    .tp_getset = function_attributes,
};

/* The same as a method: as an attribute of a class it gets the instance. Functions do not, as PyTorch's do not. */
PyTypeObject OverloadsMethod_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.OverloadsMethod",
    .tp_base = &Overloads_Type,
    .tp_basicsize = sizeof(Overloads),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Overloads, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = (traverseproc)overloads_traverse,
    .tp_descr_get = function_get,
    .tp_getset = function_attributes, /* a type without a docstring of its own hides that of its base */
};
