/* Modes that last for a call or a block. Whoever changes them in C cannot be interrupted between the change and the
 * moment from which it is certain to be undone; in Python, an interrupt after `before = set_grad(False)` and before
 * `try` leaves gradients off for good.
 *
 * call_with_grad, call_in_scope, call_locked and Switch.run do something, call a function, and undo it whatever
 * happened. A Switch does the same for a `with` block, which calls __enter__ and __exit__ without looking for signals
 * in between. */
#include "modes.h"

#define WITH_KEYWORDS(name, function, doc)                                                                             \
    {                                                                                                                  \
        name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, doc                                \
    }

static PyObject *s_changes, *s_special, *s_saved_hooks, *s_anomaly, *s_enter_scope, *s_leave, *s_acquire, *s_release;
static long special_users;

static int use_special(int more)
{
    special_users += more;
    return modes_set_bit(KEY_SPECIAL, special_users > 0);
}

/* --- changes of the thread's state */
static int set_one(PyObject *name, PyObject *value)
{
    if (name == modes_grad_name())
        return modes_swap_grad(value == Py_True) < 0 ? -1 : 0;
    if (name != s_anomaly)
        return PyObject_SetAttr(modes_thread_state(), name, value);
    PyObject *now =
        PyObject_GetAttr(modes_thread_state(), name); /* a special mode that may be switched without a block */
    int more = now ? (value == Py_True) - (now == Py_True) : 0;
    Py_XDECREF(now);
    return !now || PyObject_SetAttr(modes_thread_state(), name, value) < 0 || (more && use_special(more) < 0) ? -1 : 0;
}

/* What a name is to become. Hooks for saved tensors are added to those in force, unless the change is to none. */
static PyObject *wanted(PyObject *name, PyObject *value, PyObject *now)
{
    if (name != s_saved_hooks || !PyTuple_Check(value) || PyTuple_GET_SIZE(value) == 0)
        return Py_NewRef(value);
    return PySequence_Concat(now, value);
}

/* Sets attributes of the thread's state and gives a dict of what they were, or True or False where it is `grad` alone;
 * NULL, and nothing is changed, on an error. */
static PyObject *change(PyObject *changes)
{
    PyObject *only = PyDict_GET_SIZE(changes) == 1 ? PyDict_GetItemWithError(changes, modes_grad_name()) : NULL;
    if (only) {
        int was = modes_swap_grad(only == Py_True);
        return was < 0 ? NULL : PyBool_FromLong(was);
    }
    PyObject *before = PyDict_New(), *after = PyDict_New(), *name, *value;
    Py_ssize_t cursor = 0;
    bool failed = !before || !after;
    while (!failed && PyDict_Next(changes, &cursor, &name, &value)) {
        PyObject *now = PyObject_GetAttr(modes_thread_state(), name), *next = now ? wanted(name, value, now) : NULL;
        failed = !next || PyDict_SetItem(before, name, now) < 0 || PyDict_SetItem(after, name, next) < 0;
        Py_XDECREF(now);
        Py_XDECREF(next);
    }
    for (cursor = 0; !failed && PyDict_Next(after, &cursor, &name, &value);)
        failed = set_one(name, value) < 0;
    Py_XDECREF(after);
    if (failed)
        Py_CLEAR(before);
    return before;
}

/* Puts back what `change` gave. An exception that is on its way stays. */
static int put_back(PyObject *before)
{
    PyObject *type, *error, *traceback, *name, *value;
    Py_ssize_t cursor = 0;
    int failed = 0;
    PyErr_Fetch(&type, &error, &traceback);
    if (PyBool_Check(before))
        failed = modes_swap_grad(before == Py_True) < 0;
    while (!PyBool_Check(before) && PyDict_Next(before, &cursor, &name, &value))
        failed |= set_one(name, value) < 0;
    if (type) {
        PyErr_Clear();
        PyErr_Restore(type, error, traceback);
    }
    return failed && !type ? -1 : 0;
}

/* --- for a call */
static bool takes(Py_ssize_t count, Py_ssize_t needed, const char *what)
{
    if (count < needed)
        PyErr_Format(PyExc_TypeError, "expected %s, a function and its arguments", what);
    return count >= needed;
}

PyObject *modes_call_with_grad(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    (void)module;
    if (!takes(count, 2, "whether gradients are recorded"))
        return NULL;
    int on = PyObject_IsTrue(args[0]), before = on < 0 ? -1 : modes_swap_grad(on);
    if (before < 0)
        return NULL;
    PyObject *made = PyObject_Vectorcall(args[1], args + 2, (size_t)count - 2, keywords);
    if (before != on) {
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        if (modes_swap_grad(before) < 0)
            Py_CLEAR(made);
        if (type) {
            PyErr_Clear();
            PyErr_Restore(type, error, traceback);
        }
    }
    return made;
}

/* Calls a method without arguments, even while an exception is on its way, which stays. */
static int call_at_end(PyObject *object, PyObject *name, PyObject **made)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *done = PyObject_CallMethodNoArgs(object, name);
    Py_XDECREF(done);
    if (type) {
        PyErr_Clear();
        PyErr_Restore(type, error, traceback);
    } else if (!done)
        Py_CLEAR(*made);
    return done ? 0 : -1;
}

