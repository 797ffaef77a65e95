/* Device memory at hand: blocks that were given back, by size and stream, and what is counted about blocks in use.
 *
 * The allocator in _backends/npu/allocator.py is called where it fails: it finds blocks where none is at hand, joins
 * and frees them. A block that goes back to the stream it belongs to is available at once: the stream's order keeps its
 * next user behind the last. */
#include "npu.h"

#include <string.h>

#define GRAIN 512
#define PADDING 32 /* as blocks.py */

typedef struct {
    PyObject *block;
    int64_t address;
    int pool;
} Idle;
typedef struct {
    int64_t size, stream;
    Idle *idle;
    int count, room;
} Shelf;

enum { ALLOCATIONS, ALLOCATED_BYTES, REQUESTED_BYTES, GROUPS };
enum { SMALL, LARGE, ALL, POOLS };
enum { CURRENT, PEAK, ALLOCATED, FREED, WORDS };

struct Cache {
    PyObject_HEAD
    PyObject *give_back; /* the allocator's way for blocks that other streams used */
    HashMap shelves;     /* Shelf */
    Py_ssize_t idle;
    int64_t counts[GROUPS][POOLS][WORDS];
    char busy; /* blocks wait for other streams: the allocator looks after them first */
    char lost; /* the device was reset: what lay in its memory is gone */
};

Cache *caches[MAX_DEVICES];

/* ---- counting */
/* A block is taken (sign 1) or given back (-1). */
static inline void count_block(Cache *cache, int pool, int64_t size, int64_t requested, int sign)
{
    const int64_t amounts[GROUPS] = {1, size, requested};
    for (int g = 0; g < GROUPS; g++) {
        int64_t *const rows[] = {cache->counts[g][pool], cache->counts[g][ALL]};
        for (int i = 0; i < 2; i++) {
            rows[i][sign > 0 ? ALLOCATED : FREED] += amounts[g];
            rows[i][CURRENT] += sign * amounts[g];
            if (sign > 0 && rows[i][CURRENT] > rows[i][PEAK])
                rows[i][PEAK] = rows[i][CURRENT];
        }
    }
}

/* ---- shelves */
typedef struct {
    int64_t size, stream;
} ShelfKey;

static inline uint64_t shelf_key_hash(int64_t size, int64_t stream)
{
    return ((uint64_t)size / GRAIN * 0x9E3779B97F4A7C15u) ^ ((uint64_t)stream * 0xC2B2AE3D27D4EB4Fu) >> 17;
}

static bool shelf_is_free(const void *slot)
{
    return ((const Shelf *)slot)->size == 0;
}

static uint64_t shelf_hash(const void *slot)
{
    return shelf_key_hash(((const Shelf *)slot)->size, ((const Shelf *)slot)->stream);
}

static bool shelf_is(const void *slot, const void *key)
{
    const Shelf *shelf = slot;
    const ShelfKey *wanted = key;
    return shelf->size == wanted->size && shelf->stream == wanted->stream;
}

#define SHELF_KIND ((MapKind){sizeof(Shelf), 64, shelf_is_free, shelf_hash, shelf_is})

/* The shelf of blocks of a size for a stream, or the free slot where it belongs. */
static Shelf *find_shelf(const Cache *cache, int64_t size, int64_t stream)
{
    ShelfKey key = {size, stream};
    return map_slot(&cache->shelves, SHELF_KIND, shelf_key_hash(size, stream), &key);
}

/* Takes over a reference to the block; false without memory. */
static bool put_idle(Cache *cache, int64_t size, int64_t stream, Idle idle)
{
    if (!map_reserve(&cache->shelves, SHELF_KIND))
        return false;
    Shelf *shelf = find_shelf(cache, size, stream);
    if (shelf->size == 0) {
        *shelf = (Shelf){.size = size, .stream = stream};
        cache->shelves.used++;
    }
    if (shelf->count == shelf->room) {
        int room = shelf->room == 0 ? 8 : 2 * shelf->room;
        Idle *grown = PyMem_Realloc(shelf->idle, (size_t)room * sizeof *grown);
        if (grown == NULL)
            return false;
        shelf->idle = grown;
        shelf->room = room;
    }
    shelf->idle[shelf->count++] = idle;
    cache->idle++;
    return true;
}

