/* The node of a call whose result requires a gradient. */
#include "call.h"

PyObject *next_sequence_nr;

/* Where the gradient of an argument goes: a new reference, None where it needs none, NULL with an error set. */
static PyObject *edge_of(const Gradient *gradient, PyObject *value)
{
    if (!is_tensor(value))
        return held(Py_None);
    Tensor *tensor = (Tensor *)value;
    if (tensor->base != Py_None)
        return PyObject_CallOneArg(gradient->view_edge, value);
    if (tensor->edge != Py_None)
        return held(tensor->edge);
    return held(PyLong_AsLong(tensor->keys) & KEY_GRAD ? value : Py_None);
}

static PyObject *edges_of(const Call *call, const Arguments *arguments, unsigned *present)
{
    const Gradient *gradient = &call->gradient;
    PyObject *edges = PyTuple_New(gradient->input_count);
    if (!edges)
        return NULL;
    *present = 0;
    for (int i = 0; i < gradient->input_count; i++) {
        PyObject *edge = edge_of(gradient, arguments->bound[gradient->inputs[i]]);
        if (!edge) {
            Py_DECREF(edges);
            return NULL;
        }
        *present |= (unsigned)(edge != Py_None) << i;
        PyTuple_SET_ITEM(edges, i, edge);
    }
    return edges;
}

/* The result as it is saved: without its place in the graph, which would be a cycle. */
static PyObject *saved_result(const Call *call, Tensor *made)
{
    if (!call->is_view && made->storage == Py_None) {
        PyObject *storage = storage_make();
        if (!storage)
            return NULL;
        Py_SETREF(made->storage, storage);
    }
    Tensor *alias = tensor_of(made->array, made->keys, made->dtype);
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
    if (!is_tensor(given))
        return held(value->otherwise);
    Tensor *tensor = (Tensor *)given;
    if (value->what == SAVED_SHAPE)
        return shape_of(tensor->array);
    return value->what == SAVED_DTYPE ? held(tensor->dtype) : PyObject_CallOneArg(value->fact, given);
}

static PyObject *saved_values(const Call *call, const Arguments *arguments, Tensor *made, unsigned present,
                              bool *versioned)
{
    const Gradient *gradient = &call->gradient;
    PyObject *saved = PyTuple_New(gradient->saved_count);
    for (int i = 0; saved && i < gradient->saved_count; i++) {
        const SavedValue *value = &gradient->saved[i];
        PyObject *given = value->what == SAVED_RESULT ? NULL : arguments->bound[value->param], *kept;
        if (value->what == SAVED_RESULT)
            kept = saved_result(call, made);
        else if (value->what != SAVED_ARGUMENT)
            kept = saved_fact(value, given);
        else {
            kept = held(value->users && !(value->users & present) ? Py_None : given);
            *versioned |= value->has_version && is_tensor(given) && ((Tensor *)given)->storage != Py_None;
        }
        if (!kept)
            Py_CLEAR(saved);
        else
            PyTuple_SET_ITEM(saved, i, kept);
    }
    return saved;
}

static int set_versions(const Gradient *gradient, Node *node)
{
    PyObject *versions = PyObject_CallOneArg(gradient->versions_of, node->saved);
    if (!versions)
        return -1;
    Py_SETREF(node->versions, versions);
    return 0;
}

static int set_number(Node *node)
{
    PyObject *now = PyList_GET_ITEM(next_sequence_nr, 0), *next = PyLong_FromLongLong(PyLong_AsLongLong(now) + 1);
    if (!next)
        return -1;
    Py_INCREF(now);
    Py_SETREF(node->seq, now);
    return PyList_SetItem(next_sequence_nr, 0, next);
}

/* Tells a node where the result lies, for the gradients that it will get. */
static int set_place(Node *node, const Tensor *made)
{
    return PyObject_SetAttrString((PyObject *)node, "key", made->keys) < 0
                   || PyObject_SetAttrString((PyObject *)node, "device", made->device) < 0
               ? -1
               : 0;
}

/* The node of a result, tied to where its gradients go (stolen). */
static Node *make_node(const Call *call, const Arguments *arguments, Tensor *made, PyObject *edges, unsigned present)
{
    const Gradient *gradient = &call->gradient;
    Node *node = node_of(gradient->node);
    if (!node) {
        Py_DECREF(edges);
        return NULL;
    }
    bool versioned = false;
    Py_SETREF(node->next, edges);
    PyObject *saved = gradient->saved_count ? saved_values(call, arguments, made, present, &versioned) : NULL;
    if (saved)
        Py_SETREF(node->saved, saved);
    PyObject *shape = !saved && gradient->saved_count ? NULL : shape_of(made->array);
    if (shape)
        Py_SETREF(node->shape, shape);
    Py_INCREF(made->dtype);
    Py_SETREF(node->dtype, made->dtype);
    if (!shape || (versioned && set_versions(gradient, node) < 0) || set_number(node) < 0)
        Py_CLEAR(node);
    if (node && arguments->observed) {
        PyObject *thread = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
        if (thread)
            Py_SETREF(node->forward_thread, thread);
        else
            Py_CLEAR(node);
    }
    return node;
}

/* Makes a fresh result part of the graph. It stays a constant where no argument has a place in it. */
int record_gradient(const Call *call, const Arguments *arguments, Tensor *made)
{
    if (call->gradient.only_inexact && !is_inexact(made->dtype))
        return 0;
    unsigned present;
    PyObject *edges = edges_of(call, arguments, &present);
    if (!edges)
        return -1;
    if (!present) {
        Py_DECREF(edges);
        return 0;
    }
    Node *node = make_node(call, arguments, made, edges, present);
    PyObject *keys = PyLong_FromLong(PyLong_AsLong(made->keys) | KEY_GRAD);
    if (!node || !keys || (arguments->on_device && set_place(node, made) < 0)) {
        Py_XDECREF(node);
        Py_XDECREF(keys);
        return -1;
    }
    Py_SETREF(made->keys, keys);
    Py_SETREF(made->edge, (PyObject *)node);
    return 0;
}
