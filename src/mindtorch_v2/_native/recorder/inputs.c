/* Arguments as integers: shapes, strides, types and values are packed into words, and each packing is described once.
 */
#include "recorder.h"
#include "core/tensor.h"

#include <string.h>

enum { MAX_WORDS = 160, TYPE_COUNT = 32, MAX_DEPTH = 3 };
enum { TENSOR = 1, NONE, TRUE_, FALSE_, INT, FLOAT, COMPLEX, TEXT, LIST, CONSTANT, DEVICE };

static PyTypeObject *tensor_type, *array_type;
static PyTypeObject *device_type, *constant_types[4]; /* of each of the latter's values there is one object, for good */
static PyObject *s_type, *s_index;
static bool layout_known;
static int item_sizes[TYPE_COUNT]; /* by numpy's code of the type; 0 where it is not one of ours */

static int check_sample(PyObject *sample)
{
    /* A sample is (array, data pointer, shape, strides, type code, item size, base). */
    PyObject *array, *shape, *strides, *base;
    unsigned long long data;
    int code, size;
    if (!PyArg_ParseTuple(sample, "OKO!O!iiO", &array, &data, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &code,
                          &size, &base))
        return -1;
    const ArrayFields *fields = (const ArrayFields *)array;
    if (Py_TYPE(array)->tp_basicsize < (Py_ssize_t)sizeof *fields || code < 0 || code >= TYPE_COUNT)
        return 0;
    Py_ssize_t nd = PyTuple_GET_SIZE(shape);
    if ((unsigned long long)(uintptr_t)fields->data != data || fields->nd != nd
        || fields->base != (base == Py_None ? NULL : base))
        return 0;
    for (Py_ssize_t i = 0; i < nd; i++)
        if (fields->dimensions[i] != PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i))
            || fields->strides[i] != PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i)))
            return PyErr_Occurred() ? -1 : 0;
    if (((const DescrFields *)fields->descr)->type_num != code)
        return 0;
    item_sizes[code] = size;
    return 1;
}

int inputs_setup(PyObject *module, PyObject *tensor, PyObject *ndarray, PyObject *samples)
{
    (void)module;
    if (!PyType_Check(tensor) || !PyType_Check(ndarray) || !PyList_Check(samples)) {
        PyErr_SetString(PyExc_TypeError, "expected the tensor type, the array type and a list of samples");
        return -1;
    }
    layout_known = PyList_GET_SIZE(samples) > 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(samples); i++) {
        int fits = check_sample(PyList_GET_ITEM(samples, i));
        if (fits < 0)
            return -1;
        layout_known = layout_known && fits;
    }
    Py_INCREF(tensor);
    Py_XSETREF(tensor_type, (PyTypeObject *)tensor);
    Py_INCREF(ndarray);
    Py_XSETREF(array_type, (PyTypeObject *)ndarray);
    return layout_known;
}

PyObject *inputs_setup_values(PyObject *module, PyObject *args)
{
    /* setup_values(device type, type of constants, ...) */
    (void)module;
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (count < 1 || count > 5)
        return PyErr_Format(PyExc_TypeError, "expected the type of devices and up to 4 types of constants, got %zd",
                            count);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyType_Check(PyTuple_GET_ITEM(args, i)))
            return PyErr_Format(PyExc_TypeError, "expected a type, got %R", PyTuple_GET_ITEM(args, i));
    for (Py_ssize_t i = 1; i < count; i++)
        constant_types[i - 1] = (PyTypeObject *)Py_NewRef(PyTuple_GET_ITEM(args, i)); /* for the life of the process */
    s_type = PyUnicode_InternFromString("type");
    s_index = PyUnicode_InternFromString("index");
    device_type = (PyTypeObject *)Py_NewRef(PyTuple_GET_ITEM(args, 0));
    return s_type && s_index ? Py_NewRef(Py_None) : NULL;
}

/* --- packing */
typedef struct {
    uint64_t word[MAX_WORDS];
    int count;
} Packing;

static bool pack_word(Packing *packing, uint64_t word)
{
    if (packing->count == MAX_WORDS)
        return false;
    packing->word[packing->count++] = word;
    return true;
}

static bool pack_bytes(Packing *packing, const void *data, size_t size)
{
    size_t words = (size + 7) / 8;
    if (words > (size_t)(MAX_WORDS - packing->count))
        return false;
    if (words) {
        packing->word[packing->count + (int)words - 1] = 0;
        memcpy(&packing->word[packing->count], data, size);
    }
    packing->count += (int)words;
    return true;
}

static bool pack_tensor(Packing *packing, PyObject *tensor)
{
    PyObject *array = ((const Tensor *)tensor)->array;
    if (!array || !PyObject_TypeCheck(array, array_type))
        return false;
    const ArrayFields *fields = (const ArrayFields *)array;
    int nd = fields->nd;
    if (packing->count + 1 + 2 * nd > MAX_WORDS)
        return false;
    uint64_t kind = (uint64_t)((const DescrFields *)fields->descr)->type_num, *word = &packing->word[packing->count];
    PyObject *keys = ((const Tensor *)tensor)->keys;
    uint64_t subclass = keys ? (uint64_t)(PyLong_AsLong(keys) & KEY_SUBCLASS) : 0; /* sparse tensors have no strides */
    *word++ = TENSOR | (uint64_t)nd << 8 | subclass << 16 | kind << 32;
    for (int i = 0; i < nd; i++)
        *word++ = (uint64_t)fields->dimensions[i];
    for (int i = 0; i < nd; i++)
        *word++ = (uint64_t)fields->strides[i];
    packing->count += 1 + 2 * nd;
    return true;
}

