/* From a Python call to the arguments of a plan: binding by position and name, and what each argument is. */
#include "call.h"

#include <string.h>

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

/* --- binding */
static int bind_spread(Arguments *arguments, PyObject *const *args, Py_ssize_t count, int position)
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

static int find_param(const Call *call, PyObject *name)
{
    for (int i = 0; i < call->count; i++)
        if (call->params[i].name == name)
            return i;
    for (int i = 0; i < call->count; i++)
        if (PyUnicode_Compare(call->params[i].name, name) == 0)
            return i;
    return -1;
}

int bind_arguments(const Call *call, Arguments *arguments, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    int last = call->positional - 1;
    bool spreads = last >= 0 && call->params[last].kind == ARGUMENT_SPREAD;
    Py_ssize_t simple = spreads ? Py_MIN(count, last) : count;
    if (simple > call->positional)
        return FALLBACK;
    memset(arguments->bound, 0, (size_t)call->count * sizeof *arguments->bound);
    memcpy(arguments->bound, args, (size_t)simple * sizeof *args);
    int bound = spreads ? bind_spread(arguments, args, count, last) : DONE;
    for (Py_ssize_t i = 0; bound == DONE && keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        int position = find_param(call, PyTuple_GET_ITEM(keywords, i));
        if (position < 0 || arguments->bound[position])
            return FALLBACK;
        arguments->bound[position] = args[count + i];
    }
    for (int i = 0; bound == DONE && i < call->count; i++)
        if (!arguments->bound[i] && !(arguments->bound[i] = call->params[i].unset))
            return FALLBACK;
    return bound;
}

/* --- what the arguments are */
static bool is_plain_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value);
}

static int repeat(Arguments *arguments, int position, int length)
{
    PyObject *value = arguments->bound[position], *made = PyTuple_New(length);
    for (int i = 0; made && i < length; i++)
        PyTuple_SET_ITEM(made, i, held(value));
    arguments->bound[position] = arguments->array[position] = made;
    return own(arguments, made);
}

static int read_tensor(PyObject *value, Arguments *arguments, int position)
{
    const Tensor *tensor = (const Tensor *)value;
    if (!tensor->array || !tensor->keys || !tensor->dtype)
        return FALLBACK;
    arguments->keys |= PyLong_AsLong(tensor->keys);
    arguments->array[position] = tensor->array;
    return DONE;
}

/* The keys of a list of tensors; its arrays are gathered when a kernel needs them. */
static int read_list(PyObject *value, Arguments *arguments, bool has_holes)
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
static int read_device(Arguments *arguments, int position)
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

static int read_argument(const Param *param, Arguments *arguments, int position)
{
    PyObject *value = arguments->bound[position];
    arguments->array[position] = value;
    if (takes_tensor(param)) {
        if (is_tensor(value))
            return read_tensor(value, arguments, position);
        arguments->has_number |= param->kind == ARGUMENT_NUMBER;
        return param->kind == ARGUMENT_OPTIONAL_TENSOR ? value == Py_None
                                                       : param->kind == ARGUMENT_NUMBER && is_plain_number(value);
    }
    switch (param->kind) {
    case ARGUMENT_TENSOR_LIST:
    case ARGUMENT_LIST_WITH_HOLES:
        return read_list(value, arguments, param->kind == ARGUMENT_LIST_WITH_HOLES);
    case ARGUMENT_REPEATED:
        return PyLong_CheckExact(value) ? repeat(arguments, position, param->length) : DONE;
    case ARGUMENT_ELEMENT_TYPE:
        return value == Py_None || Py_TYPE(value) == Py_TYPE(bool_type);
    case ARGUMENT_REAL:
        return is_plain_number(value) || value == Py_None;
    case ARGUMENT_DEVICE:
        return read_device(arguments, position);
    case ARGUMENT_UNSET:
        return value == Py_None || value == Py_False;
    default:
        return DONE;
    }
}

int read_arguments(const Call *call, Arguments *arguments)
{
    arguments->keys = 0;
    arguments->has_number = false;
    for (int i = 0; i < call->count; i++) {
        int read = read_argument(&call->params[i], arguments, i);
        if (read != DONE)
            return read;
    }
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
