/* Numpy arrays as the kernels see them, through the buffer protocol. */
#include "kernels.h"
#include "common/numpy_arrays.h"

#include <stddef.h>

#define LARGE 8192 /* elements */

static PyTypeObject *ndarray_type, *dtype_type;
static PyObject *numpy_empty, *numpy_zeros, *numpy_empty_like, *dtype_float, *dtype_double, *dtype_long;

static bool layout_known; /* whether arrays lie in memory as numpy_arrays.h says */

static char type_of(const char *format, Py_ssize_t itemsize)
{
    if (format == NULL || format[0] == '\0' || format[1] != '\0')
        return 'x';
    switch (format[0]) {
    case 'f':
    case 'd':
        return format[0];
    case 'l':
    case 'q':
    case 'i':
        return itemsize == 8 ? 'l' : itemsize == 4 ? 'i' : 'x';
    default:
        return 'x';
    }
}

void array_open(Arrays *all, Array *array, PyObject *object, bool writable)
{
    memset(array, 0, sizeof *array);
    if (all->failed || all->count == MAX_ARRAYS || Py_TYPE(object) != ndarray_type) {
        all->failed = true;
        return;
    }
    Py_buffer *buffer = &all->buffers[all->count];
    if (PyObject_GetBuffer(object, buffer, writable ? PyBUF_RECORDS : PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        all->failed = true;
        return;
    }
    all->count++;
    array->data = buffer->buf;
    array->ndim = buffer->ndim;
    array->shape = buffer->shape;
    array->strides = buffer->strides;
    array->itemsize = buffer->itemsize;
    array->size = buffer->itemsize ? buffer->len / buffer->itemsize : 0;
    array->type = type_of(buffer->format, buffer->itemsize);
    bool aligned = buffer->itemsize && (uintptr_t)buffer->buf % (uintptr_t)buffer->itemsize == 0;
    array->contiguous = aligned && PyBuffer_IsContiguous(buffer, 'C');
}

void arrays_close(Arrays *all)
{
    while (all->count > 0)
        PyBuffer_Release(&all->buffers[--all->count]);
}

Py_ssize_t array_size(PyObject *object)
{
    if (Py_TYPE(object) != ndarray_type || !layout_known)
        return 0;
    const ArrayFields *fields = (const ArrayFields *)object;
    Py_ssize_t size = 1;
    for (int i = 0; i < fields->nd; i++)
        size *= fields->dimensions[i];
    return size;
}

bool array_is_large(PyObject *object)
{
    return array_size(object) >= LARGE;
}

bool arrays_match(PyObject *a, PyObject *b)
{
    const ArrayFields *first = (const ArrayFields *)a, *second = (const ArrayFields *)b;
    return first->nd == second->nd
           && memcmp(first->dimensions, second->dimensions, (size_t)first->nd * sizeof *first->dimensions) == 0;
}

bool array_has_known_layout(PyObject *object)
{
    return layout_known && Py_TYPE(object) == ndarray_type;
}

/* numpy has a class for every type, those of ml_dtypes included. */
bool dtype_has_known_layout(PyObject *object)
{
    return layout_known && PyType_IsSubtype(Py_TYPE(object), dtype_type);
}

PyObject *array_empty_like(PyObject *array, PyObject *dtype)
{
    PyObject *arguments[] = {array, dtype};
    return PyObject_Vectorcall(numpy_empty_like, arguments, 2, NULL);
}

bool same_shape(const Array *a, const Array *b)
{
    return a->ndim == b->ndim && (a->ndim == 0 || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
}

bool apart(const Array *a, const Array *b)
{
    return a->data == b->data || a->data + a->size * a->itemsize <= b->data
           || b->data + b->size * b->itemsize <= a->data;
}

bool is_like(const Array *b, const Array *a)
{
    return b->contiguous && b->type == a->type && same_shape(b, a);
}

PyObject *array_new(Arrays *all, Array *array, int ndim, const Py_ssize_t *shape, char type, bool zeroed)
{
    PyObject *sizes = PyTuple_New(ndim);
    if (sizes == NULL)
        return NULL;
    for (int i = 0; i < ndim; i++) {
        PyObject *n = PyLong_FromSsize_t(shape[i]);
        if (n == NULL) {
            Py_DECREF(sizes);
            return NULL;
        }
        PyTuple_SET_ITEM(sizes, i, n);
    }
    PyObject *arguments[] = {sizes, type == 'f' ? dtype_float : type == 'd' ? dtype_double : dtype_long};
    PyObject *made = PyObject_Vectorcall(zeroed ? numpy_zeros : numpy_empty, arguments, 2, NULL);
    Py_DECREF(sizes);
    if (made == NULL)
        return NULL;
    array_open(all, array, made, true);
    if (all->failed) {
        Py_DECREF(made);
        PyErr_SetString(PyExc_RuntimeError, "numpy.empty made an array that cannot be written");
        return NULL;
    }
    return made;
}

static int learn_layout(void)
{
    PyObject *array = PyObject_CallFunction(numpy_zeros, "((ii)O)", 3, 5, dtype_float);
    if (array == NULL)
        return -1;
    const ArrayFields *fields = (const ArrayFields *)array;
    layout_known = Py_TYPE(array)->tp_basicsize >= (Py_ssize_t)offsetof(ArrayFields, weak_references) && fields->nd == 2
                   && fields->dimensions != NULL && fields->dimensions[0] == 3 && fields->dimensions[1] == 5
                   && fields->strides[0] == 20 && fields->strides[1] == 4 && fields->descr == dtype_float
                   && ((const DescrFields *)dtype_float)->type == 'f' && (fields->flags & ARRAY_C_CONTIGUOUS)
                   && (fields->flags & ARRAY_ALIGNED) && (fields->flags & ARRAY_WRITEABLE);
    Py_DECREF(array);
    return 0;
}

int arrays_init(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL)
        return -1;
    ndarray_type = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
    dtype_type = (PyTypeObject *)PyObject_GetAttrString(numpy, "dtype");
    numpy_empty = PyObject_GetAttrString(numpy, "empty");
    numpy_zeros = PyObject_GetAttrString(numpy, "zeros");
    numpy_empty_like = PyObject_GetAttrString(numpy, "empty_like");
    dtype_float = PyObject_CallMethod(numpy, "dtype", "s", "float32");
    dtype_double = PyObject_CallMethod(numpy, "dtype", "s", "float64");
    dtype_long = PyObject_CallMethod(numpy, "dtype", "s", "int64");
    Py_DECREF(numpy);
    if (!ndarray_type || !dtype_type || !numpy_empty || !numpy_zeros || !numpy_empty_like || !dtype_float
        || !dtype_double || !dtype_long)
        return -1;
    return learn_layout();
}
