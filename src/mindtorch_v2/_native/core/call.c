/* Calls of operators on plain CPU tensors: binding of arguments, the kernel, the result, its event.
 *
 * A Call stands in front of the op's call function in Python (see _dispatch/codegen.py) and does the cases that its fast paths do:
 * the kernel on the arrays as they are, with or without a gradient to record, with or without an event to report. Whatever else
 * is given (other classes, devices and types, names that are not known, anything wrong) goes to the Python function as it came. */
#include "call.h"
#include "modes.h"
#include "recorder/inline.h"

#include <string.h>

PyTypeObject *tensor_class, *parameter_class;
static PyTypeObject *array_class;
static PyObject *settle, *explain, *as_array, *check_writable, *type_by_number, *bool_type, *cpu_keys, *device_keys;
static PyObject *s_shape, *s_dtype, *s_num, *s_backends;
static PyObject *inexact_types[8];
static int inexact_count;
static bool reads_arrays;

static long mode;             /* as SPACE["_mode"] */
static Core *active;          /* the recorder, where it is the observer and a native one */
static PyObject *active_seen; /* its methods, as modes.Seen */
static _Thread_local bool grad_is_off THREAD_LOCAL_MODEL;
static PyObject *space, *thread_state, *s_mode, *s_grad;
static long threads_without_grad;
static bool overridden; /* whether a subclass of Tensor exists that is asked before operators */

/* --- the thread's and the process's state ------------------------------------------------------------------------------ */
/* The modes change in C, in one go: an interrupt in the midst of a change would leave the thread without gradients for good. */
int modes_set_bit(long bit, bool on)
{
    mode = on ? mode | bit : mode & ~bit;
    PyObject *value = PyLong_FromLong(mode);
    int failed = value ? PyDict_SetItem(space, s_mode, value) : -1;
    Py_XDECREF(value);
    return failed;
}

PyObject *calls_keep_modes(PyObject *module, PyObject *args)
{
    /* keep_modes(SPACE, state): the process's modes, a dict that has "_mode", and the thread's, which has `grad`. */
    PyObject *given, *state;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &given, &state))
        return NULL;
    s_mode = PyUnicode_InternFromString("_mode");
    s_grad = PyUnicode_InternFromString("grad");
    space = Py_NewRef(given); /* for the life of the process */
    thread_state = Py_NewRef(state);
    return s_mode && s_grad && modes_set_bit(0, false) == 0 ? Py_NewRef(Py_None) : NULL;
}

PyObject *calls_set_bit(PyObject *module, PyObject *args)
{
    long bit;
    int on;
    (void)module;
    return PyArg_ParseTuple(args, "lp", &bit, &on) && modes_set_bit(bit, on) == 0 ? Py_NewRef(Py_None) : NULL;
}

PyObject *modes_thread_state(void)
{
    return thread_state;
}

PyObject *modes_grad_name(void)
{
    return s_grad;
}

int modes_swap_grad(bool on)
{
    PyObject *now = PyObject_GetAttr(thread_state, s_grad);
    if (!now)
        return -1;
    bool before = now == Py_True;
    Py_DECREF(now);
    if (before == on)
        return before;
    if (PyObject_SetAttr(thread_state, s_grad, on ? Py_True : Py_False) < 0)
        return -1;
    grad_is_off = !on;
    threads_without_grad += on ? -1 : 1;
    return modes_set_bit(KEY_NO_GRAD, threads_without_grad > 0) < 0 ? -1 : before;
}

PyObject *calls_set_overridden(PyObject *module, PyObject *on)
{
    (void)module;
    overridden = on == Py_True;
    Py_RETURN_NONE;
}

PyObject *calls_swap_grad(PyObject *module, PyObject *enabled)
{
    (void)module;
    int on = PyObject_IsTrue(enabled), before = on < 0 ? -1 : modes_swap_grad(on);
    return before < 0 ? NULL : PyBool_FromLong(before);
}

PyObject *calls_observe(PyObject *module, PyObject *args)
{
    /* observe(observer, seen): who is told from now on; None, None for nobody. */
    PyObject *observer, *seen;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &observer, &seen))
        return NULL;
    Core *core = PyObject_TypeCheck(observer, &Core_Type) ? (Core *)observer : NULL;
    Py_XINCREF(core);
    Py_XSETREF(active, core);
    Py_INCREF(seen);
    Py_XSETREF(active_seen, seen);
    Py_RETURN_NONE;
}

