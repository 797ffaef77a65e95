/* Watching launches for the profiler: their ids, their times on the host, and the records that the libraries
 * deliver.
 *
 * A launch's id is pushed as an external correlation around it. The vendor's library has one stack of these for the
 * whole process, so that only one launch at a time may be between push and pop. Records arrive in buffers, on a thread
 * of the libraries', which are only put aside there: neither needs the GIL. */
#include "npu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES ((size_t)4 << 20) /* the vendor asks for more than 2 MiB */
#define CUSTOM 2                       /* the kind of correlation */

typedef struct {
    int64_t id;
    int32_t device, stream;
    bool is_copy;
} Launch;
typedef struct Piece {
    struct Piece *next;
    uint8_t *bytes;
    size_t size;
} Piece;

int watched;
PyObject *python_watcher;

static int32_t (*push)(int32_t, uint64_t);
static int32_t (*pop)(int32_t, uint64_t *);
static PyObject *core; /* the recorder; NULL where launches are not recorded on the host */
static const LaunchRecording *recording;
static int64_t next_id = 1;
static Launch *launches;
static size_t launch_count, launch_room;
static _Thread_local Span open_span; /* of a call that Python makes */
static _Thread_local int64_t
    anchor; /* the id of the thread's next launches, which are the watcher's own; -1 for none; 0 outside */
static pthread_mutex_t push_lock = PTHREAD_MUTEX_INITIALIZER;
static PyObject *prober; /* called after a launch every `probe_period` nanoseconds; NULL for nobody */
static int64_t probe_period, next_probe;

static pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;
static Piece *first_piece, **last_piece = &first_piece;

/* ---- spans */
static bool reads_clock(void)
{
    return core != NULL && recording->is_free(core);
}

int span_open(Span *span)
{
    span->id = 0;
    span->is_anchor = anchor != 0;
    if (watched != WATCHED_HERE)
        return 0;
    if (span->is_anchor) {
        span->id = anchor > 0 ? anchor : 0;
        return 0;
    }
    span->id = next_id++;
    span->start = span->end = -1;
    if (core == NULL || reads_clock())
        return 0;
    span->start = recording->now(core); /* a clock in Python: it is asked before and after */
    return span->start == -1 && PyErr_Occurred() ? -1 : 0;
}

static void span_started(Span *span)
{
    if (!span->is_anchor && span->start == -1 && core != NULL)
        span->start = recording->now(core);
}

static void span_ended(Span *span)
{
    if (!span->is_anchor && reads_clock())
        span->end = recording->now(core);
}

void span_begin(Span *span)
{
    if (span->id == 0)
        return;
    span_started(span);
    pthread_mutex_lock(&push_lock);
    push(CUSTOM, (uint64_t)span->id);
}

void span_end(Span *span)
{
    if (span->id == 0)
        return;
    uint64_t last;
    pop(CUSTOM, &last);
    pthread_mutex_unlock(&push_lock);
    span_ended(span);
}

