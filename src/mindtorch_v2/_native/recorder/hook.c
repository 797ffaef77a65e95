/* The profile hook of a traced thread, and the short way for what it is told most. */
#include "inline.h"

/* What the interpreter gives to the profile function. Before it calls that, it may make an object of the frame, which
 * may collect garbage, whose finalisers may end tracing: so this object is kept by the thread for longer than the
 * interpreter does. */
typedef struct Hook {
    PyObject_HEAD
    Buffer *buffer;        /* borrowed; NULL once tracing has ended */
    Py_tracefunc previous; /* the profile function that was there before */
    PyObject *previous_object;
} Hook;

static void hook_dealloc(Hook *self)
{
    Py_XDECREF(self->previous_object);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Hook_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Hook",
    .tp_doc = "Of a thread's profile function.",
    .tp_basicsize = sizeof(Hook),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)hook_dealloc,
};

int keep_on_thread(const char *name, PyObject *object)
{
    PyObject *kept = PyThreadState_GetDict();
    if (!kept)
        PyErr_SetString(PyExc_RuntimeError, "the thread has no dict to keep what traces it");
    return kept ? PyDict_SetItemString(kept, name, object) : -1;
}

static void put_back(Hook *hook)
{
    Py_tracefunc previous = hook->previous;
    PyObject *object = hook->previous_object;
    hook->previous = NULL;
    hook->previous_object = NULL;
    PyEval_SetProfile(previous, object);
    Py_XDECREF(object);
}

/* --- the short way */
/* Each of these does all there is to do in the usual case, or nothing: then it returns false, and the tracer looks
 * closer. Nothing here can fail or run Python, so an exception that is on its way stays as it is. */
static inline bool has_room(const Buffer *buffer)
{
    return !buffer->core->limit && buffer->rows.spot != buffer->rows.end && buffer->rows.next < INT32_MAX
           && buffer->open_count < buffer->open_room && buffer->frame_count < buffer->frame_room;
}

static inline int32_t open_function_row(Buffer *buffer, int32_t label)
{
    return buffer_push(buffer, label, -1, 0, -1, -1, BY_HANDLE | IS_PYTHON, counted_now(buffer->core));
}

static inline void end_function_row(Buffer *buffer, int32_t row)
{
    buffer_end_fast(buffer, row, counted_now(buffer->core));
}

/* A function that was met before is called by the one that runs, if that still does. The interpreter holds a running
 * function's frame; where only we do, it ended unseen (another profile function was in force), and `settle` finds the
 * caller. */
static inline bool short_call(Buffer *buffer, PyFrameObject *frame)
{
    Frame *top = &buffer->frames[buffer->frame_count - 1];
    if (Py_REFCNT(top->frame) < 2 || !has_room(buffer) || buffer_is_elsewhere(buffer))
        return false;
    PyCodeObject *code = PyFrame_GetCode(frame);
    const CodeSlot *slot = find_code(buffer->core->stacks, (PyObject *)code);
    Py_DECREF(code);
    if (!slot)
        return false;
    int32_t row = is_recorded(top, slot->class) ? open_function_row(buffer, slot->label) : -1;
    Py_INCREF(frame);
    buffer->frame_count++;
    top[1] = (Frame){.frame = frame, .class = slot->class, .row = row, .builtin_row = -1, .node = -2};
    return true;
}

/* The function that was called last ends. (Its row is found whichever lane is the current one.) */
static inline bool short_return(Buffer *buffer, PyFrameObject *frame)
{
    const Frame *top = &buffer->frames[buffer->frame_count - 1];
    if (top->frame != frame || top->builtin_row >= 0)
        return false;
    if (top->row >= 0)
        end_function_row(buffer, top->row);
    frames_shrink(buffer);
    Py_DECREF(frame); /* the interpreter holds it, too */
    return true;
}

/* A function calls one in C that was met before, or that one ends. */
static inline bool short_function_call(Buffer *buffer, const PyFrameObject *frame, PyObject *function)
{
    Frame *top = &buffer->frames[buffer->frame_count - 1];
    if (top->frame != frame)
        return !buffer_is_elsewhere(buffer);
    if (top->row == -1)
        return true; /* of a function that is not recorded, nothing is */
    int32_t label = stacks_recent_label(buffer->core->stacks, function, NULL);
    if (!label || !has_room(buffer) || buffer_is_elsewhere(buffer))
        return false;
    if (label != HIDDEN_FUNCTION)
        top->builtin_row = open_function_row(buffer, label);
    return true;
}

