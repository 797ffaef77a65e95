/* Calls of Python that the tracer makes before a function of the program begins. An interrupt, which is what a signal
 * handler raises, may end them; raised there it would keep the program's function from being called at all, even where
 * that one is the `__exit__` of a mode. So the call is made again, and the interrupt is raised a moment later, in the
 * program's own code. */
#include "recorder.h"

enum { ATTEMPTS = 10 };

static int raise_kept(void *kept)
{
    PyObject *error = kept;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return -1;
}

/* Python runs signal handlers on its main thread alone; only there can an exception be raised later. */
static bool is_main_thread(void)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    bool is_main = ident && PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    PyErr_Clear();
    return is_main;
}

/* The exception that is set, as one object; none is set afterwards. */
static PyObject *taken_error(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

PyObject *call_undisturbed(PyObject *function, PyObject *argument)
{
    PyObject *made = PyObject_CallOneArg(function, argument);
    if (made)
        return made;
    PyObject *error = taken_error();
    bool again = is_main_thread();
    for (int i = 1; again && i < ATTEMPTS && !made; i++) {
        made = PyObject_CallOneArg(function, argument);
        if (!made)
            PyErr_Clear();
    }
    if (made && Py_AddPendingCall(raise_kept, error) == 0)
        return made;
    Py_XDECREF(made); /* an error of the call itself, which comes each time */
    raise_kept(error);
    return NULL;
}
