/* Launching operators of an Ascend device: the launcher of _backends/npu/launcher.py in C.
 *
 * Operators have many signatures, but on the machines that this is built for integers, pointers and floating-point
 * numbers are passed in registers (and, integers only, on the stack) independently of each other. A call with all
 * integers first and all floating-point numbers after them therefore reaches a function of any order of those. Surplus
 * arguments do no harm. */
#include "npu.h"
#include "common/sources.h"

#include <string.h>

#if !(defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)))
#error "the calling convention is not known here; the launcher in Python is used"
#endif

/* ---- the calling thread's device and streams */
typedef struct {
    int64_t handle;
    int32_t id;
} StreamRef;
static _Thread_local int bound = -1;                /* the device that the libraries know of */
static _Thread_local StreamRef chosen[MAX_DEVICES]; /* handle 0: the default one */
static StreamRef defaults[MAX_DEVICES];
static PyObject *take_from_allocator; /* take(nbytes, device) -> Memory */

bool current_stream(int device, int64_t *handle, int32_t *id)
{
    if (device < 0 || device >= MAX_DEVICES || bound != device)
        return false;
    const StreamRef *found = chosen[device].handle != 0 ? &chosen[device] : &defaults[device];
    *handle = found->handle;
    *id = found->id;
    return found->handle != 0;
}

static PyObject *set_bound(PyObject *self, PyObject *index)
{
    (void)self;
    long wanted = PyLong_AsLong(index);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    bound = (int)wanted;
    Py_RETURN_NONE;
}

/* set_stream(device, handle, number, is the default): the calling thread's stream, or everybody's */
static PyObject *set_stream(PyObject *self, PyObject *args)
{
    (void)self;
    int device, id, is_default;
    long long handle;
    if (!PyArg_ParseTuple(args, "iLip", &device, &handle, &id, &is_default))
        return NULL;
    if (device >= 0 && device < MAX_DEVICES)
        *(is_default ? &defaults[device] : &chosen[device]) = (StreamRef){handle, id};
    Py_RETURN_NONE;
}

/* After a fork the child has no device. The blocks at hand are the parent's: they are left alone. */
static PyObject *forget(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    bound = -1;
    for (int i = 0; i < MAX_DEVICES; i++)
        caches[i] = NULL;
    Py_RETURN_NONE;
}

/* ---- the two phases */
static int32_t first_phase(FirstPhase function, const Operands *operands)
{
    const int64_t *w = operands->words;
    const double *r = operands->reals;
    return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14],
                    w[15], w[16], w[17], w[18], w[19], r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]);
}

PyObject *take_memory(int device, int64_t nbytes, int64_t stream)
{
    Cache *cache = device >= 0 && device < MAX_DEVICES ? caches[device] : NULL;
    Memory *found = cache == NULL ? NULL : cache_take(cache, nbytes, stream);
    if (found != NULL)
        return (PyObject *)found;
    PyObject *made = PyObject_CallFunction(take_from_allocator, "Li", (long long)nbytes, device);
    if (made != NULL && Py_TYPE(made) != &Memory_Type) {
        Py_DECREF(made);
        PyErr_SetString(PyExc_TypeError, "the allocator gave no memory");
        return NULL;
    }
    return made;
}

