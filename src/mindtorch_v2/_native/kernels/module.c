/* The module `_kernels`: `Kernel` objects that try a native kernel and hand what it declines to the numpy kernel behind
 * it. */
#include "blas.h"
#include "common/sources.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

static const KernelEntry *const FAMILIES[] = {
    ACTIVATION_KERNELS,   SOFTMAX_KERNELS, LAYER_NORM_KERNELS, REDUCTION_KERNELS,   COPY_KERNELS,
    OPTIMIZER_KERNELS,    LOSS_KERNELS,    POOLING_KERNELS,    CONVOLUTION_KERNELS, ATTENTION_KERNELS,
    CONV_PRODUCT_KERNELS, LSTM_KERNELS,    SORTING_KERNELS,    INDEXING_KERNELS,    PRODUCT_KERNELS};
#define FAMILY_COUNT (sizeof FAMILIES / sizeof *FAMILIES)

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

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    const KernelEntry *entry;
    PyObject *wrapped; /* the numpy kernel */
    PyObject *dict;
} Kernel;

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

static const KernelEntry *find(const char *name)
{
    for (size_t family = 0; family < FAMILY_COUNT; family++)
        for (const KernelEntry *entry = FAMILIES[family]; entry->name != NULL; entry++)
            if (strcmp(entry->name, name) == 0)
                return entry;
    return NULL;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"name", "wrapped", NULL};
    const char *name;
    PyObject *wrapped;
    if (!PyArg_ParseTupleAndKeywords(args, names, "sO:Kernel", keywords, &name, &wrapped))
        return NULL;
    const KernelEntry *entry = find(name);
    if (entry == NULL)
        return PyErr_Format(PyExc_LookupError, "there is no native kernel %s", name);
    if (!PyCallable_Check(wrapped))
        return PyErr_Format(PyExc_TypeError, "the kernel behind %s must be callable, not %.100s", name,
                            Py_TYPE(wrapped)->tp_name);
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = kernel_vectorcall;
    self->entry = entry;
    self->wrapped = Py_NewRef(wrapped);
    return (PyObject *)self;
}

static int kernel_traverse(PyObject *object, visitproc visit, void *arg)
{
    Kernel *self = (Kernel *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->wrapped);
    Py_VISIT(self->dict);
    return 0;
}

static int kernel_clear(PyObject *object)
{
    Kernel *self = (Kernel *)object;
    Py_CLEAR(self->dict);
    return 0;
}

static void kernel_dealloc(PyObject *object)
{
    Kernel *self = (Kernel *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->wrapped);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *kernel_repr(PyObject *object)
{
    Kernel *self = (Kernel *)object;
    return PyUnicode_FromFormat("<native kernel %s before %R>", self->entry->name, self->wrapped);
}

static PyObject *kernel_name(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((Kernel *)object)->entry->name);
}

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Kernel, dict), READONLY, NULL},
    {"__wrapped__", T_OBJECT, offsetof(Kernel, wrapped), READONLY,
     "The numpy kernel that does what the native one declines."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef kernel_getset[] = {
    {"__name__", kernel_name, NULL, "The name of the native kernel.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "Kernel(name, wrapped): calls the native kernel of this name, and `wrapped` for what it declines."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_repr, kernel_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, kernel_members},
    {Py_tp_getset, kernel_getset},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "mindtorch_v2._native._kernels.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = kernel_slots,
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

static PyMethodDef methods[] = {
    {"load_blas", load_blas, METH_O,
     "Takes matrix products from the loaded library at this path; False where it has none."},
    {"get_num_threads", get_num_threads, METH_NOARGS, "How many threads share a long loop."},
    {"set_num_threads", set_num_threads, METH_O, "Sets how many threads share a long loop."},
    {NULL, NULL, 0, NULL},
};

static int add_names(PyObject *module)
{
    PyObject *names = PyList_New(0);
    if (names == NULL)
        return -1;
    for (size_t family = 0; family < FAMILY_COUNT; family++)
        for (const KernelEntry *entry = FAMILIES[family]; entry->name != NULL; entry++) {
            PyObject *name = PyUnicode_FromString(entry->name);
            if (name == NULL || PyList_Append(names, name) < 0) {
                Py_XDECREF(name);
                Py_DECREF(names);
                return -1;
            }
            Py_DECREF(name);
        }
    PyObject *all = PyList_AsTuple(names);
    Py_DECREF(names);
    int failed = all == NULL || PyModule_AddObjectRef(module, "NAMES", all) < 0;
    Py_XDECREF(all);
    return failed ? -1 : 0;
}

static int module_exec(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) { /* threads and types are shared by the whole process */
        PyErr_SetString(PyExc_ImportError, "the native part of mindtorch_v2 works in the main interpreter only");
        return -1;
    }
    look_at_machine();
    if (arrays_init() < 0 || threads_init() < 0 || add_names(module) < 0 || add_sources(module) < 0)
        return -1;
    PyObject *type = PyType_FromSpec(&kernel_spec);
    int failed = type == NULL || PyModule_AddObjectRef(module, "Kernel", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
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
