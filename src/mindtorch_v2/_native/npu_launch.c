/* Launching operators of an Ascend device: the launcher of _backends/npu/launcher.py in C.
 *
 * Operators have many signatures, but on the machines that this is built for integers, pointers and floating-point numbers
 * are passed in registers (and, integers only, on the stack) independently of each other. A call with all integers first and
 * all floating-point numbers after them therefore reaches a function of any order of those. Surplus arguments do no harm. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if !(defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)))
#error "the calling convention is not known here; the launcher in Python is used"
#endif

#define MAX_OPERANDS 18
#define MAX_WORDS 20
#define MAX_REALS 8
#define MAX_DIMS 16
#define MAX_ITEMS 1024

typedef int32_t (*FirstPhase)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                              int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                              double, double, double, double, double, double, double, double);
typedef int32_t (*SecondPhase)(void *, uint64_t, void *, void *);
typedef int32_t (*Destroy)(const void *);

/* What `configure` is given, in this order. */
static struct {
    void *(*create_tensor)(const int64_t *, uint64_t, int32_t, const int64_t *, int64_t, int32_t, const int64_t *, uint64_t, void *);
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
static PyObject *memory_type, *type_codes, *rejected;
static PyObject *name_a, *name_dtype, *name_base, *name_address, *name_nbytes, *name_item, *name_begin, *name_end;

typedef struct { void *object; Destroy destroy; } Made;
typedef struct {
    int64_t words[MAX_WORDS];
    double reals[MAX_REALS];
    Made made[MAX_OPERANDS];
    int word_count, real_count, made_count;
} Call;

static int keep(Call *call, void *object, Destroy destroy) {
    call->words[call->word_count++] = (int64_t)(intptr_t)object;
    call->made[call->made_count++] = (Made){object, destroy};
    if (object == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the libraries could not make an operand");
        return -1;
    }
    return 0;
}

static int type_code(PyObject *dtype, int32_t *code) {
    PyObject *found = PyDict_GetItemWithError(type_codes, dtype);
    if (found == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "not an element type of the device");
        return -1;
    }
    *code = (int32_t)PyLong_AsLong(found);
    return 0;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

/* Start and size in bytes of the device memory that an array views; zeros for none. */
static int find_memory(PyObject *array, int64_t *start, int64_t *nbytes) {
    PyObject *base = PyObject_GetAttr(array, name_base);
    while (base != NULL && base != Py_None && (PyObject *)Py_TYPE(base) != memory_type) {
        PyObject *next = PyObject_GetAttr(base, name_base);
        Py_DECREF(base);
        base = next;
    }
    *start = *nbytes = 0;
    if (base == NULL) return -1;
    if (base == Py_None) {
        Py_DECREF(base);
        return 0;
    }
    PyObject *address = PyObject_GetAttr(base, name_address), *size = PyObject_GetAttr(base, name_nbytes);
    if (address != NULL && size != NULL) {
        *start = PyLong_AsLongLong(address);
        *nbytes = PyLong_AsLongLong(size);
    }
    Py_XDECREF(address);
    Py_XDECREF(size);
    Py_DECREF(base);
    return PyErr_Occurred() ? -1 : 0;
}

static int32_t format_of(int rank) { return rank == 3 ? 47 : rank == 4 ? 0 : rank == 5 ? 30 : 2; }

/* A description of a tensor, or NULL with an exception. The array's memory is the device's: only its address is used. */
static void *describe(PyObject *tensor) {
    PyObject *array = PyObject_GetAttr(tensor, name_a), *dtype = PyObject_GetAttr(tensor, name_dtype);
    Py_buffer view;
    void *made = NULL;
    int32_t code;
    int64_t start, nbytes, dims[MAX_DIMS], strides[MAX_DIMS];
    if (array == NULL || dtype == NULL || type_code(dtype, &code) != 0 || find_memory(array, &start, &nbytes) != 0) goto done;
    if (PyObject_GetBuffer(array, &view, PyBUF_STRIDED_RO) != 0) goto done;
    int64_t item = view.itemsize, distance = start == 0 ? 0 : (int64_t)(intptr_t)view.buf - start;
    if (view.ndim > MAX_DIMS) {
        PyErr_SetString(rejected, "too many dimensions");
    } else if (distance % item != 0) {
        PyErr_SetString(rejected, "the tensor does not begin at a multiple of its elements' size");
    } else {
        for (int i = 0; i < view.ndim; i++) {
            dims[i] = view.shape[i];
            strides[i] = view.strides[i] / item;
        }
        int64_t storage = nbytes / item;
        made = acl.create_tensor(dims, (uint64_t)view.ndim, code, strides, distance / item, format_of(view.ndim), &storage, 1,
                                 (void *)(intptr_t)start);
        if (made == NULL) PyErr_SetString(PyExc_RuntimeError, "the libraries could not describe a tensor");
    }
    PyBuffer_Release(&view);
done:
    Py_XDECREF(array);
    Py_XDECREF(dtype);
    return made;
}

static int add_tensor(Call *call, PyObject *x) {
    void *made = describe(x);
    return made == NULL ? -1 : keep(call, made, acl.destroy_tensor);
}

static int add_list(Call *call, PyObject *x) {
    PyObject *items = PySequence_Fast(x, "a list of tensors is wanted");
    if (items == NULL) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items), count = 0;
    void *made[MAX_ITEMS];
    int status = -1;
    if (n > MAX_ITEMS) {
        PyErr_SetString(rejected, "too many tensors");
        goto done;
    }
    for (; count < n; count++) {
        made[count] = describe(PySequence_Fast_GET_ITEM(items, count));
        if (made[count] == NULL) break;
    }
    if (count == n) status = keep(call, acl.create_list(made, (uint64_t)n), acl.destroy_list); /* destroys the tensors too */
    else while (count > 0) acl.destroy_tensor(made[--count]);
done:
    Py_DECREF(items);
    return status;
}

