/* The module `_onednn`: `Kernel` objects that try oneDNN and hand what it declines to the fallback kernel. */
#include "onednn.h"
#include "common/kernel_objects.h"
#include "common/sources.h"

static const KernelEntry *const FAMILIES[] = {CONVOLUTIONS, PRODUCTS, ELEMENTWISE, NULL};

static bool enabled = true;

static PyObject *kernel_vectorcall(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Kernel *self = (Kernel *)object;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    View first;
    if (enabled && names == NULL && count >= self->entry->arguments && view_read(&first, args[0])
        && first.size >= self->entry->least && !(self->entry->narrow && first.type == TYPE_F32)) {
        PyObject *result = self->entry->call(args, self->wrapped);
        if (result != DECLINED)
            return result;
        if (PyErr_Occurred())
            return NULL;
    }
    return PyObject_Vectorcall(self->wrapped, args, flags, names);
}

static const KernelModule KERNELS = {
    .type_name = "mindtorch_v2._native._onednn.Kernel",
    .origin = "oneDNN",
    .tables = FAMILIES,
    .call = kernel_vectorcall,
};

/* --- functions of the module -------------------------------------------------------------------- */
static PyObject *set_finder(PyObject *module, PyObject *function)
{
    (void)module;
    library_set_finder(function);
    Py_RETURN_NONE;
}

static PyObject *load(PyObject *module, PyObject *path)
{
    (void)module;
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    int failed = library_load(PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    if (failed)
        return NULL;
    const LibraryVersion *version = dnnl.version();
    return Py_BuildValue("iii", version->major, version->minor, version->patch);
}

static PyObject *set_threads(PyObject *module, PyObject *count)
{
    (void)module;
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    library_set_threads(value < 1 ? 1 : (int)value);
    Py_RETURN_NONE;
}

static PyObject *set_enabled(PyObject *module, PyObject *on)
{
    (void)module;
    bool before = enabled;
    int value = PyObject_IsTrue(on);
    if (value < 0)
        return NULL;
    enabled = value;
    return PyBool_FromLong(before);
}

static PyObject *plans(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return plans_describe();
}

static PyObject *clear_plans(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    plans_clear();
    Py_RETURN_NONE;
}

static PyObject *works_on_own_threads(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(library_has_own_threads());
}

static PyMethodDef methods[] = {
    {"set_finder", set_finder, METH_O, "What loads the library when it is first needed, and tells whether it did."},
    {"load", load, METH_O, "Opens the library at this path; its version. OSError says why that cannot be done."},
    {"set_threads", set_threads, METH_O, "How many threads a primitive may use."},
    {"set_enabled", set_enabled, METH_O, "Whether kernels try oneDNN; returns what was set before."},
    {"plans", plans, METH_NOARGS,
     "The plans that are kept: (implementation, count of reorders, bytes of scratch memory)."},
    {"works_on_own_threads", works_on_own_threads, METH_NOARGS,
     "Whether the library works on this package's threads instead of OpenMP's."},
    {"clear_plans", clear_plans, METH_NOARGS, "Drops all plans."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    if (add_kernels(module, &KERNELS) < 0 || arrays_setup() < 0)
        return -1;
    return add_sources(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_onednn",  .m_doc = "Kernels of oneDNN. See mindtorch_v2._backends.onednn.",
    .m_size = 0,           .m_methods = methods, .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__onednn(void)
{
    return PyModuleDef_Init(&module_definition);
}