static bool take_idle(Cache *cache, int64_t size, int64_t stream, Idle *idle)
{
    if (cache->idle == 0)
        return false;
    Shelf *shelf = find_shelf(cache, size, stream);
    if (shelf->count == 0)
        return false;
    *idle = shelf->idle[--shelf->count];
    cache->idle--;
    return true;
}

static Memory *memory_over(Cache *cache, Idle idle, int64_t size, int64_t stream, int64_t nbytes)
{
    Memory *made = PyObject_New(Memory, &Memory_Type);
    if (made == NULL)
        return NULL;
    made->block = idle.block;
    made->cache = (Cache *)Py_NewRef((PyObject *)cache);
    made->address = idle.address;
    made->nbytes = nbytes;
    made->size = size;
    made->stream = stream;
    made->pool = idle.pool;
    made->shared = 0;
    count_block(cache, idle.pool, size, nbytes, 1);
    return made;
}

bool memory_is_lost(const Memory *memory)
{
    return memory->cache->lost != 0;
}

Memory *cache_take(Cache *cache, int64_t nbytes, int64_t stream)
{
    int64_t size = (nbytes + PADDING + GRAIN - 1) & -(int64_t)GRAIN;
    Idle idle;
    if (cache->busy || !take_idle(cache, size, stream, &idle))
        return NULL;
    Memory *made = memory_over(cache, idle, size, stream, nbytes);
    if (made == NULL) {
        PyErr_Clear();
        if (!put_idle(cache, size, stream, idle))
            Py_DECREF(idle.block);
    }
    return made;
}

/* ---- Cache */
static PyObject *cache_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *give_back;
    int index;
    if (keywords != NULL || !PyArg_ParseTuple(args, "iO", &index, &give_back))
        return NULL;
    Cache *made = (Cache *)type->tp_alloc(type, 0);
    if (made == NULL)
        return NULL;
    made->give_back = Py_NewRef(give_back);
    if (index >= 0 && index < MAX_DEVICES) { /* for as long as the process lives, as the allocator does */
        Py_XSETREF(caches[index], (Cache *)Py_NewRef((PyObject *)made));
    }
    return (PyObject *)made;
}

static PyObject *cache_drain(PyObject *object, PyObject *unused)
{
    (void)unused;
    Cache *self = (Cache *)object;
    PyObject *blocks = PyList_New(0);
    if (blocks == NULL)
        return NULL;
    HashMap drained = self->shelves;
    Shelf *shelves = (Shelf *)drained.slots;
    self->shelves = (HashMap){0};
    self->idle = 0;
    bool failed = false;
    for (size_t i = 0; i < map_size(&drained); i++) {
        for (int k = 0; k < shelves[i].count; k++) {
            failed = PyList_Append(blocks, shelves[i].idle[k].block) != 0 || failed;
            Py_DECREF(shelves[i].idle[k].block);
        }
        PyMem_Free(shelves[i].idle);
    }
    map_free(&drained);
    if (failed)
        Py_CLEAR(blocks);
    return blocks;
}

static void cache_dealloc(Cache *self)
{
    PyObject *blocks = cache_drain((PyObject *)self, NULL);
    if (blocks == NULL)
        PyErr_Clear();
    Py_XDECREF(blocks);
    Py_XDECREF(self->give_back);
    Py_TYPE(self)->tp_free(self);
}

