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

/* --- which kernel */
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
    return !(call->wants_inexact || arguments->has_number) || is_inexact(lead);
}

static bool takes_arrays(const Call *call, const Arguments *arguments, long device)
{
    bool is_readable = device == KEY_CPU || (call->is_view && is_accelerator(device));
    bool is_differentiated_through =
        call->composite && !call->gradient.node && arguments->keys & KEY_GRAD && !thread_has_no_grad();
    return call->kernel && is_readable && !is_differentiated_through && types_fit(call, arguments)
           && !(arguments->observed && call->has_steps && !steps_fit(call, arguments));
}

/* The kernel on tensors. A leaf op's is found by the dispatcher at the first call, which keeps it with the op. */
static int find_boxed(Call *call, Arguments *arguments, long device)
{
    arguments->boxed = call->composite;
    if (call->composite)
        return DONE;
    if (!device || (device != KEY_CPU && arguments->observed && active_core->watches_memory))
        return FALLBACK;
    if (!call->boxed || call->boxed_key != device) {
        PyObject *kernels = PyObject_GetAttrString(call->op, "backends");
        PyObject *found = kernels && PyDict_Check(kernels) ? PyDict_GetItemWithError(kernels, boxed_key(device)) : NULL;
        Py_XINCREF(found);
        Py_XSETREF(call->boxed, found);
        call->boxed_key = device;
        Py_XDECREF(kernels);
        PyErr_Clear();
    }
    arguments->boxed = call->boxed;
    return call->boxed ? DONE : FALLBACK;
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
/* Puts the error that PyTorch gives instead of the kernel's ValueError. */
static void explain_error(const Call *call, const Arguments *arguments)
{
    if (!PyErr_ExceptionMatches(PyExc_ValueError))
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *given = tuple_of(arguments->bound, call->count);
    PyObject *better = given ? PyObject_CallFunctionObjArgs(explain, call->op, given, value, NULL) : NULL;
    Py_XDECREF(given);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    if (!better)
        return;
    PyException_SetCause(better, NULL);
    PyErr_SetObject((PyObject *)Py_TYPE(better), better);
    Py_DECREF(better);
}

PyObject *run_kernel(const Call *call, Arguments *arguments)
{
    PyObject *made = call->loop && !memory_is_watched() ? loop_run(call, arguments) : NULL;
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

/* Whether two arrays have one shape and one set of strides. Of arrays without dimensions numpy may keep no lists, which
 * memcmp must not be handed. */
static bool same_layout(const ArrayFields *a, const ArrayFields *b)
{
    size_t bytes = (size_t)a->nd * sizeof *a->dimensions;
    return a->nd == b->nd
           && (bytes == 0 || (!memcmp(a->dimensions, b->dimensions, bytes) && !memcmp(a->strides, b->strides, bytes)));
}

/* Whether the operands of an elementwise op lie in memory in different orders, so that numpy's choice for the result
 * may not be PyTorch's. */
static bool layouts_differ(const Call *call, const Arguments *arguments)
{
    const ArrayFields *first = NULL;
    bool row_major = true, same = true;
    for (int i = 0; i < call->count; i++) {
        if (!takes_tensor(&call->params[i]) || !is_tensor(arguments->bound[i]))
            continue;
        const ArrayFields *fields = fields_of(arguments->array[i]);
        if (!fields)
            return true;
        row_major = row_major && fields->flags & ARRAY_C_CONTIGUOUS;
        if (!first)
            first = fields;
        else
            same = same && same_layout(fields, first);
    }
    return !row_major && !same;
}

/* The result (stolen) in the order that its operands' memory tells. */
static PyObject *settled(const Call *call, const Arguments *arguments, PyObject *array)
{
    if (Py_TYPE(array) != array_class) /* a number */
        return array;
    PyObject *operands = tuple_of(arguments->array, call->count);
    PyObject *made = operands ? PyObject_CallFunctionObjArgs(settle, array, operands, NULL) : NULL;
    Py_XDECREF(operands);
    Py_DECREF(array);
    return made;
}

static PyObject *run_on_arrays(const Call *call, Arguments *arguments)
{
    if ((call->writes && check_target(arguments->bound[0]) < 0)
        || (call->writes && arguments->grad && prepare_write(call, arguments) < 0) || hold_arrays(call, arguments) < 0)
        return NULL;
    bool shows_steps = arguments->observed && call->steps.kind != STEPS_NONE;
    PyObject *made = shows_steps ? steps_run(call, arguments) : run_kernel(call, arguments);
    if (made && !arguments->is_in_order && layouts_differ(call, arguments))
        made = settled(call, arguments, made);
    release_arrays(arguments, call->count);
    if (!made) {
        explain_error(call, arguments);
        return NULL;
    }
    return make_result(call, arguments, made);
}

/* --- the kernel on tensors */
/* Switches gradients back on, also while an error is on its way, which stays. */
static int restore_grad(bool on)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int failed = modes_swap_grad(on) < 0;
    if (type) {
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    return failed ? -1 : 0;
}

static bool is_argument(const Call *call, const Arguments *arguments, PyObject *made)
{
    for (int i = 0; i < call->count; i++)
        if (arguments->bound[i] == made)
            return true;
    return false;
}

static bool shares_memory_with_any(const Tensor *made, PyObject *given)
{
    if (!PyList_Check(given) && !PyTuple_Check(given))
        return shares_memory(made, given);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given); i++)
        if (shares_memory_with_any(made, PySequence_Fast_GET_ITEM(given, i)))
            return true;
    return false;
}

/* The writes by which a call filled new memory are not counted: nobody saw it before. */
static void count_from_zero(const Call *call, const Arguments *arguments, const Tensor *made)
{
    if (made->storage == Py_None || !storage_was_written(made->storage) || PyLong_AsLong(made->keys) & KEY_GRAD)
        return;
    for (int i = 0; i < call->count; i++)
        if (shares_memory_with_any(made, arguments->bound[i]))
            return;
    storage_count_from_zero(made->storage);
}

/* The steps of a composite that has a derivative, or says so, record nothing themselves. */
static PyObject *run_on_tensors(const Call *call, Arguments *arguments)
{
    bool below = call->below_autograd && (arguments->grad || arguments->observed);
    int before = below ? modes_swap_grad(false) : 0;
    if (before < 0)
        return NULL;
    PyObject *kernel = held(arguments->boxed);
    PyObject *made = PyObject_Vectorcall(kernel, arguments->bound, (size_t)call->count, NULL);
    Py_DECREF(kernel);
    if (below && restore_grad(before) < 0)
        Py_CLEAR(made);
    if (made && call->makes_new && is_tensor(made))
        count_from_zero(call, arguments, (const Tensor *)made);
    bool is_watched = made && arguments->observed && arguments->core->watches_memory && !call->composite
                      && !call->is_view && !call->writes;
    if (made
        && ((arguments->grad && !is_argument(call, arguments, made) && record_gradient(call, arguments, made) < 0)
            || (is_watched && watch_results(made) < 0)))
        Py_CLEAR(made);
    return made;
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
