/* The loop of a backward pass, in C: what `_autograd.engine.Pass` does in Python, on the same objects, for one root and
 * all leaves.
 *
 * Targets (nodes and leaf tensors) are entries of a Pass (pass.h), where gradients wait until all that a target expects
 * have arrived. Everything that computes (a node's `apply`, adding gradients, undoing a broadcast, accumulating into a
 * leaf) is a call back into Python, so that events, hooks and errors are the same as those of the Python loop. */
#include "pass.h"

/* What the Python side lends; see configure(). */
static PyObject *tensor_type, *slot_type, *accumulate, *conform, *add_gradients, *run_hooked, *names_of, *observer_slot;
static PyObject *s_node, *s_nr, *s_specs, *s_apply, *s_enter_node, *s_leave, *s_active, *s_pre_hooks, *s_retains;
static PyObject *custom_node; /* the class of nodes that run the user's code */
static PyObject *aten, *s_detach, *minus_one, *zero, *nothing, *leaf_evaluation, *leaf_name;

static int is_leaf(PyObject *target)
{
    return PyObject_TypeCheck(target, (PyTypeObject *)tensor_type);
}

/* --- edges and gradients */
/* The target that an edge leads to (a new reference), and which of its outputs; NULL with an error set. */
static PyObject *target_of(PyObject *edge, Py_ssize_t *nr)
{
    *nr = -1;
    if ((PyObject *)Py_TYPE(edge) != slot_type) {
        return Py_NewRef(edge);
    }
    PyObject *boxed_index = PyObject_GetAttr(edge, s_nr);
    if (boxed_index == NULL) {
        return NULL;
    }
    *nr = PyLong_AsSsize_t(boxed_index);
    Py_DECREF(boxed_index);
    return PyErr_Occurred() ? NULL : PyObject_GetAttr(edge, s_node);
}

/* Counts how many gradients each target behind `root` will receive. */
static int count_targets(Pass *pass, Py_ssize_t root)
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
            PyObject *target = target_of(edge, &nr);
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
    PyObject *made = PyObject_Vectorcall(add_gradients, args, 4, NULL);
    Py_DECREF(old);
    Py_DECREF(fresh);
    return made;
}

/* Puts a gradient (stolen) where it is awaited. */
static int deliver(Pass *pass, Py_ssize_t entry, Py_ssize_t nr, PyObject *gradient)
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
        PyObject *specs = PyObject_GetAttr(e->target, s_specs);
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
    /* What is no tensor has no _array: conform() words the error. */
    int fits = !slot && PyObject_TypeCheck(gradient, (PyTypeObject *)tensor_type) ? conforms(gradient, edge, leaf) : 0;
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
        made = PyObject_Vectorcall(conform, args, 4, NULL);
        Py_DECREF(boxed_index);
    }
    Py_DECREF(gradient);
    return made;
}

/* --- events */
/* Whether someone watches the process, and then how to report to them; -1 with an error set. */
static int is_observed(Pass *pass)
{
    PyObject *found = PyDict_GetItemWithError(observer_slot, s_active);
    if (found == NULL || found == Py_None) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (found != pass->observer) {
        PyObject *enter = PyObject_GetAttr(found, s_enter_node),
                 *leave = enter == NULL ? NULL : PyObject_GetAttr(found, s_leave);
        if (leave == NULL) {
            Py_XDECREF(enter);
            return -1;
        }
        Py_XSETREF(pass->observer, Py_NewRef(found));
        pass->core = PyObject_TypeCheck(found, &Core_Type) ? (Core *)found : NULL;
        Py_XSETREF(pass->enter, enter);
        Py_XSETREF(pass->leave, leave);
    }
    return 1;
}

