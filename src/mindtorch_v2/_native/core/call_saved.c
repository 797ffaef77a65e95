/* What a node keeps of a call, and what its rows get back. */
#include "call.h"

static PyObject *unpack, *packed_class; /* what hands out saved values where something is out of the ordinary */

/* --- when a call is recorded */
/* An output as it is saved: without its edge, which would make a cycle. */
static PyObject *saved_result(PyObject *output)
{
    if (output == Py_None)
        return held(output);
    Tensor *made = (Tensor *)output;
    if (made->storage == Py_None) {
        PyObject *storage = storage_make();
        if (!storage)
            return NULL;
        Py_SETREF(made->storage, storage);
    }
    Tensor *alias = tensor_of(made->array, boxed_key(PyLong_AsLong(made->keys) & KEY_DEVICES), made->dtype);
    if (alias) {
        Py_INCREF(made->device);
        Py_SETREF(alias->device, made->device);
        Py_INCREF(made->storage);
        Py_SETREF(alias->storage, made->storage);
    }
    return (PyObject *)alias;
}

static PyObject *saved_fact(const SavedValue *value, PyObject *given)
{
    if (PyList_Check(given) || PyTuple_Check(given))
        return PyObject_CallOneArg(value->fact, given);
    if (!is_tensor(given))
        return held(value->absent);
    Tensor *tensor = (Tensor *)given;
    if (value->what == SAVED_SHAPE)
        return shape_of(tensor->array);
    if (value->what == SAVED_STRIDES && fields_of(tensor->array))
        return tuple_of_sizes(fields_of(tensor->array)->strides, fields_of(tensor->array)->nd);
    return value->what == SAVED_DTYPE ? held(tensor->dtype) : PyObject_CallOneArg(value->fact, given);
}

static PyObject *output_at(PyObject *made, int index)
{
    return is_tensor(made) ? made : PySequence_Fast_GET_ITEM(made, index);
}

static PyObject *saved_value(const SavedValue *value, const Arguments *arguments, PyObject *made, unsigned present)
{
    if (value->what == SAVED_RESULT)
        return saved_result(output_at(made, value->position));
    PyObject *given = arguments->bound[value->position];
    if (value->what != SAVED_ARGUMENT)
        return saved_fact(value, given);
    if (value->position == 0 && arguments->before)
        given = arguments->before;
    return held(value->users && !(value->users & present) && is_tensor(given) ? Py_None : given);
}

/* Whether a saved tensor was written before: its version is to be kept. */
static bool was_written(PyObject *kept)
{
    return is_tensor(kept) && ((Tensor *)kept)->storage != Py_None && storage_was_written(((Tensor *)kept)->storage);
}

/* Notes the versions of what is saved; 0 for what is not a tensor. */
static int note_versions(Node *node)
{
    PyObject *versions = PyTuple_New(PyTuple_GET_SIZE(node->saved));
    for (Py_ssize_t i = 0; versions && i < PyTuple_GET_SIZE(versions); i++) {
        PyObject *kept = PyTuple_GET_ITEM(node->saved, i);
        bool has_storage = PyObject_TypeCheck(kept, &TensorFields_Type) && ((Tensor *)kept)->storage != Py_None;
        PyObject *version = has_storage ? held(((Storage *)((Tensor *)kept)->storage)->version) : PyLong_FromLong(0);
        PyTuple_SET_ITEM(versions, i, version); /* small numbers are there already: this does not fail */
    }
    if (!versions)
        return -1;
    Py_SETREF(node->versions, versions);
    return 0;
}

int set_saved(const Call *call, const Arguments *arguments, PyObject *made, unsigned present, Node *node)
{
    const Gradient *gradient = &call->gradient;
    if (!gradient->saved_count)
        return 0;
    bool versioned = false;
    PyObject *saved = PyTuple_New(gradient->saved_count);
    for (int i = 0; saved && i < gradient->saved_count; i++) {
        PyObject *kept = saved_value(&gradient->saved[i], arguments, made, present);
        if (!kept)
            Py_CLEAR(saved);
        else {
            PyTuple_SET_ITEM(saved, i, kept);
            versioned |= was_written(kept);
        }
    }
    if (!saved)
        return -1;
    Py_SETREF(node->saved, saved);
    return versioned ? note_versions(node) : 0;
}

/* --- when the node runs */
bool same_version(PyObject *a, PyObject *b)
{
    return a == b || PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

/* Whether a saved value may be handed out: not if it is a tensor that was written since, or one that is packed. */
static bool is_unchanged(PyObject *kept, PyObject *version)
{
    if (!is_tensor(kept))
        return (PyObject *)Py_TYPE(kept) != packed_class;
    PyObject *storage = ((Tensor *)kept)->storage;
    if (storage == Py_None)
        return true;
    return version ? same_version(((Storage *)storage)->version, version) : !storage_was_written(storage);
}

PyObject *node_saved(PyObject *module, PyObject *given)
{
    (void)module;
    const Node *node = (const Node *)given;
    bool is_plain = PyObject_TypeCheck(given, &NodeFields_Type) && PyTuple_CheckExact(node->saved)
                    && (node->versions == Py_None
                        || (PyTuple_CheckExact(node->versions)
                            && PyTuple_GET_SIZE(node->versions) == PyTuple_GET_SIZE(node->saved)));
    for (Py_ssize_t i = 0; is_plain && i < PyTuple_GET_SIZE(node->saved); i++)
        is_plain = is_unchanged(PyTuple_GET_ITEM(node->saved, i),
                                node->versions == Py_None ? NULL : PyTuple_GET_ITEM(node->versions, i));
    return is_plain ? held(node->saved) : PyObject_CallOneArg(unpack, given);
}

PyObject *saved_setup(PyObject *module, PyObject *args)
{
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &unpack, &packed_class))
        return NULL;
    Py_INCREF(unpack); /* for the life of the process */
    Py_INCREF(packed_class);
    Py_RETURN_NONE;
}
