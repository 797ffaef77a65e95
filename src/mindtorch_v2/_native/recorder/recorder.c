/* The recorder: what the runtime calls at the beginning and end of every event.
 *
 * It is the native twin of profiler/record/python_recorder.py; profiler/record/native_recorder.py stands behind it for
 * everything that is not called per event. Only one thread at a time runs here, and nothing between finding a row's
 * place and filling it runs Python code. */
#include "inline.h"
#include "common/enums.h"
#include "common/sources.h"
#include "core/loops.h"
#include "core/tensor.h"
#include "core/modes.h"
#include "core/quiet.h"

#include <string.h>

struct Names names;

typedef struct {
    PyObject *op; /* NULL: a free slot */
    int32_t label;
    bool is_aten;
} OpSlot;

static HashMap ops; /* OpSlot: every operator met, for the life of the process */

static _Thread_local Buffer *own_buffer THREAD_LOCAL_MODEL; /* valid while the generation is the recorder's */
static _Thread_local uint64_t own_generation THREAD_LOCAL_MODEL;
static uint64_t generations;

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

static PyObject *bind(Core *self, PyObject *buffer)
{
    if (!PyObject_TypeCheck(buffer, &Buffer_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a buffer");
        return NULL;
    }
    own_buffer = (Buffer *)buffer;
    own_generation = self->generation;
    Py_RETURN_NONE;
}

static PyObject *renew(Core *self, PyObject *buffers)
{
    /* renew(buffers): from now on these are recorded, and every thread asks anew which is its own. */
    if (!PyDict_Check(buffers)) {
        PyErr_SetString(PyExc_TypeError, "expected a dict");
        return NULL;
    }
    self->generation = ++generations;
    Py_INCREF(buffers);
    Py_XSETREF(self->buffers, buffers);
    self->kept = 0;
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(buffers, &position, &key, &value))
        self->kept += ((Buffer *)value)->rows.next - ((Buffer *)value)->rows.first;
    Py_RETURN_NONE;
}

static PyObject *thread_buffer(Core *self, PyObject *Py_UNUSED(ignored))
{
    Buffer *buffer = event_buffer(self);
    if (!buffer && PyErr_Occurred())
        return NULL;
    PyObject *found = buffer ? (PyObject *)buffer : Py_None;
    Py_INCREF(found);
    return found;
}

/* --- labels */
static bool op_is_free(const void *slot)
{
    return !((const OpSlot *)slot)->op;
}

static uint64_t op_hash(const void *slot)
{
    return hash_pointer(((const OpSlot *)slot)->op);
}

static bool op_is(const void *slot, const void *op)
{
    return ((const OpSlot *)slot)->op == op;
}

#define OP_KIND ((MapKind){sizeof(OpSlot), 1024, op_is_free, op_hash, op_is})

static OpSlot *add_op(Core *core, PyObject *op)
{
    PyObject *made = PyObject_CallMethodOneArg((PyObject *)core, names.op_label, op);
    if (!made)
        return NULL;
    int label, aten;
    int parsed = PyArg_ParseTuple(made, "ip", &label, &aten);
    Py_DECREF(made);
    if (!parsed)
        return NULL;
    if (!map_reserve(&ops, OP_KIND)) {
        PyErr_NoMemory();
        return NULL;
    }
    OpSlot *slot = map_slot(&ops, OP_KIND, hash_pointer(op), op);
    if (!slot->op) {
        Py_INCREF(op);
        *slot = (OpSlot){.op = op, .label = label, .is_aten = aten};
        ops.used++;
    }
    return slot;
}

static const OpSlot *op_label(Core *core, PyObject *op)
{
    const OpSlot *known = map_find(&ops, OP_KIND, hash_pointer(op), op);
    return known ? known : add_op(core, op);
}

static NameSlot *recent_name(Core *core, PyObject *name, int kind)
{
    return &core->recent[((uintptr_t)name >> 4 ^ (uintptr_t)kind << 5) % RECENT_NAMES];
}

static void forget_names(Core *core)
{
    for (int i = 0; i < RECENT_NAMES; i++)
        Py_CLEAR(core->recent[i].name);
}

