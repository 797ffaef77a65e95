/* Codes that Python and C share, as C exports them: a dictionary of names and values for each enum, which
 * tests/mindtorch_v2/native/test_codes.py compares with Python's. */
#ifndef MINDTORCH_ENUMS_H
#define MINDTORCH_ENUMS_H

#include <Python.h> /* after who includes this has chosen how */

typedef struct {
    const char *name;
    long value;
} NamedCode;

/* Adds the dictionary `name` of `count` codes to a module; -1 with a Python error set. */
static inline int export_codes(PyObject *module, const char *name, const NamedCode *codes, size_t count)
{
    PyObject *made = PyDict_New();
    for (size_t i = 0; made && i < count; i++) {
        PyObject *value = PyLong_FromLong(codes[i].value);
        if (!value || PyDict_SetItemString(made, codes[i].name, value) < 0)
            Py_CLEAR(made);
        Py_XDECREF(value);
    }
    int added = made ? PyModule_AddObjectRef(module, name, made) : -1;
    Py_XDECREF(made);
    return added;
}

/* The same for a static array. */
#define EXPORT_CODES(module, name, codes) export_codes(module, name, codes, sizeof codes / sizeof *codes)

#endif
