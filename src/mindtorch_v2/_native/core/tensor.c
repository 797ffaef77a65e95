/* The base types of `Tensor` and `Node`: objects with fields that start with their defaults. */
#include "call.h"

static PyObject *zero, *no_text, *no_items, *default_type;

/* --- Tensor */
static struct Links living = {&living, &living};

static void start_tensor(Tensor *made)
{
    made->edge = held(Py_None);
    made->storage = held(Py_None);
    made->base = held(Py_None);
    made->grad = held(Py_None);
    made->hooks = held(Py_None);
    made->post_hooks = held(Py_None);
    made->device = held(Py_None);
    made->view_version = held(zero);
    made->retain = held(Py_False);
    made->view_kind = held(no_text);
    made->links = (struct Links){living.next, &living};
    living.next->previous = &made->links;
    living.next = &made->links;
}

static PyObject *tensor_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    Tensor *made = (Tensor *)type->tp_alloc(type, 0);
    if (made)
        start_tensor(made);
    return (PyObject *)made;
}

Tensor *tensor_of(PyObject *array, PyObject *keys, PyObject *dtype)
{
    Tensor *made = (Tensor *)tensor_class->tp_alloc(tensor_class, 0);
    if (made) {
        made->array = held(array);
        made->keys = held(keys);
        made->dtype = held(dtype);
        start_tensor(made);
    }
    return made;
}

static int tensor_traverse(Tensor *self, visitproc visit, void *arg)
{
    Py_VISIT(self->array);
    Py_VISIT(self->edge);
    Py_VISIT(self->storage);
    Py_VISIT(self->base);
    Py_VISIT(self->grad);
    Py_VISIT(self->hooks);
    Py_VISIT(self->post_hooks);
    return 0;
}

static int tensor_clear(Tensor *self)
{
    Py_CLEAR(self->array);
    Py_CLEAR(self->edge);
    Py_CLEAR(self->storage);
    Py_CLEAR(self->base);
    Py_CLEAR(self->grad);
    Py_CLEAR(self->hooks);
    Py_CLEAR(self->post_hooks);
    return 0;
}

static void tensor_dealloc(Tensor *self)
{
    PyObject_GC_UnTrack(self);
    self->links.next->previous = self->links.previous;
    self->links.previous->next = self->links.next;
    tensor_clear(self);
    Py_XDECREF(self->keys);
    Py_XDECREF(self->dtype);
    Py_XDECREF(self->device);
    Py_XDECREF(self->view_version);
    Py_XDECREF(self->retain);
    Py_XDECREF(self->view_kind);
    Py_TYPE(self)->tp_free(self);
}

int64_t tensor_id(Tensor *tensor)
{
    static int64_t last;
    if (!tensor->id)
        tensor->id = ++last;
    return tensor->id;
}

static PyObject *get_id(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(tensor_id((Tensor *)self));
}