Core *calls_active(void)
{
    return active;
}

bool is_inexact(PyObject *dtype)
{
    for (int i = 0; i < inexact_count; i++)
        if (inexact_types[i] == dtype)
            return true;
    return false;
}

const ArrayFields *fields_of(PyObject *array)
{
    return reads_arrays && Py_TYPE(array) == array_class ? (const ArrayFields *)array : NULL;
}

PyObject *shape_of(PyObject *array)
{
    const ArrayFields *fields = fields_of(array);
    if (!fields)
        return PyObject_GetAttr(array, s_shape);
    PyObject *shape = PyTuple_New(fields->nd);
    for (int i = 0; shape && i < fields->nd; i++) {
        PyObject *size = PyLong_FromSsize_t(fields->dimensions[i]);
        if (size)
            PyTuple_SET_ITEM(shape, i, size);
        else
            Py_CLEAR(shape);
    }
    return shape;
}

bool is_plain_call(void)
{
    return !(mode & ~(KEY_NO_GRAD | KEY_OBSERVED));
}

PyObject *cpu_tensor_keys(void)
{
    return cpu_keys;
}

/* Whether a view is all that is left of what it views: the tensor and the array are held by nothing else. */
static bool is_last_view(const Tensor *tensor, const ArrayFields *fields)
{
    if (tensor->base == Py_None)
        return !fields->base || Py_REFCNT(fields->base) == 1;
    PyObject *viewed = ((const Tensor *)tensor->base)->array;
    return Py_REFCNT(tensor->base) == 1 && viewed && Py_REFCNT(viewed) == 1 + (fields->base == viewed)
           && (fields->base == viewed || !fields->base || Py_REFCNT(fields->base) == 1);
}

bool owns_plain_memory(const Tensor *tensor)
{
    enum { C_CONTIGUOUS = 1, WRITEABLE = 0x400 }; /* numpy's published flags */
    const ArrayFields *fields = fields_of(tensor->array);
    if (!fields || Py_REFCNT(tensor->array) != 1 || PyLong_AsLong(tensor->keys) != KEY_CPU || tensor->device != Py_None
        || (fields->flags & (C_CONTIGUOUS | WRITEABLE)) != (C_CONTIGUOUS | WRITEABLE) || !is_last_view(tensor, fields))
        return false;
    for (int i = 0; i < fields->nd; i++)
        if (fields->strides[i] == 0) /* an expanded gradient repeats one element */
            return false;
    return true;
}

bool is_row_major(const Tensor *tensor)
{
    const ArrayFields *fields = fields_of(tensor->array);
    return fields && fields->flags & 1; /* numpy's C_CONTIGUOUS */
}

/* --- binding ---------------------------------------------------------------------------------------------------------- */
enum { OTHERWISE = 0, DONE = 1, FAILED = -1 }; /* the Python function's; done; an error is set */

static int own(Arguments *arguments, PyObject *made)
{
    if (!made)
        return FAILED;
    if (arguments->owned_count == MAX_OWNED) {
        Py_DECREF(made);
        return OTHERWISE;
    }
    arguments->owned[arguments->owned_count++] = made;
    return DONE;
}

static int bind_spread(Arguments *arguments, PyObject *const *args, Py_ssize_t count, int place)
{
    if (count <= place)
        return OTHERWISE;
    if (count == place + 1 && (PyTuple_Check(args[place]) || PyList_CheckExact(args[place]))) {
        arguments->bound[place] = args[place];
        return DONE;
    }
    for (Py_ssize_t i = place; i < count; i++)
        if (!PyLong_CheckExact(args[i]))
            return OTHERWISE;
    arguments->bound[place] = tuple_of(args + place, count - place);
    return own(arguments, arguments->bound[place]);
}

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

static int bind(const Call *call, Arguments *arguments, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    int last = call->positional - 1;
    bool spreads = last >= 0 && call->params[last].kind == SPREAD;
    Py_ssize_t simple = spreads ? Py_MIN(count, last) : count;
    if (simple > call->positional)
        return OTHERWISE;
    memset(arguments->bound, 0, (size_t)call->count * sizeof *arguments->bound);
    memcpy(arguments->bound, args, (size_t)simple * sizeof *args);
    int bound = spreads ? bind_spread(arguments, args, count, last) : DONE;
    for (Py_ssize_t i = 0; bound == DONE && keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        int place = find_param(call, PyTuple_GET_ITEM(keywords, i));
        if (place < 0 || arguments->bound[place])
            return OTHERWISE;
        arguments->bound[place] = args[count + i];
    }
    for (int i = 0; bound == DONE && i < call->count; i++)
        if (!arguments->bound[i] && !(arguments->bound[i] = call->params[i].unset))
            return OTHERWISE;
    return bound;
}