/* take(nbytes, stream) -> Memory or None */
static PyObject *cache_take_method(PyObject *object, PyObject *args)
{
    long long nbytes, stream;
    if (!PyArg_ParseTuple(args, "LL", &nbytes, &stream))
        return NULL;
    Memory *made = cache_take((Cache *)object, nbytes, stream);
    if (made == NULL)
        Py_RETURN_NONE;
    return (PyObject *)made;
}

/* wrap(block, address, size, pool, stream, nbytes) -> Memory over a block that the allocator found */
static PyObject *cache_wrap(PyObject *object, PyObject *args)
{
    PyObject *block;
    long long address, size, stream, nbytes;
    int pool;
    if (!PyArg_ParseTuple(args, "OLLiLL", &block, &address, &size, &pool, &stream, &nbytes))
        return NULL;
    if (pool < SMALL || pool > LARGE) {
        PyErr_Format(PyExc_ValueError, "the pool must be 0 or 1, got %d", pool);
        return NULL;
    }
    Memory *made = memory_over((Cache *)object, (Idle){block, address, pool}, size, stream, nbytes);
    if (made != NULL)
        Py_INCREF(block);
    return (PyObject *)made;
}

static PyObject *cache_count_returned(PyObject *object, PyObject *args)
{
    int pool;
    long long size, requested;
    if (!PyArg_ParseTuple(args, "iLL", &pool, &size, &requested))
        return NULL;
    count_block((Cache *)object, pool == LARGE ? LARGE : SMALL, size, requested, -1);
    Py_RETURN_NONE;
}

/* counts() -> list of 3 x 3 x 4 numbers; set_counts(list) */
static PyObject *cache_counts(PyObject *object, PyObject *unused)
{
    (void)unused;
    const int64_t *counts = &((Cache *)object)->counts[0][0][0];
    PyObject *found = PyList_New(GROUPS * POOLS * WORDS);
    for (Py_ssize_t i = 0; found != NULL && i < GROUPS * POOLS * WORDS; i++) {
        PyObject *number = PyLong_FromLongLong(counts[i]);
        if (number == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, i, number);
    }
    return found;
}

static PyObject *cache_set_counts(PyObject *object, PyObject *given)
{
    int64_t counts[GROUPS * POOLS * WORDS];
    if (!PyList_Check(given) || PyList_GET_SIZE(given) != GROUPS * POOLS * WORDS) {
        PyErr_Format(PyExc_TypeError, "a list of %d numbers is wanted", GROUPS * POOLS * WORDS);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < GROUPS * POOLS * WORDS; i++)
        counts[i] = PyLong_AsLongLong(PyList_GET_ITEM(given, i));
    if (PyErr_Occurred())
        return NULL;
    memcpy(((Cache *)object)->counts, counts, sizeof counts);
    Py_RETURN_NONE;
}

/* put(block, address, size, pool, stream) */
static PyObject *cache_put(PyObject *object, PyObject *args)
{
    PyObject *block;
    long long address, size, stream;
    int pool;
    if (!PyArg_ParseTuple(args, "OLLiL", &block, &address, &size, &pool, &stream))
        return NULL;
    if (!put_idle((Cache *)object, size, stream, (Idle){block, address, pool}))
        return PyErr_NoMemory();
    Py_INCREF(block);
    Py_RETURN_NONE;
}

