/* Calls of operators: a Call executes the plan of an op (see _dispatch/plan.py).
 *
 * It binds the arguments, runs the kernel on the tensors' arrays, or the op's kernel on tensors (of a device, of a
 * composite, where types are to be cast), makes the result, records its node and reports its event. What else is given
 * (special modes, instances of subclasses, names that are not known, anything wrong) goes to the Python function as it
 * came. */
#include "loops.h"
#include "modes.h"
#include "recorder/inline.h"

#include <string.h>

/* --- binding */
static int find_param(const Call *call, PyObject *name)
{
    for (int i = 0; i < call->count; i++)
        if (call->params[i].name == name)
            return i;
    for (int i = 0; i < call->count; i++)
        if (PyUnicode_Compare(call->params[i].name, name) == 0)
            return i;
    return -1;
}

static int bind_arguments(const Call *call, Arguments *arguments, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords)
{
    int last = call->positional - 1;
    bool spreads = last >= 0 && call->params[last].kind == ARGUMENT_SPREAD;
    Py_ssize_t simple = spreads ? Py_MIN(count, last) : count;
    if (simple > call->positional)
        return FALLBACK;
    memset(arguments->bound, 0, (size_t)call->count * sizeof *arguments->bound);
    memcpy(arguments->bound, args, (size_t)simple * sizeof *args);
    int bound = spreads ? bind_spread(arguments, args, count, last) : DONE;
    for (Py_ssize_t i = 0; bound == DONE && keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        int position = find_param(call, PyTuple_GET_ITEM(keywords, i));
        if (position < 0 || arguments->bound[position])
            return FALLBACK;
        arguments->bound[position] = args[count + i];
    }
    for (int i = 0; bound == DONE && i < call->count; i++)
        if (!arguments->bound[i] && !(arguments->bound[i] = call->params[i].unset))
            return FALLBACK;
    return bound;
}

/* --- what the arguments are */
static bool is_plain_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value);
}

static int read_tensor(PyObject *value, Arguments *arguments, int position)
{
    const Tensor *tensor = (const Tensor *)value;
    if (!tensor->array || !tensor->keys || !tensor->dtype)
        return FALLBACK;
    arguments->keys |= PyLong_AsLong(tensor->keys);
    arguments->array[position] = tensor->array;
    return DONE;
}

static int read_argument(const Param *param, Arguments *arguments, int position)
{
    PyObject *value = arguments->bound[position];
    arguments->array[position] = value;
    if (takes_tensor(param)) {
        if (is_tensor(value))
            return read_tensor(value, arguments, position);
        arguments->has_number |= param->kind == ARGUMENT_NUMBER;
        return param->kind == ARGUMENT_OPTIONAL_TENSOR ? value == Py_None
                                                       : param->kind == ARGUMENT_NUMBER && is_plain_number(value);
    }
    switch (param->kind) {
    case ARGUMENT_TENSOR_LIST:
    case ARGUMENT_LIST_WITH_HOLES:
        return read_list(value, arguments, param->kind == ARGUMENT_LIST_WITH_HOLES);
    case ARGUMENT_REPEATED:
        return PyLong_CheckExact(value) ? repeat(arguments, position, param->length) : DONE;
    case ARGUMENT_ELEMENT_TYPE:
        return value == Py_None || Py_TYPE(value) == Py_TYPE(bool_type);
    case ARGUMENT_REAL:
        return is_plain_number(value) || value == Py_None;
    case ARGUMENT_DEVICE:
        return read_device(arguments, position);
    case ARGUMENT_UNSET:
        return value == Py_None || value == Py_False;
    default:
        return DONE;
    }
}

static int read_arguments(const Call *call, Arguments *arguments)
{
    arguments->keys = 0;
    arguments->has_number = false;
    for (int i = 0; i < call->count; i++) {
        int read = read_argument(&call->params[i], arguments, i);
        if (read != DONE)
            return read;
    }
    return DONE;
}

