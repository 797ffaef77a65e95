/* Attributes of modules. Parameters, buffers and submodules stand in three tables, which Python would ask only after it
 * has raised and caught an AttributeError; here they are asked first. */
#include "tensor.h"

static PyObject *general; /* Module.__getattr__: words the error, and does whatever is not done here */
static PyObject *table_names[3];

/* An item of one of the tables (borrowed), or NULL; a table of another type than dict is left to Python. */
static PyObject *in_table(PyObject *fields, PyObject *table_name, PyObject *name)
{
    PyObject *table = PyDict_GetItemWithError(fields, table_name);
    bool is_known = table && (PyDict_CheckExact(table) || PyODict_CheckExact(table));
    return is_known ? PyDict_GetItemWithError(table, name) : NULL;
}

/* An attribute of the instance, or a child; NULL with or without an error set. */
static PyObject *own_attribute(PyObject *self, PyObject *name)
{
    PyObject *fields = PyObject_GenericGetDict(self, NULL);
    PyObject *found = fields ? PyDict_GetItemWithError(fields, name) : NULL;
    for (int i = 0; i < 3 && fields && !found && !PyErr_Occurred(); i++)
        found = in_table(fields, table_names[i], name);
    Py_XINCREF(found);
    Py_XDECREF(fields);
    return found;
}

static PyObject *module_attribute(PyObject *self, PyObject *name)
{
    PyObject *found =
        _PyType_Lookup(Py_TYPE(self), name) ? PyObject_GenericGetAttr(self, name) : own_attribute(self, name);
    if (found || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError)))
        return found;
    PyErr_Clear();
    PyObject *args[] = {self, name};
    return PyObject_Vectorcall(general, args, 2, NULL);
}

/* Whether a class finds its attributes as Module does: it defines no __getattr__ or __getattribute__ of its own. */
static int is_plain_class(PyTypeObject *type)
{
    PyObject *getattr = PyUnicode_InternFromString("__getattr__"),
             *getattribute = PyUnicode_InternFromString("__getattribute__");
    int answer = getattr && getattribute
                     ? _PyType_Lookup(type, getattr) == general
                           && _PyType_Lookup(type, getattribute) == _PyType_Lookup(&PyBaseObject_Type, getattribute)
                     : -1;
    Py_XDECREF(getattr);
    Py_XDECREF(getattribute);
    return answer;
}

PyObject *attributes_find_children(PyObject *module, PyObject *args)
{
    /* find_children(class, Module.__getattr__). Python sets the slot anew when somebody assigns __getattr__ or
     * __getattribute__ to the class or one of its bases, so that theirs is called. */
    static const char *const names[] = {"_parameters", "_buffers", "_modules"};
    PyTypeObject *type;
    PyObject *function;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &type, &function))
        return NULL;
    for (int i = 0; i < 3; i++)
        if (!table_names[i] && !(table_names[i] = PyUnicode_InternFromString(names[i])))
            return NULL;
    if (!general)
        general = Py_NewRef(function); /* for the life of the process */
    int is_plain = is_plain_class(type);
    if (is_plain > 0 && type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        type->tp_getattro = module_attribute;
        PyType_Modified(type);
    }
    return is_plain < 0 ? NULL : PyBool_FromLong(is_plain);
}
