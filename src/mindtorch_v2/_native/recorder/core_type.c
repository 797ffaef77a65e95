/* The type of the recorder's native part: what is set before a recording and asked after it. */
#include "inline.h"

struct Names names;

static uint64_t generations;

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
    core_forget_names(self);
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
    core_forget_names(self);
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
    {"enter_op", (PyCFunction)(void (*)(void))core_enter_op, METH_FASTCALL, "An operator call begins."},
    {"enter_node", (PyCFunction)(void (*)(void))core_enter_node, METH_FASTCALL,
     "The engine evaluates or applies a node."},
    {"enter_scope", (PyCFunction)(void (*)(void))core_enter_scope, METH_FASTCALL, "A user scope begins."},
    {"leave", (PyCFunction)core_leave, METH_NOARGS, "The innermost open event of the calling thread ends."},
    {"clock_now", (PyCFunction)core_clock_now, METH_NOARGS, "The time that a row would get."},
    {"note_allocated", (PyCFunction)(void (*)(void))core_allocated, METH_FASTCALL, "Memory came to life."},
    {"note_freed", (PyCFunction)(void (*)(void))core_freed, METH_FASTCALL, "Memory was released."},
    {"thread_buffer", (PyCFunction)core_thread_buffer, METH_NOARGS, "The calling thread's buffer, if it is recorded."},
    {"bind", (PyCFunction)core_bind, METH_O, "Makes a buffer the calling thread's."},
    {"renew", (PyCFunction)renew, METH_O, "Takes the buffers of the threads to be recorded."},
    {"restart", (PyCFunction)restart, METH_VARARGS, "Forgets what was interned and counted."},
    {"bound", (PyCFunction)bound, METH_VARARGS,
     "bound(limit, newest): how many rows are kept at most, 0 for all, and which."},
    {"stray_table", (PyCFunction)stray_table, METH_VARARGS, "Frees by threads that are not recorded, from an id on."},
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

int core_setup(void)
{
    struct {
        PyObject **name;
        const char *text;
    } all[] = {
        {&names.of_op, "of_op"},      {&names.of_values, "of_values"},    {&names.inputs, "inputs"},
        {&names.id_of, "id_of"},      {&names.labels, "labels"},          {&names.find_buffer, "_buffer"},
        {&names.tell_op, "_tell_op"}, {&names.tell_leave, "_tell_leave"}, {&names.op_label, "_op_label"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(*all[i].name = PyUnicode_InternFromString(all[i].text)))
            return -1;
    return PyType_Ready(&Core_Type);
}
