/* What calls of operators need to know of the process, the thread and the package. */
#include "call.h"
#include "modes.h"
#include "recorder/inline.h"

PyTypeObject *tensor_class, *parameter_class, *array_class;
PyObject *settle, *explain, *as_array, *check_writable, *type_by_numpy_id, *bool_type, *cpu_device, *resolve_device;
PyObject *next_sequence_nr;
long mode_word;
Core *active_core;
static PyObject *device_keys[KEY_END + 1]; /* keys of tensors without gradient: 0, then those of the devices by bit */
static PyObject *s_shape;
static PyObject *inexact_types[32];
static int inexact_count;
static bool reads_arrays;

static _Thread_local bool grad_is_off THREAD_LOCAL_MODEL;
static PyObject *space, *thread_state, *s_mode, *s_grad;
static long threads_without_grad;
static bool overridden; /* whether a subclass of Tensor exists that is asked before operators */

/* --- the thread's and the process's state */
/* The modes change in C, in one go: an interrupt in the midst of a change would leave the thread without gradients for
 * good. */
int modes_set_bit(long bit, bool on)
{
    mode_word = on ? mode_word | bit : mode_word & ~bit;
    PyObject *value = PyLong_FromLong(mode_word);
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
    bool before = !grad_is_off; /* only this function changes the thread's `grad` */
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

PyObject *calls_observe(PyObject *module, PyObject *observer)
{
    /* observe(observer): who is told from now on; None for nobody. */
    (void)module;
    Core *core = PyObject_TypeCheck(observer, &Core_Type) ? (Core *)observer : NULL;
    Py_XINCREF(core);
    Py_XSETREF(active_core, core);
    Py_RETURN_NONE;
}

Core *calls_active(void)
{
    return active_core;
}

bool thread_has_no_grad(void)
{
    return mode_word & KEY_NO_GRAD && grad_is_off;
}

bool asks_subclasses(void)
{
    return overridden;
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

PyObject *tuple_of_sizes(const Py_ssize_t *sizes, int count)
{
    PyObject *made = PyTuple_New(count);
    for (int i = 0; made && i < count; i++) {
        PyObject *size = PyLong_FromSsize_t(sizes[i]);
        if (size)
            PyTuple_SET_ITEM(made, i, size);
        else
            Py_CLEAR(made);
    }
    return made;
}

PyObject *shape_of(PyObject *array)
{
    const ArrayFields *fields = fields_of(array);
    return fields ? tuple_of_sizes(fields->dimensions, fields->nd) : PyObject_GetAttr(array, s_shape);
}

bool is_plain_call(void)
{
    return !(mode_word & ~(KEY_NO_GRAD | KEY_OBSERVED));
}

PyObject *boxed_key(long key)
{
    return device_keys[key && !(key & (key - 1)) ? 1 + __builtin_ctzl((unsigned long)key) : 0];
}

PyObject *cpu_tensor_keys(void)
{
    return boxed_key(KEY_CPU);
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
    const ArrayFields *fields = fields_of(tensor->array);
    if (!fields || Py_REFCNT(tensor->array) != 1 || PyLong_AsLong(tensor->keys) != KEY_CPU || tensor->device != Py_None
        || (fields->flags & (ARRAY_C_CONTIGUOUS | ARRAY_WRITEABLE)) != (ARRAY_C_CONTIGUOUS | ARRAY_WRITEABLE)
        || !is_last_view(tensor, fields))
        return false;
    for (int i = 0; i < fields->nd; i++)
        if (fields->strides[i] == 0) /* an expanded gradient repeats one element */
            return false;
    return true;
}

bool is_row_major(const Tensor *tensor)
{
    const ArrayFields *fields = fields_of(tensor->array);
    return fields && fields->flags & ARRAY_C_CONTIGUOUS;
}

/* --- what calls need of the package */
static int take_inexact(PyObject *types)
{
    enum { ROOM = sizeof inexact_types / sizeof *inexact_types };
    inexact_count = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types) && i < ROOM; i++)
        inexact_types[inexact_count++] = held(PyTuple_GET_ITEM(types, i));
    return inexact_count == PyTuple_GET_SIZE(types) ? 0 : -1;
}

static int make_keys(void)
{
    for (int bit = 0; bit <= KEY_END; bit++)
        if (!device_keys[bit] && !(device_keys[bit] = PyLong_FromLong(bit ? 1L << (bit - 1) : 0)))
            return -1;
    return s_shape || (s_shape = PyUnicode_InternFromString("shape")) ? 0 : -1;
}

PyObject *calls_setup(PyObject *module, PyObject *args)
{
    /* setup_calls(Tensor, Parameter, ndarray, whether arrays can be read directly, explain, asarray, check_writable,
     * types by numpy's id, bool type, inexact types, sequence, default type, settle, CPU, resolve) */
    PyObject *tensor, *parameter, *array, *inexact, *default_type;
    int known;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOpOOOO!OO!O!OOOO", &tensor, &parameter, &array, &known, &explain, &as_array,
                          &check_writable, &PyDict_Type, &type_by_numpy_id, &bool_type, &PyTuple_Type, &inexact,
                          &PyList_Type, &next_sequence_nr, &default_type, &settle, &cpu_device, &resolve_device))
        return NULL;
    if (!PyType_Check(tensor) || !PyType_Check(parameter)
        || !PyType_IsSubtype((PyTypeObject *)tensor, &TensorFields_Type) || take_inexact(inexact) < 0
        || make_keys() < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "expected the tensor classes and at most 32 inexact types");
        return NULL;
    }
    PyObject *kept[] = {settle,           explain, as_array,  check_writable, type_by_numpy_id, bool_type,
                        next_sequence_nr, tensor,  parameter, array,          cpu_device,       resolve_device};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        Py_INCREF(kept[i]); /* for the life of the process */
    tensor_class = (PyTypeObject *)tensor;
    parameter_class = (PyTypeObject *)parameter;
    array_class = (PyTypeObject *)array;
    reads_arrays = known;
    node_set_default_type(default_type);
    Py_RETURN_NONE;
}
