/* `Kernel` objects: a kernel of this module that hands what it declines to a fallback kernel.
 *
 * For a module's one file with its tables of kernels, whose KernelEntry is declared before this is included and has at
 * least a `name`. */
#ifndef MINDTORCH_COMMON_KERNEL_OBJECTS_H
#define MINDTORCH_COMMON_KERNEL_OBJECTS_H

#include <Python.h> /* after who includes this has chosen how */
#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    const KernelEntry *entry;
    PyObject *wrapped; /* the fallback kernel */
    PyObject *dict;
} Kernel;

typedef struct {
    const char *type_name;            /* of the Python type, with its module */
    const char *origin;               /* "native": how messages call these kernels */
    const KernelEntry *const *tables; /* ended by NULL; each is ended by a NULL name */
    vectorcallfunc call;              /* tries the entry's function, then calls the fallback kernel */
} KernelModule;

static const KernelModule *kernel_module; /* set when the module is loaded */

static const KernelEntry *kernel_find(const char *name)
{
    for (const KernelEntry *const *table = kernel_module->tables; *table != NULL; table++)
        for (const KernelEntry *entry = *table; entry->name != NULL; entry++)
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
    const KernelEntry *entry = kernel_find(name);
    if (entry == NULL)
        return PyErr_Format(PyExc_LookupError, "there is no %s kernel %s", kernel_module->origin, name);
    if (!PyCallable_Check(wrapped))
        return PyErr_Format(PyExc_TypeError, "the fallback of the kernel %s must be callable, not %.100s", name,
                            Py_TYPE(wrapped)->tp_name);
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = kernel_module->call;
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
    return PyUnicode_FromFormat("<%s kernel %s before %R>", kernel_module->origin, self->entry->name, self->wrapped);
}

static PyObject *kernel_name(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((Kernel *)object)->entry->name);
}

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Kernel, dict), READONLY, NULL},
    {"__wrapped__", T_OBJECT, offsetof(Kernel, wrapped), READONLY, "The kernel that does what this one declines."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef kernel_getset[] = {
    {"__name__", kernel_name, NULL, "The kernel's name in its table.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "Kernel(name, wrapped): calls the kernel of this name, and `wrapped` for what it declines."},
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

static PyObject *kernel_names(void)
{
    PyObject *names = PyList_New(0);
    for (const KernelEntry *const *table = kernel_module->tables; names != NULL && *table != NULL; table++)
        for (const KernelEntry *entry = *table; names != NULL && entry->name != NULL; entry++) {
            PyObject *name = PyUnicode_FromString(entry->name);
            if (name == NULL || PyList_Append(names, name) < 0)
                Py_CLEAR(names);
            Py_XDECREF(name);
        }
    PyObject *all = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    return all;
}

/* Adds an object that may be NULL, with an error set then, and lets go of it; -1 with an error. */
static int kernel_module_add(PyObject *module, const char *name, PyObject *object)
{
    int failed = object == NULL || PyModule_AddObjectRef(module, name, object) < 0;
    Py_XDECREF(object);
    return failed ? -1 : 0;
}

/* Gives a module its `Kernel` and `NAMES`; -1 with an error. The kernels' state belongs to the whole process. */
static int add_kernels(PyObject *module, const KernelModule *description)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "the native part of mindtorch_v2 works in the main interpreter only");
        return -1;
    }
    kernel_module = description;
    PyType_Spec spec = {
        .name = description->type_name,
        .basicsize = sizeof(Kernel),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
        .slots = kernel_slots,
    };
    if (kernel_module_add(module, "NAMES", kernel_names()) < 0)
        return -1;
    return kernel_module_add(module, "Kernel", PyType_FromSpec(&spec));
}

#endif
