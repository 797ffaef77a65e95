/* Memory: what tensors that share it have in common, and reports of its beginning and end. */
#include "recorder_inline.h"
#include "tensor.h"

#include <stdlib.h>

typedef struct {
    PyObject_HEAD
    Core *core;
    uint64_t generation;
    int64_t address, nbytes;
    int32_t device;
} Block;

static PyObject *zero;

/* --- Storage ---------------------------------------------------------------------------------------------------------- */
static PyObject *storage_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    Storage *made = (Storage *)type->tp_alloc(type, 0);
    if (made) {
        Py_INCREF(zero);
        made->version = zero;
        Py_INCREF(Py_None);
        made->block = Py_None;
    }
    return (PyObject *)made;
}

PyObject *storage_make(void)
{
    return storage_new(&Storage_Type, NULL, NULL);
}

static int storage_traverse(Storage *self, visitproc visit, void *arg)
{
    Py_VISIT(self->block);
    return 0;
}

static int storage_clear(Storage *self)
{
    Py_CLEAR(self->block);
    return 0;
}

static void storage_dealloc(Storage *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->version);
    Py_XDECREF(self->block);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef storage_members[] = {
    {"version", T_OBJECT_EX, offsetof(Storage, version), 0, "How often the memory was written in place."},
    {"block", T_OBJECT_EX, offsetof(Storage, block), 0, "Lives as long as the memory, where that is watched."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Storage_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "mindtorch_v2._native._core.Storage",
    .tp_doc = "Shared by a tensor and its views.",
    .tp_basicsize = sizeof(Storage),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = storage_new,
    .tp_traverse = (traverseproc)storage_traverse,
    .tp_clear = (inquiry)storage_clear,
    .tp_dealloc = (destructor)storage_dealloc,
    .tp_members = storage_members,
};

/* --- notes ------------------------------------------------------------------------------------------------------------ */
static void note(Core *core, int64_t address, int64_t nbytes, int32_t device, bool is_free)
{
    if (!core->watches_memory)
        return;
    Buffer *buffer = core_buffer(core);
    if (!buffer && (!is_free || PyErr_Occurred()))
        return;
    const Table *table = buffer ? &buffer->memory : &core->stray;
    if (core->limit && (!buffer || !core->newest) && table->next - table->first >= core->limit) {
        core->dropped++;
        return;
    }
    int64_t now = core_now(core);
    if (now == -1 && PyErr_Occurred())
        return;
    if (core->clock)               /* a clock in Python may have run anything */
        buffer = core_buffer(core);
    if (PyErr_Occurred())
        return;
    if (buffer) {
        buffer_note_memory(buffer, now, address, nbytes, device);
        return;
    }
    if (!is_free)
        return;
    MemoryRow *row = table_add(&core->stray);
    if (row)
        *row = (MemoryRow){.time_ns = now, .address = address, .nbytes = nbytes, .device = device, .row = -1};
    else
        core->dropped++;
}

/* --- Block ------------------------------------------------------------------------------------------------------------ */
static void block_dealloc(Block *self)
{
    Core *core = self->core;
    if (core->watches_memory) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        note(core, self->address, -self->nbytes, self->device, true);
        if (PyErr_Occurred())
            PyErr_WriteUnraisable(NULL);
        PyErr_Restore(type, value, traceback);
    }
    Py_DECREF(core);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject Block_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "mindtorch_v2._native._core.Block",
    .tp_doc = "Reports the end of a watched allocation.",
    .tp_basicsize = sizeof(Block),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)block_dealloc,
};

static PyObject *begin_block(Core *core, int64_t address, int64_t nbytes, int32_t device)
{
    Block *made = PyObject_New(Block, &Block_Type);
    if (!made)
        return NULL;
    Py_INCREF(core);
    made->core = core;
    made->address = address;
    made->nbytes = nbytes;
    made->device = device;
    note(core, address, nbytes, device, false);
    if (PyErr_Occurred()) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

/* Reports the memory of an array as that of a storage, once. Memory without elements is not reported. */
static int watch_storage(Core *core, Storage *shared, PyObject *array)
{
    int64_t address, nbytes;
    if (shared->block != Py_None || !array || !array_memory(array, &address, &nbytes) || !nbytes)
        return 0;
    PyObject *block = begin_block(core, address, nbytes, 0);
    if (!block)
        return -1;
    Py_SETREF(shared->block, block);
    return 0;
}

PyObject *watched_storage(Core *core, PyObject *array)
{
    PyObject *made = storage_make();
    if (made && watch_storage(core, (Storage *)made, array) < 0)
        Py_CLEAR(made);
    return made;
}

int watch_tensor(Core *core, PyObject *value)
{
    /* Reports the memory of a fresh tensor on the CPU. */
    Tensor *tensor = (Tensor *)value;
    if (tensor->storage == Py_None) {
        PyObject *made = storage_make();
        if (!made)
            return -1;
        Py_SETREF(tensor->storage, made);
    }
    if (Py_TYPE(tensor->storage) != &Storage_Type) {
        PyErr_SetString(PyExc_TypeError, "a tensor's storage is not the native one");
        return -1;
    }
    return watch_storage(core, (Storage *)tensor->storage, tensor->array);
}

PyObject *core_watch(PyObject *self, PyObject *tensor)
{
    if (!PyObject_TypeCheck(tensor, &TensorFields_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a tensor");
        return NULL;
    }
    if (watch_tensor((Core *)self, tensor) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* --- what the storage layer reports by itself ---------------------------------------------------------------------------- */
static PyObject *report(PyObject *self, PyObject *const *args, Py_ssize_t count, bool is_free)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "expected an address, a number of bytes and a device number");
        return NULL;
    }
    long long address = PyLong_AsLongLong(args[0]), nbytes = PyLong_AsLongLong(args[1]);
    long device = PyLong_AsLong(args[2]);
    if (PyErr_Occurred())
        return NULL;
    note((Core *)self, address, is_free ? -nbytes : nbytes, (int32_t)device, is_free);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

PyObject *core_allocated(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return report(self, args, count, false);
}

PyObject *core_freed(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return report(self, args, count, true);
}

int memory_setup(void)
{
    zero = PyLong_FromLong(0);
    return zero && PyType_Ready(&Storage_Type) == 0 && PyType_Ready(&Block_Type) == 0 ? 0 : -1;
}
