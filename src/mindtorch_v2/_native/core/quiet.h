/* Functions without numpy's warnings: see quiet.c. */
#ifndef MINDTORCH_QUIET_H
#define MINDTORCH_QUIET_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* A context in which numpy does not warn, and in which its memory is watched while a profile wants that. */
typedef struct {
    PyObject *context;
    bool watched;
    uint64_t changes;
} QuietBlock;
bool quiet_enter(QuietBlock *block); /* false with an error set */
bool quiet_leave(QuietBlock *block);

extern PyTypeObject Quiet_Type;
PyObject *quiet_setup(PyObject *module, PyObject *args);

#endif
