/* The recorder: what the runtime calls at the beginning and end of every event.
 *
 * profiler/record/python_recorder.py does the same in Python; profiler/record/native_recorder.py is there for
 * everything that is not called per event. Only one thread at a time runs here, and nothing between finding a row's
 * memory and filling it runs Python code. */
#include "inline.h"
#include "core/tensor.h"

#include <string.h>

static _Thread_local Buffer *own_buffer THREAD_LOCAL_MODEL; /* valid while the generation is the recorder's */
static _Thread_local uint64_t own_generation THREAD_LOCAL_MODEL;

/* --- threads */
static Buffer *find_buffer(Core *core)
{
    uint64_t generation = core->generation;
    PyObject *found = PyObject_CallMethodNoArgs((PyObject *)core, names.find_buffer);
    if (!found)
        return NULL;
    Buffer *buffer = PyObject_TypeCheck(found, &Buffer_Type) ? (Buffer *)found : NULL;
    if (generation == core->generation) {
        own_buffer = buffer; /* the recorder holds it until the generation changes */
        own_generation = generation;
    }
    Py_DECREF(found);
    return buffer;
}

Buffer *core_known_buffer(const Core *core)
{
    return own_generation == core->generation ? own_buffer : NULL;
}

Buffer *core_buffer(Core *core)
{
    return own_generation == core->generation ? own_buffer : find_buffer(core);
}

/* The same for an event, which belongs to the task that runs now. */
static inline Buffer *event_buffer(Core *core)
{
    Buffer *buffer = core_buffer(core);
    if (!buffer || !buffer_is_elsewhere(buffer))
        return buffer;
    return lanes_follow(buffer) < 0 ? NULL : core_buffer(core);
}

PyObject *core_bind(Core *self, PyObject *buffer)
{
    if (!PyObject_TypeCheck(buffer, &Buffer_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a buffer");
        return NULL;
    }
    own_buffer = (Buffer *)buffer;
    own_generation = self->generation;
    Py_RETURN_NONE;
}

PyObject *core_thread_buffer(Core *self, PyObject *Py_UNUSED(ignored))
{
    Buffer *buffer = event_buffer(self);
    if (!buffer && PyErr_Occurred())
        return NULL;
    PyObject *found = buffer ? (PyObject *)buffer : Py_None;
    Py_INCREF(found);
    return found;
}

/* --- events */
static int push_row(Core *core, Buffer *buffer, int32_t label, int64_t sequence_nr, int32_t forward_thread,
                    int32_t inputs, bool is_op)
{
    int32_t stack = -1;
    unsigned how = is_op ? IS_OP : 0;
    if (buffer_refuses(buffer))
        return buffer_push(buffer, label, sequence_nr, forward_thread, -1, -1, how, 0) == -2 ? -1 : 0;
    if (core->detail & STACKS && (stack = buffer_stack(buffer)) == -2)
        return -1;
    int64_t now = core_now(core);
    if (now == -1 && PyErr_Occurred())
        return -1;
    return buffer_push(buffer, label, sequence_nr, forward_thread, inputs, stack, how, now) == -2 ? -1 : 0;
}

static int check_count(Py_ssize_t count, Py_ssize_t least, Py_ssize_t most)
{
    if (count >= least && count <= most)
        return 0;
    PyErr_Format(PyExc_TypeError, "expected %zd to %zd arguments, got %zd", least, most, count);
    return -1;
}

static int tell_op(Core *self, PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *tuple,
                   int64_t sequence_nr)
{
    PyObject *sequence = PyLong_FromLongLong(sequence_nr);
    PyObject *given = tuple ? held(tuple) : tuple_of(args, count);
    PyObject *told = sequence && given
                         ? PyObject_CallMethodObjArgs((PyObject *)self, names.tell_op, op, given, sequence, NULL)
                         : NULL;
    Py_XDECREF(sequence);
    Py_XDECREF(given);
    Py_XDECREF(told);
    return told ? 0 : -1;
}

static int begin_op_in(Core *self, Buffer *buffer, PyObject *op, PyObject *const *args, Py_ssize_t count,
                       PyObject *tuple, int64_t sequence_nr)
{
    if (self->detail & LISTENERS && tell_op(self, op, args, count, tuple, sequence_nr) < 0)
        return -1;
    if (!buffer)
        return 0;
    const OpSlot *slot = core_op_label(self, op);
    if (!slot)
        return -1;
    int32_t label = slot->label, inputs = -1;
    bool is_aten = slot->is_aten;
    if (self->detail & SHAPES && !buffer_refuses(buffer) && (inputs = inputs_of_op(self, op, args, count, tuple)) == -2)
        return -1;
    if (push_row(self, buffer, label, sequence_nr, 0, inputs, is_aten) < 0)
        return -1;
    if (self->detail & REFERENCES)
        references_of_newest(buffer, args, count);
    if (self->detail & STACKS && is_aten)
        tracer_pause(buffer);
    return 0;
}

/* What is described for the first time, and a clock in Python, may run anything, even what ends the recording: until
 * the row is written its buffer is held. */
int core_begin_op(Core *self, PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *tuple,
                  int64_t sequence_nr)
{
    Buffer *buffer = event_buffer(self);
    if (!buffer && PyErr_Occurred())
        return -1;
    Py_XINCREF(buffer);
    int failed = begin_op_in(self, buffer, op, args, count, tuple, sequence_nr);
    Py_XDECREF(buffer);
    return failed;
}

static int begin_op(Core *self, PyObject *op, PyObject *args, PyObject *sequence)
{
    long long sequence_nr = PyLong_AsLongLong(sequence);
    if (sequence_nr == -1 && PyErr_Occurred())
        return -1;
    if (!PyTuple_Check(args)) {
        PyErr_SetString(PyExc_TypeError, "expected the arguments as a tuple");
        return -1;
    }
    return core_begin_op(self, op, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), args, sequence_nr);
}