static bool pack_number(Packing *packing, PyObject *value)
{
    if (PyLong_CheckExact(value)) {
        int overflow;
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow && pack_word(packing, INT) && pack_word(packing, (uint64_t)number);
    }
    if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AS_DOUBLE(value);
        return pack_word(packing, FLOAT) && pack_bytes(packing, &number, sizeof number);
    }
    if (PyComplex_CheckExact(value)) {
        Py_complex number = PyComplex_AsCComplex(value);
        return pack_word(packing, COMPLEX) && pack_bytes(packing, &number, sizeof number);
    }
    if (PyUnicode_CheckExact(value)) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(value, &size);
        if (!text) {
            PyErr_Clear();
            return false;
        }
        return pack_word(packing, TEXT | (uint64_t)size << 8) && pack_bytes(packing, text, (size_t)size);
    }
    return false;
}

static bool pack(Packing *packing, PyObject *value, int depth);

static bool pack_other(Packing *packing, PyObject *value, int depth)
{
    for (size_t i = 0; i < sizeof constant_types / sizeof *constant_types && constant_types[i]; i++)
        if (Py_TYPE(value) == constant_types[i])
            return pack_word(packing, CONSTANT) && pack_word(packing, (uint64_t)(uintptr_t)value);
    if (Py_TYPE(value) != device_type)
        return false;
    PyObject *type = PyObject_GetAttr(value, s_type), *index = type ? PyObject_GetAttr(value, s_index) : NULL;
    bool packed = index && pack_word(packing, DEVICE) && pack(packing, type, depth) && pack(packing, index, depth);
    Py_XDECREF(type);
    Py_XDECREF(index);
    PyErr_Clear();
    return packed;
}

static bool pack(Packing *packing, PyObject *value, int depth)
{
    if (value == Py_None)
        return pack_word(packing, NONE);
    if (PyObject_TypeCheck(value, tensor_type))
        return pack_tensor(packing, value);
    if (value == Py_True || value == Py_False)
        return pack_word(packing, value == Py_True ? TRUE_ : FALSE_);
    if (PyTuple_Check(value) || PyList_CheckExact(value)) {
        Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
        if (depth == MAX_DEPTH || !pack_word(packing, LIST | (uint64_t)count << 8))
            return false;
        for (Py_ssize_t i = 0; i < count; i++)
            if (!pack(packing, PySequence_Fast_GET_ITEM(value, i), depth + 1))
                return false;
        return true;
    }
    return pack_number(packing, value) || pack_other(packing, value, depth);
}

/* --- ids */
PyObject *tuple_of(PyObject *const *items, Py_ssize_t count)
{
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made && i < count; i++)
        PyTuple_SET_ITEM(made, i, held(items[i]));
    return made;
}

static int32_t described(Core *core, PyObject *method, PyObject *op, PyObject *args)
{
    PyObject *table = args ? PyObject_GetAttr((PyObject *)core, names.inputs) : NULL;
    if (!table)
        return -2;
    PyObject *made = op ? PyObject_CallMethodObjArgs(table, method, op, args, NULL)
                        : PyObject_CallMethodObjArgs(table, method, args, NULL);
    Py_DECREF(table);
    if (!made)
        return -2;
    long id = PyLong_AsLong(made);
    Py_DECREF(made);
    return id == -1 && PyErr_Occurred() ? -2 : (int32_t)id;
}

static int32_t describe_items(Core *core, PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *tuple)
{
    PyObject *given = tuple ? held(tuple) : tuple_of(args, count);
    int32_t id = described(core, op ? names.of_op : names.of_values, op, given);
    Py_XDECREF(given);
    return id;
}

int32_t inputs_of_op(Core *core, PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *tuple)
{
    Packing packing;
    packing.count = 0;
    bool packed = layout_known && pack_word(&packing, (uint64_t)(uintptr_t)op);
    for (Py_ssize_t i = 0; packed && i < count; i++)
        packed = pack(&packing, args[i], 0);
    if (!packed)
        return describe_items(core, op, args, count, tuple);
    size_t size = (size_t)packing.count * sizeof packing.word[0];
    BytesKey key = bytes_key(packing.word, size);
    const BytesSlot *known = bytes_find(&core->inputs, key);
    int32_t id = known ? (int32_t)known->value : -1;
    if (!known) {
        uint64_t generation = core->generation;
        id = describe_items(core, op, args, count, tuple);
        if (generation != core->generation)
            return id; /* the recorder began anew meanwhile, with other ids */
        if (id >= 0 && !bytes_add(&core->inputs, key, id)) {
            PyErr_NoMemory();
            return -2;
        }
    }
    return id;
}

int32_t inputs_of_values(Core *core, PyObject *const *values, Py_ssize_t count)
{
    return count ? inputs_of_op(core, NULL, values, count, NULL) : -1;
}

const ArrayFields *array_owner(PyObject *array)
{
    if (!layout_known || !PyObject_TypeCheck(array, array_type))
        return NULL;
    const ArrayFields *fields = (const ArrayFields *)array;
    while (fields->base && PyObject_TypeCheck(fields->base, array_type))
        fields = (const ArrayFields *)fields->base;
    return fields;
}
