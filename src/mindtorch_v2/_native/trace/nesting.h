/* Who encloses whom: nesting.c. */
#ifndef MINDTORCH_TRACE_NESTING_H
#define MINDTORCH_TRACE_NESTING_H

#include <Python.h>

/* What a row does to the rows around it, as in profiler/load/nesting.py. */
enum { LEAVES, STEP, YIELDS, LAUNCHES };

PyObject *nest(PyObject *module, PyObject *args);

#endif
