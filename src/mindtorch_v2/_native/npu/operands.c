/* Operands of the libraries' operators, made from tensors and numbers. */
#include "npu.h"
#include "common/hash_map.h"

#include <string.h>

#define MAX_ITEMS 1024

/* What `operands_configure` is given, in this order. */
static struct {
    void *(*create_tensor)(const int64_t *, uint64_t, int32_t, const int64_t *, int64_t, int32_t, const int64_t *,
                           uint64_t, void *);
    Destroy destroy_tensor;
    void *(*create_scalar)(void *, int32_t);
    Destroy destroy_scalar;
    void *(*create_ints)(const int64_t *, uint64_t);
    Destroy destroy_ints;
    void *(*create_bools)(const uint8_t *, uint64_t);
    Destroy destroy_bools;
    void *(*create_list)(void *const *, uint64_t);
    Destroy destroy_list;
} acl;
static HashMap types; /* of ElementType, by the address of our type objects, which live for good */
static PyTypeObject *array_type;
PyObject *rejected;
struct NpuNames npu_names;

/* ---- element types */
MAP_INLINE bool type_is_free(const void *slot)
{
    return ((const ElementType *)slot)->dtype == NULL;
}

MAP_INLINE uint64_t type_hash(const void *slot)
{
    return hash_pointer(((const ElementType *)slot)->dtype);
}

MAP_INLINE bool type_is(const void *slot, const void *dtype)
{
    return ((const ElementType *)slot)->dtype == dtype;
}

#define TYPE_KIND ((MapKind){sizeof(ElementType), 64, type_is_free, type_hash, type_is})

const ElementType *element_type(PyObject *dtype)
{
    const ElementType *found = map_find(&types, TYPE_KIND, hash_pointer(dtype), dtype);
    if (found != NULL)
        return found;
    PyErr_Format(PyExc_TypeError, "%R is not an element type of the device", dtype);
    return NULL;
}

/* ---- tensors */
static int keep(Operands *operands, void *object, Destroy destroy)
{
    if (object == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the libraries could not make an operand");
        return -1;
    }
    operands->words[operands->word_count++] = (int64_t)(intptr_t)object;
    operands->made[operands->made_count++] = (Made){object, destroy};
    return 0;
}

Memory *memory_under(const ArrayFields *array)
{
    PyObject *base = array->base;
    while (base != NULL && Py_TYPE(base) != &Memory_Type) {
        if (!PyObject_TypeCheck(base, array_type))
            return NULL;
        base = ((const ArrayFields *)base)->base;
    }
    return (Memory *)base;
}

static int32_t format_of(int rank)
{
    return rank == 3 ? 47 : rank == 4 ? 0 : rank == 5 ? 30 : 2;
}

/* A description of an array over device memory; NULL with an exception. Of the memory only the address is used. */
static void *describe(const ArrayFields *array, const ElementType *type)
{
    const Memory *memory = memory_under(array);
    int64_t start = memory == NULL ? 0 : memory->address, dims[MAX_DIMS], strides[MAX_DIMS], item = type->item;
    int64_t distance = memory == NULL ? 0 : (int64_t)(intptr_t)array->data - start;
    if (memory != NULL && memory_is_lost(memory)) {
        PyErr_SetString(PyExc_RuntimeError, "the tensor is lost: its device was reset after it was made");
        return NULL;
    }
    if (array->nd > MAX_DIMS) {
        PyErr_SetString(rejected, "too many dimensions");
        return NULL;
    }
    if (distance % item != 0) {
        PyErr_SetString(rejected, "the tensor does not begin at a multiple of its elements' size");
        return NULL;
    }
    for (int i = 0; i < array->nd; i++) {
        dims[i] = array->dimensions[i];
        strides[i] = array->strides[i] / item;
    }
    int64_t storage = memory == NULL ? 0 : memory->nbytes / item;
    void *made = acl.create_tensor(dims, (uint64_t)array->nd, type->code, strides, distance / item,
                                   format_of(array->nd), &storage, 1, (void *)(intptr_t)start);
    if (made == NULL)
        PyErr_SetString(PyExc_RuntimeError, "the libraries could not describe a tensor");
    return made;
}

