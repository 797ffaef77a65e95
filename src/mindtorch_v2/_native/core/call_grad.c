/* The node of a call whose result requires a gradient. */
#include "call.h"

/* --- edges */
/* Whether a view's memory was written since its edge was made, so that its history may have to be made anew. */
static bool was_written_since(const Tensor *view)
{
    return view->storage != Py_None && ((Tensor *)view->base)->edge != Py_None
           && !same_version(((Storage *)view->storage)->version, view->view_version);
}

/* Where the gradient of an argument goes: a new reference, None where it needs none, NULL with an error set. */
static PyObject *edge_of(const Gradient *gradient, PyObject *value)
{
    if (!is_tensor(value))
        return held(Py_None);
    Tensor *tensor = (Tensor *)value;
    if (tensor->base != Py_None && was_written_since(tensor))
        return PyObject_CallOneArg(gradient->view_edge, value);
    if (tensor->edge != Py_None)
        return held(tensor->edge);
    return held(PyLong_AsLong(tensor->keys) & KEY_GRAD ? value : Py_None);
}

static bool is_list(const Call *call, int input)
{
    return takes_list(&call->params[call->gradient.inputs[input]]);
}

/* How many edges an input has. */
static Py_ssize_t edge_count(const Call *call, const Arguments *arguments, int input)
{
    PyObject *value = arguments->bound[call->gradient.inputs[input]];
    return is_list(call, input) ? PySequence_Fast_GET_SIZE(value) : 1;
}

/* A tuple of edges, one per input or tensor of a list; `present` tells as bits which inputs have one. */
static PyObject *edges_of(const Call *call, const Arguments *arguments, unsigned *present)
{
    const Gradient *gradient = &call->gradient;
    Py_ssize_t total = 0, filled = 0;
    for (int i = 0; i < gradient->input_count; i++)
        total += edge_count(call, arguments, i);
    PyObject *edges = PyTuple_New(total);
    *present = 0;
    for (int i = 0; edges && i < gradient->input_count; i++) {
        PyObject *value = arguments->bound[gradient->inputs[i]];
        Py_ssize_t count = edge_count(call, arguments, i);
        for (Py_ssize_t k = 0; edges && k < count; k++) {
            PyObject *edge = edge_of(gradient, is_list(call, i) ? PySequence_Fast_GET_ITEM(value, k) : value);
            if (!edge) {
                Py_CLEAR(edges);
                break;
            }
            *present |= (unsigned)(edge != Py_None) << i;
            PyTuple_SET_ITEM(edges, filled++, edge);
        }
    }
    return edges;
}

/* Tells a node of an op that takes lists how many edges each input has. */
static int set_counts(const Call *call, const Arguments *arguments, Node *node)
{
    PyObject *counts = PyTuple_New(call->gradient.input_count);
    for (int i = 0; counts && i < call->gradient.input_count; i++) {
        PyObject *count = PyLong_FromSsize_t(edge_count(call, arguments, i));
        if (count)
            PyTuple_SET_ITEM(counts, i, count);
        else
            Py_CLEAR(counts);
    }
    int set = counts ? PyObject_SetAttrString((PyObject *)node, "counts", counts) : -1;
    Py_XDECREF(counts);
    return set;
}

/* --- the node */
static int set_sequence_nr(Node *node)
{
    PyObject *now = PyList_GET_ITEM(next_sequence_nr, 0), *next = PyLong_FromLongLong(PyLong_AsLongLong(now) + 1);
    if (!next)
        return -1;
    Py_INCREF(now);
    Py_SETREF(node->seq, now);
    return PyList_SetItem(next_sequence_nr, 0, next);
}

static int set_thread(Node *node)
{
    PyObject *thread = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    if (!thread)
        return -1;
    Py_SETREF(node->forward_thread, thread);
    return 0;
}

/* Describes the one output, and where it lies if that is not the CPU. */
static int describe_output(Node *node, const Tensor *made)
{
    PyObject *shape = shape_of(made->array);
    if (!shape)
        return -1;
    Py_SETREF(node->shape, shape);
    Py_INCREF(made->dtype);
    Py_SETREF(node->dtype, made->dtype);
    long device = PyLong_AsLong(made->keys) & KEY_DEVICES;
    if (device == KEY_CPU)
        return 0;
    return PyObject_SetAttrString((PyObject *)node, "key", boxed_key(device)) < 0
                   || PyObject_SetAttrString((PyObject *)node, "device", made->device) < 0
               ? -1
               : 0;
}

