/* numpy's published layout of arrays and element types. Who uses it checks it against real arrays first. */
#ifndef MINDTORCH_NUMPY_ARRAYS_H
#define MINDTORCH_NUMPY_ARRAYS_H

#include <Python.h>

typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dimensions, *strides;
    PyObject *base, *descr;
    int flags;
    PyObject *weak_references;
    void *buffer_info;
    PyObject *handler; /* who allocated the data, where the array owns it */
} ArrayFields;

typedef struct {
    PyObject_HEAD
    PyTypeObject *typeobj;
    char kind, type, byteorder, former_flags;
    int type_num;
} DescrFields;

/* Bits of ArrayFields.flags. */
enum {
    ARRAY_C_CONTIGUOUS = 1,
    ARRAY_OWNS_DATA = 4,
    ARRAY_ALIGNED = 0x100,
    ARRAY_NOT_SWAPPED = 0x200,
    ARRAY_WRITEABLE = 0x400,
};

#endif
