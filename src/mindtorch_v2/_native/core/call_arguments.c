/* From a Python call to the arguments of a plan: arguments that are lists, come one by one, name a device, or belong to
 * classes that are asked before the op runs. call.c binds and reads all others. */
#include "call.h"

/* Keeps an object that was made for the call until it ends. */
static int own(Arguments *arguments, PyObject *made)
{
    if (!made)
        return FAILED;
    if (arguments->owned_count == MAX_OWNED) {
        Py_DECREF(made);
        return FALLBACK;
    }
    arguments->owned[arguments->owned_count++] = made;
    return DONE;
}

int bind_spread(Arguments *arguments, PyObject *const *args, Py_ssize_t count, int position)
{
    if (count <= position)
        return FALLBACK;
    if (count == position + 1 && (PyTuple_Check(args[position]) || PyList_CheckExact(args[position]))) {
        arguments->bound[position] = args[position];
        return DONE;
    }
    for (Py_ssize_t i = position; i < count; i++)
        if (!PyLong_CheckExact(args[i]))
            return FALLBACK;
    arguments->bound[position] = tuple_of(args + position, count - position);
    return own(arguments, arguments->bound[position]);
}

int repeat(Arguments *arguments, int position, int length)
{
    PyObject *value = arguments->bound[position], *made = PyTuple_New(length);
    for (int i = 0; made && i < length; i++)
        PyTuple_SET_ITEM(made, i, held(value));
    arguments->bound[position] = arguments->array[position] = made;
    return own(arguments, made);
}

/* The keys of a list of tensors; its arrays are gathered when a kernel needs them. */
int read_list(PyObject *value, Arguments *arguments, bool has_holes)
{
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value))
        return FALLBACK;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, i);
        if (item == Py_None && has_holes)
            continue;
        if (!is_tensor(item) || !((Tensor *)item)->array || !((Tensor *)item)->keys || !((Tensor *)item)->dtype)
            return FALLBACK;
        arguments->keys |= PyLong_AsLong(((Tensor *)item)->keys);
    }
    return DONE;
}

/* The device of a factory. Others than the CPU, and what is none, are for the Python function. */
int read_device(Arguments *arguments, int position)
{
    PyObject *value = arguments->bound[position];
    if (value != cpu_device) {
        value = PyObject_CallOneArg(resolve_device, value);
        if (!value)
            PyErr_Clear();
        bool is_cpu = value == cpu_device;
        Py_XDECREF(value);
        if (!is_cpu)
            return FALLBACK;
    }
    arguments->bound[position] = arguments->array[position] = cpu_device;
    arguments->keys |= KEY_CPU;
    return DONE;
}

static bool is_common(PyObject *value)
{
    return is_tensor(value) || value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value)
           || PyBool_Check(value) || PyUnicode_CheckExact(value);
}

/* Whether a value is, or a list holds, something whose class has a __torch_function__, be it a subclass of Tensor or
 * another class: the Python function decides whether it is asked. The interpreter keeps the answers of such lookups by
 * class. */
static bool holds_asked(PyObject *value)
{
    static PyObject *name;
    if (is_common(value))
        return false;
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
            if (holds_asked(PySequence_Fast_GET_ITEM(value, i)))
                return true;
        return false;
    }
    if (PyObject_TypeCheck(value, tensor_class))
        return asks_subclasses();
    if (!name && !(name = PyUnicode_InternFromString("__torch_function__"))) {
        PyErr_Clear();
        return false;
    }
    return _PyType_Lookup(Py_TYPE(value), name) != NULL;
}

bool has_asked(const Call *call, const Arguments *arguments)
{
    for (int i = 0; i < call->count; i++)
        if (holds_asked(arguments->bound[i]))
            return true;
    return false;
}
