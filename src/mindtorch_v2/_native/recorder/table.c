/* Tables: elements of one size in chunks. */
#include "inline.h"

#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#define MAPS_CHUNKS
#endif

/* --- chunks */
/* A profile's first write to a fresh page makes the system find one, which costs more than the events that fit it. So
 * the memory of some large chunks that nobody reads any more is kept for the next profile. */
enum { KEPT_CHUNKS = 5, LEAST_KEPT = 1 << 20 };
static struct {
    char *data;
    size_t size;
} kept[KEPT_CHUNKS];

static char *take_kept(size_t size)
{
    for (int i = 0; i < KEPT_CHUNKS; i++)
        if (kept[i].data && kept[i].size == size) {
            char *found = kept[i].data;
            kept[i].data = NULL;
            return found;
        }
    return NULL;
}

static bool keep(char *data, size_t size)
{
    for (int i = 0; i < KEPT_CHUNKS && size >= LEAST_KEPT; i++)
        if (!kept[i].data) {
            kept[i].data = data;
            kept[i].size = size;
            return true;
        }
    return false;
}

/* Large chunks are mapped, so that the system has them back at once: malloc would keep what it once got, whoever needs
 * it. */
static char *memory_new(size_t size)
{
#ifdef MAPS_CHUNKS
    if (size >= LEAST_KEPT) {
        void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return data == MAP_FAILED ? NULL : data;
    }
#endif
    return malloc(size);
}

static void memory_free(char *data, size_t size)
{
#ifdef MAPS_CHUNKS
    if (data && size >= LEAST_KEPT) {
        munmap(data, size);
        return;
    }
#endif
    free(data);
}

static Chunk *chunk_new(size_t size)
{
    char *data = take_kept(size);
    if (!data)
        data = memory_new(size);
    Chunk *made = data ? PyObject_New(Chunk, &Chunk_Type) : NULL;
    if (!made) {
        PyErr_Clear();
        memory_free(data, size);
        return NULL;
    }
    made->data = data;
    made->size = size;
    return made;
}

static void chunk_dealloc(Chunk *self)
{
    if (!keep(self->data, self->size))
        memory_free(self->data, self->size);
    PyObject_Free(self);
}

static int chunk_buffer(Chunk *self, Py_buffer *view, int flags)
{
    return PyBuffer_FillInfo(view, (PyObject *)self, self->data, (Py_ssize_t)self->size, 0, flags);
}

static PyBufferProcs chunk_as_buffer = {.bf_getbuffer = (getbufferproc)chunk_buffer};

PyTypeObject Chunk_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Chunk",
    .tp_doc = "Memory of a table, shared with whoever reads it through the buffer protocol.",
    .tp_basicsize = sizeof(Chunk),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)chunk_dealloc,
    .tp_as_buffer = &chunk_as_buffer,
};

/* --- tables */
void table_init(Table *table, size_t width, int shift)
{
    memset(table, 0, sizeof *table);
    table->width = width;
    table->shift = shift;
}

bool table_is_full(const Table *table)
{
    return table->spot == table->end;
}

bool table_grow(Table *table)
{
    if (table->held == table->room) {
        Py_ssize_t room = table->room ? 2 * table->room : 8;
        Chunk **grown = realloc(table->chunk, (size_t)room * sizeof *grown); /* the list of chunks, not the chunks */
        if (!grown)
            return false;
        table->chunk = grown;
        table->room = room;
    }
    Chunk *made = chunk_new(table->width << table->shift);
    if (!made)
        return false;
    table->chunk[table->held++] = made;
    table->spot = made->data;
    table->end = table->spot + made->size;
    return true;
}

void *table_at(const Table *table, int64_t id)
{
    return id < table->first || id >= table->next ? NULL : table_element(table, id - table->first);
}

void table_drop_chunk(Table *table)
{
    Chunk *oldest = table->chunk[0];
    table->held--;
    memmove(table->chunk, table->chunk + 1, (size_t)table->held * sizeof *table->chunk);
    table->first += (int64_t)1 << table->shift;
    if (!table->held)
        table->spot = table->end = NULL;
    Py_DECREF(oldest);
}

PyObject *table_parts(const Table *table, int64_t from, int64_t to)
{
    if (to < 0 || to > table->next)
        to = table->next;
    if (from < table->first)
        from = table->first;
    if (from > to)
        from = to;
    PyObject *parts = PyList_New(0);
    int64_t size = (int64_t)1 << table->shift;
    for (int64_t id = from; parts && id < to;) {
        int64_t index = id - table->first, inside = index % size;
        int64_t count = size - inside < to - id ? size - inside : to - id;
        PyObject *part = Py_BuildValue("(OLL)", (PyObject *)table->chunk[index >> table->shift], (long long)inside,
                                       (long long)count);
        if (!part || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
        id += count;
    }
    return parts ? Py_BuildValue("(LN)", (long long)from, parts) : NULL;
}

void table_clear(Table *table)
{
    for (Py_ssize_t i = 0; i < table->held; i++)
        Py_DECREF(table->chunk[i]);
    free(table->chunk);
    table_init(table, table->width, table->shift);
}
