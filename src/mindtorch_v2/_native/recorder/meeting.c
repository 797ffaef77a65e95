/* Threads that run already when tracing begins: each is met once, when it next calls a function or returns from one.
 *
 * Up to Python 3.11 a profile function is set on each of them, which takes itself away; from 3.12 on the callbacks of
 * sys.monitoring, which run on all threads, ask here (monitoring.c). */
#include "recorder.h"

#include <stdlib.h>

static PyObject *met_with;     /* what to call, NULL where nobody is to be met */
static unsigned long *waiting; /* identifiers of threads that have not been met */
static Py_ssize_t waiting_count;

static bool forget(unsigned long ident)
{
    for (Py_ssize_t i = 0; i < waiting_count; i++)
        if (waiting[i] == ident) {
            waiting[i] = waiting[--waiting_count];
            return true;
        }
    return false;
}

void meeting_here(void)
{
    if (!waiting_count || !met_with || !forget(PyThread_get_thread_ident()))
        return;
    PyObject *type, *value, *traceback, *call = Py_NewRef(met_with);
    PyErr_Fetch(&type, &value, &traceback); /* an exception may be on its way */
    PyObject *made = PyObject_CallNoArgs(call);
    if (!made)
        PyErr_WriteUnraisable(call);
    Py_XDECREF(made);
    Py_DECREF(call);
    PyErr_Restore(type, value, traceback);
}

#if PY_VERSION_HEX < 0x030C0000
static int meet(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)self, (void)frame, (void)what, (void)arg;
    PyEval_SetProfile(NULL, NULL);
    meeting_here();
    return 0;
}

static bool is_waiting(unsigned long ident)
{
    for (Py_ssize_t i = 0; i < waiting_count; i++)
        if (waiting[i] == ident)
            return true;
    return false;
}

/* Sets the profile function on threads that wait, and takes it from all others. Another profile function stays. */
static int set_on_threads(void)
{
    for (PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); state;
         state = PyThreadState_Next(state)) {
        bool wanted = is_waiting(state->thread_id);
        if (wanted != (state->c_profilefunc == meet) && (!wanted || !state->c_profilefunc)
            && _PyEval_SetProfile(state, wanted ? meet : NULL, NULL) < 0)
            return -1;
    }
    return 0;
}
#else
static int set_on_threads(void)
{
    return 0;
}
#endif

/* meet_threads(identifiers, function or None) */
PyObject *meet_threads(PyObject *module, PyObject *args)
{
    PyObject *list, *function;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &function))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(list);
    unsigned long *idents = malloc((size_t)(count + 1) * sizeof *idents);
    if (!idents)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++)
        idents[i] = PyLong_AsUnsignedLong(PyList_GET_ITEM(list, i));
    if (PyErr_Occurred()) {
        free(idents);
        return NULL;
    }
    free(waiting);
    waiting = idents;
    waiting_count = count;
    Py_XSETREF(met_with, function == Py_None ? NULL : Py_NewRef(function));
    if (set_on_threads() < 0)
        return NULL;
    Py_RETURN_NONE;
}
