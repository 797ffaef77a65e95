/* Functions without numpy's warnings: see quiet.c. */
#ifndef MINDTORCH_QUIET_H
#define MINDTORCH_QUIET_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject Quiet_Type;
PyObject *quiet_setup(PyObject *module, PyObject *args);

#endif