/* ---- numbers and arrays of them ------------------------------------------------------------------------------------------ */

static int add_scalar(Call *call, PyObject *x) {
    uint8_t truth;
    int64_t whole;
    double real;
    if (PyBool_Check(x)) {
        truth = x == Py_True;
        return keep(call, acl.create_scalar(&truth, 12), acl.destroy_scalar);
    }
    if (PyLong_Check(x)) {
        whole = PyLong_AsLongLong(x);
        if (whole == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            PyErr_SetString(rejected, "a number is too large for the device");
            return -1;
        }
        return keep(call, acl.create_scalar(&whole, 9), acl.destroy_scalar);
    }
    if (!PyFloat_Check(x)) {
        if (PyComplex_Check(x) || !PyObject_HasAttr(x, name_item)) {
            PyErr_Format(rejected, "no device type fits the number %R", x);
            return -1;
        }
        PyObject *plain = PyObject_CallMethodNoArgs(x, name_item); /* a number of numpy's */
        if (plain == NULL) return -1;
        int status = add_scalar(call, plain);
        Py_DECREF(plain);
        return status;
    }
    real = PyFloat_AS_DOUBLE(x);
    return keep(call, acl.create_scalar(&real, 11), acl.destroy_scalar);
}

static int add_array(Call *call, PyObject *x, bool truths) {
    PyObject *items = PySequence_Fast(x, "a sequence of numbers is wanted");
    if (items == NULL) return -1;
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
    if (PyErr_Occurred()) goto done;
    status = truths ? keep(call, acl.create_bools(truth, (uint64_t)n), acl.destroy_bools)
                    : keep(call, acl.create_ints(whole, (uint64_t)n), acl.destroy_ints);
done:
    Py_DECREF(items);
    return status;
}

static int add_word(Call *call, char code, PyObject *x) {
    int64_t value;
    if (code == '?') value = PyObject_IsTrue(x);
    else if (code == 'u') value = (int64_t)PyLong_AsUnsignedLongLongMask(x);
    else value = PyLong_AsLongLong(x);
    call->words[call->word_count++] = value;
    return PyErr_Occurred() ? -1 : 0;
}

static int add_real(Call *call, char code, PyObject *x) {
    double value = PyFloat_AsDouble(x);
    if (value == -1.0 && PyErr_Occurred()) return -1;
    if (code == 'f') { /* a float stands in the low half of a register */
        float narrow = (float)value;
        value = 0;
        memcpy(&value, &narrow, sizeof narrow);
    }
    call->reals[call->real_count++] = value;
    return 0;
}

static int add_operand(Call *call, char code, PyObject *x) {
    if (x == Py_None) {
        call->words[call->word_count++] = 0;
        return 0;
    }
    int32_t type;
    switch (code) {
        case 't': return add_tensor(call, x);
        case 's': return add_scalar(call, x);
        case 'I': return add_array(call, x, false);
        case 'B': return add_array(call, x, true);
        case 'L': return add_list(call, x);
        case 'd': case 'f': return add_real(call, code, x);
        case 'D':
            if (type_code(x, &type) != 0) return -1;
            call->words[call->word_count++] = type;
            return 0;
        default: return add_word(call, code, x);
    }
}

/* ---- launching ------------------------------------------------------------------------------------------------------------- */

static int32_t first_phase(FirstPhase function, const Call *c) {
    const int64_t *w = c->words;
    const double *r = c->reals;
    return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16],
                    w[17], w[18], w[19], r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]);
}

