/* all_reduce of arrays of one shape and type, at one line of a program.
 *
 * MPI's functions and handles come from mpi4py as numbers. Whether a handle is an `int` (MPICH) or a pointer (Open
 * MPI), an integer of a pointer's size passes it: the callee reads as much of the register as it wants. What MPI writes
 * back goes into mpi4py's own request, which goes on with it where this call does not see the end.
 */
#include "reduction.h"
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "common/numpy_arrays.h"

enum { ASKS_WITH_LOCK = 100, ASKS_PER_TURN = 8 };

typedef int (*Begin)(const void *, void *, int, uintptr_t, uintptr_t, uintptr_t, void *);
typedef int (*Test)(void *, int *, void *);

typedef struct {
    PyObject_HEAD
    Begin begin;
    Test test;
    void *request; /* the memory of mpi4py's object */
    const void *in_place;
    uintptr_t comm, type, operation;
    int count;
    bool busy;
    PyObject *error, *note; /* MPI's exception, the note with nothing but its text and checksum */
    Py_buffer own;          /* notes of this process; buf is NULL where none are kept */
    Py_buffer *others;
    Py_ssize_t other_count;
} Reduction;

static void reduction_dealloc(Reduction *self)
{
    Py_XDECREF(self->error);
    Py_XDECREF(self->note);
    if (self->own.buf)
        PyBuffer_Release(&self->own);
    for (Py_ssize_t i = 0; i < self->other_count; i++)
        PyBuffer_Release(&self->others[i]);
    PyMem_Free(self->others);
    Py_TYPE(self)->tp_free(self);
}

/* Keeps the notes of other processes; -1 with an error set. */
static int keep_others(Reduction *self, PyObject *boards)
{
    Py_ssize_t count = PyTuple_GET_SIZE(boards);
    self->others = PyMem_Calloc((size_t)count + 1, sizeof *self->others);
    if (!self->others) {
        PyErr_NoMemory();
        return -1;
    }
    for (; self->other_count < count; self->other_count++) {
        Py_buffer *board = &self->others[self->other_count];
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(boards, self->other_count), board, PyBUF_SIMPLE) < 0)
            return -1;
        if (board->len < NOTE_SLOT * (1 + NOTE_HISTORY)) {
            PyBuffer_Release(board);
            PyErr_SetString(PyExc_ValueError, "a file of notes is too short");
            return -1;
        }
    }
    return 0;
}