/* 1 where the name has a label, 0 where it has none yet, -1 with a Python error set. */
static int known_label(Core *core, PyObject *name, int kind, int32_t *label)
{
    NameSlot *slot = recent_name(core, name, kind);
    if (slot->name == name && slot->kind == kind) {
        *label = slot->label;
        return 1;
    }
    PyObject *known = PyDict_GetItemWithError(core->names[kind], name);
    if (!known)
        return PyErr_Occurred() ? -1 : 0;
    *label = (int32_t)PyLong_AsLong(known);
    slot->kind = kind;
    slot->label = *label;
    Py_XSETREF(slot->name, Py_NewRef(name));
    return 1;
}

int core_name_label(Core *core, PyObject *name, int kind, int32_t *label)
{
    uint64_t generation = core->generation;
    int known = known_label(core, name, kind, label);
    if (known)
        return known < 0 ? -1 : 0;
    PyObject *labels = PyObject_GetAttr((PyObject *)core, names.labels);
    PyObject *number = PyLong_FromLong(kind);
    PyObject *made = labels && number ? PyObject_CallMethodObjArgs(labels, names.number, name, number, NULL) : NULL;
    Py_XDECREF(labels);
    Py_XDECREF(number);
    if (!made)
        return -1;
    *label = (int32_t)PyLong_AsLong(made);
    int failed = PyErr_Occurred() ? -1 : 0;
    if (!failed && generation == core->generation) /* else the recorder began anew meanwhile, with other numbers */
        failed = PyDict_SetItem(core->names[kind], name, made);
    Py_DECREF(made);
    return failed;
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
    PyObject *number = PyLong_FromLongLong(sequence_nr);
    PyObject *given = tuple ? held(tuple) : tuple_of(args, count);
    PyObject *told =
        number && given ? PyObject_CallMethodObjArgs((PyObject *)self, names.tell_op, op, given, number, NULL) : NULL;
    Py_XDECREF(number);
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
    const OpSlot *slot = op_label(self, op);
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

static PyObject *enter_op(Core *self, PyObject *const *args, Py_ssize_t count)
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

/* The number of the thread with this identifier; where it is 0, the forward is taken to have run on the calling thread.
 */
static int thread_number(Core *core, const Buffer *buffer, PyObject *ident, long long sequence_nr, int32_t *number)
{
    unsigned long given = PyLong_AsUnsignedLong(ident);
    if (given == (unsigned long)-1 && PyErr_Occurred())
        return -1;
    if (buffer && (!given || given == buffer->ident)) {
        *number = given || sequence_nr >= 0 ? buffer->number : 0;
        return 0;
    }
    PyObject *made = PyObject_CallMethod((PyObject *)core, "_thread_number", "OL", ident, sequence_nr);
    if (!made)
        return -1;
    *number = (int32_t)PyLong_AsLong(made);
    Py_DECREF(made);
    return PyErr_Occurred() ? -1 : 0;
}

static int node_kind(Core *core, PyObject *name, bool is_backward)
{
    /* A name without the engine's prefix is the forward of a custom Function. */
    if (is_backward)
        return KIND_BACKWARD;
    int32_t label;
    int known = known_label(core, name, KIND_NODE, &label);
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
    if ((kind != KIND_FUNCTION && thread_number(self, buffer, thread_ident, sequence_nr, &thread) < 0)
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

static PyObject *enter_node(Core *self, PyObject *const *args, Py_ssize_t count)
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

static PyObject *enter_scope(Core *self, PyObject *const *args, Py_ssize_t count)
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

static PyObject *leave(Core *self, PyObject *Py_UNUSED(ignored))
{
    if (end_event(self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *clock_now(Core *self, PyObject *Py_UNUSED(ignored))
{
    int64_t now = core_now(self);
    return now == -1 && PyErr_Occurred() ? NULL : PyLong_FromLongLong(now);
}

/* --- set-up */
static PyObject *restart(Core *self, PyObject *args)
{
    /* restart(clock or None, may use the counter, describe_code, describe_function): forgets names, inputs, stacks,
     * bounds and counts. */
    PyObject *clock, *describe_code, *describe_function;
    int trusted;
    if (!PyArg_ParseTuple(args, "OpOO", &clock, &trusted, &describe_code, &describe_function))
        return NULL;
    Stacks *stacks = stacks_new();
    if (!stacks)
        return NULL;
    Py_INCREF(describe_code);
    stacks->describe_code = describe_code;
    Py_INCREF(describe_function);
    stacks->describe_function = describe_function;
    Py_XSETREF(self->stacks, stacks);
    forget_names(self);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        PyObject *fresh = PyDict_New();
        if (!fresh)
            return NULL;
        Py_XSETREF(self->names[kind], fresh);
    }
    bytes_clear(&self->inputs);
    table_clear(&self->stray);
    self->dropped = self->limit = 0;
    self->newest = 0;
    Py_CLEAR(self->clock);
    if (clock != Py_None) {
        Py_INCREF(clock);
        self->clock = clock;
    }
    clock_start(self, trusted);
    Py_RETURN_NONE;
}

static PyObject *bound(Core *self, PyObject *args)
{
    long long limit;
    int newest;
    if (!PyArg_ParseTuple(args, "Lp", &limit, &newest))
        return NULL;
    self->limit = limit;
    self->newest = (char)newest;
    Py_RETURN_NONE;
}

static PyObject *stray_table(Core *self, PyObject *args)
{
    long long from;
    return PyArg_ParseTuple(args, "L", &from) ? table_parts(&self->stray, from, -1) : NULL;
}

static PyObject *get_stray_count(Core *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(self->stray.next);
}

static PyObject *get_all_threads(Core *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(self->all_threads);
}

static int set_all_threads(Core *self, PyObject *value, void *closure)
{
    (void)closure;
    int wanted = value ? PyObject_IsTrue(value) : -1;
    if (wanted < 0)
        return -1;
    if (wanted != self->all_threads)
        self->generation = ++generations; /* threads that were not recorded ask again */
    self->all_threads = (char)wanted;
    return 0;
}

static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    Core *made = (Core *)type->tp_alloc(type, 0);
    if (!made)
        return NULL;
    made->generation = ++generations;
    table_init(&made->stray, sizeof(MemoryRow), 10);
    return (PyObject *)made;
}

static void core_dealloc(Core *self)
{
    forget_names(self);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        Py_XDECREF(self->names[kind]);
    Py_XDECREF(self->clock);
    Py_XDECREF(self->buffers);
    Py_XDECREF(self->stacks);
    bytes_clear(&self->inputs);
    table_clear(&self->stray);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"enter_op", (PyCFunction)(void (*)(void))enter_op, METH_FASTCALL, "An operator call begins."},
    {"enter_node", (PyCFunction)(void (*)(void))enter_node, METH_FASTCALL, "The engine evaluates or applies a node."},
    {"enter_scope", (PyCFunction)(void (*)(void))enter_scope, METH_FASTCALL, "A user scope begins."},
    {"leave", (PyCFunction)leave, METH_NOARGS, "The innermost open event of the calling thread ends."},
    {"clock_now", (PyCFunction)clock_now, METH_NOARGS, "The time that a row would get."},
    {"note_allocated", (PyCFunction)(void (*)(void))core_allocated, METH_FASTCALL, "Memory came to life."},
    {"note_freed", (PyCFunction)(void (*)(void))core_freed, METH_FASTCALL, "Memory is gone."},
    {"thread_buffer", (PyCFunction)thread_buffer, METH_NOARGS, "The calling thread's buffer, if it is recorded."},
    {"bind", (PyCFunction)bind, METH_O, "Makes a buffer the calling thread's."},
    {"renew", (PyCFunction)renew, METH_O, "Takes the buffers of the threads to be recorded."},
    {"restart", (PyCFunction)restart, METH_VARARGS, "Forgets what was interned and counted."},
    {"bound", (PyCFunction)bound, METH_VARARGS,
     "bound(limit, newest): how many rows are kept at most, 0 for all, and which."},
    {"stray_table", (PyCFunction)stray_table, METH_VARARGS,
     "Frees by threads that are not recorded, from a number on."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"detail", T_INT, offsetof(Core, detail), 0, "What rows hold beside their times."},
    {"watches_memory", T_BOOL, offsetof(Core, watches_memory), 0, "Whether allocations are to be reported."},
    {"watches_modules", T_BOOL, offsetof(Core, watches_modules), 0, "Whether calls of modules are to be reported."},
    {"watches_outputs", T_BOOL, offsetof(Core, watches_outputs), 0, "Whether results are to be reported."},
    {"kept", T_LONGLONG, offsetof(Core, kept), READONLY, "How many rows are kept."},
    {"dropped", T_LONGLONG, offsetof(Core, dropped), READONLY, "How many rows and memory records were refused."},
    {"ticking", T_BOOL, offsetof(Core, ticking), READONLY, "Whether times come from the processor's counter."},
    {"stack_table", T_OBJECT, offsetof(Core, stacks), READONLY, "The call stacks."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"all_threads", (getter)get_all_threads, (setter)set_all_threads, "Whether threads are recorded when first met.",
     NULL},
    {"stray_count", (getter)get_stray_count, NULL, "How many frees by threads that are not recorded were noted.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Core_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Core",
    .tp_doc = "The per-event part of the recorder.",
    .tp_basicsize = sizeof(Core),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = core_new,
    .tp_dealloc = (destructor)core_dealloc,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = attributes,
};

static PyObject *setup(PyObject *module, PyObject *args)
{
    PyObject *tensor, *array, *samples;
    if (!PyArg_ParseTuple(args, "OOO", &tensor, &array, &samples))
        return NULL;
    int known = inputs_setup(module, tensor, array, samples);
    return known < 0 ? NULL : PyBool_FromLong(known);
}

/* Those of sys.monitoring belong to the module too but stand in their own file. */
static PyMethodDef functions[] = {
    {"setup", setup, METH_VARARGS, "setup(Tensor, ndarray, samples): whether arrays can be read directly."},
    {"setup_values", inputs_setup_values, METH_VARARGS,
     "setup_values(device, dtype, layout, ...): types of arguments beside tensors and numbers."},
    {"setup_memory", memory_configure, METH_O,
     "setup_memory(watch): what notes the memory of an array that was not allocated under watch."},
    {"install_allocator", allocator_install, METH_NOARGS,
     "Sees what numpy allocates in the calling context; False where somebody else does."},
    {"remove_allocator", allocator_remove, METH_NOARGS, "Ends that, in the calling context."},
    {"block_of", allocator_block, METH_VARARGS,
     "block_of(array, wanted): the number of the memory that an array owns; 0 where it has none."},
    {"watch_owner", allocator_watch_owner, METH_O,
     "Notes the memory of an array, once; False where it was not allocated under watch."},
    {"next_block", allocator_next_block, METH_NOARGS, "A number that no block of the process has."},
    {"tensors_alive", tensors_alive, METH_NOARGS, "All tensors."},
    {"mark_views", mark_views, METH_O, "Views that live require a gradient since their base does."},
    {"setup_loops", loops_setup, METH_VARARGS, "setup_loops(_ARRAY_API, bool dtype): the numbers of loops by name."},
    {"setup_calls", calls_setup, METH_VARARGS, "What calls need of the package."},
    {"observe", calls_observe, METH_O, "observe(observer): who is told about calls."},
    {"run_backward", (PyCFunction)(void (*)(void))engine_run, METH_FASTCALL, engine_run_doc},
    {"configure_engine", (PyCFunction)(void (*)(void))engine_configure, METH_FASTCALL, engine_configure_doc},
    {"meet_threads", meet_threads, METH_VARARGS,
     "meet_threads(identifiers, function): calls it once on each of these threads."},
    {"keep_modes", calls_keep_modes, METH_VARARGS,
     "keep_modes(space, state): where the modes of the process and of each thread are."},
    {"set_bit", calls_set_bit, METH_VARARGS, "set_bit(bit, on): changes the mode word."},
    {"setup_quiet", quiet_setup, METH_VARARGS,
     "setup_quiet(variable, value): numpy's settings, and those that ignore everything."},
    {"set_overridden", calls_set_overridden, METH_O,
     "Whether a subclass of Tensor exists that is asked before operators."},
    {"swap_grad", calls_swap_grad, METH_O,
     "Sets whether the calling thread records gradients and returns what was before."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_core",      .m_doc = "Calls, the backward pass and the recorder.",
    .m_size = -1,          .m_methods = functions,
};

static int intern_names(void)
{
    struct {
        PyObject **name;
        const char *text;
    } all[] = {
        {&names.of_op, "of_op"},      {&names.of_values, "of_values"},    {&names.inputs, "inputs"},
        {&names.number, "number"},    {&names.labels, "labels"},          {&names.find_buffer, "_buffer"},
        {&names.tell_op, "_tell_op"}, {&names.tell_leave, "_tell_leave"}, {&names.op_label, "_op_label"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(*all[i].name = PyUnicode_InternFromString(all[i].text)))
            return -1;
    return 0;
}

PyMODINIT_FUNC PyInit__core(void)
{
    if (intern_names() < 0 || storage_setup() < 0 || tensor_setup() < 0 || engine_setup() < 0 || modes_setup() < 0
        || PyType_Ready(&Call_Type) < 0 || PyType_Ready(&CallMethod_Type) < 0 || PyType_Ready(&Overloads_Type) < 0
        || PyType_Ready(&OverloadsMethod_Type) < 0 || PyType_Ready(&Quiet_Type) < 0 || buffer_setup() < 0
        || PyType_Ready(&Stacks_Type) < 0 || PyType_Ready(&Core_Type) < 0 || PyType_Ready(&StepClock_Type) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyModule_AddFunctions(module, monitoring_functions) < 0
        || PyModule_AddFunctions(module, modes_functions) < 0 || add_sources(module) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {
        {"Core", &Core_Type},
        {"Buffer", &Buffer_Type},
        {"Stacks", &Stacks_Type},
        {"StepClock", &StepClock_Type},
        {"Storage", &Storage_Type},
        {"TensorFields", &TensorFields_Type},
        {"NodeFields", &NodeFields_Type},
        {"Call", &Call_Type},
        {"CallMethod", &CallMethod_Type},
        {"Overloads", &Overloads_Type},
        {"OverloadsMethod", &OverloadsMethod_Type},
        {"Quiet", &Quiet_Type},
        {"Switch", &Switch_Type},
        {"Guarded", &Guarded_Type},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        Py_INCREF(types[i].type);
        if (PyModule_AddObject(module, types[i].name, (PyObject *)types[i].type) < 0) {
            Py_DECREF(types[i].type);
            Py_DECREF(module);
            return NULL;
        }
    }
#define NAMED_BIT(name, value) {#name, value},
    static const NamedCode key_bits[] = {KEY_BITS(NAMED_BIT){"ACCELERATORS", KEY_ACCELERATORS},
                                         {"DEVICES", KEY_DEVICES}};
    static const NamedCode details[] = {{"SHAPES", SHAPES},
                                        {"STACKS", STACKS},
                                        {"MODULES", MODULES},
                                        {"LISTENERS", LISTENERS},
                                        {"TENSORS", TENSORS},
                                        {"REFERENCES", REFERENCES},
                                        {"ARGUMENT_BITS", ARGUMENT_BITS}};
    static const NamedCode kinds[] = {{"NODE", KIND_NODE},
                                      {"BACKWARD", KIND_BACKWARD},
                                      {"SCOPE", KIND_SCOPE},
                                      {"FUNCTION", KIND_FUNCTION},
                                      {"RUNTIME", KIND_RUNTIME}};
    static const NamedCode classes[] = {{"USER", USER},
                                        {"LIBRARY", LIBRARY},
                                        {"INTERNAL", INTERNAL},
                                        {"IMPORTS", IMPORTS},
                                        {"HIDDEN_FUNCTION", HIDDEN_FUNCTION}};
    if (launches_setup(module) < 0 || EXPORT_CODES(module, "KEY_BITS", key_bits) < 0
        || EXPORT_CODES(module, "DETAIL_BITS", details) < 0 || EXPORT_CODES(module, "ROW_KINDS", kinds) < 0
        || EXPORT_CODES(module, "CODE_CLASSES", classes) < 0 || calls_export(module) < 0
        || PyModule_AddStringConstant(module, "NODE_PREFIX", NODE_PREFIX) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
