/* Storages: what tensors that share memory have in common. */
#include "tensor.h"

static PyObject *zero;

static PyObject *storage_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    Storage *made = (Storage *)type->tp_alloc(type, 0);
    if (made)
        made->version = Py_NewRef(zero);
    return (PyObject *)made;
}

PyObject *storage_make(void)
{
    return storage_new(&Storage_Type, NULL, NULL);
}

/* Whether in-place writes were counted. */
bool storage_was_written(const PyObject *storage)
{
    return ((const Storage *)storage)->version != zero;
}

void storage_count_from_zero(PyObject *storage)
{
    Py_SETREF(((Storage *)storage)->version, Py_NewRef(zero));
}

static void storage_dealloc(Storage *self)
{
    Py_XDECREF(self->version);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef storage_members[] = {
    {"version", T_OBJECT_EX, offsetof(Storage, version), 0, "How often the memory was written in place."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Storage_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Storage",
    .tp_doc = "Shared by a tensor and its views.",
    .tp_basicsize = sizeof(Storage),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = storage_new,
    .tp_dealloc = (destructor)storage_dealloc,
    .tp_members = storage_members,
};

int storage_setup(void)
{
    zero = PyLong_FromLong(0);
    return zero && PyType_Ready(&Storage_Type) == 0 ? 0 : -1;
}
