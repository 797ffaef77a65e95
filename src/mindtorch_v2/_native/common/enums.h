/* Numbers that Python and C share, as C exports them: a dictionary of names and values, which a test compares with
 * Python's. */
#ifndef MINDTORCH_ENUMS_H
#define MINDTORCH_ENUMS_H

#include <Python.h> /* after who includes this has chosen how */

typedef struct {
    const char *name;
    long value;
} NamedNumber;

/* Adds the dictionary `name` of `count` numbers to a module; -1 with a Python error set. */
static inline int export_numbers(PyObject *module, const char *name, const NamedNumber *numbers, size_t count)
{
    PyObject *made = PyDict_New();
    for (size_t i = 0; made && i < count; i++) {
        PyObject *value = PyLong_FromLong(numbers[i].value);
        if (!value || PyDict_SetItemString(made, numbers[i].name, value) < 0)
            Py_CLEAR(made);
        Py_XDECREF(value);
    }
    int added = made ? PyModule_AddObjectRef(module, name, made) : -1;
    Py_XDECREF(made);
    return added;
}

#endif