/* --- which kernel */
/* Whether the numbers among the operands leave 64-bit integers what they are. */
static bool fits_whole_numbers(const Call *call, const Arguments *arguments)
{
    const ArrayFields *lead = fields_of(arguments->array[call->lead]);
    int overflow = !lead || !is_int64(lead);
    for (int i = 0; i < call->count && !overflow; i++) {
        PyObject *value = arguments->bound[i];
        if (call->params[i].kind != ARGUMENT_NUMBER || is_tensor(value))
            continue;
        if (!PyLong_CheckExact(value))
            return false;
        PyLong_AsLongLongAndOverflow(value, &overflow);
    }
    return !overflow;
}

/* Whether the kernel can take the arrays as they are: nothing is to be cast. */
static bool types_fit(const Call *call, const Arguments *arguments)
{
    if (!call->casting && !call->wants_inexact && !arguments->has_number)
        return true;
    if (!is_tensor(arguments->bound[call->lead]))
        return false;
    PyObject *lead = ((const Tensor *)arguments->bound[call->lead])->dtype;
    for (int i = 0; i < call->count; i++)
        if (call->casting >> i & 1 && is_tensor(arguments->bound[i])
            && ((const Tensor *)arguments->bound[i])->dtype != lead)
            return false;
    return is_inexact(lead)
           || (!call->wants_inexact && (!arguments->has_number || fits_whole_numbers(call, arguments)));
}

static bool takes_arrays(const Call *call, const Arguments *arguments, long device)
{
    bool is_readable = device == KEY_CPU || (call->is_view && is_accelerator(device));
    bool is_differentiated_through =
        call->composite && !call->gradient.node && arguments->keys & KEY_GRAD && !thread_has_no_grad();
    return call->kernel && is_readable && !is_differentiated_through && types_fit(call, arguments)
           && !(arguments->observed && call->has_steps && !steps_fit(call, arguments));
}

static int choose_kernel(Call *call, Arguments *arguments)
{
    arguments->observed = mode_word & KEY_OBSERVED;
    if (!is_plain_call() || (arguments->observed && !active_core) || (call->composite && has_asked(call, arguments)))
        return FALLBACK;
    bool no_grad = thread_has_no_grad();
    long device = arguments->keys & KEY_DEVICES;
    arguments->sequence_nr = no_grad || !call->has_sequence_id ? -1 : 0;
    arguments->grad = arguments->keys & KEY_GRAD && !no_grad && call->gradient.node;
    arguments->boxed = NULL;
    if (arguments->keys & ~(KEY_DEVICES | KEY_GRAD))
        return FALLBACK;
    if (arguments->grad && call->writes)
        return writes_history(call, arguments) && takes_arrays(call, arguments, device) ? DONE : FALLBACK;
    return takes_arrays(call, arguments, device) ? DONE : find_boxed(call, arguments, device);
}

/* --- the kernel on arrays */
PyObject *run_kernel(const Call *call, Arguments *arguments)
{
    PyObject *made = call->loop ? loop_run(call, arguments) : NULL;
    arguments->is_in_order = made || !call->joins;
    if (made || (call->loop && PyErr_Occurred()))
        return made;
    if (call->direct) {
        PyObject *arrays[MAX_PARAMS];
        int count = 0;
        bool unset = true;
        for (int i = 0; i < call->count && unset; i++) {
            if (takes_tensor(&call->params[i]))
                arrays[count++] = arguments->array[i];
            else
                unset = arguments->bound[i] == call->params[i].unset;
        }
        if (unset)
            return PyObject_Vectorcall(call->direct, arrays, (size_t)count, NULL);
    }
    return PyObject_Vectorcall(call->kernel, arguments->array, (size_t)call->count, NULL);
}

static PyObject *arrays_of(PyObject *tensors)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(tensors);
    PyObject *made = PyList_New(count);
    for (Py_ssize_t i = 0; made && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(tensors, i);
        PyList_SET_ITEM(made, i, held(is_tensor(item) ? ((Tensor *)item)->array : item));
    }
    return made;
}

static void release_arrays(Arguments *arguments, int count)
{
    for (int i = 0; i < count; i++)
        Py_DECREF(arguments->array[i]);
}

/* A kernel may let other threads run, which may give a tensor another array: those in use are held. They are read
 * again, because beginning an event may have run Python. */
