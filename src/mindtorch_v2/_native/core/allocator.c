/* numpy's memory while it is watched. numpy asks a handler for the data of every array (NEP 49), so that whichever
 * kernel allocates, results and scratch buffers alike are seen, and each end belongs to its own beginning. numpy's
 * headers are not needed: what is used of them is the published table of functions and the layout of a handler. */
#include "recorder/inline.h"
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

enum { SET_HANDLER = 304, GET_HANDLER = 305 };

/* Stands before the data. malloc's alignment of 16 bytes holds for the data too. */
typedef struct {
    int64_t block; /* its id; 0 where its beginning was not noted */
    int64_t nbytes;
    int64_t record; /* of its beginning, among those of the thread */
    bool is_tensors;
} Header;

typedef struct {
    char name[127];
    uint8_t version;
    struct {
        void *context;
        void *(*malloc)(void *, size_t);
        void *(*calloc)(void *, size_t, size_t);
        void *(*realloc)(void *, void *, size_t);
        void (*free)(void *, void *, size_t);
    } allocator;
} Handler;

static PyObject *(*set_handler)(PyObject *), *(*get_handler)(void);
static PyObject *own, *before; /* handlers, as capsules: ours, and the one that numpy began with */
static int64_t last_block;
static uint64_t changes; /* how often watching began or ended: odd while it goes on */

int64_t block_next(void)
{
    return ++last_block;
}

uint64_t allocator_changes(void)
{
    return changes;
}

/* numpy keeps the handler per context, and contexts are copied: when watching ends, other threads and tasks still have
 * ours. Each of them puts numpy's own back at its first allocation. */
static int put_back(void)
{
    PyObject *found = own ? get_handler() : NULL;
    PyObject *replaced = found && found == own ? set_handler(before) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(replaced);
    return PyErr_Occurred() ? -1 : 0;
}

static void put_back_quietly(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (put_back() < 0)
        PyErr_Clear(); /* the next allocation tries again */
    PyErr_Restore(type, value, traceback);
}

static void *begun(Header *header, size_t size)
{
    if (!header)
        return NULL;
    *header = (Header){.nbytes = (int64_t)size, .record = -1};
    if (!(changes & 1) && PyGILState_Check())
        put_back_quietly();
    if (memory_is_watched() && PyGILState_Check()) {
        int64_t block = block_next();
        if (memory_note_birth(block, (int64_t)(uintptr_t)(header + 1), (int64_t)size, 0, true)) {
            header->block = block;
            header->record = memory_last_record();
        }
    }
    return header + 1;
}

static void ended(Header *header)
{
    if (header->block && memory_is_watched() && PyGILState_Check())
        memory_note_end(header->block, (int64_t)(uintptr_t)(header + 1), header->nbytes);
}

static void *handler_malloc(void *context, size_t size)
{
    (void)context;
    return size > SIZE_MAX - sizeof(Header) ? NULL : begun(malloc(size + sizeof(Header)), size);
}

static void *handler_calloc(void *context, size_t count, size_t width)
{
    (void)context;
    size_t size;
    if (__builtin_mul_overflow(count, width, &size) || size > SIZE_MAX - sizeof(Header))
        return NULL;
    return begun(calloc(1, size + sizeof(Header)), size);
}

static void *handler_realloc(void *context, void *data, size_t size)
{
    if (!data)
        return handler_malloc(context, size);
    Header *header = (Header *)data - 1, was = *header;
    Header *grown = size > SIZE_MAX - sizeof was ? NULL : realloc(header, size + sizeof was);
    if (!grown)
        return NULL;
    if (was.block && memory_is_watched() && PyGILState_Check())
        memory_note_end(was.block, (int64_t)(uintptr_t)data, was.nbytes);
    return begun(grown, size);
}

static void handler_free(void *context, void *data, size_t size)
{
    (void)context, (void)size;
    if (!data)
        return;
    ended((Header *)data - 1);
    free((Header *)data - 1);
}

static Handler handler = {
    .name = "mindtorch_v2.profiler",
    .version = 1,
    .allocator = {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free},
};

