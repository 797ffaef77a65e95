/* The module `_kernels`: `Kernel` objects that try a native kernel and hand what it declines to the numpy kernel before
 * it. */
#include "blas.h"
#include "common/enums.h"
#include "common/kernel_objects.h"
#include "common/sources.h"
#include "common/teams.h"

#include <stdlib.h>

static const KernelEntry *const FAMILIES[] = {
    ACTIVATION_KERNELS,   SOFTMAX_KERNELS,      LAYER_NORM_KERNELS, REDUCTION_KERNELS,   COPY_KERNELS,
    OPTIMIZER_KERNELS,    LOSS_KERNELS,         POOLING_KERNELS,    CONVOLUTION_KERNELS, ATTENTION_KERNELS,
    CONV_PRODUCT_KERNELS, LSTM_KERNELS,         CHANNEL_KERNELS,    SORTING_KERNELS,     INDEXING_KERNELS,
    PRODUCT_KERNELS,      BROADCASTING_KERNELS, CONVERSION_KERNELS, RANDOM_KERNELS,      NULL};

int machine = MACHINE_BASELINE;

/* MINDTORCH_CPU=baseline or avx2 leaves newer vector instructions unused, so that one machine can show what another
 * computes. */
static void look_at_machine(void)
{
#ifdef MINDTORCH_X86
    const char *level = getenv("MINDTORCH_CPU");
    if (level && strcmp(level, "baseline") == 0)
        return;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
                && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    machine = wide && !(level && strcmp(level, "avx2") == 0) ? MACHINE_AVX512 : MACHINE_AVX2;
#endif
}

static PyObject *kernel_vectorcall(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Kernel *self = (Kernel *)object;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (names == NULL && count >= self->entry->arguments) {
        PyObject *result = self->entry->call(args, count);
        if (result != DECLINED)
            return result;
    }
    return PyObject_Vectorcall(self->wrapped, args, flags, names);
}

static const KernelModule KERNELS = {
    .type_name = "mindtorch_v2._native._kernels.Kernel",
    .origin = "native",
    .tables = FAMILIES,
    .call = kernel_vectorcall,
};

static PyObject *get_num_threads(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(threads_get());
}

static PyObject *set_num_threads(PyObject *module, PyObject *count)
{
    (void)module;
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    if (value < 1 || value > INT_MAX) {
        PyErr_SetString(PyExc_ValueError, "the number of threads must be positive");
        return NULL;
    }
    threads_set((int)value);
    Py_RETURN_NONE;
}

static PyObject *load_blas(PyObject *module, PyObject *path)
{
    (void)module;
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    bool found = blas_load(PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    return PyBool_FromLong(found);
}

static PyObject *uses_blas(PyObject *module, PyObject *args)
{
    (void)module;
    const char *core;
    Py_ssize_t m, n, k, itemsize;
    if (!PyArg_ParseTuple(args, "znnnn", &core, &m, &n, &k, &itemsize))
        return NULL;
    return PyBool_FromLong(core_is_wide(core) && blas_is_faster(m, n, k, (size_t)itemsize));
}

static PyMethodDef methods[] = {
    {"load_blas", load_blas, METH_O,
     "Takes matrix products from the loaded library at this path; False where it has none."},
    {"uses_blas", uses_blas, METH_VARARGS,
     "uses_blas(core, m, n, k, itemsize): whether a machine with AVX-512 leaves this product to an OpenBLAS whose "
     "kernels have this name (None: not known)."},
    {"get_num_threads", get_num_threads, METH_NOARGS, "How many threads share a long loop."},
    {"set_num_threads", set_num_threads, METH_O, "Sets how many threads share a long loop."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    static const NamedCode reductions[] = {{"none", REDUCE_NONE}, {"mean", REDUCE_MEAN}, {"sum", REDUCE_SUM}};
    look_at_machine();
    if (add_kernels(module, &KERNELS) < 0 || arrays_init() < 0 || threads_init() < 0
        || EXPORT_CODES(module, "REDUCTIONS", reductions) < 0)
        return -1;
    PyObject *teams = PyCapsule_New((void *)&THREAD_TEAMS, TEAMS_CAPSULE, NULL);
    int failed = teams == NULL || PyModule_AddObjectRef(module, "teams", teams) < 0;
    Py_XDECREF(teams);
    return failed ? -1 : add_sources(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_kernels", .m_doc = "Native kernels. See mindtorch_v2._native.",
    .m_size = 0,           .m_methods = methods, .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    return PyModuleDef_Init(&module_definition);
}
