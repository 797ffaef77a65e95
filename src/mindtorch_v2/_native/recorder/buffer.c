/* The Python face of a thread's buffer. */
#include "inline.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_SHIFT = 15, SMALLEST_SHIFT = 6 };

static int shift_for(const Core *core)
{
    /* A bounded recorder holds up to one chunk more than it was asked to, so its chunks are a quarter of the bound. */
    int shift = CHUNK_SHIFT;
    while (core->limit && shift > SMALLEST_SHIFT && ((int64_t)4 << shift) > core->limit)
        shift--;
    return shift;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *core, *info;
    int thread;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!Oi", &Core_Type, &core, &info, &thread))
        return NULL;
    Buffer *made = (Buffer *)type->tp_alloc(type, 0);
    if (!made)
        return NULL;
    Py_INCREF(core);
    made->core = (Core *)core;
    table_init(&made->rows, sizeof(Row), shift_for(made->core));
    table_init(&made->memory, sizeof(MemoryRow), shift_for(made->core));
    table_init(&made->references, sizeof(Reference), shift_for(made->core));
    made->module = -1;
    made->ident = PyThread_get_thread_ident(); /* a buffer is made by its own thread */
    made->id = thread;
    Py_INCREF(info);
    made->info = info;
    made->module_stack = PyList_New(0);
    made->detached = PyDict_New();
    if (!made->module_stack || !made->detached || lanes_init(made) < 0)
        Py_CLEAR(made);
    return (PyObject *)made;
}

static void buffer_dealloc(Buffer *self)
{
    monitoring_buffer_dies(self);
    tracer_clear(self);
    table_clear(&self->rows);
    table_clear(&self->memory);
    table_clear(&self->references);
    lanes_clear(self);
    free(self->open);
    Py_XDECREF(self->info);
    Py_XDECREF(self->module_stack);
    Py_XDECREF(self->detached);
    Py_XDECREF(self->core);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *push(Buffer *self, PyObject *args)
{
    int label, forward_thread, inputs, by_handle, is_python;
    long long sequence_nr;
    if (!PyArg_ParseTuple(args, "iLiipp", &label, &sequence_nr, &forward_thread, &inputs, &by_handle, &is_python))
        return NULL;
    if (buffer_is_elsewhere(self) && lanes_follow(self) < 0)
        return NULL;
    int32_t stack = -1;
    unsigned how = is_python ? BY_HANDLE | IS_PYTHON : by_handle ? BY_HANDLE : 0;
    if (buffer_refuses(self)) {
        int32_t row = buffer_push(self, label, sequence_nr, forward_thread, inputs, -1, how, 0);
        return row == -2 ? NULL : PyLong_FromLong(row);
    }
    if (!is_python && self->core->detail & STACKS)
        stack = buffer_stack(self);
    int64_t now = stack == -2 ? -1 : core_now(self->core);
    if (PyErr_Occurred())
        return NULL;
    int32_t row = buffer_push(self, label, sequence_nr, forward_thread, inputs, stack, how, now);
    return row == -2 ? NULL : PyLong_FromLong(row);
}

static bool row_and_time(PyObject *const *args, Py_ssize_t count, int32_t *row, int64_t *now)
{
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "expected a row and a time");
        return false;
    }
    *row = (int32_t)PyLong_AsLong(args[0]);
    *now = PyLong_AsLongLong(args[1]);
    return !PyErr_Occurred();
}

static PyObject *end(Buffer *self, PyObject *const *args, Py_ssize_t count)
{
    int32_t row;
    int64_t now;
    if (!row_and_time(args, count, &row, &now))
        return NULL;
    buffer_end(self, row, now);
    Py_RETURN_NONE;
}

static PyObject *end_elsewhere(Buffer *self, PyObject *const *args, Py_ssize_t count)
{
    int32_t row;
    int64_t now;
    if (!row_and_time(args, count - 1, &row, &now) || PyDict_SetItem(self->detached, args[0], args[2]) < 0)
        return NULL;
    buffer_end_elsewhere(self, row, now);
    Py_RETURN_NONE;
}

static bool add_open_rows(const Buffer *self, PyObject *list, const Open *open, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const Row *row = open[i].how & BY_HANDLE ? table_at(&self->rows, open[i].row) : NULL;
        if (!row)
            continue;
        PyObject *pair = Py_BuildValue("(ii)", (int)open[i].row, (int)row->label);
        int failed = pair ? PyList_Append(list, pair) : -1;
        Py_XDECREF(pair);
        if (failed)
            return false;
    }
    return true;
}

static PyObject *open_rows(Buffer *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    bool done = list && add_open_rows(self, list, self->open, self->open_count);
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(self->lanes); i++) {
        const Lane *lane = (Lane *)PyList_GET_ITEM(self->lanes, i);
        done = add_open_rows(self, list, lane->open, lane->open_count);
    }
    if (!done)
        Py_CLEAR(list);
    return list;
}

static PyObject *row_table(Buffer *self, PyObject *args)
{
    long long from, to = -1;
    return PyArg_ParseTuple(args, "L|L", &from, &to) ? table_parts(&self->rows, from, to) : NULL;
}

static PyObject *memory_table(Buffer *self, PyObject *args)
{
    long long from, to = -1;
    return PyArg_ParseTuple(args, "L|L", &from, &to) ? table_parts(&self->memory, from, to) : NULL;
}