static int enter(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread, PyObject *inputs, int is_backward)
{
    PyObject *args[] = {name, seq, thread, inputs, is_backward ? Py_True : Py_False};
    PyObject *made = PyObject_Vectorcall(pass->enter, args, 5, NULL);
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

/* Ends the innermost event, also where an error is on its way; gives `result` back, or -1. */
static int leave(Pass *pass, int result)
{
    if (pass->core != NULL) {
        return core_end_op(pass->core, result == 0) < 0 ? -1 : result;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *made = PyObject_CallNoArgs(pass->leave);
    Py_XDECREF(made);
    if (result == 0) {
        return made == NULL ? -1 : 0;
    }
    PyErr_Restore(type, value, traceback);
    return -1;
}

/* Enters the application of a node to its gradients. */
static int enter_application(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread, PyObject *gradient,
                             bool is_closed)
{
    if (pass->core != NULL) {
        bool several = PyTuple_Check(gradient);
        return core_begin_node(pass->core, name, PyLong_AsLongLong(seq), thread,
                               several ? &PyTuple_GET_ITEM(gradient, 0) : &gradient,
                               several ? PyTuple_GET_SIZE(gradient) : 1, true, is_closed);
    }
    PyObject *inputs = PyTuple_Check(gradient) ? Py_NewRef(gradient) : PyTuple_Pack(1, gradient);
    int result = inputs == NULL ? -1 : enter(pass, name, seq, thread, inputs, 1);
    Py_XDECREF(inputs);
    return result;
}

/* Enters the evaluation of a node. */
static int enter_evaluation_of(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread)
{
    return pass->core != NULL ? core_begin_node(pass->core, name, PyLong_AsLongLong(seq), thread, NULL, 0, false, false)
                              : enter(pass, name, seq, thread, nothing, 0);
}

/* The names that the events of a node have (borrowed): of its evaluation and of its application. */
static PyObject *names_of_node(PyObject *node)
{
    static PyObject *known; /* class of a node -> names */
    if (known == NULL && (known = PyDict_New()) == NULL) {
        return NULL;
    }
    PyObject *names = PyDict_GetItemWithError(known, (PyObject *)Py_TYPE(node));
    if (names == NULL) {
        PyObject *made = PyErr_Occurred() ? NULL : PyObject_CallOneArg(names_of, node);
        if (made == NULL || PyDict_SetItem(known, (PyObject *)Py_TYPE(node), made) < 0) {
            Py_XDECREF(made);
            return NULL;
        }
        names = made;
        Py_DECREF(made); /* the dict holds it, as long as the process lives */
    }
    return names;
}

/* --- running */
/* A leaf's first gradient, where only the pass holds it and nothing else can see its memory: it is taken over. 1 if
 * that was done. */
static int take_over(Pass *pass, Tensor *leaf, Tensor *gradient, int observed)
{
    if (pass->create || leaf->grad != Py_None || leaf->hooks != Py_None || leaf->post_hooks != Py_None
        || Py_REFCNT(gradient) != 1 || !is_plain_call() || (observed && pass->core == NULL) || !is_row_major(leaf)
        || !owns_plain_memory(gradient)) {
        return 0;
    }
    if (observed) { /* PyTorch detaches the gradient that it takes over */
        PyObject *detach = PyObject_GetAttr(aten, s_detach);
        int status = detach == NULL ? -1 : steps_show(detach, (PyObject **)&gradient, 1, pass->core);
        Py_XDECREF(detach);
        if (status < 0) {
            return -1;
        }
    }
    Tensor *made = tensor_of(gradient->array, cpu_tensor_keys(), gradient->dtype);
    if (made == NULL) {
        return -1;
    }
    Py_INCREF(gradient->storage);
    Py_SETREF(made->storage, gradient->storage);
    Py_SETREF(leaf->grad, (PyObject *)made);
    return 1;
}

static int run_leaf_plainly(Pass *pass, PyObject *leaf, PyObject *gradient, int observed)
{
    int taken = take_over(pass, (Tensor *)leaf, (Tensor *)gradient, observed);
    if (taken != 0) {
        Py_DECREF(gradient);
        return taken < 0 ? -1 : 0;
    }
    PyObject *args[] = {leaf, gradient, pass->create ? Py_True : Py_False,
                        Py_REFCNT(gradient) == 1 ? Py_True : Py_False};
    PyObject *made = PyObject_Vectorcall(accumulate, args, 4, NULL);
    Py_DECREF(gradient);
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

static int run_leaf(Pass *pass, PyObject *leaf, PyObject *gradient)
{
    int observed = is_observed(pass);
    if (observed == 0) {
        return run_leaf_plainly(pass, leaf, gradient, 0);
    }
    int result = observed < 0 ? -1 : enter_evaluation_of(pass, leaf_evaluation, minus_one, zero);
    if (result < 0) {
        Py_DECREF(gradient);
        return -1;
    }
    bool is_closed = ((Tensor *)leaf)->hooks == Py_None && ((Tensor *)leaf)->post_hooks == Py_None;
    result = enter_application(pass, leaf_name, minus_one, zero, gradient, is_closed);
    if (result == 0) {
        result = leave(pass, run_leaf_plainly(pass, leaf, gradient, 1));
    } else {
        Py_DECREF(gradient);
    }
    return leave(pass, result);
}

/* A node's application inside its event. */
static PyObject *apply_observed(Pass *pass, PyObject *node, PyObject *gradient, PyObject *names)
{
    PyObject *made = NULL;
    Node *fields = (Node *)node;
    if (enter_application(pass, PyTuple_GET_ITEM(names, 1), fields->seq, fields->forward_thread, gradient,
                          !PyObject_TypeCheck(node, (PyTypeObject *)custom_node))
        == 0) {
        made = PyObject_CallMethodOneArg(node, s_apply, gradient);
        if (leave(pass, made == NULL ? -1 : 0) < 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

/* The gradients that a node gives, as a list (new) or NULL with an error set; steals `gradient`. */
static PyObject *apply_node(Pass *pass, PyObject *node, PyObject *gradient, PyObject *names)
{
    Node *fields = (Node *)node;
    if (fields->hooked == Py_True) {
        PyObject *args[] = {node, gradient, pass->keep ? Py_True : Py_False};
        PyObject *made = PyObject_Vectorcall(run_hooked, args, 3, NULL);
        Py_DECREF(gradient);
        return made;
    }
    if (PyList_CheckExact(gradient)) {
        Py_SETREF(gradient, PyList_AsTuple(gradient));
        if (gradient == NULL) {
            return NULL;
        }
    }
    PyObject *made = names != NULL ? apply_observed(pass, node, gradient, names)
                                   : PyObject_CallMethodOneArg(node, s_apply, gradient);
    Py_DECREF(gradient);
    if (made != NULL && !PyList_CheckExact(made)) {
        Py_SETREF(made, PySequence_List(made));
    }
    if (made != NULL && !pass->keep && fields->saved != nothing) {
        Py_INCREF(Py_None);
        Py_SETREF(fields->saved, Py_None);
    }
    return made;
}

/* Hands the gradients of a node on; `gradients` is NULL if the node itself received none. */
static int hand_on(Pass *pass, PyObject *node, PyObject *next, PyObject *gradients)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(next); i++) {
        PyObject *edge = PyTuple_GET_ITEM(next, i);
        Py_ssize_t nr;
        int made;
        if (edge == Py_None) {
            continue;
        }
        PyObject *target = target_of(edge, &nr);
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

/* Applies a node and hands its gradients on. `gradient` (stolen) may be NULL. */
static int run_node(Pass *pass, PyObject *target, PyObject *gradient, PyObject *names)
{
    PyObject *next = Py_NewRef(((Node *)target)->next);
    PyObject *gradients = NULL;
    int result = 0;
    if (gradient != NULL) {
        gradients = apply_node(pass, target, gradient, names);
        result = gradients == NULL ? -1 : 0;
    }
    if (result == 0) {
        result = hand_on(pass, target, next, gradients);
    }
    Py_XDECREF(gradients);
    Py_DECREF(next);
    return result;
}

static int is_true(PyObject *node, PyObject *attribute)
{
    PyObject *value = PyObject_GetAttr(node, attribute);
    int answer = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return answer;
}

/* Enters the evaluation of a node. One whose outputs are hooked carries no sequence id. */
static int enter_evaluation(Pass *pass, PyObject *node, PyObject *names)
{
    Node *fields = (Node *)node;
    int hooked = fields->hooked == Py_True;
    if (hooked == 1 && (hooked = is_true(node, s_pre_hooks)) == 0) {
        hooked = is_true(node, s_retains);
    }
    return hooked < 0 ? -1
                      : enter_evaluation_of(pass, PyTuple_GET_ITEM(names, 0), hooked ? minus_one : fields->seq,
                                            fields->forward_thread);
}

static int run_target(Pass *pass, Py_ssize_t entry)
{
    PyObject *target = pass->entries[entry].target;
    PyObject *gradient = pass->entries[entry].gradient;
    pass->entries[entry].gradient = NULL;
    if (pass->entries[entry].is_leaf) {
        return gradient == NULL ? 0 : run_leaf(pass, target, gradient);
    }
    int observed = gradient == NULL ? 0 : is_observed(pass);
    if (observed == 0) {
        return run_node(pass, target, gradient, NULL);
    }
    PyObject *names = observed < 0 ? NULL : names_of_node(target);
    if (names == NULL || enter_evaluation(pass, target, names) < 0) {
        Py_DECREF(gradient);
        return -1;
    }
    return leave(pass, run_node(pass, target, gradient, names));
}

const char engine_run_doc[] =
    "run_backward(edge, gradients, keep_graph, create_graph): a backward pass from one edge.\n\n"
    "`gradients` is a list whose single item is taken out of it, so that nothing but the pass holds it.";

PyObject *engine_run(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 4 || !PyList_Check(args[1]) || PyList_GET_SIZE(args[1]) != 1 || run_hooked == NULL) {
        PyErr_SetString(PyExc_TypeError,
                        "run() takes an edge, a list of one gradient and two flags, after configure()");
        return NULL;
    }
    Pass pass = {.keep = PyObject_IsTrue(args[2]), .create = PyObject_IsTrue(args[3])};
    Py_ssize_t nr;
    int made;
    PyObject *target = target_of(args[0], &nr);
    Py_ssize_t entry = target == NULL ? -1 : pass_entry(&pass, target, is_leaf(target), &made);
    Py_XDECREF(target);
    PyObject *gradient = Py_NewRef(PyList_GET_ITEM(args[1], 0));
    int result = entry < 0 ? -1 : count_targets(&pass, entry);
    if (PyList_SetSlice(args[1], 0, 1, NULL) < 0 || result < 0) {
        Py_DECREF(gradient);
        result = -1;
    } else {
        result = deliver(&pass, entry, nr, gradient);
    }
    if (result == 0) {
        result = pass_push(&pass, entry);
    }
    while (result == 0 && pass.ready > 0) {
        result = run_target(&pass, pass_pop(&pass));
    }
    pass_free(&pass);
    if (result < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

const char engine_configure_doc[] =
    "configure_engine(tensor_type, slot_type, accumulate, conform, add_gradients, run_hooked, names_of, observer_slot, "
    "detach,\n"
    "custom_node): what\n"
    "run_backward() works with. `observer_slot` is the dict in which \"active\" is the observer or None.";

PyObject *engine_configure(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    PyObject **targets[] = {&tensor_type, &slot_type, &accumulate,    &conform, &add_gradients,
                            &run_hooked,  &names_of,  &observer_slot, &aten,    &custom_node};
    (void)module;
    if (n != 10 || !PyType_Check(args[0]) || !PyDict_Check(args[7]) || !PyType_Check(args[9])) {
        PyErr_SetString(PyExc_TypeError,
                        "configure_engine() takes a type, six more objects, a dict, an operator and a type");
        return NULL;
    }
    for (int i = 0; i < 10; i++) {
        PyObject *old = *targets[i];
        *targets[i] = Py_NewRef(args[i]);
        Py_XDECREF(old);
    }
    Py_RETURN_NONE;
}

int engine_setup(void)
{
    struct {
        PyObject **target;
        const char *text;
    } texts[] = {
        {&s_node, "node"},
        {&s_nr, "nr"},
        {&s_specs, "specs"},
        {&s_apply, "apply"},
        {&s_enter_node, "enter_node"},
        {&s_leave, "leave"},
        {&s_active, "active"},
        {&s_pre_hooks, "pre_hooks"},
        {&s_retains, "retains"},
        {&s_detach, "detach"},
        {&leaf_name, "torch::autograd::AccumulateGrad"},
        {&leaf_evaluation, NODE_PREFIX "torch::autograd::AccumulateGrad"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i].target = PyUnicode_InternFromString(texts[i].text);
        if (*texts[i].target == NULL) {
            return -1;
        }
    }
    minus_one = PyLong_FromLong(-1);
    zero = PyLong_FromLong(0);
    nothing = PyTuple_New(0);
    return minus_one == NULL || zero == NULL || nothing == NULL ? -1 : 0;
}