/* --- what the arguments are ---------------------------------------------------------------------------------------------- */
static bool is_plain_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value);
}

static int repeat(Arguments *arguments, int place, int length)
{
    PyObject *value = arguments->bound[place], *made = PyTuple_New(length);
    for (int i = 0; made && i < length; i++)
        PyTuple_SET_ITEM(made, i, held(value));
    arguments->bound[place] = arguments->array[place] = made;
    return own(arguments, made);
}

/* Reads one argument; adds its keys. */
static int read_argument(const Param *param, Arguments *arguments, int place, long *keys, bool *number)
{
    PyObject *value = arguments->bound[place];
    arguments->array[place] = value;
    if (takes_tensor(param)) {
        if (is_tensor(value)) {
            const Tensor *tensor = (const Tensor *)value;
            if (!tensor->array || !tensor->keys || !tensor->dtype)
                return OTHERWISE;
            *keys |= PyLong_AsLong(tensor->keys);
            arguments->array[place] = tensor->array;
            return DONE;
        }
        *number |= param->kind == NUMBER_PARAM;
        return param->kind == OPTIONAL_TENSOR ? value == Py_None
                                              : param->kind == NUMBER_PARAM && is_plain_number(value);
    }
    if (param->kind == REPEATED && PyLong_CheckExact(value))
        return repeat(arguments, place, param->length);
    if (param->kind == ELEMENT_TYPE)
        return value == Py_None || Py_TYPE(value) == Py_TYPE(bool_type);
    return param->kind != REAL || is_plain_number(value) || value == Py_None;
}

static int read_arguments(const Call *call, Arguments *arguments, long *keys, bool *number)
{
    for (int i = 0; i < call->count; i++) {
        int read = read_argument(&call->params[i], arguments, i, keys, number);
        if (read != DONE)
            return read;
    }
    return DONE;
}

/* Whether the kernel can take the arrays as they are: nothing is to be cast. */
static bool types_fit(const Call *call, const Arguments *arguments, bool number)
{
    PyObject *lead = ((const Tensor *)arguments->bound[call->lead])->dtype;
    for (int i = 0; i < call->count; i++)
        if (call->casting >> i & 1 && is_tensor(arguments->bound[i])
            && ((const Tensor *)arguments->bound[i])->dtype != lead)
            return false;
    return !(call->wants_inexact || number) || is_inexact(lead);
}

/* Whether calls on the other device can be done here. The dispatcher finds an op's kernel at the first call and keeps it with the op. */
static bool knows_device(Call *call)
{
    if (!call->on_devices || call->is_view || call->device_kernel)
        return call->on_devices;
    PyObject *kernels = PyObject_GetAttr(call->op, s_backends);
    PyObject *found = kernels && PyDict_Check(kernels) ? PyDict_GetItemWithError(kernels, device_keys) : NULL;
    Py_XINCREF(found);
    call->device_kernel = found;
    Py_XDECREF(kernels);
    PyErr_Clear();
    return found;
}

/* Whether a value is, or a list holds, an instance of a subclass of Tensor: the Python function decides whether it is asked. */
static bool holds_subclass(PyObject *value)
{
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
            if (holds_subclass(PySequence_Fast_GET_ITEM(value, i)))
                return true;
        return false;
    }
    return !is_tensor(value) && PyObject_TypeCheck(value, tensor_class);
}

static bool has_subclass(const Call *call, const Arguments *arguments)
{
    for (int i = 0; i < call->count; i++)
        if (holds_subclass(arguments->bound[i]))
            return true;
    return false;
}

/* The case of an op that is nothing but its steps: they look at the tensors. */
static int choose_composite(const Call *call, Arguments *arguments)
{
    long keys = 0;
    bool number = false;
    arguments->observed = mode & KEY_OBSERVED;
    arguments->sequence_nr = mode & KEY_NO_GRAD && grad_is_off ? -1 : 0;
    if (!is_plain_call() || (arguments->observed && !(active && call->is_observable))
        || (overridden && has_subclass(call, arguments)))
        return OTHERWISE;
    return read_arguments(call, arguments, &keys, &number);
}

