/* Methods that are cleaned up after, whatever ends them: an interrupt may come before the first line of a `try`, or
 * between the lines of its handler, but not here. */
#include "modes.h"

#include <stddef.h>

enum { ATTEMPTS = 10 }; /* of a clean-up that is itself interrupted */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function, *clean_up;
} Guarded;

static void clean_up(PyObject *self, PyObject *name)
{
    PyObject *type, *error, *traceback, *done = NULL;
    PyErr_Fetch(&type, &error, &traceback);
    for (int i = 0; i < ATTEMPTS && !done; i++) {
        PyErr_Clear();
        done = PyObject_CallMethodNoArgs(self, name);
    }
    PyErr_Clear();
    Py_XDECREF(done);
    PyErr_Restore(type, error, traceback);
}

static PyObject *guarded_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    const Guarded *guarded = (const Guarded *)self;
    PyObject *made = PyObject_Vectorcall(guarded->function, args, flags, keywords);
    if (!made && PyVectorcall_NARGS(flags) > 0)
        clean_up(args[0], guarded->clean_up);
    return made;
}

static PyObject *guarded_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *function, *name;
    static char *names[] = {"function", "clean_up", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OU", names, &function, &name))
        return NULL;
    Guarded *made = PyObject_GC_New(Guarded, type);
    if (!made)
        return NULL;
    made->vectorcall = guarded_call;
    made->function = Py_NewRef(function);
    made->clean_up = Py_NewRef(name);
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

static void guarded_dealloc(Guarded *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->clean_up);
    PyObject_GC_Del(self);
}

static int guarded_traverse(Guarded *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    return 0;
}

static PyObject *guarded_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

/* What is asked of a function, the function answers. */
static PyObject *guarded_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0)
        return Py_NewRef(((Guarded *)self)->function);
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((Guarded *)self)->function, name);
}

PyTypeObject Guarded_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Guarded",
    .tp_doc = "Guarded(function, clean_up): a method after whose failure the object's method `clean_up` is called.",
    .tp_basicsize = sizeof(Guarded),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Guarded, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = guarded_new,
    .tp_dealloc = (destructor)guarded_dealloc,
    .tp_traverse = (traverseproc)guarded_traverse,
    .tp_descr_get = guarded_get,
    .tp_getattro = guarded_getattro,
};
