/* Python's numbers as kernels read them from their arguments: false (and no exception) for anything else. */
#ifndef MINDTORCH_COMMON_ARGUMENTS_H
#define MINDTORCH_COMMON_ARGUMENTS_H

#include <Python.h> /* after who includes this has chosen how */
#include <stdbool.h>

/* An int or a float that fits a double. */
static inline bool as_double(PyObject *object, double *value)
{
    if (PyFloat_CheckExact(object)) {
        *value = PyFloat_AS_DOUBLE(object);
        return true;
    }
    if (!PyLong_CheckExact(object))
        return false;
    *value = PyLong_AsDouble(object);
    if (*value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

/* An int that fits. */
static inline bool as_index(PyObject *object, Py_ssize_t *value)
{
    if (!PyLong_CheckExact(object))
        return false;
    *value = PyLong_AsSsize_t(object);
    if (*value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

/* The ints of a list or tuple of up to `limit`; their count, or -1. */
static inline int as_indices(PyObject *object, Py_ssize_t *values, int limit)
{
    if (!PyTuple_Check(object) && !PyList_Check(object))
        return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    if (count > limit)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!as_index(PySequence_Fast_GET_ITEM(object, i), &values[i]))
            return -1;
    return (int)count;
}

#endif