static int hold_arrays(const Call *call, Arguments *arguments)
{
    for (int i = 0; i < call->count; i++) {
        PyObject *value = arguments->bound[i];
        if (takes_list(&call->params[i]))
            arguments->array[i] = arrays_of(value);
        else {
            if (takes_tensor(&call->params[i]) && is_tensor(value))
                arguments->array[i] = ((Tensor *)value)->array;
            Py_INCREF(arguments->array[i]);
        }
        if (!arguments->array[i]) {
            release_arrays(arguments, i);
            return -1;
        }
    }
    return 0;
}

static PyObject *run_on_arrays(const Call *call, Arguments *arguments)
{
    if ((call->writes && check_target(arguments->bound[0]) < 0)
        || (call->writes && arguments->grad && prepare_write(call, arguments) < 0) || hold_arrays(call, arguments) < 0)
        return NULL;
    bool shows_steps = arguments->observed && call->steps.kind != STEPS_NONE;
    PyObject *made = shows_steps ? steps_run(call, arguments) : run_kernel(call, arguments);
    if (made && !arguments->is_in_order && layouts_differ(call, arguments))
        made = settle_order(call, arguments, made);
    release_arrays(arguments, call->count);
    if (!made) {
        explain_error(call, arguments);
        return NULL;
    }
    return make_result(call, arguments, made);
}

static PyObject *run(const Call *call, Arguments *arguments)
{
    return arguments->boxed ? run_on_tensors(call, arguments) : run_on_arrays(call, arguments);
}

/* --- the event */
/* Begins the event. Where no generator is given, the overload without that parameter is told. */
static int begin_event(const Call *call, const Arguments *arguments)
{
    int position = call->generator, count = call->count;
    if (!call->unseeded || arguments->bound[position] != Py_None)
        return core_begin_op(arguments->core, call->op, arguments->bound, count, NULL, arguments->sequence_nr);
    PyObject *told[MAX_PARAMS];
    memcpy(told, arguments->bound, (size_t)position * sizeof *told);
    memcpy(told + position, arguments->bound + position + 1, (size_t)(count - position - 1) * sizeof *told);
    return core_begin_op(arguments->core, call->unseeded, told, count - 1, NULL, arguments->sequence_nr);
}

static PyObject *run_in_event(const Call *call, Arguments *arguments)
{
    PyObject *made = NULL;
    arguments->core = (Core *)held((PyObject *)active_core);
    if (arguments->sequence_nr >= 0)
        arguments->sequence_nr = PyLong_AsLongLong(PyList_GET_ITEM(next_sequence_nr, 0));
    if (begin_event(call, arguments) == 0) {
        made = run(call, arguments);
        if (core_end_op(arguments->core, made != NULL) < 0)
            Py_CLEAR(made);
    }
    Py_DECREF(arguments->core);
    return made;
}

/* PyTorch's Python functions enter factories below autograd: neither the call nor its steps carry a number. */
static PyObject *run_observed(const Call *call, Arguments *arguments)
{
    if (!call->enters_below)
        return run_in_event(call, arguments);
    int before = modes_swap_grad(false);
    if (before < 0)
        return NULL;
    arguments->sequence_nr = -1;
    PyObject *made = run_in_event(call, arguments);
    if (restore_grad(before) < 0)
        Py_CLEAR(made);
    return made;
}

PyObject *call_vector(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Call *call = (Call *)self;
    Arguments arguments;
    arguments.owned_count = 0;
    arguments.edges = arguments.before = NULL;
    int found = bind_arguments(call, &arguments, args, PyVectorcall_NARGS(flags), keywords);
    if (found == DONE)
        found = read_arguments(call, &arguments);
    if (found == DONE)
        found = choose_kernel(call, &arguments);
    PyObject *made = NULL;
    if (found == DONE)
        made = arguments.observed ? run_observed(call, &arguments) : run(call, &arguments);
    for (int i = 0; i < arguments.owned_count; i++)
        Py_DECREF(arguments.owned[i]);
    Py_XDECREF(arguments.edges);
    Py_XDECREF(arguments.before);
    if (found == DONE && !made && arguments.boxed && arguments.boxed == call->composite
        && (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_TypeError))) {
        PyErr_Clear(); /* perhaps an argument that is not a tensor: the Python function tells */
        found = FALLBACK;
    }
    return found == FALLBACK ? PyObject_Vectorcall(call->function, args, flags, keywords) : made;
}
