/* The tracer's other source of events: from Python 3.12 on, `sys.monitoring` tells about calls and returns more cheaply
 * than a profile function does, and leaves that one to others.
 *
 * It tells about all threads of the process, so every thread knows here which buffer it is traced into. The buffer is
 * also kept in the thread's dict: it lives until the thread ends, is traced anew, or notices that tracing ended. */
#include "recorder.h"

static _Thread_local Buffer *traced_here;

#if PY_VERSION_HEX >= 0x030C0000
static const char KEPT_AS[] = "mindtorch_v2 traced buffer";

static void forget_here(void)
{
    const Buffer *buffer = traced_here;
    PyObject *kept = PyThreadState_GetDict();
    traced_here = NULL;
    if (buffer && kept && PyDict_GetItemString(kept, KEPT_AS) == (const PyObject *)buffer
        && PyDict_DelItemString(kept, KEPT_AS) < 0)
        PyErr_Clear();
}

int monitoring_begin(Buffer *buffer)
{
    traced_here = NULL;
    if (keep_on_thread(KEPT_AS, (PyObject *)buffer) < 0)
        return -1;
    traced_here = buffer;
    return 0;
}

void monitoring_end(Buffer *buffer)
{
    if (traced_here == buffer)
        forget_here();
}

/* The calling thread's buffer; NULL where it is not traced, or where nothing is to be seen. */
static Buffer *traced_buffer(void)
{
    Buffer *buffer = traced_here;
    if (!buffer)
        return NULL;
    if (!buffer->traced) { /* tracing ended on another thread */
        forget_here();
        return NULL;
    }
    return buffer->op_depth ? NULL : buffer;
}

static PyObject *handled(int what, PyObject *argument, PyObject *self, bool may_raise)
{
    if (!traced_here)
        meeting_here();
    Buffer *buffer = traced_buffer();
    PyFrameObject *frame = buffer ? PyEval_GetFrame() : NULL;
    if (!frame)
        Py_RETURN_NONE;
    Py_INCREF(buffer);
    int failed = tracer_handle(buffer, frame, what, argument, self);
    Py_DECREF(buffer);
    if (failed && may_raise)
        return NULL;
    if (failed)
        PyErr_WriteUnraisable(NULL); /* the program's own exception is on its way, and counts */
    Py_RETURN_NONE;
}

static PyObject *on_start(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args;
    return handled(PyTrace_CALL, NULL, NULL, count < 3); /* a third argument is an exception thrown into a generator */
}

static PyObject *on_return(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    return handled(PyTrace_RETURN, NULL, NULL, true);
}

static PyObject *on_unwind(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    return handled(PyTrace_RETURN, NULL, NULL, false);
}

static PyObject *on_call(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    /* (code, offset, callable, first argument). What is written in Python has a start of its own. */
    (void)module;
    if (count < 4 || !(PyCFunction_Check(args[2]) || Py_IS_TYPE(args[2], &PyMethodDescr_Type)))
        Py_RETURN_NONE;
    return handled(PyTrace_C_CALL, args[2], args[3], true);
}

static PyObject *on_function_return(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    return handled(PyTrace_C_RETURN, NULL, NULL, true);
}

static PyObject *on_function_raise(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    return handled(PyTrace_C_EXCEPTION, NULL, NULL, false);
}

#define CALLBACK(name, function, doc)                                                                                  \
    {                                                                                                                  \
        name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, doc                                                \
    }
PyMethodDef monitoring_functions[] = {
    CALLBACK("on_start", on_start, "PY_START, PY_RESUME and PY_THROW of sys.monitoring."),
    CALLBACK("on_return", on_return, "PY_RETURN and PY_YIELD."),
    CALLBACK("on_unwind", on_unwind, "PY_UNWIND."),
    CALLBACK("on_call", on_call, "CALL."),
    CALLBACK("on_function_return", on_function_return, "C_RETURN."),
    CALLBACK("on_function_raise", on_function_raise, "C_RAISE."),
    {NULL, NULL, 0, NULL},
};
#else
int monitoring_begin(Buffer *buffer)
{
    (void)buffer;
    PyErr_SetString(PyExc_RuntimeError, "sys.monitoring came with Python 3.12");
    return -1;
}

void monitoring_end(Buffer *buffer)
{
    (void)buffer;
}

PyMethodDef monitoring_functions[] = {{NULL, NULL, 0, NULL}};
#endif

void monitoring_buffer_dies(const Buffer *buffer)
{
    if (traced_here == buffer)
        traced_here = NULL;
}
