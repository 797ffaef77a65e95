/* What a kernel returned, as the op's result: tensors over its arrays. */
#include "call.h"

#include <string.h>

/* The element type that an array has (borrowed), or NULL with an error set. */
static PyObject *type_of_array(PyObject *array)
{
    PyObject *numpy_id;
    const ArrayFields *fields = fields_of(array);
    if (fields)
        numpy_id = PyLong_FromLong(((const DescrFields *)fields->descr)->type_num);
    else {
        PyObject *dtype = PyObject_GetAttrString(array, "dtype");
        numpy_id = dtype ? PyObject_GetAttrString(dtype, "num") : NULL;
        Py_XDECREF(dtype);
    }
    PyObject *found = numpy_id ? PyDict_GetItemWithError(type_by_numpy_id, numpy_id) : NULL;
    if (!found && numpy_id && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, numpy_id);
    Py_XDECREF(numpy_id);
    return found;
}

static PyObject *result_type(const Call *call, const Arguments *arguments, PyObject *array)
{
    if (call->result_type == TYPE_OF_LEAD)
        return ((const Tensor *)arguments->bound[call->lead])->dtype;
    return call->result_type == TYPE_BOOL ? bool_type : type_of_array(array);
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
    Py_INCREF(source->device);
    Py_SETREF(made->device, source->device);
    if (call->is_graph_view) { /* what leaves the graph, as detach does, is not a view for autograd */
        PyObject *base = source->base == Py_None ? (PyObject *)source : source->base;
        PyObject *version = ((Storage *)storage)->version;
        Py_INCREF(base);
        Py_SETREF(made->base, base);
        Py_INCREF(version);
        Py_SETREF(made->view_version, version);
    }
    return 0;
}

/* An array of what the kernel returned (stolen), which may be a numpy scalar. */
static PyObject *whole_array(PyObject *made)
{
    if (Py_TYPE(made) == array_class)
        return made;
    PyObject *array = PyObject_CallOneArg(as_array, made);
    Py_DECREF(made);
    return array;
}

static PyObject *make_tensor(const Call *call, const Arguments *arguments, PyObject *array)
{
    if (!call->is_view && !(array = whole_array(array)))
        return NULL;
    PyObject *dtype = result_type(call, arguments, array);
    Tensor *made = dtype ? tensor_of(array, boxed_key(arguments->keys & KEY_DEVICES), dtype) : NULL;
    Py_DECREF(array);
    if (made && call->is_view && become_view(call, made, (Tensor *)arguments->bound[0]) < 0)
        Py_CLEAR(made);
    return (PyObject *)made;
}

static PyObject *output_tensor(PyObject *array)
{
    if (array == Py_None || !(array = whole_array(held(array))))
        return array == Py_None ? held(array) : NULL;
    PyObject *dtype = type_of_array(array);
    Tensor *made = dtype ? tensor_of(array, cpu_tensor_keys(), dtype) : NULL;
    Py_DECREF(array);
    return (PyObject *)made;
}

/* A plain tuple of tensors over a sequence of arrays (stolen). */
static PyObject *make_several(PyObject *arrays)
{
    PyObject *given = PySequence_Fast(arrays, "a kernel of several outputs returns a tuple");
    Py_DECREF(arrays);
    PyObject *made = given ? PyTuple_New(PySequence_Fast_GET_SIZE(given)) : NULL;
    for (Py_ssize_t i = 0; made && i < PyTuple_GET_SIZE(made); i++) {
        PyObject *output = output_tensor(PySequence_Fast_GET_ITEM(given, i));
        if (output)
            PyTuple_SET_ITEM(made, i, output);
        else
            Py_CLEAR(made);
    }
    Py_XDECREF(given);
    return made;
}

static PyObject *finish_writing(PyObject *target)
{
    Storage *storage = (Storage *)storage_of((Tensor *)target);
    PyObject *next = storage ? PyLong_FromLongLong(PyLong_AsLongLong(storage->version) + 1) : NULL;
    if (!next)
        return NULL;
    Py_SETREF(storage->version, next);
    return held(target);
}

static bool is_python_number(PyObject *made)
{
    return made == Py_None || PyFloat_CheckExact(made) || PyLong_CheckExact(made) || PyBool_Check(made)
           || PyComplex_CheckExact(made);
}

/* Only memory that another array owns can be repeated or read-only. */
int check_target(PyObject *target)
{
    const ArrayFields *fields = fields_of(((Tensor *)target)->array);
    if (fields && !fields->base)
        return 0;
    PyObject *checked = PyObject_CallOneArg(check_writable, target);
    Py_XDECREF(checked);
    return checked ? 0 : -1;
}

int watch_results(PyObject *made)
{
    if (is_tensor(made))
        return watch_memory(((Tensor *)made)->array);
    if (!PyTuple_Check(made) && !PyList_Check(made))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(made); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(made, i);
        if (is_tensor(item) && watch_memory(((Tensor *)item)->array) < 0)
            return -1;
    }
    return 0;
}

/* Several outputs (stolen) in the tuple type of the op. */
static PyObject *named_tuple(const Call *call, PyObject *outputs)
{
    if (!call->tuple_type || !outputs)
        return outputs;
    PyObject *made = PyObject_CallObject(call->tuple_type, outputs);
    Py_DECREF(outputs);
    return made;
}

PyObject *make_result(const Call *call, const Arguments *arguments, PyObject *made)
{
    if (call->makes == MAKES_WRITTEN) {
        Py_DECREF(made);
        made = finish_writing(arguments->bound[0]);
        if (made && arguments->edges && record_write(call, arguments) < 0)
            Py_CLEAR(made);
        return made;
    }
    if (call->makes == MAKES_VALUE && is_python_number(made))
        return made;
    made = call->makes == MAKES_SEVERAL ? make_several(made) : make_tensor(call, arguments, made);
    if (made
        && ((arguments->grad && record_gradient(call, arguments, made) < 0)
            || (arguments->observed && arguments->core->watches_memory && !call->is_view && watch_results(made) < 0)))
        Py_CLEAR(made);
    return named_tuple(call, made);
}

/* --- the order of its elements in memory */
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
bool layouts_differ(const Call *call, const Arguments *arguments)
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
PyObject *settle_order(const Call *call, const Arguments *arguments, PyObject *array)
{
    if (Py_TYPE(array) != array_class) /* a number */
        return array;
    PyObject *operands = tuple_of(arguments->array, call->count);
    PyObject *made = operands ? PyObject_CallFunctionObjArgs(settle, array, operands, NULL) : NULL;
    Py_XDECREF(operands);
    Py_DECREF(array);
    return made;
}

/* --- instead of a result */
/* Puts the error that PyTorch gives instead of the kernel's ValueError. */
void explain_error(const Call *call, const Arguments *arguments)
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