/* Lets the watcher look at the clocks, where it is time for it. */
static int probe(int64_t now)
{
    if (prober == NULL || now < next_probe)
        return 0;
    next_probe = now + probe_period;
    PyObject *answer = PyObject_CallNoArgs(prober);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

int span_close(Span *span, PyObject *name, int device, int32_t stream)
{
    if (span->id == 0 || span->is_anchor || watched != WATCHED_HERE)
        return 0;
    if (launch_count == launch_room) {
        size_t room = launch_room == 0 ? 1024 : 2 * launch_room;
        Launch *grown = PyMem_Realloc(launches, room * sizeof *grown);
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        launches = grown;
        launch_room = room;
    }
    bool is_copy = PyUnicode_CompareWithASCIIString(name, "aclrtMemcpyAsync") == 0;
    launches[launch_count++] = (Launch){span->id, device, stream, is_copy};
    if (core == NULL)
        return 0;
    if (span->end == -1 && (span->end = recording->now(core)) == -1 && PyErr_Occurred())
        return -1;
    int failed = recording->note(core, name, span->id, span->start, span->end);
    return failed != 0 ? failed : probe(span->end);
}

/* begin() -> id and end(name, device, stream): around a copy that Python makes. It launches no kernel: nothing is
 * pushed. */
static PyObject *watch_begin(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (span_open(&open_span) != 0)
        return NULL;
    if (open_span.id != 0)
        span_started(&open_span);
    return PyLong_FromLongLong(open_span.id);
}

static PyObject *watch_end(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *name;
    int device, stream;
    if (open_span.id != 0)
        span_ended(&open_span);
    if (!PyArg_ParseTuple(args, "Uii", &name, &device, &stream))
        return NULL;
    if (span_close(&open_span, name, device, stream) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- records */
static void request_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = malloc(BUFFER_BYTES);
    *size = *buffer == NULL ? 0 : BUFFER_BYTES;
    *records = 0;
}

static void complete_buffer(uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    Piece *piece = valid == 0 ? NULL : malloc(sizeof *piece);
    uint8_t *kept = piece == NULL ? NULL : realloc(buffer, valid);
    if (kept == NULL) {
        free(piece);
        free(buffer);
        return;
    }
    *piece = (Piece){NULL, kept, valid};
    pthread_mutex_lock(&pieces_lock);
    *last_piece = piece;
    last_piece = &piece->next;
    pthread_mutex_unlock(&pieces_lock);
}

/* take_pieces() -> list of bytes that arrived since the last time */
static PyObject *take_pieces(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    pthread_mutex_lock(&pieces_lock);
    Piece *piece = first_piece;
    first_piece = NULL;
    last_piece = &first_piece;
    pthread_mutex_unlock(&pieces_lock);
    PyObject *found = PyList_New(0);
    while (piece != NULL) {
        Piece *next = piece->next;
        PyObject *bytes =
            found == NULL ? NULL : PyBytes_FromStringAndSize((const char *)piece->bytes, (Py_ssize_t)piece->size);
        if (bytes == NULL || PyList_Append(found, bytes) != 0)
            Py_CLEAR(found);
        Py_XDECREF(bytes);
        free(piece->bytes);
        free(piece);
        piece = next;
    }
    return found;
}

/* record_offsets(piece, address of the libraries' function that finds the next record) -> bytearray of int64: where
 * records begin */
static PyObject *record_offsets(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *piece, *address, *found = NULL;
    if (!PyArg_ParseTuple(args, "SO", &piece, &address))
        return NULL;
    int32_t (*next)(uint8_t *, size_t, uint8_t **);
    void *function = PyLong_AsVoidPtr(address);
    if (function == NULL)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "there is no such function");
    memcpy(&next, &function, sizeof next);
    size_t size = (size_t)PyBytes_GET_SIZE(piece), count = 0, room = size / 16 + 1;
    uint8_t *bytes = malloc(size + 1),
            *record = NULL; /* records are looked for in aligned memory, as they were written */
    int64_t *offsets = malloc(room * sizeof *offsets);
    if (bytes == NULL || offsets == NULL) {
        PyErr_NoMemory();
    } else {
        memcpy(bytes, PyBytes_AS_STRING(piece), size);
        while (count < room && next(bytes, size, &record) == 0 && record != NULL)
            offsets[count++] = record - bytes;
        found = PyByteArray_FromStringAndSize((const char *)offsets, (Py_ssize_t)(count * sizeof *offsets));
    }
    free(bytes);
    free(offsets);
    return found;
}

/* take_launches() -> bytearray of int64: (id, device, stream, whether it is a copy) of those since the last time */
static PyObject *take_launches(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *found = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(launch_count * 4 * sizeof(int64_t)));
    if (found == NULL)
        return NULL;
    int64_t *at = (int64_t *)PyByteArray_AS_STRING(found);
    for (size_t i = 0; i < launch_count; i++, at += 4) {
        const Launch *launch = &launches[i];
        int64_t row[] = {launch->id, launch->device, launch->stream, launch->is_copy};
        memcpy(at, row, sizeof row);
    }
    PyMem_Free(launches);
    launches = NULL;
    launch_count = launch_room = 0;
    return found;
}