/* Describes several outputs: (shape, type, device) each. */
static int describe_outputs(Node *node, PyObject *made)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(made);
    PyObject *specs = PyTuple_New(count);
    for (Py_ssize_t i = 0; specs && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(made, i), *spec;
        if (item == Py_None)
            spec = held(item);
        else {
            const Tensor *tensor = (const Tensor *)item;
            spec = Py_BuildValue("(NOO)", shape_of(tensor->array), tensor->dtype,
                                 boxed_key(PyLong_AsLong(tensor->keys) & KEY_DEVICES));
        }
        if (spec)
            PyTuple_SET_ITEM(specs, i, spec);
        else
            Py_CLEAR(specs);
    }
    int set = specs ? PyObject_SetAttrString((PyObject *)node, "specs", specs) : -1;
    Py_XDECREF(specs);
    return set;
}

/* Makes an edge (stolen, may be NULL) the origin of a tensor. */
static int attach(Tensor *made, PyObject *edge)
{
    PyObject *keys = edge ? PyLong_FromLong(PyLong_AsLong(made->keys) | KEY_GRAD) : NULL;
    if (!keys) {
        Py_XDECREF(edge);
        return -1;
    }
    Py_SETREF(made->keys, keys);
    Py_SETREF(made->edge, edge);
    return 0;
}

static int attach_several(const Call *call, Node *node, PyObject *made)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(made); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(made, i);
        if (item == Py_None)
            continue;
        bool has_gradient = is_inexact(((Tensor *)item)->dtype) && !(i < 32 && call->gradient.constant >> i & 1);
        if (has_gradient && attach((Tensor *)item, PyObject_CallFunction(call->gradient.slot, "On", node, i)) < 0)
            return -1;
        if (call->is_view) {
            PyObject *multi = PyUnicode_InternFromString("multi");
            if (!multi)
                return -1;
            Py_SETREF(((Tensor *)item)->view_kind, multi);
        }
    }
    return 0;
}

static bool is_constant(const Gradient *gradient, PyObject *made)
{
    bool single = is_tensor(made);
    bool has_inexact = single && is_inexact(((Tensor *)made)->dtype);
    for (Py_ssize_t i = 0; !single && !has_inexact && i < PySequence_Fast_GET_SIZE(made); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(made, i);
        has_inexact = item != Py_None && is_inexact(((Tensor *)item)->dtype);
    }
    return gradient->only_inexact && !has_inexact;
}

/* Whether a result is a tensor, or a tuple or list of tensors and None. */
static bool is_recordable(PyObject *made)
{
    if (is_tensor(made))
        return true;
    if (!PyTuple_Check(made) && !PyList_Check(made))
        return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(made); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(made, i);
        if (item != Py_None && !is_tensor(item))
            return false;
    }
    return true;
}

/* Whether this is the memory of an argument, or of a tensor in a list of them. */
static bool belongs(PyObject *base, PyObject *argument)
{
    if (argument && is_tensor(argument))
        return base == argument || base == ((Tensor *)argument)->base;
    bool has_tensors = argument && (PyTuple_Check(argument) || PyList_Check(argument));
    for (Py_ssize_t i = 0; has_tensors && i < PySequence_Fast_GET_SIZE(argument); i++)
        if (belongs(base, PySequence_Fast_GET_ITEM(argument, i)))
            return true;
    return false;
}

/* An output that is a view of what the steps of a composite made stands for itself: the base, which nobody else has,
   knows nothing of the node, so a later write through a view would leave the node out. */
static void own_output(const Call *call, const Arguments *arguments, PyObject *item)
{
    PyObject *base = item == Py_None ? Py_None : ((Tensor *)item)->base;
    for (int i = 0; base != Py_None && i < call->count; i++)
        if (belongs(base, arguments->bound[i]))
            return;
    if (base != Py_None)
        Py_SETREF(((Tensor *)item)->base, held(Py_None));
}

static void own_outputs(const Call *call, const Arguments *arguments, PyObject *made)
{
    if (is_tensor(made)) {
        own_output(call, arguments, made);
        return;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(made); i++)
        own_output(call, arguments, PySequence_Fast_GET_ITEM(made, i));
}