static void *describe_tensor(PyObject *tensor)
{
    PyObject *array = PyObject_GetAttr(tensor, npu_names.array), *dtype = PyObject_GetAttr(tensor, npu_names.dtype);
    void *made = NULL;
    const ElementType *type = array == NULL || dtype == NULL ? NULL : element_type(dtype);
    if (type != NULL && PyObject_TypeCheck(array, array_type))
        made = describe((const ArrayFields *)array, type);
    else if (type != NULL)
        PyErr_SetString(PyExc_TypeError, "a tensor over an array is wanted");
    Py_XDECREF(array);
    Py_XDECREF(dtype);
    return made;
}

int add_array_tensor(Operands *operands, const ArrayFields *array, const ElementType *type)
{
    void *made = describe(array, type);
    return made == NULL ? -1 : keep(operands, made, acl.destroy_tensor);
}

int add_memory_tensor(Operands *operands, const Memory *memory, int nd, const int64_t *dims, const int64_t *strides,
                      const ElementType *type)
{
    int64_t storage = memory->nbytes / type->item;
    return keep(operands,
                acl.create_tensor(dims, (uint64_t)nd, type->code, strides, 0, format_of(nd), &storage, 1,
                                  (void *)(intptr_t)memory->address),
                acl.destroy_tensor);
}

static int add_list(Operands *operands, PyObject *x)
{
    PyObject *items = PySequence_Fast(x, "a list of tensors is wanted");
    if (items == NULL)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items), count = 0;
    void *made[MAX_ITEMS];
    int status = -1;
    if (n > MAX_ITEMS) {
        PyErr_SetString(rejected, "too many tensors");
        goto done;
    }
    for (; count < n; count++) {
        made[count] = describe_tensor(PySequence_Fast_GET_ITEM(items, count));
        if (made[count] == NULL)
            break;
    }
    if (count == n)
        status = keep(operands, acl.create_list(made, (uint64_t)n), acl.destroy_list); /* destroys the tensors too */
    else
        while (count > 0)
            acl.destroy_tensor(made[--count]);
done:
    Py_DECREF(items);
    return status;
}

/* ---- numbers and arrays of them */
static int add_scalar(Operands *operands, PyObject *x)
{
    uint8_t truth;
    int64_t whole;
    double real;
    if (PyBool_Check(x)) {
        truth = x == Py_True;
        return keep(operands, acl.create_scalar(&truth, 12), acl.destroy_scalar);
    }
    if (PyLong_Check(x)) {
        whole = PyLong_AsLongLong(x);
        if (whole == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            PyErr_SetString(rejected, "a number is too large for the device");
            return -1;
        }
        return keep(operands, acl.create_scalar(&whole, 9), acl.destroy_scalar);
    }
    if (!PyFloat_Check(x)) {
        if (PyComplex_Check(x) || !PyObject_HasAttr(x, npu_names.item)) {
            PyErr_Format(rejected, "no device type fits the number %R", x);
            return -1;
        }
        PyObject *plain = PyObject_CallMethodNoArgs(x, npu_names.item); /* a number of numpy's */
        if (plain == NULL)
            return -1;
        int status = add_scalar(operands, plain);
        Py_DECREF(plain);
        return status;
    }
    real = PyFloat_AS_DOUBLE(x);
    return keep(operands, acl.create_scalar(&real, 11), acl.destroy_scalar);
}

static int add_array(Operands *operands, PyObject *x, bool truths)
{
    PyObject *items = PySequence_Fast(x, "a sequence of numbers is wanted");
    if (items == NULL)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int64_t whole[64];
    uint8_t truth[64];
    int status = -1;
    if (n > 64) {
        PyErr_SetString(rejected, "too many numbers");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        whole[i] = truths ? PyObject_IsTrue(item) : PyLong_AsLongLong(item);
        truth[i] = whole[i] != 0;
    }
    if (PyErr_Occurred())
        goto done;
    status = truths ? keep(operands, acl.create_bools(truth, (uint64_t)n), acl.destroy_bools)
                    : keep(operands, acl.create_ints(whole, (uint64_t)n), acl.destroy_ints);
done:
    Py_DECREF(items);
    return status;
}

static int add_word(Operands *operands, char code, PyObject *x)
{
    int64_t value;
    if (code == '?')
        value = PyObject_IsTrue(x);
    else if (code == 'u')
        value = (int64_t)PyLong_AsUnsignedLongLongMask(x);
    else
        value = PyLong_AsLongLong(x);
    operands->words[operands->word_count++] = value;
    return value == -1 && PyErr_Occurred() ? -1 : 0;
}