/* Tells a watcher in Python, where there is one, that a launch begins or ends. */
static int tell(PyObject *watcher, PyObject *method, const Target *target)
{
    if (watcher == NULL)
        return 0;
    PyObject *answer = PyObject_CallMethodObjArgs(watcher, method, target->name, target->stream_object, NULL);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static int32_t second_phase(const Target *target, void *address, uint64_t size, void *executor, Span *span)
{
    span_begin(span);
    int32_t status = target->second(address, size, executor, (void *)(intptr_t)target->stream);
    span_end(span);
    return status;
}

/* Both phases. The workspace is taken before the first one where its size is known, so that the GIL is given up once
 * only; it goes back to the allocator at the end: the stream's order keeps others off it until the kernel ran. */
int run_phases(Operands *operands, const Target *target, Outcome *outcome)
{
    uint64_t size = 0, at_hand = target->workspace == NULL ? 0 : *target->workspace;
    void *executor = NULL;
    PyObject *workspace = NULL,
             *watcher = NULL; /* who is told of the begin is told of the end, whatever others do meanwhile */
    Span span;
    int32_t status;
    bool whole = watched != WATCHED_IN_PYTHON, done = false;
    *outcome = (Outcome){1, 0};
    if (at_hand > 0 && (workspace = take_memory(target->device, (int64_t)at_hand, target->stream)) == NULL)
        return -1;
    operands->words[operands->word_count++] = (int64_t)(intptr_t)&size;
    operands->words[operands->word_count++] = (int64_t)(intptr_t)&executor;
    int problem = span_open(&span);
    if (problem != 0)
        goto done;
    Py_BEGIN_ALLOW_THREADS status = first_phase(target->first, operands);
    if (status == 0 && whole && size <= at_hand) {
        status = second_phase(target, size == 0 ? NULL : (void *)(intptr_t)((Memory *)workspace)->address, size,
                              executor, &span);
        done = true;
    }
    Py_END_ALLOW_THREADS outcome->status = status;
    if (!done && status == 0) {
        if (size > at_hand) {
            Py_CLEAR(workspace);
            if ((workspace = take_memory(target->device, (int64_t)size, target->stream)) == NULL)
                problem = -1;
        }
        if (watched == WATCHED_IN_PYTHON && target->stream_object != NULL)
            watcher = Py_NewRef(python_watcher);
        if (problem == 0)
            problem = tell(watcher, npu_names.begin, target);
        if (problem != 0)
            goto done;
        void *address = size == 0 ? NULL : (void *)(intptr_t)((Memory *)workspace)->address;
        Py_BEGIN_ALLOW_THREADS status = second_phase(target, address, size, executor, &span);
        Py_END_ALLOW_THREADS outcome->status = status;
        done = true;
        problem = tell(watcher, npu_names.end, target);
    }
    if (done) {
        if (target->workspace != NULL)
            *target->workspace = size;
        outcome->phase = status == 0 ? 0 : 2;
        if (problem == 0)
            problem = span_close(&span, target->name, target->device, target->stream_id);
    }
done:
    Py_XDECREF(watcher);
    Py_XDECREF(workspace);
    return problem;
}

/* launch(code, first, second, operands, name, device, handle of the stream, its number, stream) -> (phase, status):
 * phase 0 if all went well. */
static PyObject *launch(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 9) {
        PyErr_SetString(PyExc_TypeError, "launch() takes 9 arguments");
        return NULL;
    }
    Py_ssize_t length;
    const char *code = PyUnicode_AsUTF8AndSize(args[0], &length);
    if (code == NULL)
        return NULL;
    Target target = {.first = (FirstPhase)PyLong_AsVoidPtr(args[1]),
                     .second = (SecondPhase)PyLong_AsVoidPtr(args[2]),
                     .name = args[4],
                     .device = (int)PyLong_AsLong(args[5]),
                     .stream = PyLong_AsLongLong(args[6]),
                     .stream_id = (int32_t)PyLong_AsLong(args[7]),
                     .stream_object = args[8]};
    if (PyErr_Occurred())
        return NULL;
    if (!PyTuple_Check(args[3]) || PyTuple_GET_SIZE(args[3]) != length || length > MAX_OPERANDS - 1) {
        PyErr_Format(PyExc_TypeError, "%zd operands are wanted", length);
        return NULL;
    }
    Operands operands;
    memset(&operands, 0, sizeof operands);
    Outcome outcome;
    PyObject *result = NULL;
    for (Py_ssize_t i = 0; i < length; i++) {
        if (add_operand(&operands, code[i], PyTuple_GET_ITEM(args[3], i)) != 0)
            goto done;
    }
    if (run_phases(&operands, &target, &outcome) == 0)
        result = Py_BuildValue("(ii)", outcome.phase, outcome.status);
done:
    drop_operands(&operands);
    return result;
}

/* ---- the module */
static PyObject *set_allocator(PyObject *self, PyObject *take)
{
    (void)self;
    Py_XSETREF(take_from_allocator, Py_NewRef(take));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"configure", operands_configure, METH_VARARGS, "Tells the module the libraries' functions."},
    {"configure_plans", plans_configure, METH_VARARGS, "Tells the module the classes of tensors and arrays."},
    {"set_allocator", set_allocator, METH_O,
     "set_allocator(take): take(nbytes, device) gives memory for the current stream."},
    {"set_bound", set_bound, METH_O, "Tells which device the calling thread chose."},
    {"set_stream", set_stream, METH_VARARGS, "Tells the calling thread's stream on a device, or the default one."},
    {"forget", forget, METH_NOARGS, "After a fork: no memory is at hand."},
    {"launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL, "Puts one operator into a stream."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_npu_launch", NULL, -1, methods, NULL, NULL, NULL, NULL};

static int intern_names(void)
{
    struct {
        PyObject **where;
        const char *text;
    } all[] = {{&npu_names.array, "_array"}, {&npu_names.dtype, "dtype"}, {&npu_names.index, "index"},
               {&npu_names.item, "item"},    {&npu_names.begin, "begin"}, {&npu_names.end, "end"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if ((*all[i].where = PyUnicode_InternFromString(all[i].text)) == NULL)
            return -1;
    }
    return 0;
}

PyMODINIT_FUNC PyInit__npu_launch(void)
{
    if (intern_names() != 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL)
        return NULL;
    PyTypeObject *types[] = {&Memory_Type, &Cache_Type, &Planned_Type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (PyModule_AddType(made, types[i]) != 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    if (PyModule_AddFunctions(made, watch_methods) != 0 || add_sources(made) != 0 || plans_export(made) != 0
        || statistics_export(made) != 0)
        Py_CLEAR(made);
    return made;
}