static PyObject *reduction_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    unsigned long long begin, test, request, in_place, comm, datatype, operation;
    int count;
    PyObject *error, *note, *own, *boards;
    if (!PyArg_ParseTuple(args, "(KK)(KKKKK)iOSOO!", &begin, &test, &request, &in_place, &comm, &datatype, &operation,
                          &count, &error, &note, &own, &PyTuple_Type, &boards))
        return NULL;
    if (PyBytes_GET_SIZE(note) < NOTE_HEAD || PyBytes_GET_SIZE(note) > NOTE_SLOT)
        return PyErr_Format(PyExc_ValueError, "a note of %zd bytes", PyBytes_GET_SIZE(note));
    Reduction *self = (Reduction *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->begin = (Begin)(uintptr_t)begin;
    self->test = (Test)(uintptr_t)test;
    self->request = (void *)(uintptr_t)request;
    self->in_place = (const void *)(uintptr_t)in_place;
    self->comm = (uintptr_t)comm;
    self->type = (uintptr_t)datatype;
    self->operation = (uintptr_t)operation;
    self->count = count;
    self->error = Py_NewRef(error);
    self->note = Py_NewRef(note);
    if ((own != Py_None && PyObject_GetBuffer(own, &self->own, PyBUF_WRITABLE) < 0) || keep_others(self, boards) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static size_t slot_offset(int64_t key)
{
    return NOTE_SLOT * (1 + (size_t)(key & ((1 << COUNT_BITS) - 1)) % NOTE_HISTORY);
}

/* Notes that this process begins the collective. */
static void write_note(const Reduction *self, int64_t key)
{
    if (!self->own.buf)
        return;
    const char *text = PyBytes_AS_STRING(self->note);
    size_t size = (size_t)PyBytes_GET_SIZE(self->note);
    char *board = self->own.buf, *slots[] = {board, board + slot_offset(key)};
    for (size_t i = 0; i < 2; i++) {
        memcpy(slots[i], &key, sizeof key);
        memcpy(slots[i] + sizeof key, text + sizeof key, size - sizeof key);
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Whether no other process took something else for it. */
static bool agrees(const Reduction *self, int64_t key)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const char *mine = PyBytes_AS_STRING(self->note) + sizeof key;
    for (Py_ssize_t i = 0; i < self->other_count; i++) {
        const char *note = (const char *)self->others[i].buf + slot_offset(key);
        if (!memcmp(note, &key, sizeof key) && memcmp(note + sizeof key, mine, sizeof(uint32_t)))
            return false;
    }
    return true;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* Asks at most so often whether MPI is done; MPI's error code. */
static int ask(const Reduction *self, long asks, int *done)
{
    _Alignas(16) char status[256]; /* larger than that of any MPI */
    int code = 0;
    for (long i = 0; i < asks && !*done && !code; i++)
        code = self->test(self->request, done, status);
    return code;
}

/* Asks so often, and then for so long, in which other processes go on between questions. Other threads of this process
 * go on after the first questions. */
static int wait_for(const Reduction *self, long asks, int64_t patience_ns, int *done)
{
    long with_lock = asks < ASKS_WITH_LOCK ? asks : ASKS_WITH_LOCK;
    int code = ask(self, with_lock, done);
    if (*done || code)
        return code;
    PyThreadState *state = PyEval_SaveThread();
    code = ask(self, asks - with_lock, done);
    int64_t end = now_ns() + patience_ns;
    while (!*done && !code && now_ns() < end) {
        sched_yield();
        code = ask(self, ASKS_PER_TURN, done);
    }
    PyEval_RestoreThread(state);
    return code;
}

static const char run_doc[] =
    "run(array, key, asks, patience_ns): reduces the array in place; how that ended, a code of ENDS. Asks so often "
    "whether "
    "it is done, then so long while it gives way to others. What is not done goes on in the request.";

static PyObject *reduction_run(Reduction *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "run takes 4 arguments, got %zd", count);
    const ArrayFields *array = (const ArrayFields *)args[0];
    int64_t key = PyLong_AsLongLong(args[1]), patience_ns = PyLong_AsLongLong(args[3]);
    long asks = PyLong_AsLong(args[2]);
    if (PyErr_Occurred())
        return NULL;
    if (self->busy)
        return PyLong_FromLong(IS_REFUSED);
    write_note(self, key);
    if (self->begin(self->in_place, array->data, self->count, self->type, self->operation, self->comm, self->request))
        return PyLong_FromLong(IS_REFUSED);
    self->busy = true;
    int done = 0, code = wait_for(self, asks, patience_ns, &done);
    self->busy = !done && !code;
    if (code) {
        PyObject *value = PyLong_FromLong(code);
        PyErr_SetObject(self->error, value);
        Py_XDECREF(value);
        return NULL;
    }
    if (!done)
        return PyLong_FromLong(IS_PENDING);
    if (!agrees(self, key))
        return PyLong_FromLong(IS_DIFFERENT);
    if (self->own.buf)
        ((char *)self->own.buf)[NOTE_DONE] = 1;
    return PyLong_FromLong(IS_DONE);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void (*)(void))reduction_run, METH_FASTCALL, run_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Reduction_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._messages.Reduction",
    .tp_doc = "Reduction((begin, test), (request, in_place, comm, type, operation), count, error, note, own, others)",
    .tp_basicsize = sizeof(Reduction),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = reduction_new,
    .tp_dealloc = (destructor)reduction_dealloc,
    .tp_methods = methods,
};
