/* Kernels that numpy does not warn about: what a function computes with inf and nan is its result, on every thread, whatever the user
 * has told numpy to do about his own arrays.
 *
 * numpy keeps its settings in a context variable. Setting and resetting that costs 140 ns; entering a context in which it stands as
 * we want it costs 35. A context can be entered once at a time, so those that nobody is in lie on a stack (the GIL guards it). Who
 * allocates arrays is such a setting too: while memory is watched there are contexts with our allocator. */
#include "quiet.h"
#include "tensor.h"

#include <stddef.h>

enum { MOST_IDLE = 64 };
static PyObject *settings, *no_warnings; /* numpy's variable, and the value that ignores everything */
typedef struct {
    PyObject *context[MOST_IDLE];
    int count;
} Idle;
static Idle idle[2]; /* contexts without and with our allocator */

static PyObject *make_context(bool watched)
{
    PyObject *context = PyContext_New();
    if (!context || PyContext_Enter(context) < 0) {
        Py_XDECREF(context);
        return NULL;
    }
    PyObject *token = PyContextVar_Set(settings, no_warnings);
    Py_XDECREF(token);
    bool failed = !token || (watched && allocator_set() < 0);
    if (PyContext_Exit(context) < 0 || failed)
        Py_CLEAR(context);
    return context;
}

static void give_back(Idle *stack, PyObject *context)
{
    if (stack->count < MOST_IDLE)
        stack->context[stack->count++] = context;
    else
        Py_DECREF(context);
}

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
} Quiet;

static PyObject *quiet_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    bool watched = memory_is_watched();
    Idle *stack = &idle[watched];
    PyObject *context = stack->count ? stack->context[--stack->count] : make_context(watched);
    if (!context)
        return NULL;
    PyObject *made = NULL;
    if (PyContext_Enter(context) == 0) {
        made = PyObject_Vectorcall(((Quiet *)self)->function, args, flags, keywords);
        if (PyContext_Exit(context) < 0)
            Py_CLEAR(made);
    }
    give_back(stack, context);
    return made;
}

static PyObject *quiet_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *function;
    static char *names[] = {"function", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &function))
        return NULL;
    Quiet *made = settings ? PyObject_GC_New(Quiet, type) : NULL;
    if (!made) {
        if (!settings)
            PyErr_SetString(PyExc_RuntimeError, "setup_quiet comes first");
        return NULL;
    }
    made->vectorcall = quiet_call;
    made->function = Py_NewRef(function);
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

static void quiet_dealloc(Quiet *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    PyObject_GC_Del(self);
}

static int quiet_traverse(Quiet *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    return 0;
}

/* What is asked of a function, the function answers. */
static PyObject *quiet_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0)
        return Py_NewRef(((Quiet *)self)->function);
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0)
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((Quiet *)self)->function, name);
}

static PyObject *quiet_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<quiet %R>", ((Quiet *)self)->function);
}

PyTypeObject Quiet_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Quiet",
    .tp_doc = "Quiet(function): the function, without numpy's warnings about what it computes.",
    .tp_basicsize = sizeof(Quiet),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Quiet, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = quiet_new,
    .tp_dealloc = (destructor)quiet_dealloc,
    .tp_traverse = (traverseproc)quiet_traverse,
    .tp_getattro = quiet_getattro,
    .tp_repr = quiet_repr,
};

PyObject *quiet_setup(PyObject *module, PyObject *args)
{
    /* setup_quiet(variable, value): numpy's settings, and those that ignore everything. */
    PyObject *variable, *value;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &PyContextVar_Type, &variable, &value))
        return NULL;
    settings = Py_NewRef(variable); /* for the life of the process */
    no_warnings = Py_NewRef(value);
    Py_RETURN_NONE;
}