PyObject *core_enter_op(Core *self, PyObject *const *args, Py_ssize_t count)
{
    if (check_count(count, 3, 3) < 0 || begin_op(self, args[0], args[1], args[2]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

int core_tell(Core *self, int kind, PyObject *name, PyObject *inputs, long long sequence_nr, int32_t forward_thread)
{
    if (!(self->detail & LISTENERS))
        return 0;
    PyObject *told =
        PyObject_CallMethod((PyObject *)self, "_tell", "iOOLi", kind, name, inputs, sequence_nr, (int)forward_thread);
    Py_XDECREF(told);
    return told ? 0 : -1;
}

/* The id of the thread with this identifier; where it is 0, the forward is taken to have run on the calling thread.
 */
static int thread_id(Core *core, const Buffer *buffer, PyObject *ident, long long sequence_nr, int32_t *id)
{
    unsigned long given = PyLong_AsUnsignedLong(ident);
    if (given == (unsigned long)-1 && PyErr_Occurred())
        return -1;
    if (buffer && (!given || given == buffer->ident)) {
        *id = given || sequence_nr >= 0 ? buffer->id : 0;
        return 0;
    }
    PyObject *made = PyObject_CallMethod((PyObject *)core, "_thread_id", "OL", ident, sequence_nr);
    if (!made)
        return -1;
    *id = (int32_t)PyLong_AsLong(made);
    Py_DECREF(made);
    return PyErr_Occurred() ? -1 : 0;
}

static int node_kind(Core *core, PyObject *name, bool is_backward)
{
    /* A name without the engine's prefix is the forward of a custom Function. */
    if (is_backward)
        return KIND_BACKWARD;
    int32_t label;
    int known = core_known_label(core, name, KIND_NODE, &label);
    if (known)
        return known < 0 ? -1 : KIND_NODE;
    const char *text = PyUnicode_AsUTF8(name);
    return !text ? -1 : strncmp(text, NODE_PREFIX, sizeof NODE_PREFIX - 1) == 0 ? KIND_NODE : KIND_FUNCTION;
}

static int tell_node(Core *self, int kind, PyObject *name, PyObject *const *inputs, Py_ssize_t count,
                     int64_t sequence_nr, int32_t thread)
{
    if (!(self->detail & LISTENERS))
        return 0;
    PyObject *given = tuple_of(inputs, count);
    int told = given ? core_tell(self, kind, name, given, sequence_nr, thread) : -1;
    Py_XDECREF(given);
    return told;
}

static int begin_node(Core *self, Buffer *buffer, int kind, PyObject *name, int64_t sequence_nr, PyObject *thread_ident,
                      PyObject *const *inputs, Py_ssize_t count, bool is_closed)
{
    int32_t label, described = -1, thread = 0;
    if ((kind != KIND_FUNCTION && thread_id(self, buffer, thread_ident, sequence_nr, &thread) < 0)
        || tell_node(self, kind, name, inputs, count, sequence_nr, thread) < 0)
        return -1;
    if (!buffer)
        return 0;
    if (core_name_label(self, name, kind, &label) < 0)
        return -1;
    if (self->detail & SHAPES && kind != KIND_NODE && !buffer_refuses(buffer)
        && (described = inputs_of_values(self, inputs, count)) == -2)
        return -1;
    if (push_row(self, buffer, label, sequence_nr, thread, described, is_closed) < 0)
        return -1;
    if (self->detail & REFERENCES && kind != KIND_NODE)
        references_of_newest(buffer, inputs, count);
    if (self->detail & STACKS && is_closed)
        tracer_pause(buffer);
    return 0;
}

int core_begin_node(Core *self, PyObject *name, int64_t sequence_nr, PyObject *thread_ident, PyObject *const *inputs,
                    Py_ssize_t count, bool is_backward, bool is_closed)
{
    int kind = node_kind(self, name, is_backward);
    Buffer *buffer = kind < 0 ? NULL : event_buffer(self);
    if (kind < 0 || (!buffer && PyErr_Occurred()))
        return -1;
    Py_XINCREF(buffer); /* what is described for the first time may end the recording */
    int begun = begin_node(self, buffer, kind, name, sequence_nr, thread_ident, inputs, count, is_closed);
    Py_XDECREF(buffer);
    return begun;
}

PyObject *core_enter_node(Core *self, PyObject *const *args, Py_ssize_t count)
{
    if (check_count(count, 5, 5) < 0)
        return NULL;
    long long sequence_nr = PyLong_AsLongLong(args[1]);
    int is_backward = PyObject_IsTrue(args[4]);
    if (is_backward < 0 || (sequence_nr == -1 && PyErr_Occurred()))
        return NULL;
    PyObject *inputs = PySequence_Tuple(args[3]);
    if (!inputs)
        return NULL;
    int begun = core_begin_node(self, args[0], sequence_nr, args[2], &PyTuple_GET_ITEM(inputs, 0),
                                PyTuple_GET_SIZE(inputs), is_backward, false);
    Py_DECREF(inputs);
    if (begun < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *core_enter_scope(Core *self, PyObject *const *args, Py_ssize_t count)
{
    if (check_count(count, 1, 2) < 0)
        return NULL;
    if (count == 2 && args[1] != Py_None) /* a scope with a text of its own: rare */
        return PyObject_CallMethod((PyObject *)self, "_enter", "iOO", KIND_SCOPE, args[0], args[1]);
    Buffer *buffer = event_buffer(self);
    if (!buffer && PyErr_Occurred())
        return NULL;
    int32_t label;
    Py_XINCREF(buffer);
    int failed = core_tell(self, KIND_SCOPE, args[0], Py_None, -1, 0);
    if (!failed && buffer)
        failed = core_name_label(self, args[0], KIND_SCOPE, &label) < 0
                 || push_row(self, buffer, label, -1, 0, -1, false) < 0;
    Py_XDECREF(buffer);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static int end_event(Core *self)
{
    int64_t now = core_now(self);
    if (now == -1 && PyErr_Occurred())
        return -1;
    if (self->detail & LISTENERS) {
        PyObject *told = PyObject_CallMethodNoArgs((PyObject *)self, names.tell_leave);
        if (!told)
            return -1;
        Py_DECREF(told);
    }
    Buffer *buffer = core_buffer(self);
    int failed = 0;
    if (buffer && buffer_is_elsewhere(buffer)) {
        failed = lanes_follow(buffer); /* where it fails, the event ends all the same */
        buffer = !failed ? core_buffer(self) : own_generation == self->generation ? own_buffer : NULL;
    }
    if (buffer)
        buffer_leave_fast(buffer, now);
    if (tracer_paused)
        tracer_resume(buffer); /* also where the recording ended inside an operator */
    return failed || (!buffer && PyErr_Occurred()) ? -1 : 0;
}

int core_end_op(Core *self, bool went_well)
{
    if (went_well)
        return end_event(self);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (end_event(self) < 0)
        PyErr_Clear(); /* the operator's error counts */
    PyErr_Restore(type, value, traceback);
    return 0;
}

PyObject *core_leave(Core *self, PyObject *Py_UNUSED(ignored))
{
    if (end_event(self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *core_clock_now(Core *self, PyObject *Py_UNUSED(ignored))
{
    int64_t now = core_now(self);
    return now == -1 && PyErr_Occurred() ? NULL : PyLong_FromLongLong(now);
}
