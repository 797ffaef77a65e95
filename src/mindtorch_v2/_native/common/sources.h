/* What a module was built of: setup.py writes the text, and sources.py compares it with the files. */
#ifndef MINDTORCH_COMMON_SOURCES_H
#define MINDTORCH_COMMON_SOURCES_H

#include <Python.h>

extern const char mindtorch_sources[];

static inline int add_sources(PyObject *module)
{
    return PyModule_AddStringConstant(module, "SOURCES", mindtorch_sources);
}

#endif