static PyMethodDef cache_methods[] = {
    {"take", cache_take_method, METH_VARARGS, "Memory for a stream, or None where no block is at hand."},
    {"wrap", cache_wrap, METH_VARARGS, "Memory over a block that the allocator found."},
    {"put", cache_put, METH_VARARGS, "A block is at hand again."},
    {"count_returned", cache_count_returned, METH_VARARGS, "Counts a block that went back another way."},
    {"drain", cache_drain, METH_NOARGS, "All blocks at hand, which are no longer."},
    {"counts", cache_counts, METH_NOARGS, "What was counted."},
    {"set_counts", cache_set_counts, METH_O, "Sets what was counted."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef cache_members[] = {
    {"lost", T_BOOL, offsetof(Cache, lost), 0, "Whether the device was reset since."},
    {"busy", T_BOOL, offsetof(Cache, busy), 0, "Whether the allocator has to look after blocks first."},
    {"idle", T_PYSSIZET, offsetof(Cache, idle), READONLY, "How many blocks are at hand."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Cache_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._npu_launch.Cache",
    .tp_doc = "Blocks of device memory at hand, by size and stream.",
    .tp_basicsize = sizeof(Cache),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = cache_new,
    .tp_dealloc = (destructor)cache_dealloc,
    .tp_methods = cache_methods,
    .tp_members = cache_members,
};

/* ---- Memory */
/* Gives a block that other streams used to the allocator, which records events on them. */
static void give_back_shared(const Memory *self)
{
    PyObject *type, *value, *traceback, *requested = NULL, *answer = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    if ((requested = PyLong_FromLongLong(self->nbytes)) != NULL
        && PyObject_SetAttrString(self->block, "requested", requested) == 0) {
        answer = PyObject_CallOneArg(self->cache->give_back, self->block);
    }
    if (answer == NULL)
        PyErr_WriteUnraisable(self->cache->give_back);
    Py_XDECREF(answer);
    Py_XDECREF(requested);
    PyErr_Restore(type, value, traceback);
}

static void memory_dealloc(Memory *self)
{
    if (self->shared) {
        give_back_shared(self);
        Py_DECREF(self->block);
    } else {
        count_block(self->cache, self->pool, self->size, self->nbytes, -1);
        if (!put_idle(self->cache, self->size, self->stream, (Idle){self->block, self->address, self->pool}))
            Py_DECREF(self->block);
    }
    Py_DECREF(self->cache);
    PyObject_Free(self);
}

/* Arrays are made over the memory as over any buffer. Nothing is ever read or written through it. */
static int memory_buffer(PyObject *object, Py_buffer *view, int flags)
{
    Memory *self = (Memory *)object;
    return PyBuffer_FillInfo(view, object, (void *)(intptr_t)self->address, self->nbytes, 0, flags);
}

static PyBufferProcs memory_as_buffer = {memory_buffer, NULL};

static PyMemberDef memory_members[] = {
    {"block", T_OBJECT, offsetof(Memory, block), READONLY, "The allocator's block."},
    {"address", T_LONGLONG, offsetof(Memory, address), READONLY, "Its address on the device."},
    {"nbytes", T_LONGLONG, offsetof(Memory, nbytes), READONLY, "How many bytes were asked for."},
    {"stream", T_LONGLONG, offsetof(Memory, stream), READONLY, "The handle of the stream that it belongs to."},
    {"cache", T_OBJECT_EX, offsetof(Memory, cache), READONLY, "The cache that the block belongs to."},
    {"shared", T_BOOL, offsetof(Memory, shared), 0, "Whether other streams used it."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Memory_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._npu_launch.Memory",
    .tp_doc = "Owns a block of device memory while any array over it lives.",
    .tp_basicsize = sizeof(Memory),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)memory_dealloc,
    .tp_as_buffer = &memory_as_buffer,
    .tp_members = memory_members,
};

int statistics_export(PyObject *module)
{
    static const NamedCode groups[] = {
        {"allocation", ALLOCATIONS}, {"allocated_bytes", ALLOCATED_BYTES}, {"requested_bytes", REQUESTED_BYTES}};
    static const NamedCode pools[] = {{"small_pool", SMALL}, {"large_pool", LARGE}, {"all", ALL}};
    static const NamedCode words[] = {{"current", CURRENT}, {"peak", PEAK}, {"allocated", ALLOCATED}, {"freed", FREED}};
    return EXPORT_CODES(module, "GROUPS", groups) < 0 || EXPORT_CODES(module, "POOLS", pools) < 0
                   || EXPORT_CODES(module, "WORDS", words) < 0
               ? -1
               : 0;
}
