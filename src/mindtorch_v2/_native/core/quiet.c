/* Kernels that numpy does not warn about: what a function computes with inf and nan is its result, on every thread,
 * whatever the user has told numpy to do about his own arrays.
 *
 * numpy keeps its settings in a context variable. Setting and resetting that costs 140 ns; entering a context in which
 * it stands as we want it costs 35. A context can be entered once at a time, so those that nobody is in lie on a stack
 * (the GIL guards it). Who allocates arrays is such a setting too: while memory is watched there are contexts with our
 * allocator. */
#include "quiet.h"
#include "call.h"

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
    PyObject *function, *narrow; /* narrow: called instead for narrow element types; NULL where that is not wanted */
} Quiet;

/* Element types that are computed in a wider one (widening.py): numpy's half precision, and every type that a library
 * registered. */
enum { HALF_NUM = 23, FIRST_USER_NUM = 256 };
static PyTypeObject *ndarray_class, *dtype_class;
static PyObject *narrow_types; /* a tuple of our dtypes */

/* numpy's number of an array's element type; -1, and no error, where it cannot be told. */
static long type_num(PyObject *array)
{
    const ArrayFields *fields = fields_of(array);
    if (fields)
        return ((const DescrFields *)fields->descr)->type_num;
    PyObject *dtype = PyObject_GetAttrString(array, "dtype"),
             *num = dtype ? PyObject_GetAttrString(dtype, "num") : NULL;
    long found = num ? PyLong_AsLong(num) : -1;
    Py_XDECREF(dtype);
    Py_XDECREF(num);
    PyErr_Clear();
    return found;
}

static bool is_narrow(PyObject *value)
{
    if (Py_TYPE(value) == ndarray_class) {
        long num = type_num(value);
        return num >= FIRST_USER_NUM || num == HALF_NUM;
    }
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
            if (is_narrow(PySequence_Fast_GET_ITEM(value, i)))
                return true;
        return false;
    }
    if (Py_TYPE(value) == dtype_class)
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(narrow_types); i++)
            if (PyTuple_GET_ITEM(narrow_types, i) == value)
                return true;
    return false;
}

static bool any_narrow(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (is_narrow(args[i]))
            return true;
    return false;
}

bool quiet_enter(QuietBlock *block)
{
    *block = (QuietBlock){.watched = memory_is_watched(), .changes = allocator_changes()};
    Idle *stack = &idle[block->watched];
    block->context = stack->count ? stack->context[--stack->count] : make_context(block->watched);
    if (!block->context || PyContext_Enter(block->context) == 0)
        return block->context != NULL;
    Py_CLEAR(block->context);
    return false;
}

bool quiet_leave(QuietBlock *block)
{
    bool left = PyContext_Exit(block->context) == 0;
    if (memory_is_watched() == block->watched && allocator_changes() == block->changes)
        give_back(&idle[block->watched], block->context);
    else /* a profile began or ended inside, and may have changed this context's allocator */
        Py_DECREF(block->context);
    return left;
}

static PyObject *quiet_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    QuietBlock block;
    PyObject *function = ((Quiet *)self)->function, *narrow = ((Quiet *)self)->narrow;
    if (narrow && any_narrow(args, PyVectorcall_NARGS(flags)))
        function = narrow;
    if (!quiet_enter(&block))
        return NULL;
    PyObject *made = PyObject_Vectorcall(function, args, flags, keywords);
    if (!quiet_leave(&block))
        Py_CLEAR(made);
    return made;
}

static PyObject *quiet_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *function, *narrow = Py_None;
    static char *names[] = {"function", "narrow", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", names, &function, &narrow))
        return NULL;
    Quiet *made = settings ? PyObject_GC_New(Quiet, type) : NULL;
    if (!made) {
        if (!settings)
            PyErr_SetString(PyExc_RuntimeError, "setup_quiet comes first");
        return NULL;
    }
    made->vectorcall = quiet_call;
    made->function = Py_NewRef(function);
    made->narrow = narrow == Py_None ? NULL : Py_NewRef(narrow);
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

static void quiet_dealloc(Quiet *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->narrow);
    PyObject_GC_Del(self);
}

static int quiet_traverse(Quiet *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->narrow);
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
    .tp_doc = "Quiet(function, narrow=None): the function, without numpy's warnings about what it computes; `narrow` "
              "instead where an "
              "argument is of an element type that is computed in a wider one.",
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
    /* setup_quiet(variable, value, array class, dtype class, narrow types): numpy's settings, those that ignore
     * everything, and how to tell arguments of narrow types. */
    PyObject *variable, *value, *arrays, *dtypes, *narrow;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OO!O!O!", &PyContextVar_Type, &variable, &value, &PyType_Type, &arrays, &PyType_Type,
                          &dtypes, &PyTuple_Type, &narrow))
        return NULL;
    ndarray_class = (PyTypeObject *)Py_NewRef(arrays);
    dtype_class = (PyTypeObject *)Py_NewRef(dtypes);
    narrow_types = Py_NewRef(narrow);
    settings = Py_NewRef(variable); /* for the life of the process */
    no_warnings = Py_NewRef(value);
    Py_RETURN_NONE;
}
