/* Rows: the clock, and the stack of open rows of each thread. */
#include "inline.h"

#include <stdlib.h>
#include <string.h>

/* --- the clock */
enum { LEAST_BASELINE_NS = 20000000, LARGEST_ERROR_PPM = 200 };

/* One moment on both clocks: the reading of the system's that took the fewest ticks. */
static void read_both(uint64_t *ticks, int64_t *ns)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = ticks_now();
        int64_t now = system_now();
        uint64_t after = ticks_now();
        if (after - before < shortest) {
            shortest = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

/* Sets the counter's rate by how far both clocks have come since the process began to record. Too short a time gives no
 * rate, and one that differs from the rate before (a suspended machine) ends the use of the counter. */
void clock_start(Core *core, bool trusted)
{
    static uint64_t first_ticks;
    static int64_t first_ns;
    static double known_rate;
    static bool unreliable;
    uint64_t ticks = 0;
    int64_t ns = 0;
    core->ticking = false;
    if (!HAS_TICKS || core->clock || !trusted || unreliable)
        return;
    read_both(&ticks, &ns);
    if (!first_ns) {
        first_ticks = ticks;
        first_ns = ns;
    }
    if (ns - first_ns < LEAST_BASELINE_NS)
        return;
    double rate = (double)(ns - first_ns) / (double)(ticks - first_ticks);
    if (known_rate > 0
        && (rate - known_rate > known_rate * LARGEST_ERROR_PPM / 1e6
            || known_rate - rate > known_rate * LARGEST_ERROR_PPM / 1e6)) {
        unreliable = true;
        return;
    }
    known_rate = rate;
    core->base_ticks = ticks;
    core->base_ns = ns;
    core->scale = (uint64_t)(rate * 4294967296.0);
    core->ticking = true;
}

int64_t clock_of_python(PyObject *clock)
{
    PyObject *made = PyObject_CallNoArgs(clock);
    if (!made)
        return -1;
    int64_t now = PyLong_AsLongLong(made);
    Py_DECREF(made);
    return now;
}

/* --- rows */
int core_drop_old_rows(Core *core)
{
    /* Gives up the oldest chunk of whichever thread has it, until what is kept and one more chunk fit the limit. */
    for (;;) {
        Buffer *oldest = NULL;
        int64_t start = 0;
        Py_ssize_t position = 0;
        PyObject *key, *value;
        while (PyDict_Next(core->buffers, &position, &key, &value)) {
            Buffer *buffer = (Buffer *)value;
            if (buffer->rows.held < 2)
                continue;
            Row *row = table_at(&buffer->rows, buffer->rows.first);
            if (!oldest || row->start_ns < start) {
                oldest = buffer;
                start = row->start_ns;
            }
        }
        if (!oldest || core->kept - ((int64_t)1 << oldest->rows.shift) < core->limit)
            return 0;
        table_drop_chunk(&oldest->rows);
        core->kept -= (int64_t)1 << oldest->rows.shift;
    }
}

bool buffer_room(Buffer *buffer)
{
    if (buffer->open_count < buffer->open_room)
        return true;
    Py_ssize_t room = buffer->open_room ? 2 * buffer->open_room : 64;
    Open *grown = realloc(buffer->open, (size_t)room * sizeof *grown);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    buffer->open = grown;
    buffer->open_room = room;
    return true;
}

static void take_out(Buffer *buffer, Py_ssize_t index)
{
    buffer->op_depth -= (buffer->open[index].how & IS_OP) != 0;
    if (index == --buffer->open_count)
        return;
    memmove(buffer->open + index, buffer->open + index + 1,
            (size_t)(buffer->open_count - index) * sizeof *buffer->open);
}

static Row *row_at(const Buffer *buffer, int32_t id)
{
    return id < 0 ? NULL : table_at(&buffer->rows, id);
}

static void set_end(Buffer *buffer, int32_t id, int64_t now)
{
    Row *row = row_at(buffer, id);
    if (row)
        row->end_ns = now;
}

/* An event ends inside Python calls that began in it and go on: their rows end with it. */
static void end_event_at(Buffer *buffer, Py_ssize_t index, int64_t now)
{
    Py_ssize_t kept = index;
    set_end(buffer, buffer->open[index].row, now);
    buffer->op_depth -= (buffer->open[index].how & IS_OP) != 0;
    for (Py_ssize_t i = index + 1; i < buffer->open_count; i++) {
        if (buffer->open[i].how & IS_PYTHON)
            set_end(buffer, buffer->open[i].row, now);
        else
            buffer->open[kept++] = buffer->open[i];
    }
    buffer->open_count = kept;
}

/* A Python call ends before an event that began in it: its row ends where that began, and what called it encloses the
 * event. An event that began in another one, which has ended since, says nothing about the call around both. */
static void end_call_at(Buffer *buffer, Py_ssize_t index, int64_t now)
{
    const Open *opened = &buffer->open[index];
    Row *inner = index + 1 < buffer->open_count ? row_at(buffer, opened[1].row) : NULL;
    if (inner && inner->parent == opened->row) {
        now = inner->start_ns;
        inner->parent = index ? opened[-1].row : buffer->base;
    }
    set_end(buffer, opened->row, now);
    take_out(buffer, index);
}

static Py_ssize_t index_of(const Buffer *buffer, int32_t row)
{
    Py_ssize_t index = row < 0 ? -1 : buffer->open_count - 1;
    while (index >= 0 && buffer->open[index].row != row)
        index--;
    return index >= 0 && buffer->open[index].how & BY_HANDLE ? index : -1;
}

int buffer_leave(Buffer *buffer, int64_t now)
{
    /* Scopes that were opened inside and not closed outlive this event and stay open. */
    Py_ssize_t index = buffer->open_count - 1;
    while (index >= 0 && buffer->open[index].how & BY_HANDLE)
        index--;
    if (index < 0)
        return 0;
    end_event_at(buffer, index, now);
    return 1;
}

void buffer_end(Buffer *buffer, int32_t row, int64_t now)
{
    Py_ssize_t index = index_of(buffer, row);
    if (index < 0)
        lanes_end(buffer, row, now, buffer_end);
    else if (buffer->open[index].how & IS_PYTHON)
        end_call_at(buffer, index, now);
    else
        end_event_at(buffer, index, now);
}

void buffer_end_elsewhere(Buffer *buffer, int32_t row, int64_t now)
{
    Py_ssize_t index = index_of(buffer, row);
    if (index < 0) {
        lanes_end(buffer, row, now, buffer_end_elsewhere);
        return;
    }
    set_end(buffer, row, now);
    take_out(buffer, index);
}

bool buffer_note_memory(Buffer *buffer, int64_t now, int64_t block, int64_t address, int64_t nbytes, int32_t device)
{
    Core *core = buffer->core;
    int64_t held = buffer->memory.next - buffer->memory.first;
    if (core->limit && core->newest && table_is_full(&buffer->memory))
        while (buffer->memory.held > 1 && held - ((int64_t)1 << buffer->memory.shift) >= core->limit) {
            table_drop_chunk(&buffer->memory);
            held -= (int64_t)1 << buffer->memory.shift;
        }
    MemoryRow *row = table_add(&buffer->memory);
    if (!row) {
        core->dropped++; /* a free is often noted while an object dies: there is nobody to raise an error to */
        return false;
    }
    row->time_ns = now;
    row->block = block;
    row->address = address;
    row->nbytes = nbytes;
    row->device = device;
    row->row = buffer->open_count ? buffer->open[buffer->open_count - 1].row : buffer->base;
    return true;
}
