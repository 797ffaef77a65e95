/* The tracer: keeps each thread's running functions and writes their calls as rows. A profile hook per thread tells
 * about calls (hook.c), or sys.monitoring (monitoring.c).
 *
 * The package's own frames, what they call in libraries, and everything inside an operator are left out. */
#include "inline.h"

#include <stdlib.h>
#include <string.h>

/* --- the stack of running functions */
/* The time, or -1 after an error of the clock: then no row ends. */
static int64_t now_or_none(const Core *core)
{
    return core->clock && PyErr_Occurred() ? -1 : core_now(core);
}

static void end_row(Buffer *buffer, int32_t row)
{
    int64_t now = row < 0 ? -1 : now_or_none(buffer->core);
    if (now >= 0)
        buffer_end_fast(buffer, row, now);
}

static void pop_frame(Buffer *buffer)
{
    const Frame *top = &buffer->frames[buffer->frame_count - 1];
    PyFrameObject *frame = top->frame;
    frames_shrink(buffer);
    int32_t builtin_row = top->builtin_row, row = top->row;
    end_row(buffer, builtin_row);
    end_row(buffer, row);
    Py_DECREF(frame);
}

/* Tracing ends, the functions go on: their rows end now, also around events that are open. */
static void end_frames(Buffer *buffer)
{
    while (buffer->frame_count) {
        const Frame *top = &buffer->frames[buffer->frame_count - 1];
        PyFrameObject *frame = top->frame;
        int32_t rows[] = {top->builtin_row, top->row};
        frames_shrink(buffer);
        for (int i = 0; i < 2; i++) {
            int64_t now = rows[i] < 0 ? -1 : now_or_none(buffer->core);
            if (now >= 0)
                buffer_end_elsewhere(buffer, rows[i], now);
        }
        Py_DECREF(frame);
    }
}

static Frame *push_frame(Buffer *buffer, PyFrameObject *frame, int32_t class, int32_t row)
{
    if (buffer->frame_count == buffer->frame_room) {
        Py_ssize_t room = buffer->frame_room ? 2 * buffer->frame_room : 64;
        Frame *grown = realloc(buffer->frames, (size_t)room * sizeof *grown);
        if (!grown) {
            PyErr_NoMemory();
            return NULL;
        }
        buffer->frames = grown;
        buffer->frame_room = room;
    }
    Py_INCREF(frame);
    Frame *top = &buffer->frames[buffer->frame_count++];
    *top = (Frame){.frame = frame, .class = class, .row = row, .builtin_row = -1, .lasti = 0, .node = -2};
    return top;
}

/* Forgets functions that ended unseen (another profile function was in force), so that the caller stands on top. */
static void settle(Buffer *buffer, PyFrameObject *caller)
{
    if (!buffer->frame_count || buffer->frames[buffer->frame_count - 1].frame == caller)
        return;
    Py_ssize_t index = buffer->frame_count;
    PyFrameObject *at = caller;
    Py_XINCREF(at);
    while (at && index == buffer->frame_count) {
        for (Py_ssize_t i = buffer->frame_count - 1; i >= 0; i--)
            if (buffer->frames[i].frame == at) {
                index = i;
                break;
            }
        PyFrameObject *next = index == buffer->frame_count ? PyFrame_GetBack(at) : NULL;
        Py_DECREF(at);
        at = next;
    }
    Py_XDECREF(at);
    Py_ssize_t keep = index == buffer->frame_count ? 0 : index + 1;
    while (buffer->frame_count > keep)
        pop_frame(buffer);
}

/* --- events */
static int call(Buffer *buffer, PyFrameObject *frame)
{
    Core *core = buffer->core;
    PyFrameObject *back = PyFrame_GetBack(frame);
    settle(buffer, back);
    Py_XDECREF(back);
    PyCodeObject *code = PyFrame_GetCode(frame);
    CodeSlot slot;
    bool known = stacks_code(core->stacks, (PyObject *)code, &slot);
    Py_DECREF(code);
    if (!known)
        return -1;
    if (!buffer->traced) /* what described the code ended tracing */
        return 0;
    int32_t class = slot.class, label = slot.label, row = -1;
    if (is_recorded(buffer->frame_count ? &buffer->frames[buffer->frame_count - 1] : NULL, class)) {
        int64_t now = core_now(core);
        if (now == -1 && PyErr_Occurred())
            return -1;
        row = buffer_push(buffer, label, -1, 0, -1, -1, BY_HANDLE | IS_PYTHON, now);
        if (row == -2)
            return -1;
        if (row == -1)
            row = -3; /* recorded, but dropped */
    }
    return push_frame(buffer, frame, class, row) ? 0 : -1;
}