static int choose_case(Call *call, Arguments *arguments)
{
    if (call->is_composite)
        return choose_composite(call, arguments);
    long keys = mode;
    bool number = false;
    int read = read_arguments(call, arguments, &keys, &number);
    if (read != DONE)
        return read;
    arguments->sequence_nr = 0;
    if (keys & KEY_NO_GRAD) {
        keys &= grad_is_off ? ~(KEY_NO_GRAD | KEY_GRAD) : ~KEY_NO_GRAD;
        arguments->sequence_nr = grad_is_off ? -1 : 0;
    }
    arguments->observed = keys & KEY_OBSERVED;
    keys &= ~KEY_OBSERVED;
    arguments->grad = keys & KEY_GRAD;
    arguments->on_device = (keys & ~KEY_GRAD) == KEY_NPU;
    if ((!arguments->on_device && (keys & ~KEY_GRAD) != KEY_CPU) || (arguments->grad && !call->gradient.node)
        || !types_fit(call, arguments, number) || (arguments->on_device && !knows_device(call)))
        return OTHERWISE;
    if (!arguments->observed)
        return DONE;
    if (arguments->on_device && (call->shown || (active && active->watches_memory)))
        return OTHERWISE;
    return active && call->is_observable
           && !(call->allocates_inside && active->watches_memory && !steps_fit(call, arguments));
}

/* --- kernel and result -------------------------------------------------------------------------------------------------- */
/* Puts the error that PyTorch gives in the place of the kernel's ValueError. */
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

static PyObject *call_shown(const Call *call, const Arguments *arguments)
{
    PyObject *given[MAX_PARAMS + 3];
    PyObject *number = PyLong_FromLongLong(arguments->sequence_nr);
    if (!number)
        return NULL;
    given[0] = arguments->seen;
    given[1] = number;
    given[2] = call->kernel;
    memcpy(given + 3, arguments->bound, (size_t)call->count * sizeof *given);
    PyObject *made = PyObject_Vectorcall(call->shown, given, (size_t)call->count + 3, NULL);
    Py_DECREF(number);
    return made;
}