PyObject *modes_call_in_scope(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    (void)module;
    if (!takes(count, 3, "an observer, a name"))
        return NULL;
    PyObject *entered = PyObject_CallMethodObjArgs(args[0], s_enter_scope, args[1], Py_None, NULL);
    if (!entered)
        return NULL;
    Py_DECREF(entered);
    PyObject *made = PyObject_Vectorcall(args[2], args + 3, (size_t)count - 3, keywords);
    call_at_end(args[0], s_leave, &made);
    return made;
}

PyObject *modes_call_locked(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    (void)module;
    if (!takes(count, 2, "a lock"))
        return NULL;
    PyObject *acquired = PyObject_CallMethodNoArgs(args[0], s_acquire);
    if (!acquired)
        return NULL;
    Py_DECREF(acquired);
    PyObject *made = PyObject_Vectorcall(args[1], args + 2, (size_t)count - 2, keywords);
    call_at_end(args[0], s_release, &made);
    return made;
}

/* --- for a block */
typedef struct {
    PyObject_HEAD
    PyObject *before; /* as `change` gave it, or NULL while the block is not entered */
    long specials;    /* how often it is counted among the special modes */
} Switch;

/* Makes the changes of a switch and gives what was before; NULL, and nothing is changed, on an error. */
static PyObject *begin(PyObject *self, bool *special)
{
    PyObject *changes = PyObject_GetAttr(self, s_changes), *flag = changes ? PyObject_GetAttr(self, s_special) : NULL;
    PyObject *before = NULL;
    if (flag && PyDict_Check(changes) && (before = change(changes)) != NULL) {
        *special = flag == Py_True;
        if (*special)
            use_special(1);
    } else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "expected _changes to be a dict");
    Py_XDECREF(changes);
    Py_XDECREF(flag);
    return before;
}

static int end(PyObject *before, bool special)
{
    int failed = put_back(before);
    return special && use_special(-1) < 0 ? -1 : failed;
}

static PyObject *switch_enter(Switch *self, PyObject *Py_UNUSED(ignored))
{
    bool special = false;
    PyObject *before = begin((PyObject *)self, &special);
    if (!before)
        return NULL;
    self->specials += special;
    Py_XSETREF(self->before, before);
    Py_RETURN_NONE;
}

static PyObject *switch_exit(Switch *self, PyObject *Py_UNUSED(exception))
{
    bool special = self->specials > 0;
    self->specials -= special;
    return self->before && end(self->before, special) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *switch_run(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    bool special = false;
    PyObject *before = takes(count, 1, "nothing else") ? begin(self, &special) : NULL;
    if (!before)
        return NULL;
    PyObject *made = PyObject_Vectorcall(args[0], args + 1, (size_t)count - 1, keywords);
    if (end(before, special) < 0)
        Py_CLEAR(made);
    Py_DECREF(before);
    return made;
}

static void switch_dealloc(Switch *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->before);
    Py_TYPE(self)->tp_free(self);
}

static int switch_traverse(Switch *self, visitproc visit, void *arg)
{
    Py_VISIT(self->before);
    return 0;
}

static PyObject *get_before(Switch *self, void *Py_UNUSED(closure))
{
    if (self->before && PyBool_Check(self->before))
        return Py_BuildValue("{OO}", modes_grad_name(), self->before);
    return self->before ? PyDict_Copy(self->before) : PyDict_New();
}

static PyMethodDef switch_methods[] = {
    {"__enter__", (PyCFunction)switch_enter, METH_NOARGS, "Makes the changes."},
    {"__exit__", (PyCFunction)switch_exit, METH_VARARGS, "Undoes them."},
    WITH_KEYWORDS("run", switch_run, "run(function, *args, **kwargs): calls the function inside."),
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef switch_attributes[] = {
    {"before", (getter)get_before, NULL, "What the changed attributes were when the block was entered last.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Switch_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Switch",
    .tp_doc = "A block in which attributes of the thread's state differ: `_changes`, a dict; `_special`, whether calls "
              "take the general path.",
    .tp_basicsize = sizeof(Switch),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = (destructor)switch_dealloc,
    .tp_traverse = (traverseproc)switch_traverse,
    .tp_methods = switch_methods,
    .tp_getset = switch_attributes,
};

PyMethodDef modes_functions[] = {
    WITH_KEYWORDS("call_with_grad", modes_call_with_grad, "call_with_grad(enabled, function, *args, **kwargs)"),
    WITH_KEYWORDS("call_in_scope", modes_call_in_scope, "call_in_scope(observer, name, function, *args, **kwargs)"),
    WITH_KEYWORDS("call_locked", modes_call_locked, "call_locked(lock, function, *args, **kwargs)"),
    {NULL, NULL, 0, NULL},
};

int modes_setup(void)
{
    struct {
        PyObject **target;
        const char *text;
    } texts[] = {
        {&s_changes, "_changes"}, {&s_special, "_special"},        {&s_saved_hooks, "saved_hooks"},
        {&s_anomaly, "anomaly"},  {&s_enter_scope, "enter_scope"}, {&s_leave, "leave"},
        {&s_acquire, "acquire"},  {&s_release, "release"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(*texts[i].target = PyUnicode_InternFromString(texts[i].text)))
            return -1;
    return PyType_Ready(&Switch_Type) < 0 || PyType_Ready(&Guarded_Type) < 0 ? -1 : 0;
}
