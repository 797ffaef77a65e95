/* Arguments of a planned call, packed into the key by which its plan is found. */
#include "plans.h"

#include <string.h>

static struct {
    PyObject *object;
    int index;
} devices[MAX_DEVICES];
static int device_count;

static bool add_word(Arguments *arguments, uint64_t word)
{
    if (arguments->key_size == MAX_KEY)
        return false;
    arguments->key[arguments->key_size++] = word;
    return true;
}

/* The index of a device object; -1 for one that is not understood. */
static int device_index(PyObject *device)
{
    for (int i = 0; i < device_count; i++) {
        if (devices[i].object == device)
            return devices[i].index;
    }
    PyObject *index = device == Py_None ? NULL : PyObject_GetAttr(device, npu_names.index);
    long found = index == NULL ? -1 : index == Py_None ? 0 : PyLong_AsLong(index);
    Py_XDECREF(index);
    PyErr_Clear();
    if (found < 0 || found >= MAX_DEVICES)
        return -1;
    if (device_count < MAX_DEVICES) {
        devices[device_count].object = Py_NewRef(device);
        devices[device_count++].index = (int)found;
    }
    return (int)found;
}

static bool add_tensor(Arguments *arguments, int position, PyObject *value)
{
    const Tensor *tensor = (const Tensor *)value;
    if (tensor->array == NULL || tensor->dtype == NULL || tensor->keys == NULL
        || Py_TYPE(tensor->array) != planned.arrays)
        return false;
    if ((PyLong_AsLong(tensor->keys) & KEY_DEVICES) != planned.npu_key)
        return false;
    const ArrayFields *array = (const ArrayFields *)tensor->array;
    const ElementType *type = element_type(tensor->dtype);
    int index = device_index(tensor->device);
    if (type == NULL)
        PyErr_Clear();
    if (type == NULL || index < 0 || array->nd > MAX_DIMS || 2 * array->nd >= MAX_KEY - arguments->key_size)
        return false;
    if (arguments->device_object == NULL) {
        arguments->device_object = tensor->device;
        arguments->device = index;
    } else if (arguments->device != index) {
        return false;
    }
    arguments->type[position] = type;
    arguments->key[arguments->key_size++] = 't' | (uint64_t)type->code << 8 | (uint64_t)array->nd << 16
                                            | (uint64_t)((array->flags & ARRAY_WRITEABLE) != 0) << 32;
    for (int i = 0; i < array->nd; i++) {
        arguments->key[arguments->key_size++] = (uint64_t)array->dimensions[i];
        arguments->key[arguments->key_size++] = (uint64_t)array->strides[i];
    }
    return true;
}

static bool add_text(Arguments *arguments, PyObject *value)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == NULL || size > 64) {
        PyErr_Clear();
        return false;
    }
    uint64_t words[8] = {0};
    memcpy(words, text, (size_t)size);
    bool added = add_word(arguments, 's' | (uint64_t)size << 8);
    for (Py_ssize_t i = 0; added && i < (size + 7) / 8; i++)
        added = add_word(arguments, words[i]);
    return added;
}

static bool add_value(Arguments *arguments, PyObject *value, bool inside)
{
    uint64_t bits = 0;
    if (value == Py_None)
        return add_word(arguments, 'n');
    if (PyBool_Check(value))
        return add_word(arguments, value == Py_True ? 'T' : 'F');
    if (PyLong_CheckExact(value)) {
        bits = (uint64_t)PyLong_AsLongLong(value);
        if (bits == (uint64_t)-1 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        return add_word(arguments, 'i') && add_word(arguments, bits);
    }
    if (PyFloat_CheckExact(value)) {
        double real = PyFloat_AS_DOUBLE(value);
        memcpy(&bits, &real, sizeof bits);
        return add_word(arguments, 'f') && add_word(arguments, bits);
    }
    if (PyUnicode_CheckExact(value))
        return add_text(arguments, value);
    if ((PyObject *)Py_TYPE(value) == planned.dtype_class)
        return add_word(arguments, 'd') && add_word(arguments, (uint64_t)(uintptr_t)value);
    bool list = PyList_CheckExact(value);
    if (inside || !(list || PyTuple_Check(value)))
        return false;
    Py_ssize_t n = list ? PyList_GET_SIZE(value) : PyTuple_GET_SIZE(value);
    bool added = n <= MAX_DIMS && add_word(arguments, 'l' | (uint64_t)n << 8);
    for (Py_ssize_t i = 0; added && i < n; i++) {
        added = add_value(arguments, list ? PyList_GET_ITEM(value, i) : PyTuple_GET_ITEM(value, i), true);
    }
    return added;
}

bool read_arguments(const Planned *self, PyObject *const *args, Arguments *arguments)
{
    arguments->key_size = 0;
    arguments->device_object = NULL;
    for (int i = 0; i < self->count; i++) {
        PyObject *value = args[i];
        arguments->type[i] = NULL;
        bool added;
        if (Py_TYPE(value) == planned.tensors || Py_TYPE(value) == planned.parameters)
            added = add_tensor(arguments, i, value);
        else if (self->counts_by[i] == BY_TYPE && PyFloat_CheckExact(value))
            added = add_word(arguments, 'g');
        else if (self->counts_by[i] == BY_TYPE && PyLong_CheckExact(value))
            added = add_word(arguments, 'h');
        else
            added = add_value(arguments, value, false);
        if (!added)
            return false;
    }
    return arguments->device_object != NULL;
}