static int add_real(Operands *operands, char code, PyObject *x)
{
    double value = PyFloat_AsDouble(x);
    if (value == -1.0 && PyErr_Occurred())
        return -1;
    if (code == 'f') { /* a float stands in the low half of a register */
        float narrow = (float)value;
        value = 0;
        memcpy(&value, &narrow, sizeof narrow);
    }
    operands->reals[operands->real_count++] = value;
    return 0;
}

int add_operand(Operands *operands, char code, PyObject *x)
{
    if (x == Py_None) {
        operands->words[operands->word_count++] = 0;
        return 0;
    }
    const ElementType *type;
    void *made;
    switch (code) {
    case 't':
        made = describe_tensor(x);
        return made == NULL ? -1 : keep(operands, made, acl.destroy_tensor);
    case 's':
        return add_scalar(operands, x);
    case 'I':
        return add_array(operands, x, false);
    case 'B':
        return add_array(operands, x, true);
    case 'L':
        return add_list(operands, x);
    case 'd':
    case 'f':
        return add_real(operands, code, x);
    case 'D':
        if ((type = element_type(x)) == NULL)
            return -1;
        operands->words[operands->word_count++] = type->code;
        return 0;
    default:
        return add_word(operands, code, x);
    }
}

void drop_operands(Operands *operands)
{
    for (int i = 0; i < operands->made_count; i++)
        operands->made[i].destroy(operands->made[i].object);
}

/* ---- setting up */
/* Whether an array's fields lie where they are looked for: a sample is (array, address, shape, strides, base,
 * writeable). */
static int fits(PyObject *sample)
{
    PyObject *array, *shape, *strides, *base;
    unsigned long long data;
    int writeable;
    if (!PyArg_ParseTuple(sample, "OKO!O!Op", &array, &data, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &base,
                          &writeable))
        return -1;
    const ArrayFields *fields = (const ArrayFields *)array;
    Py_ssize_t nd = PyTuple_GET_SIZE(shape);
    if (Py_TYPE(array)->tp_basicsize < (Py_ssize_t)sizeof *fields || (unsigned long long)(uintptr_t)fields->data != data
        || fields->nd != nd || fields->base != (base == Py_None ? NULL : base)
        || ((fields->flags & ARRAY_WRITEABLE) != 0) != (writeable != 0)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < nd; i++) {
        if (fields->dimensions[i] != PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i))
            || fields->strides[i] != PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i))) {
            return PyErr_Occurred() ? -1 : 0;
        }
    }
    return 1;
}

/* configure(addresses of the ten functions above, [(type, numpy's, code, size), ...], exception for rejected operands,
 * type of arrays, samples of arrays) -> whether arrays can be read */
PyObject *operands_configure(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *addresses, *kinds, *exception, *arrays, *samples;
    if (!PyArg_ParseTuple(args, "O!O!OO!O!", &PyTuple_Type, &addresses, &PyList_Type, &kinds, &exception, &PyType_Type,
                          &arrays, &PyList_Type, &samples)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(addresses) * sizeof(void *) != sizeof acl) {
        PyErr_SetString(PyExc_TypeError, "the wrong number of functions");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        int good = fits(PyList_GET_ITEM(samples, i));
        if (good < 0)
            return NULL;
        if (!good)
            Py_RETURN_FALSE;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(addresses); i++) {
        void *address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, i));
        if (PyErr_Occurred())
            return NULL;
        memcpy((char *)&acl + (size_t)i * sizeof address, &address, sizeof address);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(kinds); i++) {
        ElementType made;
        long long item;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(kinds, i), "OOiL", &made.dtype, &made.descr, &made.code, &item))
            return NULL;
        if (!map_reserve(&types, TYPE_KIND))
            return PyErr_NoMemory();
        ElementType *slot = map_slot(&types, TYPE_KIND, hash_pointer(made.dtype), made.dtype);
        if (slot->dtype == NULL) {
            made.item = item;
            Py_INCREF(made.dtype);
            Py_INCREF(made.descr);
            *slot = made;
            types.used++;
        }
    }
    Py_XSETREF(rejected, Py_NewRef(exception));
    Py_INCREF(arrays);
    array_type = (PyTypeObject *)arrays;
    Py_RETURN_TRUE;
}
