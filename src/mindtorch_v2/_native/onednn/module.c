/* The module `_onednn`: `Kernel` objects that try oneDNN and hand what it declines to the kernel behind them. */
#include "onednn.h"
#include "common/sources.h"

#include <structmember.h>

static const KernelEntry *const FAMILIES[] = {CONVOLUTIONS, PRODUCTS, ELEMENTWISE};
#define FAMILY_COUNT (sizeof FAMILIES / sizeof *FAMILIES)

static bool enabled = true;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    const KernelEntry *entry;
    PyObject *wrapped;
    PyObject *dict;
} Kernel;

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
        return PyErr_Format(PyExc_LookupError, "there is no oneDNN kernel %s", name);
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
    Py_CLEAR(((Kernel *)object)->dict);
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
    return PyUnicode_FromFormat("<oneDNN kernel %s before %R>", self->entry->name, self->wrapped);
}

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Kernel, dict), READONLY, NULL},
    {"__wrapped__", T_OBJECT, offsetof(Kernel, wrapped), READONLY, "The kernel that does what oneDNN does not."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "Kernel(name, wrapped): computes with oneDNN, and calls `wrapped` for what is declined."},
    {Py_tp_new, kernel_new},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_repr, kernel_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, kernel_members},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "mindtorch_v2._native._onednn.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = kernel_slots,
};

/* --- functions of the module
 * ---------------------------------------------------------------------------------------------- */
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

static PyMethodDef methods[] = {
    {"set_finder", set_finder, METH_O, "What loads the library when it is first needed, and tells whether it did."},
    {"load", load, METH_O, "Opens the library at this path; its version. OSError says why that cannot be done."},
    {"set_threads", set_threads, METH_O, "How many threads a primitive may use."},
    {"set_enabled", set_enabled, METH_O, "Whether kernels try oneDNN; returns what was set before."},
    {"plans", plans, METH_NOARGS,
     "The plans that are kept: (implementation, count of reorders, bytes of scratch memory)."},
    {"clear_plans", clear_plans, METH_NOARGS, "Drops all plans."},
    {NULL, NULL, 0, NULL},
};

static int add_names(PyObject *module)
{
    PyObject *names = PyList_New(0);
    for (size_t family = 0; names != NULL && family < FAMILY_COUNT; family++)
        for (const KernelEntry *entry = FAMILIES[family]; names != NULL && entry->name != NULL; entry++) {
            PyObject *name = PyUnicode_FromString(entry->name);
            if (name == NULL || PyList_Append(names, name) < 0)
                Py_CLEAR(names);
            Py_XDECREF(name);
        }
    PyObject *all = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    int failed = all == NULL || PyModule_AddObjectRef(module, "NAMES", all) < 0;
    Py_XDECREF(all);
    return failed ? -1 : 0;
}

static int module_exec(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) { /* the library's state is the process's */
        PyErr_SetString(PyExc_ImportError, "the native part of mindtorch_v2 works in the main interpreter only");
        return -1;
    }
    if (arrays_setup() < 0 || add_names(module) < 0 || add_sources(module) < 0)
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
    PyModuleDef_HEAD_INIT, .m_name = "_onednn",  .m_doc = "Kernels of oneDNN. See mindtorch_v2._backends.onednn.",
    .m_size = 0,           .m_methods = methods, .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__onednn(void)
{
    return PyModuleDef_Init(&module_definition);
}