static int returned(Buffer *buffer, PyFrameObject *frame)
{
    Py_ssize_t index = buffer->frame_count - 1;
    while (index >= 0 && buffer->frames[index].frame != frame)
        index--;
    while (index >= 0 && buffer->frame_count > index)
        pop_frame(buffer);
    return buffer->core->clock && PyErr_Occurred() ? -1 : 0; /* only a clock in Python can fail */
}

static int call_function(Buffer *buffer, PyFrameObject *frame, PyObject *function, PyObject *self)
{
    Core *core = buffer->core;
    Frame *top = buffer->frame_count ? &buffer->frames[buffer->frame_count - 1] : NULL;
    if (!top || top->frame != frame || top->row == -1)
        return 0;
    int32_t label = stacks_function_label(core->stacks, function, self);
    if (!label)
        return -1;
    if (label == HIDDEN_FUNCTION)
        return 0;
    int64_t now = core_now(core);
    if (now == -1 && PyErr_Occurred())
        return -1;
    int32_t row = buffer_push(buffer, label, -1, 0, -1, -1, BY_HANDLE | IS_PYTHON, now);
    if (row == -2)
        return -1;
    top = buffer->frame_count ? &buffer->frames[buffer->frame_count - 1] : NULL;
    if (top && top->frame == frame)
        top->builtin_row = row;
    return 0;
}

static int function_returned(Buffer *buffer, PyFrameObject *frame)
{
    Frame *top = buffer->frame_count ? &buffer->frames[buffer->frame_count - 1] : NULL;
    if (top && top->frame == frame && top->builtin_row >= 0) {
        int32_t row = top->builtin_row;
        top->builtin_row = -1;
        end_row(buffer, row);
    }
    return buffer->core->clock && PyErr_Occurred() ? -1 : 0;
}

int tracer_handle(Buffer *buffer, PyFrameObject *frame, int what, PyObject *function, PyObject *self)
{
    if (buffer->op_depth || buffer->switching)
        return 0;
    if (buffer_is_elsewhere(buffer) && lanes_follow(buffer) < 0)
        return -1;
    switch (what) {
    case PyTrace_CALL:
        return call(buffer, frame);
    case PyTrace_RETURN:
        return returned(buffer, frame);
    case PyTrace_C_CALL:
        return call_function(buffer, frame, function, self);
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        return function_returned(buffer, frame);
    default:
        return 0;
    }
}

/* --- tracing a thread */
static PyObject *begin_trace(Buffer *self, PyObject *args)
{
    /* begin_trace([(frame, class, row), ...], monitored, alone): traces the calling thread; the frames run already,
     * outermost first. Without `monitored` a profile hook is set; else sys.monitoring tells, perhaps to us `alone`. */
    PyObject *frames;
    int monitored, alone;
    if (!PyArg_ParseTuple(args, "O!pp", &PyList_Type, &frames, &monitored, &alone)
        || (monitored && monitoring_begin(self) < 0))
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(frames); i++) {
        PyObject *frame;
        int class, row;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(frames, i), "O!ii", &PyFrame_Type, &frame, &class, &row)
            || !push_frame(self, (PyFrameObject *)frame, class, row))
            return NULL;
    }
    self->monitored = (char)monitored;
    self->alone = (char)alone;
    self->traced = 1;
    if (!monitored && hook_begin(self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *end_trace(Buffer *self, PyObject *Py_UNUSED(ignored))
{
    /* Ends tracing and closes the rows of all running functions. Another thread's hook goes at its next call. */
    self->traced = 0;
    Py_INCREF(self);
    monitoring_end(self);
    hook_end(self);
    lanes_each(self, end_frames);
    Py_DECREF(self);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

void tracer_clear(Buffer *buffer)
{
    while (buffer->frame_count) {
        PyFrameObject *frame = buffer->frames[--buffer->frame_count].frame;
        Py_DECREF(frame);
    }
    buffer->known_frames = 0;
    free(buffer->frames);
    buffer->frames = NULL;
    buffer->frame_room = 0;
    hook_forget(buffer);
}

PyMethodDef tracer_methods[] = {
    {"begin_trace", (PyCFunction)begin_trace, METH_VARARGS, "Traces the calling thread from now on."},
    {"end_trace", (PyCFunction)end_trace, METH_NOARGS, "Ends tracing."},
    {NULL, NULL, 0, NULL},
};