static PyGetSetDef tensor_attributes[] = {
    {"_id", get_id, NULL, "An integer that no other tensor of the process has or had.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

#define FIELD(type, name, field, text)                                                                                 \
    {                                                                                                                  \
        name, T_OBJECT_EX, offsetof(type, field), 0, text                                                              \
    }

static PyMemberDef tensor_members[] = {
    FIELD(Tensor, "_array", array, "The array with the tensor's shape and strides."),
    FIELD(Tensor, "_keys", keys, "Its keys: device, and whether it requires a gradient."),
    FIELD(Tensor, "dtype", dtype, "The type of its elements."),
    FIELD(Tensor, "_edge", edge, "Where its gradient goes: a node, a slot of a node, or None for leaves."),
    FIELD(Tensor, "_storage", storage, "What it shares with its views, where that was needed."),
    FIELD(Tensor, "_base", base, "The tensor that it is a view of."),
    FIELD(Tensor, "_grad", grad, "The gradient of a leaf."),
    FIELD(Tensor, "_hooks", hooks, "Hooks on a leaf's gradient."),
    FIELD(Tensor, "_post_hooks", post_hooks, "Hooks that run after a gradient was added."),
    FIELD(Tensor, "_device", device, "Its device, where the keys do not say it all."),
    FIELD(Tensor, "_view_version", view_version, "The storage's version when a view's edge was made."),
    FIELD(Tensor, "_retain", retain, "Whether the gradient of a tensor that is not a leaf is kept."),
    FIELD(Tensor, "_view_kind", view_kind, "How the view was made, where in-place writes must know."),
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject TensorFields_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.TensorFields",
    .tp_doc = "The fields of a tensor, at offsets that C knows.",
    .tp_basicsize = sizeof(Tensor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = tensor_new,
    .tp_traverse = (traverseproc)tensor_traverse,
    .tp_clear = (inquiry)tensor_clear,
    .tp_dealloc = (destructor)tensor_dealloc,
    .tp_members = tensor_members,
    .tp_getset = tensor_attributes,
};

/* The tensors that live, newest first. One whose deallocation has begun (a weak reference's callback runs) is none of
 * them. */
PyObject *tensors_alive(PyObject *module, PyObject *ignored)
{
    (void)module, (void)ignored;
    PyObject *found = PyList_New(0);
    for (struct Links *at = living.next; found && at != &living; at = at->next) {
        PyObject *tensor = (PyObject *)((char *)at - offsetof(Tensor, links));
        if (Py_REFCNT(tensor) > 0 && PyList_Append(found, tensor) < 0)
            Py_CLEAR(found);
    }
    return found;
}

/* Views are younger than their base, so the search ends at the base: it is short where the base is new. */
int views_require_grad(Tensor *base)
{
    for (struct Links *at = living.next; at != &base->links && at != &living; at = at->next) {
        Tensor *view = (Tensor *)((char *)at - offsetof(Tensor, links));
        if (view->base != (PyObject *)base || !is_inexact(view->dtype))
            continue;
        PyObject *keys = PyLong_FromLong(PyLong_AsLong(view->keys) | KEY_GRAD);
        if (!keys)
            return -1;
        Py_SETREF(view->keys, keys);
    }
    return 0;
}

PyObject *mark_views(PyObject *module, PyObject *base)
{
    (void)module;
    return views_require_grad((Tensor *)base) < 0 ? NULL : held(Py_None);
}

/* --- Node */
Node *node_of(PyTypeObject *type)
{
    Node *made = (Node *)type->tp_alloc(type, 0);
    if (made) {
        made->next = held(no_items);
        made->saved = held(no_items);
        made->versions = held(Py_None);
        made->seq = held(zero);
        made->shape = held(no_items);
        made->dtype = held(default_type);
        made->forward_thread = held(zero);
        made->hooked = held(Py_False);
    }
    return made;
}

static PyObject *node_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)args, (void)keywords;
    return (PyObject *)node_of(type);
}

int node_set_default_type(PyObject *dtype)
{
    Py_INCREF(dtype);
    Py_SETREF(default_type, dtype);
    return 0;
}

static int node_traverse(Node *self, visitproc visit, void *arg)
{
    Py_VISIT(self->next);
    Py_VISIT(self->saved);
    return 0;
}

static int node_clear(Node *self)
{
    Py_CLEAR(self->next);
    Py_CLEAR(self->saved);
    return 0;
}

static void node_dealloc(Node *self)
{
    PyObject_GC_UnTrack(self);
    node_clear(self); /* graphs may be deep: the deallocation of Python classes sees to that */
    Py_XDECREF(self->versions);
    Py_XDECREF(self->seq);
    Py_XDECREF(self->shape);
    Py_XDECREF(self->dtype);
    Py_XDECREF(self->forward_thread);
    Py_XDECREF(self->hooked);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef node_members[] = {
    FIELD(Node, "next", next, "Edges, one for each differentiable input."),
    FIELD(Node, "saved", saved, "What the derivative needs; None once it was given up."),
    FIELD(Node, "versions", versions, "Of the saved tensors; None means all zero."),
    FIELD(Node, "seq", seq, "The node's sequence id."),
    FIELD(Node, "shape", shape, "Of the output."),
    FIELD(Node, "dtype", dtype, "Of the output."),
    FIELD(Node, "forward_thread", forward_thread, "The thread that made it, where that is of interest."),
    FIELD(Node, "hooked", hooked, "Whether anything but `apply` has to happen when the node runs."),
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject NodeFields_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.NodeFields",
    .tp_doc = "The fields of a node, at offsets that C knows.",
    .tp_basicsize = sizeof(Node),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = node_new,
    .tp_traverse = (traverseproc)node_traverse,
    .tp_clear = (inquiry)node_clear,
    .tp_dealloc = (destructor)node_dealloc,
    .tp_members = node_members,
};

int tensor_setup(void)
{
    zero = PyLong_FromLong(0);
    no_text = PyUnicode_FromString("");
    no_items = PyTuple_New(0);
    default_type = held(Py_None);
    return zero && no_text && no_items && PyType_Ready(&TensorFields_Type) == 0 && PyType_Ready(&NodeFields_Type) == 0
               ? 0
               : -1;
}