PyObject *plain_kernel(const Call *call, Arguments *arguments)
{
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

static PyObject *call_kernel(const Call *call, Arguments *arguments)
{
    if (!arguments->observed || !call->shown)
        return plain_kernel(call, arguments);
    return steps_fit(call, arguments) ? steps_run(call, arguments) : call_shown(call, arguments);
}

/* The element type of a result (borrowed), or NULL with an error set. */
static PyObject *result_type(const Call *call, const Arguments *arguments, PyObject *array)
{
    if (call->result_type == TYPE_OF_LEAD)
        return ((const Tensor *)arguments->bound[call->lead])->dtype;
    if (call->result_type == TYPE_BOOL)
        return bool_type;
    PyObject *number;
    const ArrayFields *fields = fields_of(array);
    if (fields)
        number = PyLong_FromLong(((const DescrFields *)fields->descr)->type_num);
    else {
        PyObject *dtype = PyObject_GetAttr(array, s_dtype);
        number = dtype ? PyObject_GetAttr(dtype, s_num) : NULL;
        Py_XDECREF(dtype);
    }
    PyObject *found = number ? PyDict_GetItemWithError(type_by_number, number) : NULL;
    if (!found && number && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, number);
    Py_XDECREF(number);
    return found;
}

static PyObject *storage_of(Tensor *tensor)
{
    if (tensor->storage == Py_None) {
        PyObject *made = storage_make();
        if (!made)
            return NULL;
        Py_SETREF(tensor->storage, made);
    }
    return tensor->storage;
}

static int become_view(const Call *call, Tensor *made, Tensor *source)
{
    PyObject *storage = storage_of(source);
    if (!storage)
        return -1;
    Py_INCREF(storage);
    Py_SETREF(made->storage, storage);
    if (call->is_graph_view) { /* what leaves the graph, as detach does, is no view for autograd */
        PyObject *base = source->base == Py_None ? (PyObject *)source : source->base,
                 *version = ((Storage *)storage)->version;
        Py_INCREF(base);
        Py_SETREF(made->base, base);
        Py_INCREF(version);
        Py_SETREF(made->view_version, version);
    }
    return 0;
}

/* A tensor over what the kernel returned (stolen). */
static PyObject *wrap_result(const Call *call, const Arguments *arguments, PyObject *array)
{
    if (Py_TYPE(array) != array_class && !call->is_view) {
        PyObject *whole = PyObject_CallOneArg(as_array, array);
        Py_SETREF(array, whole);
        if (!whole)
            return NULL;
    }
    PyObject *dtype = result_type(call, arguments, array);
    Tensor *made = dtype ? tensor_of(array, arguments->on_device ? device_keys : cpu_keys, dtype) : NULL;
    Py_DECREF(array);
    if (made && arguments->on_device) { /* a view */
        PyObject *device = ((Tensor *)arguments->bound[0])->device;
        Py_INCREF(device);
        Py_SETREF(made->device, device);
    }
    if (made
        && ((call->is_view && become_view(call, made, (Tensor *)arguments->bound[0]) < 0)
            || (arguments->grad && record_gradient(call, arguments, made) < 0)
            || (arguments->observed && arguments->core->watches_memory && !call->is_view
                && watch_memory(made->array) < 0)))
        Py_CLEAR(made);
    return (PyObject *)made;
}

/* Only memory that another array owns can be repeated or read-only. */
static int check_target(PyObject *target)
{
    const ArrayFields *fields = fields_of(((Tensor *)target)->array);
    if (fields && !fields->base)
        return 0;
    PyObject *checked = PyObject_CallOneArg(check_writable, target);
    Py_XDECREF(checked);
    return checked ? 0 : -1;
}

static PyObject *finish_inplace(PyObject *target)
{
    Storage *storage = (Storage *)storage_of((Tensor *)target);
    PyObject *next = storage ? PyLong_FromLongLong(PyLong_AsLongLong(storage->version) + 1) : NULL;
    if (!next)
        return NULL;
    Py_SETREF(storage->version, next);
    return held(target);
}

/* A call on another device that makes no view: the kernel makes the tensor. */
static PyObject *run_on_device(const Call *call, const Arguments *arguments)
{
    PyObject *made = PyObject_Vectorcall(call->device_kernel, arguments->bound, (size_t)call->count, NULL);
    if (!made || !arguments->grad || !is_tensor(made))
        return made;
    for (int i = 0; i < call->count; i++)
        if (arguments->bound[i] == made)
            return made;
    if (record_gradient(call, arguments, (Tensor *)made) < 0)
        Py_CLEAR(made);
    return made;
}

/* A kernel may let other threads run, which may give a tensor another array: those in use are held. They are read again, because
 * beginning an event may have run Python. */
static void hold_arrays(const Call *call, Arguments *arguments)
{
    for (int i = 0; i < call->count; i++) {
        if (takes_tensor(&call->params[i]) && is_tensor(arguments->bound[i]))
            arguments->array[i] = ((Tensor *)arguments->bound[i])->array;
        Py_INCREF(arguments->array[i]);
    }
}

static void release_arrays(const Call *call, Arguments *arguments)
{
    for (int i = 0; i < call->count; i++)
        Py_DECREF(arguments->array[i]);
}

/* Whether the operands of an elementwise op lie in memory in different orders, so that numpy's choice for the result may not be
 * PyTorch's. */
static bool layouts_differ(const Call *call, const Arguments *arguments)
{
    enum { C_CONTIGUOUS = 1 };
    const ArrayFields *first = NULL;
    bool row_major = true, same = true;
    for (int i = 0; i < call->count; i++) {
        if (!takes_tensor(&call->params[i]) || !is_tensor(arguments->bound[i]))
            continue;
        const ArrayFields *fields = fields_of(arguments->array[i]);
        if (!fields)
            return true;
        row_major = row_major && fields->flags & C_CONTIGUOUS;
        if (!first)
            first = fields;
        else
            same = same && fields->nd == first->nd
                   && !memcmp(fields->dimensions, first->dimensions, (size_t)first->nd * sizeof *first->dimensions)
                   && !memcmp(fields->strides, first->strides, (size_t)first->nd * sizeof *first->strides);
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

static PyObject *run(const Call *call, Arguments *arguments)
{
    PyObject *target = arguments->bound[0];
    if (call->is_composite)
        return PyObject_Vectorcall(call->kernel, arguments->bound, (size_t)call->count, NULL);
    if (arguments->on_device && !call->is_view)
        return run_on_device(call, arguments);
    if (call->inplace && check_target(target) < 0)
        return NULL;
    hold_arrays(call, arguments);
    PyObject *array = call_kernel(call, arguments);
    if (array && call->joins && layouts_differ(call, arguments))
        array = settled(call, arguments, array);
    release_arrays(call, arguments);
    if (!array) {
        explain_error(call, arguments);
        return NULL;
    }
    if (!call->inplace)
        return wrap_result(call, arguments, array);
    Py_DECREF(array);
    return finish_inplace(target);
}

static PyObject *run_observed(const Call *call, Arguments *arguments)
{
    Core *core = arguments->core = active;
    PyObject *made = NULL;
    arguments->seen = held(active_seen);
    Py_INCREF(core);
    if (arguments->sequence_nr >= 0)
        arguments->sequence_nr = PyLong_AsLongLong(PyList_GET_ITEM(next_sequence_nr, 0));
    if (core_begin_op(core, call->op, arguments->bound, call->count, NULL, arguments->sequence_nr) == 0) {
        made = run(call, arguments);
        if (core_end_op(core, made != NULL) < 0)
            Py_CLEAR(made);
    }
    Py_DECREF(core);
    Py_DECREF(arguments->seen);
    return made;
}

PyObject *call_vector(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Call *call = (Call *)self;
    Arguments arguments;
    arguments.owned_count = 0;
    int found = bind(call, &arguments, args, PyVectorcall_NARGS(flags), keywords);
    if (found == DONE)
        found = choose_case(call, &arguments);
    PyObject *made = NULL;
    if (found == DONE)
        made = arguments.observed ? run_observed(call, &arguments) : run(call, &arguments);
    for (int i = 0; i < arguments.owned_count; i++)
        Py_DECREF(arguments.owned[i]);
    if (found == DONE && !made && call->is_composite
        && (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_TypeError))) {
        PyErr_Clear(); /* perhaps an argument that is no tensor: the Python function tells */
        found = OTHERWISE;
    }
    return found == OTHERWISE ? PyObject_Vectorcall(call->function, args, flags, keywords) : made;
}

/* --- what calls need of the package ---------------------------------------------------------------------------------------- */
static int intern(PyObject **name, const char *text)
{
    return *name || (*name = PyUnicode_InternFromString(text)) ? 0 : -1;
}

static int take_inexact(PyObject *types)
{
    inexact_count = 0;
    for (Py_ssize_t i = 0;
         i < PyTuple_GET_SIZE(types) && i < (Py_ssize_t)(sizeof inexact_types / sizeof *inexact_types); i++)
        inexact_types[inexact_count++] = held(PyTuple_GET_ITEM(types, i));
    return inexact_count == PyTuple_GET_SIZE(types) ? 0 : -1;
}

PyObject *calls_setup(PyObject *module, PyObject *args)
{
    /* setup_calls(Tensor, Parameter, ndarray, whether arrays can be read directly, explain, asarray, check_writable, types by
     * number, bool type, inexact types, sequence, default type, settle) */
    PyObject *tensor, *parameter, *array, *inexact, *default_type;
    int known;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOpOOOO!OO!O!OO", &tensor, &parameter, &array, &known, &explain, &as_array,
                          &check_writable, &PyDict_Type, &type_by_number, &bool_type, &PyTuple_Type, &inexact,
                          &PyList_Type, &next_sequence_nr, &default_type, &settle))
        return NULL;
    if (!PyType_Check(tensor) || !PyType_Check(parameter)
        || !PyType_IsSubtype((PyTypeObject *)tensor, &TensorFields_Type) || take_inexact(inexact) < 0
        || intern(&s_shape, "shape") < 0 || intern(&s_dtype, "dtype") < 0 || intern(&s_num, "num") < 0
        || intern(&s_backends, "backends") < 0 || !(cpu_keys = PyLong_FromLong(KEY_CPU))
        || !(device_keys = PyLong_FromLong(KEY_NPU))) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "expected the tensor classes and at most 8 inexact types");
        return NULL;
    }
    PyObject *kept[] = {settle,    explain,          as_array, check_writable, type_by_number,
                        bool_type, next_sequence_nr, tensor,   parameter,      array};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]); /* for the life of the process */
    tensor_class = (PyTypeObject *)tensor;
    parameter_class = (PyTypeObject *)parameter;
    array_class = (PyTypeObject *)array;
    reads_arrays = known;
    node_set_default_type(default_type);
    Py_RETURN_NONE;
}
