/* Elementwise operators on a few elements: see loops.c. */
#ifndef MINDTORCH_LOOPS_H
#define MINDTORCH_LOOPS_H

#include "call.h"

PyObject *loop_run(const Call *call, const Arguments *arguments); /* a new array, or the one that was written; NULL
                                                                     where it is declined, or with an error set */
bool is_int64(const ArrayFields *fields);                         /* in the machine's byte order */
PyObject *loops_setup(PyObject *module, PyObject *args);

#endif
