/* The loop of a backward pass, in C: what `_autograd.engine.Pass` does in Python, on the same objects, for one root and
 * all leaves.
 *
 * Targets (nodes and leaf tensors) are entries of a Pass (pass.h), where gradients (gradients.c) wait until all that a
 * target expects have arrived. Everything that computes (a node's `apply`, adding gradients, undoing a broadcast,
 * accumulating into a leaf) is a call back into Python, so that events, hooks and errors are the same as those of the
 * Python loop. */
#include "engine.h"

struct Lent lent;
struct EngineNames engine_names;
static PyObject *minus_one, *zero, *leaf_evaluation, *leaf_name;

/* A leaf's first gradient, where only the pass holds it and nothing else can see its memory: it is taken over. 1 if
 * that was done. */
static int take_over(Pass *pass, Tensor *leaf, Tensor *gradient, int observed)
{
    if (pass->create || leaf->grad != Py_None || leaf->post_hooks != Py_None || Py_REFCNT(gradient) != 1
        || !is_plain_call() || (observed && pass->core == NULL) || !is_row_major(leaf)
        || !owns_plain_memory(gradient)) {
        return 0;
    }
    if (observed) { /* PyTorch detaches the gradient that it takes over */
        PyObject *detach = PyObject_GetAttr(lent.aten, engine_names.detach);
        int status = detach == NULL ? -1 : steps_record(detach, (PyObject **)&gradient, 1, pass->core);
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
    PyObject *made = PyObject_Vectorcall(lent.accumulate, args, 4, NULL);
    Py_DECREF(gradient);
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

/* What the leaf's hooks make of a gradient, which is given away; NULL after an error. */
static PyObject *through_hooks(PyObject *leaf, PyObject *gradient)
{
    PyObject *hooks = ((Tensor *)leaf)->hooks;
    if (hooks == Py_None) {
        return gradient;
    }
    PyObject *args[] = {Py_NewRef(hooks), gradient};
    PyObject *made = PyObject_Vectorcall(lent.run_hooks, args, 2, NULL);
    Py_DECREF(hooks);
    Py_DECREF(gradient);
    return made;
}

static int run_leaf_in_event(Pass *pass, PyObject *leaf, PyObject *gradient)
{
    gradient = through_hooks(leaf, gradient);
    if (gradient == NULL) {
        return -1;
    }
    bool is_closed = ((Tensor *)leaf)->post_hooks == Py_None;
    if (enter_application(pass, leaf_name, minus_one, zero, gradient, is_closed) < 0) {
        Py_DECREF(gradient);
        return -1;
    }
    return end_event(pass, run_leaf_plainly(pass, leaf, gradient, 1));
}

static int run_leaf(Pass *pass, PyObject *leaf, PyObject *gradient)
{
    int observed = is_observed(pass);
    if (observed == 0) {
        gradient = through_hooks(leaf, gradient);
        return gradient == NULL ? -1 : run_leaf_plainly(pass, leaf, gradient, 0);
    }
    if (observed < 0 || enter_evaluation(pass, leaf_evaluation, minus_one, zero) < 0) {
        Py_DECREF(gradient);
        return -1;
    }
    return end_event(pass, run_leaf_in_event(pass, leaf, gradient));
}

/* A node's application inside its event. */
static PyObject *apply_observed(Pass *pass, PyObject *node, PyObject *gradient, PyObject *names)
{
    PyObject *made = NULL;
    Node *fields = (Node *)node;
    if (enter_application(pass, PyTuple_GET_ITEM(names, 1), fields->seq, fields->forward_thread, gradient,
                          !PyObject_TypeCheck(node, (PyTypeObject *)lent.custom_node))
        == 0) {
        made = PyObject_CallMethodOneArg(node, engine_names.apply, gradient);
        if (end_event(pass, made == NULL ? -1 : 0) < 0) {
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
        PyObject *made = PyObject_Vectorcall(lent.run_hooked, args, 3, NULL);
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
                                   : PyObject_CallMethodOneArg(node, engine_names.apply, gradient);
    Py_DECREF(gradient);
    if (made != NULL && !PyList_CheckExact(made)) {
        Py_SETREF(made, PySequence_List(made));
    }
    if (made != NULL && !pass->keep && fields->saved != engine_names.nothing) {
        Py_INCREF(Py_None);
        Py_SETREF(fields->saved, Py_None);
    }
    return made;
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
static int enter_evaluation_of_node(Pass *pass, PyObject *node, PyObject *names)
{
    Node *fields = (Node *)node;
    int hooked = fields->hooked == Py_True;
    if (hooked == 1 && (hooked = is_true(node, engine_names.pre_hooks)) == 0) {
        hooked = is_true(node, engine_names.retains);
    }
    return hooked < 0 ? -1
                      : enter_evaluation(pass, PyTuple_GET_ITEM(names, 0), hooked ? minus_one : fields->seq,
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
    if (names == NULL || enter_evaluation_of_node(pass, target, names) < 0) {
        Py_DECREF(gradient);
        return -1;
    }
    return end_event(pass, run_node(pass, target, gradient, names));
}

const char engine_run_doc[] =
    "run_backward(edge, gradients, keep_graph, create_graph): a backward pass from one edge.\n\n"
    "`gradients` is a list whose single item is taken out of it, so that nothing but the pass holds it.";

PyObject *engine_run(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 4 || !PyList_Check(args[1]) || PyList_GET_SIZE(args[1]) != 1 || lent.run_hooked == NULL) {
        PyErr_SetString(PyExc_TypeError,
                        "run_backward() takes an edge, a list of one gradient and two flags, after configure_engine()");
        return NULL;
    }
    Pass pass = {.keep = PyObject_IsTrue(args[2]), .create = PyObject_IsTrue(args[3])};
    Py_ssize_t nr;
    int made;
    PyObject *target = edge_target(args[0], &nr);
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
    "aten,\ncustom_node, run_hooks): what run_backward() works with. `observer_slot` is the dict in which \"active\" "
    "is the "
    "observer or None.";

PyObject *engine_configure(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    PyObject **targets[] = {&lent.tensor_type,   &lent.slot_type,   &lent.accumulate, &lent.conform,
                            &lent.add_gradients, &lent.run_hooked,  &lent.names_of,   &lent.observer_slot,
                            &lent.aten,          &lent.custom_node, &lent.run_hooks};
    (void)module;
    if (n != 11 || !PyType_Check(args[0]) || !PyDict_Check(args[7]) || !PyType_Check(args[9])) {
        PyErr_SetString(
            PyExc_TypeError,
            "configure_engine() takes a type, six more objects, a dict, an operator, a type and a function");
        return NULL;
    }
    for (int i = 0; i < 11; i++) {
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
        {&engine_names.node, "node"},
        {&engine_names.nr, "nr"},
        {&engine_names.specs, "specs"},
        {&engine_names.apply, "apply"},
        {&engine_names.enter_node, "enter_node"},
        {&engine_names.leave, "leave"},
        {&engine_names.active, "active"},
        {&engine_names.pre_hooks, "pre_hooks"},
        {&engine_names.retains, "retains"},
        {&engine_names.detach, "detach"},
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
    engine_names.nothing = PyTuple_New(0);
    return minus_one == NULL || zero == NULL || engine_names.nothing == NULL ? -1 : 0;
}