/* The node of a result with these edges (stolen), tied to it. */
static int record_node(const Call *call, const Arguments *arguments, PyObject *made, PyObject *edges, unsigned present)
{
    const Gradient *gradient = &call->gradient;
    Node *node = edges && present ? node_of(gradient->node) : NULL;
    if (!node) {
        bool failed = !edges || present;
        Py_XDECREF(edges);
        return failed ? -1 : 0; /* a constant: no argument has an edge */
    }
    Py_SETREF(node->next, edges);
    bool single = is_tensor(made);
    if (call->composite && !call->is_view)
        own_outputs(call, arguments, made);
    bool failed = (gradient->takes_lists && set_counts(call, arguments, node) < 0)
                  || set_saved(call, arguments, made, present, node) < 0 || set_sequence_nr(node) < 0
                  || (single ? describe_output(node, (Tensor *)made) : describe_outputs(node, made)) < 0
                  || (arguments->observed && set_thread(node) < 0);
    if (!failed && single)
        failed = is_inexact(((Tensor *)made)->dtype) && attach((Tensor *)made, held((PyObject *)node)) < 0;
    else if (!failed)
        failed = attach_several(call, node, made) < 0;
    Py_DECREF(node);
    return failed ? -1 : 0;
}

int record_gradient(const Call *call, const Arguments *arguments, PyObject *made)
{
    if (!is_recordable(made) || is_constant(&call->gradient, made))
        return 0;
    unsigned present;
    PyObject *edges = edges_of(call, arguments, &present);
    return record_node(call, arguments, made, edges, present);
}

/* --- writes */
/* Whether what is overwritten is needed for the gradients of these inputs. */
static bool needs_before(const SavedValue *value, unsigned present)
{
    return value->what == SAVED_ARGUMENT && value->position == 0 && (!value->users || value->users & present);
}

/* Views rewrite the history of their base, leaves that require a gradient must not be written: Python does, or says so.
 */
bool writes_history(const Call *call, const Arguments *arguments)
{
    const Tensor *target = (const Tensor *)arguments->bound[0];
    if (call->makes != MAKES_WRITTEN || call->composite || !is_tensor(arguments->bound[0]) || target->base != Py_None
        || (target->edge == Py_None && PyLong_AsLong(target->keys) & KEY_GRAD) || !is_inexact(target->dtype)
        || call->gradient.takes_lists)
        return false;
    for (int i = 1; i < call->count; i++)
        if (shares_memory(target, arguments->bound[i]))
            return false;
    for (int i = 0; i < call->gradient.saved_count; i++) {
        const SavedValue *value = &call->gradient.saved[i];
        if (value->what == SAVED_FACT || value->what == SAVED_STRIDES
            || (arguments->observed && needs_before(value, ~0u))) /* copying is an event */
            return false;
    }
    return true;
}

/* A copy of the target with its edge, so that second derivatives reach it. */
static PyObject *copy_target(Tensor *target)
{
    PyObject *array = PyObject_CallMethod(target->array, "copy", "s", "K");
    Tensor *kept = array ? tensor_of(array, boxed_key(PyLong_AsLong(target->keys) & KEY_DEVICES), target->dtype) : NULL;
    Py_XDECREF(array);
    if (kept && target->edge != Py_None && attach(kept, held(target->edge)) < 0)
        Py_CLEAR(kept);
    return (PyObject *)kept;
}

int prepare_write(const Call *call, Arguments *arguments)
{
    arguments->edges = edges_of(call, arguments, &arguments->present);
    if (!arguments->edges)
        return -1;
    for (int i = 0; i < call->gradient.saved_count && !arguments->before && arguments->present; i++)
        if (needs_before(&call->gradient.saved[i], arguments->present)
            && !(arguments->before = copy_target((Tensor *)arguments->bound[0])))
            return -1;
    return 0;
}

int record_write(const Call *call, const Arguments *arguments)
{
    Tensor *target = (Tensor *)arguments->bound[0];
    bool had_none = target->storage != Py_None && !(PyLong_AsLong(target->keys) & KEY_GRAD);
    int failed = record_node(call, arguments, arguments->bound[0], held(arguments->edges), arguments->present);
    return failed || !had_none ? failed : views_require_grad(target);
}