/* Tells whoever watches launches that one begins or ends. */
static int tell(PyObject *watcher, PyObject *method, PyObject *name, PyObject *stream) {
    if (watcher == Py_None) return 0;
    PyObject *answer = PyObject_CallMethodObjArgs(watcher, method, name, stream, NULL);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/* launch(code, first, second, operands, handle of the stream, workspace, watcher, name, stream) -> (phase, status): phase 0
 * if all went well. `workspace(nbytes)` gives an object with an `address`, which lives until the kernel is in the stream;
 * `watcher` is None or has begin(name, stream) and end(name, stream). */
static PyObject *launch(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 9) {
        PyErr_SetString(PyExc_TypeError, "launch() takes 9 arguments");
        return NULL;
    }
    Py_ssize_t length;
    const char *code = PyUnicode_AsUTF8AndSize(args[0], &length);
    if (code == NULL) return NULL;
    FirstPhase first = (FirstPhase)PyLong_AsVoidPtr(args[1]);
    SecondPhase second = (SecondPhase)PyLong_AsVoidPtr(args[2]);
    void *stream = PyLong_AsVoidPtr(args[4]);
    if (!PyTuple_Check(args[3]) || PyTuple_GET_SIZE(args[3]) != length || length > MAX_OPERANDS - 1) {
        PyErr_Format(PyExc_TypeError, "%zd operands are wanted", length);
        return NULL;
    }
    Call call;
    memset(&call, 0, sizeof call);
    PyObject *workspace = NULL, *result = NULL;
    uint64_t size = 0;
    void *executor = NULL, *address = NULL;
    int phase = 0;
    int32_t status = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        if (add_operand(&call, code[i], PyTuple_GET_ITEM(args[3], i)) != 0) goto done;
    }
    call.words[call.word_count++] = (int64_t)(intptr_t)&size;
    call.words[call.word_count++] = (int64_t)(intptr_t)&executor;
    Py_BEGIN_ALLOW_THREADS
    status = first_phase(first, &call);
    Py_END_ALLOW_THREADS
    phase = 1;
    if (status == 0) {
        if (size > 0) {
            PyObject *wanted = PyLong_FromUnsignedLongLong(size), *where;
            workspace = wanted == NULL ? NULL : PyObject_CallOneArg(args[5], wanted);
            Py_XDECREF(wanted);
            if (workspace == NULL || (where = PyObject_GetAttr(workspace, name_address)) == NULL) goto done;
            address = PyLong_AsVoidPtr(where);
            Py_DECREF(where);
        }
        if (tell(args[6], name_begin, args[7], args[8]) != 0) goto done;
        Py_BEGIN_ALLOW_THREADS
        status = second(address, size, executor, stream);
        Py_END_ALLOW_THREADS
        if (tell(args[6], name_end, args[7], args[8]) != 0) goto done;
        phase = status == 0 ? 0 : 2;
    }
    result = Py_BuildValue("(ii)", phase, status);
done:
    for (int i = 0; i < call.made_count; i++) call.made[i].destroy(call.made[i].object);
    Py_XDECREF(workspace);
    return result;
}

/* configure(addresses of the ten functions above, type of device memory, {element type: code}, exception for rejected operands) */
static PyObject *configure(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *addresses, *memory, *types, *exception;
    if (!PyArg_ParseTuple(args, "O!OO!O", &PyTuple_Type, &addresses, &memory, &PyDict_Type, &types, &exception)) return NULL;
    if (PyTuple_GET_SIZE(addresses) * sizeof(void *) != sizeof acl) {
        PyErr_SetString(PyExc_TypeError, "the wrong number of functions");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(addresses); i++) {
        void *address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, i));
        if (PyErr_Occurred()) return NULL;
        memcpy((char *)&acl + (size_t)i * sizeof address, &address, sizeof address);
    }
    Py_XSETREF(memory_type, Py_NewRef(memory));
    Py_XSETREF(type_codes, Py_NewRef(types));
    Py_XSETREF(rejected, Py_NewRef(exception));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"configure", configure, METH_VARARGS, "Tells the module the libraries' functions."},
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL, "Puts one operator into a stream."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_npu_launch", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__npu_launch(void) {
    struct { PyObject **where; const char *text; } names[] = {
        {&name_a, "_a"}, {&name_dtype, "dtype"}, {&name_base, "base"}, {&name_address, "address"}, {&name_nbytes, "nbytes"},
        {&name_item, "item"}, {&name_begin, "begin"}, {&name_end, "end"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((*names[i].where = PyUnicode_InternFromString(names[i].text)) == NULL) return NULL;
    }
    return PyModule_Create(&module);
}