/* --- in place or not */
static int find_functions(void)
{
    PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath");
    PyObject *capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
    void **table = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (table) {
        set_handler = (PyObject * (*)(PyObject *)) table[SET_HANDLER];
        get_handler = (PyObject * (*)(void)) table[GET_HANDLER];
    }
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    own = table ? PyCapsule_New(&handler, "mem_handler", NULL) : NULL;
    return own ? 0 : -1;
}

static bool is_numpys(PyObject *capsule)
{
    const Handler *found = PyCapsule_GetPointer(capsule, "mem_handler");
    if (!found)
        PyErr_Clear();
    return found && strcmp(found->name, "default_allocator") == 0;
}

/* The calling context's arrays are seen from now on: 1. 0 where somebody else's handler is in place: it is left alone.
 */
int allocator_set(void)
{
    if (!own && find_functions() < 0)
        return -1;
    PyObject *found = get_handler();
    if (!found)
        return -1;
    bool done = found == own;
    if (!done && is_numpys(found)) {
        Py_XSETREF(before, Py_NewRef(found));
        PyObject *replaced = set_handler(own);
        done = replaced != NULL;
        Py_XDECREF(replaced);
    }
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : done;
}

PyObject *allocator_install(PyObject *module, PyObject *ignored)
{
    (void)module, (void)ignored;
    int done = allocator_set();
    if (done >= 0)
        changes |= 1;
    return done < 0 ? NULL : PyBool_FromLong(done);
}

PyObject *allocator_remove(PyObject *module, PyObject *ignored)
{
    (void)module, (void)ignored;
    changes += changes & 1;
    if (put_back() < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* --- arrays */
/* The header before the memory of an array that owns it; NULL where another handler allocated it. */
static Header *header_of(const ArrayFields *fields)
{
    return own && fields->flags & ARRAY_OWNS_DATA && fields->handler == own ? (Header *)fields->data - 1 : NULL;
}

int64_t allocator_block_id(const ArrayFields *owner)
{
    const Header *header = header_of(owner);
    return header ? header->block : 0;
}

static bool has_elements(const ArrayFields *fields)
{
    for (int i = 0; i < fields->nd; i++)
        if (!fields->dimensions[i])
            return false;
    return true;
}

/* What numpy allocates for an array without elements is not reported. */
static void forget(Header *header)
{
    MemoryRow *row = memory_record(header->record, header->block);
    if (row) {
        row->nbytes = 0;
        header->block = 0;
    }
}

bool allocator_watch(const ArrayFields *owner)
{
    Header *header = header_of(owner);
    if (!header || header->is_tensors)
        return header != NULL;
    if (!has_elements(owner)) {
        forget(header);
    } else if (!header->block) {
        header->block = block_next();
        memory_note_birth(header->block, (int64_t)(uintptr_t)owner->data, header->nbytes, TENSORS, false);
    } else {
        MemoryRow *row = memory_record(header->record, header->block);
        if (row)
            row->device |= TENSORS;
    }
    header->is_tensors = true;
    return true;
}

PyObject *allocator_watch_owner(PyObject *module, PyObject *array)
{
    (void)module;
    const ArrayFields *owner = array_owner(array);
    return PyBool_FromLong(owner && allocator_watch(owner));
}

PyObject *allocator_block(PyObject *module, PyObject *args)
{
    /* block_of(array, wanted): the id of the memory of an array that owns it; 0 where it was not allocated under
     * watch, or was not noted and is not wanted. */
    (void)module;
    PyObject *array;
    int wanted;
    if (!PyArg_ParseTuple(args, "Op", &array, &wanted))
        return NULL;
    const ArrayFields *fields = array_owner(array);
    Header *header = fields && (PyObject *)fields == array ? header_of(fields) : NULL;
    if (header && !header->block && wanted)
        header->block = block_next();
    return PyLong_FromLongLong(header ? header->block : 0);
}

PyObject *allocator_next_block(PyObject *module, PyObject *ignored)
{
    (void)module, (void)ignored;
    return PyLong_FromLongLong(block_next());
}
