/* What a reader of traces collects: columns of numbers, and texts with the ids they were given. */
#ifndef MINDTORCH_TRACE_COLUMNS_H
#define MINDTORCH_TRACE_COLUMNS_H

#include "json.h"
#include "common/hash_map.h"

/* ---- columns */
/* In the order in which Python names them (profiler/load/native_reader.py). Times are kept apart: see Times. */
enum { EXTERNAL, SEQUENCE, CORRELATION, FORWARD, NAME, TRACK, INPUTS, STACK, MODULE, KIND, UNFINISHED, ROW_COLUMNS };
enum { MEMORY_WIDTH = 6 }; /* address, bytes, total, device type, device index, track */
static const int WIDTH[ROW_COLUMNS] = {8, 8, 8, 8, 4, 4, 4, 4, 4, 1, 1};

typedef struct {
    char *data;
    size_t size, room;
} Column;

static inline char *column_add(Column *column, size_t size)
{
    if (column->size + size > column->room) {
        size_t room = column->room ? 2 * column->room : 1 << 14;
        char *grown = realloc(column->data, room);
        if (!grown)
            return NULL;
        column->data = grown;
        column->room = room;
    }
    column->size += size;
    return column->data + column->size - size;
}

/* Gives up a column for a Python object. */
static inline PyObject *column_taken(Column *column)
{
    PyObject *made = PyByteArray_FromStringAndSize(column->data, (Py_ssize_t)column->size);
    free(column->data);
    *column = (Column){NULL, 0, 0};
    return made;
}

/* Times as the file has them: whole numbers, or doubles as soon as one of them is none; whole nanoseconds where
 * Reader.exact. */
typedef struct {
    Column values;
    bool are_doubles;
} Times;

typedef struct {
    bool is_double;
    union {
        int64_t whole;
        double number;
    };
} Time;

static inline bool times_add(Times *times, Time time)
{
    if (time.is_double && !times->are_doubles) {
        for (size_t at = 0; at < times->values.size; at += 8) {
            int64_t whole;
            memcpy(&whole, times->values.data + at, 8);
            double number = (double)whole;
            memcpy(times->values.data + at, &number, 8);
        }
        times->are_doubles = true;
    }
    if (times->are_doubles && !time.is_double)
        time.number = (double)time.whole;
    char *added = column_add(&times->values, 8);
    if (added)
        memcpy(added, &time.whole, 8);
    return added != NULL;
}

#endif
