/* The modes of the process and of each thread: kept in call_state.c, read at every call, and changed for a while in
 * modes.c. */
#ifndef MINDTORCH_MODES_H
#define MINDTORCH_MODES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "common/keys.h"

extern PyTypeObject Switch_Type, Guarded_Type;
extern PyMethodDef modes_functions[];
int modes_setup(void);

/* in call_state.c */
int modes_set_bit(long bit, bool on);
int modes_swap_grad(bool on);       /* what was before, or -1 with an error set */
PyObject *modes_thread_state(void); /* borrowed, as is the name of its attribute `grad` */
PyObject *modes_grad_name(void);

#endif
