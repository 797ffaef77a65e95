/* numpy arrays as the library sees them. Types that the buffer protocol does not know (bfloat16) are read too, so the
   published layout of arrays is used, as in core/; arrays_setup checks it against a real array. */
#include "onednn.h"
#include "common/numpy_arrays.h"

static PyTypeObject *ndarray_type;
static PyObject *numpy_empty;
static PyObject *dtypes[TYPE_U8 + 1];
static bool readable;

static bool is_bfloat16(const DescrFields *descr)
{
    if (dtypes[TYPE_BF16] == NULL) {
        const char *name = strrchr(descr->typeobj->tp_name, '.');
        if (strcmp(name ? name + 1 : descr->typeobj->tp_name, "bfloat16") == 0)
            dtypes[TYPE_BF16] = Py_NewRef((PyObject *)descr);
    }
    return dtypes[TYPE_BF16] == (const PyObject *)descr;
}

static int type_of(const DescrFields *descr)
{
    if (descr->byteorder == '>')
        return 0;
    switch (descr->type) {
    case 'f':
        return TYPE_F32;
    case 'e':
        return TYPE_F16;
    case 'E': /* of a library; its type object is made once */
        return is_bfloat16(descr) ? TYPE_BF16 : 0;
    default:
        return 0;
    }
}

static int64_t width(int type)
{
    return type == TYPE_F32 ? 4 : type == TYPE_U8 ? 1 : 2;
}

bool view_read(View *view, PyObject *object)
{
    if (Py_TYPE(object) != ndarray_type || !readable)
        return false;
    const ArrayFields *array = (const ArrayFields *)object;
    view->type = type_of((const DescrFields *)array->descr);
    if (!view->type || array->nd > DIMS || array->nd < 1 || !(array->flags & ARRAY_ALIGNED))
        return false;
    view->data = array->data;
    view->channels_last = false;
    view->ndim = array->nd;
    view->size = 1;
    int64_t bytes = width(view->type);
    for (int i = 0; i < array->nd; i++) {
        view->dims[i] = array->dimensions[i];
        view->strides[i] = array->strides[i] / bytes;
        view->size *= array->dimensions[i];
        if (array->strides[i] < 0 || array->strides[i] % bytes)
            return false;
    }
    return view->size > 0;
}

/* Strides of dimensions of one element mean nothing. */
bool is_contiguous(const View *view)
{
    int64_t step = 1;
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (view->dims[i] != 1 && view->strides[i] != step)
            return false;
        step *= view->dims[i];
    }
    return true;
}

/* As is_channels_last of _ops/movement_shapes.py, which says why. */
bool is_channels_last(const View *view)
{
    int n = view->ndim;
    const int64_t *strides = view->strides;
    if ((n != 4 && n != 5) || strides[n - 1] < strides[1] || strides[1] == 0)
        return false;
    int64_t least = 0;
    for (int i = 0; i < n; i++) {
        int d = i == 0 ? 1 : i == n - 1 ? 0 : n - i; /* channels, space from the last dimension on, batch */
        if (strides[d] < least || (d == 0 && least == strides[1]))
            return false;
        least = strides[d] * view->dims[d];
    }
    return true;
}

void view_lay_out(View *view, bool channels_last)
{
    int64_t step = 1;
    view->channels_last = channels_last;
    if (channels_last) {
        view->strides[1] = 1;
        step = view->dims[1];
    }
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (channels_last && i == 1)
            continue;
        view->strides[i] = step;
        step *= view->dims[i];
    }
}

View view_like(const View *view)
{
    View made = *view;
    made.data = NULL;
    view_lay_out(&made, false);
    return made;
}

static PyObject *shape_tuple(Py_ssize_t ndim, const int64_t *shape)
{
    PyObject *sizes = PyTuple_New(ndim);
    for (Py_ssize_t i = 0; sizes != NULL && i < ndim; i++) {
        PyObject *n = PyLong_FromLongLong(shape[i]);
        if (n == NULL)
            Py_CLEAR(sizes);
        else
            PyTuple_SET_ITEM(sizes, i, n);
    }
    return sizes;
}

static PyObject *new_array(Py_ssize_t ndim, const int64_t *shape, int type)
{
    PyObject *sizes = shape_tuple(ndim, shape);
    if (sizes == NULL)
        return NULL;
    PyObject *arguments[] = {sizes, dtypes[type]};
    PyObject *made = PyObject_Vectorcall(numpy_empty, arguments, 2, NULL);
    Py_DECREF(sizes);
    return made;
}

PyObject *view_allocate_as(View *view, Py_ssize_t ndim, const int64_t *shape)
{
    PyObject *made = new_array(ndim, shape, view->type);
    if (made != NULL)
        view->data = ((const ArrayFields *)made)->data;
    return made;
}

PyObject *view_allocate(View *view)
{
    if (!view->channels_last)
        return view_allocate_as(view, view->ndim, view->dims);
    int64_t moved[DIMS]; /* (N, ..., C) in memory, seen as (N, C, ...) */
    moved[0] = view->dims[0];
    memcpy(moved + 1, view->dims + 2, (size_t)(view->ndim - 2) * sizeof *moved);
    moved[view->ndim - 1] = view->dims[1];
    PyObject *made = view_allocate_as(view, view->ndim, moved);
    PyObject *axes = made ? PyTuple_New(view->ndim) : NULL;
    for (int i = 0; axes != NULL && i < view->ndim; i++)
        PyTuple_SET_ITEM(axes, i, PyLong_FromLong(i == 0 ? 0 : i == 1 ? view->ndim - 1 : i - 1));
    PyObject *turned = axes ? PyObject_CallMethod(made, "transpose", "(O)", axes) : NULL;
    Py_XDECREF(axes);
    Py_XDECREF(made);
    return turned;
}

/* Whether arrays lie in memory as this file reads them. */
static bool layout_is_known(void)
{
    int64_t shape[2] = {2, 3};
    PyObject *probe = new_array(2, shape, TYPE_F32);
    if (probe == NULL)
        return false;
    const ArrayFields *array = (const ArrayFields *)probe;
    bool known = array->nd == 2 && array->dimensions[0] == 2 && array->dimensions[1] == 3 && array->strides[0] == 12
                 && array->strides[1] == 4 && array->descr == dtypes[TYPE_F32]
                 && ((const DescrFields *)array->descr)->type == 'f' && array->flags & ARRAY_ALIGNED
                 && array->flags & ARRAY_WRITEABLE;
    Py_DECREF(probe);
    return known;
}

int arrays_setup(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL)
        return -1;
    ndarray_type = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
    numpy_empty = PyObject_GetAttrString(numpy, "empty");
    dtypes[TYPE_F32] = PyObject_CallMethod(numpy, "dtype", "s", "float32");
    dtypes[TYPE_F16] = PyObject_CallMethod(numpy, "dtype", "s", "float16");
    dtypes[TYPE_U8] = PyObject_CallMethod(numpy, "dtype", "s", "uint8");
    Py_DECREF(numpy);
    if (!ndarray_type || !numpy_empty || !dtypes[TYPE_F32] || !dtypes[TYPE_F16] || !dtypes[TYPE_U8])
        return -1;
    readable = layout_is_known();
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *scratch_new(int64_t bytes, char **data)
{
    View view = {.type = TYPE_U8};
    bytes += 64;
    PyObject *made = view_allocate_as(&view, 1, &bytes);
    if (made != NULL)
        *data = (char *)(((uintptr_t)view.data + 63) & ~(uintptr_t)63);
    return made;
}