static PyObject *reference_table(Buffer *self, PyObject *args)
{
    long long from, to = -1;
    return PyArg_ParseTuple(args, "L|L", &from, &to) ? table_parts(&self->references, from, to) : NULL;
}

static PyObject *refer(Buffer *self, PyObject *args)
{
    int row;
    PyObject *values;
    if (!PyArg_ParseTuple(args, "iO!", &row, &PyTuple_Type, &values))
        return NULL;
    if (row >= 0)
        references_add(self, row, &PyTuple_GET_ITEM(values, 0), PyTuple_GET_SIZE(values));
    Py_RETURN_NONE;
}

static PyObject *get_open_row(Buffer *self, void *closure)
{
    (void)closure;
    const Open *top = buffer_top(self);
    return PyLong_FromLong(top ? top->row : self->base);
}

static PyObject *get_next_row(Buffer *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(self->rows.next);
}

static PyObject *get_next_memory(Buffer *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(self->memory.next);
}

static PyObject *get_next_reference(Buffer *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(self->references.next);
}

static size_t table_size(const Table *table)
{
    return (size_t)table->held * table->width << table->shift;
}

static PyObject *get_nbytes(Buffer *self, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(table_size(&self->rows) + table_size(&self->memory) + table_size(&self->references));
}

static PyMethodDef methods[] = {
    {"push", (PyCFunction)push, METH_VARARGS,
     "push(label, sequence_nr, forward_thread, inputs, by_handle, is_python): opens a row; its id, or -1 if it is "
     "dropped."},
    {"end", (PyCFunction)(void (*)(void))end, METH_FASTCALL,
     "Ends a row that was opened with a handle, wherever it stands."},
    {"end_elsewhere", (PyCFunction)(void (*)(void))end_elsewhere, METH_FASTCALL,
     "end_elsewhere(row, now, thread): as `end`, on another thread: the row leaves the nesting."},
    {"open_rows", (PyCFunction)open_rows, METH_NOARGS, "(row, label) of what is open with a handle, outermost first."},
    {"row_table", (PyCFunction)row_table, METH_VARARGS,
     "row_table(from, to): the id of the first row, and (chunk, first element, elements) of each part."},
    {"memory_table", (PyCFunction)memory_table, METH_VARARGS, "As row_table, of the memory records."},
    {"reference_table", (PyCFunction)reference_table, METH_VARARGS, "As row_table, of the references to tensors."},
    {"refer", (PyCFunction)refer, METH_VARARGS, "refer(row, values): notes which tensors an event was given."},
    {NULL, NULL, 0, NULL},
    {NULL, NULL, 0, NULL}, /* room for those of the tracer and the lanes */
    {NULL, NULL, 0, NULL},
    {NULL, NULL, 0, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"info", T_OBJECT_EX, offsetof(Buffer, info), READONLY, "The thread."},
    {"module", T_INT, offsetof(Buffer, module), 0, "Number of the nn.Module that runs, or -1."},
    {"module_stack", T_OBJECT_EX, offsetof(Buffer, module_stack), READONLY,
     "(outermost module, module before, row) per call."},
    {"detached", T_OBJECT_EX, offsetof(Buffer, detached), READONLY, "Rows that another thread closed, and its id."},
    {"lanes", T_OBJECT_EX, offsetof(Buffer, lanes), READONLY, "The thread's own lane, and those of its tasks."},
    {"in_task", T_BOOL, offsetof(Buffer, in_task), READONLY, "Whether a task runs, not the thread itself."},
    {"calls_only", T_BOOL, offsetof(Buffer, calls_only), 0, "Whether only the thread's Python calls are recorded."},
    {"traced", T_BOOL, offsetof(Buffer, traced), READONLY, "Whether Python calls become rows."},
    {"monitored", T_BOOL, offsetof(Buffer, monitored), READONLY,
     "Whether sys.monitoring tells about them, not a profile hook."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"open_row", (getter)get_open_row, NULL, "The innermost row that is open, or -1.", NULL},
    {"next_row", (getter)get_next_row, NULL, "The id of the next row.", NULL},
    {"next_memory", (getter)get_next_memory, NULL, "The id of the next memory record.", NULL},
    {"next_reference", (getter)get_next_reference, NULL, "The id of the next reference to a tensor.", NULL},
    {"nbytes", (getter)get_nbytes, NULL, "Bytes held for rows, memory records and references.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject Buffer_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Buffer",
    .tp_doc = "What one thread recorded.",
    .tp_basicsize = sizeof(Buffer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = buffer_new,
    .tp_dealloc = (destructor)buffer_dealloc,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = attributes,
};

/* The methods of the tracer and of lanes belong to this type but stand in their own files. */
int buffer_setup(void)
{
    size_t count = 0;
    while (methods[count].ml_name)
        count++;
    for (size_t i = 0; tracer_methods[i].ml_name; i++)
        methods[count++] = tracer_methods[i];
    for (size_t i = 0; lanes_methods[i].ml_name; i++)
        methods[count++] = lanes_methods[i];
    return PyType_Ready(&Chunk_Type) < 0 || PyType_Ready(&Lane_Type) < 0 ? -1 : PyType_Ready(&Buffer_Type);
}