static inline bool short_function_return(Buffer *buffer, const PyFrameObject *frame)
{
    Frame *top = &buffer->frames[buffer->frame_count - 1];
    if (top->frame != frame)
        return !buffer_is_elsewhere(buffer);
    if (top->builtin_row >= 0) {
        end_function_row(buffer, top->builtin_row);
        top->builtin_row = -1;
    }
    return true;
}

static inline bool short_way(const Hook *hook, PyFrameObject *frame, int what, PyObject *arg)
{
    Buffer *buffer = hook->buffer;
    if (!buffer || hook->previous || !buffer->core->ticking || buffer->op_depth || !buffer->frame_count)
        return false;
    return what == PyTrace_CALL     ? short_call(buffer, frame)
           : what == PyTrace_RETURN ? short_return(buffer, frame)
           : what == PyTrace_C_CALL ? short_function_call(buffer, frame, arg)
                                    : what == PyTrace_C_RETURN && short_function_return(buffer, frame);
}

/* --- the hook */
SELDOM static int look_closer(Hook *hook, PyFrameObject *frame, int what, PyObject *arg)
{
    Buffer *buffer = hook->buffer;
    if (!buffer) { /* tracing ended on another thread, or just now */
        if (PyThreadState_Get()->c_profileobj == (PyObject *)hook)
            put_back(hook);
        return 0;
    }
    PyObject *type, *value, *traceback;
    bool pending = what == PyTrace_C_EXCEPTION || (what == PyTrace_RETURN && !arg);
    if (pending) /* an exception is on its way: what is done here must not meet it */
        PyErr_Fetch(&type, &value, &traceback);
    Py_INCREF(buffer); /* what is described on the way may end tracing */
    int failed = tracer_handle(buffer, frame, what, arg, NULL);
    Py_DECREF(buffer);
    if (pending) {
        if (failed)
            PyErr_WriteUnraisable(NULL);
        PyErr_Restore(type, value, traceback);
        failed = 0;
    }
    if (!failed && hook->previous)
        failed = hook->previous(hook->previous_object, frame, what, arg);
    return failed;
}

static int trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    return short_way((const Hook *)self, frame, what, arg) ? 0 : look_closer((Hook *)self, frame, what, arg);
}

int hook_begin(Buffer *self)
{
    PyThreadState *state = PyThreadState_Get();
    const Hook *before =
        state->c_profilefunc == trace ? (Hook *)state->c_profileobj : NULL; /* ours, that had not noticed its end */
    Hook *hook = PyType_Ready(&Hook_Type) < 0 ? NULL : PyObject_New(Hook, &Hook_Type);
    if (!hook)
        return -1;
    hook->buffer = self;
    hook->previous = before ? before->previous : state->c_profilefunc;
    hook->previous_object = before ? before->previous_object : state->c_profileobj;
    Py_XINCREF(hook->previous_object);
    Py_XSETREF(self->hook, hook);
    if (keep_on_thread("mindtorch_v2 profile hook", (PyObject *)hook) < 0)
        return -1;
    PyEval_SetProfile(trace, (PyObject *)hook);
    return 0;
}

void hook_end(Buffer *buffer)
{
    Hook *hook = buffer->hook;
    if (!hook)
        return;
    buffer->hook = NULL;
    hook->buffer = NULL;
    if (PyThreadState_Get()->c_profileobj == (PyObject *)hook)
        put_back(hook);
    Py_DECREF(hook);
}

_Thread_local bool tracer_paused THREAD_LOCAL_MODEL;

#if PY_VERSION_HEX >= 0x030B0000
/* Not calling the hook at all inside operators is cheaper than its returning at once. A debugger or another profile
 * function goes on seeing everything. */
void tracer_pause(const Buffer *buffer)
{
    PyThreadState *state = PyThreadState_Get();
    bool alone = buffer->monitored ? buffer->alone && !state->c_profilefunc
                                   : buffer->hook && !buffer->hook->previous && state->c_profilefunc == trace;
    if (!tracer_paused && buffer->traced && alone && !state->c_tracefunc) {
        PyThreadState_EnterTracing(state);
        tracer_paused = true;
    }
}

void tracer_resume(const Buffer *buffer)
{
    if (tracer_paused && !(buffer && buffer->op_depth)) {
        PyThreadState_LeaveTracing(PyThreadState_Get());
        tracer_paused = false;
    }
}
#else
void tracer_pause(const Buffer *buffer)
{
    (void)buffer;
}

void tracer_resume(const Buffer *buffer)
{
    (void)buffer;
}
#endif

void hook_forget(Buffer *buffer)
{
    if (buffer->hook)
        ((Hook *)buffer->hook)->buffer = NULL;
    Py_CLEAR(buffer->hook);
}