static PyObject *callbacks(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("(KK)", (unsigned long long)(uintptr_t)request_buffer,
                         (unsigned long long)(uintptr_t)complete_buffer);
}

/* ---- beginning and ending */
/* watch(address of push, of pop, recorder or None, prober, nanoseconds between its calls): launches are watched from
 * now on. */
static PyObject *watch(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *push_at, *pop_at, *recorder, *probes;
    long long period;
    if (!PyArg_ParseTuple(args, "OOOOL", &push_at, &pop_at, &recorder, &probes, &period))
        return NULL;
    void *addresses[] = {PyLong_AsVoidPtr(push_at), PyLong_AsVoidPtr(pop_at)};
    if (PyErr_Occurred())
        return NULL;
    if (recorder != Py_None) {
        if (recording == NULL)
            recording = PyCapsule_Import(LAUNCH_RECORDING, 0);
        if (recording == NULL)
            return NULL;
        if (!recording->fits(recorder)) {
            PyErr_SetString(PyExc_TypeError, "expected a native recorder");
            return NULL;
        }
    }
    memcpy(&push, &addresses[0], sizeof push);
    memcpy(&pop, &addresses[1], sizeof pop);
    Py_XSETREF(core, recorder == Py_None ? NULL : Py_NewRef(recorder));
    Py_XSETREF(prober, Py_NewRef(probes));
    probe_period = next_probe = period;
    if (core != NULL) {
        int64_t now = recording->now(core);
        if (now == -1 && PyErr_Occurred())
            return NULL;
        next_probe += now;
    }
    Py_CLEAR(python_watcher);
    watched = WATCHED_HERE;
    Py_RETURN_NONE;
}

/* watch_in_python(watcher or None) */
static PyObject *watch_in_python(PyObject *self, PyObject *watcher)
{
    (void)self;
    Py_XSETREF(python_watcher, watcher == Py_None ? NULL : Py_NewRef(watcher));
    Py_CLEAR(prober);
    watched = watcher == Py_None ? UNWATCHED : WATCHED_IN_PYTHON;
    Py_RETURN_NONE;
}

/* set_anchor(id): launches of this thread are the watcher's own from now on; -1 pushes nothing, 0 ends it. */
static PyObject *set_anchor(PyObject *self, PyObject *id)
{
    (void)self;
    long long wanted = PyLong_AsLongLong(id);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    anchor = wanted;
    Py_RETURN_NONE;
}

static PyObject *take_id(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLongLong(next_id++);
}

PyMethodDef watch_methods[] = {
    {"watch", watch, METH_VARARGS, "Watches launches."},
    {"watch_in_python", watch_in_python, METH_O, "Lets an object in Python watch launches; None for nobody."},
    {"set_anchor", set_anchor, METH_O, "Makes the thread's launches the watcher's own."},
    {"take_id", take_id, METH_NOARGS, "The id that the next launch would have had."},
    {"watch_begin", watch_begin, METH_NOARGS, "A call that launches something begins."},
    {"watch_end", watch_end, METH_VARARGS, "It ends."},
    {"take_pieces", take_pieces, METH_NOARGS, "The buffers of records that arrived."},
    {"record_offsets", record_offsets, METH_VARARGS, "Where the records of a buffer begin."},
    {"take_launches", take_launches, METH_NOARGS, "The launches that were watched."},
    {"callbacks", callbacks, METH_NOARGS, "Addresses of the functions that lend and receive buffers."},
    {NULL, NULL, 0, NULL},
};
