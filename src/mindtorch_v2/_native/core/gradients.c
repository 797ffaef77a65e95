/* Gradients on their way: to which targets edges lead, in what shape and type a gradient arrives there, and what waits.
 */
#include "engine.h"

PyObject *edge_target(PyObject *edge, Py_ssize_t *nr)
{
    *nr = -1;
    if ((PyObject *)Py_TYPE(edge) != lent.slot_type) {
        return Py_NewRef(edge);
    }
    PyObject *boxed_index = PyObject_GetAttr(edge, engine_names.nr);
    if (boxed_index == NULL) {
        return NULL;
    }
    *nr = PyLong_AsSsize_t(boxed_index);
    Py_DECREF(boxed_index);
    return PyErr_Occurred() ? NULL : PyObject_GetAttr(edge, engine_names.node);
}

int count_targets(Pass *pass, Py_ssize_t root)
{
    /* Entries are appended as they are found, so the list of entries is its own queue. */
    for (Py_ssize_t i = root; i < pass->count; i++) {
        if (pass->entries[i].is_leaf) {
            continue;
        }
        PyObject *next = PyObject_TypeCheck(pass->entries[i].target, &NodeFields_Type)
                             ? ((Node *)pass->entries[i].target)->next
                             : NULL;
        if (next == NULL || !PyTuple_Check(next)) {
            PyErr_SetString(PyExc_TypeError, "a node's next must be a tuple");
            return -1;
        }
        Py_INCREF(next);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(next); k++) {
            PyObject *edge = PyTuple_GET_ITEM(next, k);
            Py_ssize_t nr;
            int made;
            if (edge == Py_None) {
                continue;
            }
            PyObject *target = edge_target(edge, &nr);
            Py_ssize_t entry = target == NULL ? -1 : pass_entry(pass, target, is_leaf(target), &made);
            Py_XDECREF(target);
            if (entry < 0) {
                Py_DECREF(next);
                return -1;
            }
            pass->entries[entry].waiting++;
        }
        Py_DECREF(next);
    }
    return 0;
}

/* Adds two gradients; steals both references. */
static PyObject *sum(Pass *pass, PyObject *old, PyObject *fresh)
{
    PyObject *sole = Py_REFCNT(old) == 1 ? Py_True : Py_False;
    PyObject *args[] = {old, fresh, pass->create ? Py_True : Py_False, sole};
    PyObject *made = PyObject_Vectorcall(lent.add_gradients, args, 4, NULL);
    Py_DECREF(old);
    Py_DECREF(fresh);
    return made;
}

int deliver(Pass *pass, Py_ssize_t entry, Py_ssize_t nr, PyObject *gradient)
{
    Entry *e = &pass->entries[entry];
    if (nr < 0) {
        if (e->gradient != NULL) {
            PyObject *old = e->gradient;
            e->gradient = NULL;
            gradient = sum(pass, old, gradient);
            if (gradient == NULL) {
                return -1;
            }
            e = &pass->entries[entry];
        }
        e->gradient = gradient;
        return 0;
    }
    if (e->gradient == NULL) {
        PyObject *specs = PyObject_GetAttr(e->target, engine_names.specs);
        Py_ssize_t n = specs == NULL ? -1 : PyObject_Size(specs);
        Py_XDECREF(specs);
        PyObject *list = n < 0 ? NULL : PyList_New(n);
        if (list == NULL) {
            Py_DECREF(gradient);
            return -1;
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            PyList_SET_ITEM(list, i, Py_NewRef(Py_None));
        }
        e->gradient = list;
    }
    PyObject *old = PyList_GetItem(e->gradient, nr);
    if (old == NULL) {
        Py_DECREF(gradient);
        return -1;
    }
    if (old != Py_None) {
        gradient = sum(pass, Py_NewRef(old), gradient);
        if (gradient == NULL) {
            return -1;
        }
    }
    return PyList_SetItem(pass->entries[entry].gradient, nr, gradient);
}

/* Whether an array has the shape that a tuple says. */
static int has_shape(PyObject *array, PyObject *shape)
{
    PyObject *have = shape_of(array);
    int answer = have == NULL ? -1 : PyObject_RichCompareBool(have, shape, Py_EQ);
    Py_XDECREF(have);
    return answer;
}

static int same_shape(PyObject *a, PyObject *b)
{
    PyObject *shape = shape_of(b);
    int answer = shape == NULL ? -1 : has_shape(a, shape);
    Py_XDECREF(shape);
    return answer;
}

/* Whether a gradient has the shape and type of what it belongs to; -1 with an error set. */
static int conforms(PyObject *gradient, PyObject *edge, int edge_is_leaf)
{
    Tensor *given = (Tensor *)gradient;
    if (edge_is_leaf) {
        return given->dtype != ((Tensor *)edge)->dtype ? 0 : same_shape(given->array, ((Tensor *)edge)->array);
    }
    return given->dtype != ((Node *)edge)->dtype ? 0 : has_shape(given->array, ((Node *)edge)->shape);
}

/* A gradient (stolen) in the shape and type of the edge's target. */
static PyObject *conformed(PyObject *node, Py_ssize_t index, PyObject *edge, int leaf, int slot, PyObject *gradient)
{
    /* What is not a tensor has no _array: conform() words the error. */
    int fits =
        !slot && PyObject_TypeCheck(gradient, (PyTypeObject *)lent.tensor_type) ? conforms(gradient, edge, leaf) : 0;
    if (fits != 0) {
        if (fits < 0) {
            Py_CLEAR(gradient);
        }
        return gradient;
    }
    PyObject *boxed_index = PyLong_FromSsize_t(index);
    PyObject *made = NULL;
    if (boxed_index != NULL) {
        PyObject *args[] = {node, boxed_index, edge, gradient};
        made = PyObject_Vectorcall(lent.conform, args, 4, NULL);
        Py_DECREF(boxed_index);
    }
    Py_DECREF(gradient);
    return made;
}

int hand_on(Pass *pass, PyObject *node, PyObject *next, PyObject *gradients)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(next); i++) {
        PyObject *edge = PyTuple_GET_ITEM(next, i);
        Py_ssize_t nr;
        int made;
        if (edge == Py_None) {
            continue;
        }
        PyObject *target = edge_target(edge, &nr);
        Py_ssize_t entry = target == NULL ? -1 : pass_entry(pass, target, is_leaf(target), &made);
        Py_XDECREF(target);
        if (entry < 0) {
            return -1;
        }
        if (gradients != NULL && i < PyList_GET_SIZE(gradients) && PyList_GET_ITEM(gradients, i) != Py_None) {
            PyObject *gradient = PyList_GET_ITEM(gradients, i);
            PyList_SET_ITEM(gradients, i, Py_NewRef(Py_None)); /* the list no longer holds it: it may be taken over */
            gradient = conformed(node, i, edge, pass->entries[entry].is_leaf, nr >= 0, gradient);
            if (gradient == NULL || deliver(pass, entry, nr, gradient) < 0) {
                return -1;
            }
        }
        if (--pass->entries[entry].waiting == 0 && pass_push(pass, entry) < 0) {
            return -1;
        }
    }
    return 0;
}
