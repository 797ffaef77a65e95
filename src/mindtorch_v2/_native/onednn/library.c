/* The library itself: found by the Python part, opened here once, never closed. */
#include "onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

OneDnn dnnl;
Handle engine, stream, attributes;

static bool loaded;
static PyObject *finder;
static atomic_int wanted = 1;
static atomic_bool forked; /* libgomp's threads do not survive a fork: the child works alone */
static _Thread_local int told;
static void (*omp_set_threads)(int);
static bool own_threads; /* it works on this package's threads instead of OpenMP's */

void library_set_finder(PyObject *function)
{
    Py_XSETREF(finder, Py_NewRef(function));
}

bool library_is_ready(void)
{
    if (!loaded && finder != NULL) {
        PyObject *function = finder;
        finder = NULL;
        PyObject *found = PyObject_CallNoArgs(function);
        Py_XDECREF(found);
        Py_DECREF(function);
    }
    return loaded;
}

static int refuse(const char *path, const char *why)
{
    PyErr_Format(PyExc_OSError, "%s: %s", path, why);
    return -1;
}

static int find_functions(void *library, const char *path)
{
    void *found;
#define FUNCTION(result, name, arguments)                                                                              \
    found = dlsym(library, "dnnl_" #name);                                                                             \
    if (found == NULL)                                                                                                 \
        return refuse(path, "it has no dnnl_" #name);                                                                  \
    memcpy(&dnnl.name, &found, sizeof found);
    ONEDNN_FUNCTIONS(FUNCTION)
#undef FUNCTION
    found = dlsym(library, "omp_set_num_threads"); /* of the OpenMP that the library brought with it */
    memcpy(&omp_set_threads, &found, sizeof found);
    return 0;
}

static void after_fork(void)
{
    atomic_store(&forked, true);
}

int library_load(const char *path)
{
    if (loaded)
        return 0;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return refuse(path, dlerror());
    if (find_functions(library, path) < 0)
        return -1;
    if (dnnl.version()->major != 3)
        return refuse(path, "its major version is not 3");
    if (dnnl.engine_create(&engine, ENGINE_CPU, 0) || dnnl.stream_create(&stream, engine, STREAM_IN_ORDER)
        || dnnl.primitive_attr_create(&attributes)
        || dnnl.primitive_attr_set_scratchpad_mode(attributes, SCRATCHPAD_BY_USER)
        || pthread_atfork(NULL, NULL, after_fork))
        return refuse(path, "it cannot be set up on this machine");
    own_threads = openmp_replace(library);
    loaded = true;
    return 0;
}

void library_set_threads(int count)
{
    atomic_store(&wanted, count);
}

int library_threads(void)
{
    if (own_threads)
        return openmp_limit();
    return atomic_load(&forked) || omp_set_threads == NULL ? 1 : atomic_load(&wanted);
}

bool library_has_own_threads(void)
{
    return own_threads;
}

void library_use_threads(int count)
{
    if (own_threads)
        openmp_use(count);
    else if (told != count && omp_set_threads != NULL) { /* OpenMP keeps the number per thread */
        omp_set_threads(count);
        told = count;
    }
}
