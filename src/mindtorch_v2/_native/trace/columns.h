/* What a reader of traces collects: columns of numbers, and texts with the numbers they were given. */
#ifndef MINDTORCH_TRACE_COLUMNS_H
#define MINDTORCH_TRACE_COLUMNS_H

#include "json.h"

#include <stdlib.h>

/* ---- texts and the numbers that Python gave them ---------------------------------------------------------------------- */
typedef struct {
    uint64_t hash;
    int64_t value;
    char *key; /* NULL: a free slot */
    size_t size;
} Slot;

typedef struct {
    Slot *slot;
    size_t mask, used;
} Map;

static uint64_t hash_of(const char *data, size_t size)
{
    uint64_t hash = size * 0x9E3779B97F4A7C15u, word;
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&word, data, 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, data, size);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
}

static bool map_grow(Map *map)
{
    size_t room = map->slot ? 2 * (map->mask + 1) : 64;
    Slot *slots = calloc(room, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; map->slot && i <= map->mask; i++)
        if (map->slot[i].key) {
            size_t place = map->slot[i].hash & (room - 1);
            while (slots[place].key)
                place = (place + 1) & (room - 1);
            slots[place] = map->slot[i];
        }
    free(map->slot);
    map->slot = slots;
    map->mask = room - 1;
    return true;
}

/* The slot of a key; a new one has `key` NULL. NULL without memory. */
static Slot *map_find(Map *map, const char *key, size_t size)
{
    if ((!map->slot || 3 * map->used > 2 * map->mask) && !map_grow(map))
        return NULL;
    uint64_t hash = hash_of(key, size);
    Slot *slot = &map->slot[hash & map->mask];
    while (slot->key && !(slot->hash == hash && slot->size == size && memcmp(slot->key, key, size) == 0))
        slot = slot == map->slot + map->mask ? map->slot : slot + 1;
    slot->hash = hash;
    return slot;
}

static bool slot_set(Map *map, Slot *slot, const char *key, size_t size, int64_t value)
{
    slot->key = malloc(size ? size : 1);
    if (!slot->key)
        return false;
    memcpy(slot->key, key, size);
    slot->size = size;
    slot->value = value;
    map->used++;
    return true;
}

static void map_clear(Map *map)
{
    for (size_t i = 0; map->slot && i <= map->mask; i++)
        free(map->slot[i].key);
    free(map->slot);
    *map = (Map){NULL, 0, 0};
}

/* ---- columns ---------------------------------------------------------------------------------------------------------- */
/* In the order in which Python names them (profiler/load/native_reader.py). Times are kept apart: see Times. */
enum { EXTERNAL, SEQUENCE, CORRELATION, FORWARD, NAME, TRACK, INPUTS, STACK, MODULE, KIND, UNFINISHED, ROW_COLUMNS };
enum { MEMORY_WIDTH = 6 }; /* address, bytes, total, device type, device index, track */
static const int WIDTH[ROW_COLUMNS] = {8, 8, 8, 8, 4, 4, 4, 4, 4, 1, 1};

typedef struct {
    char *data;
    size_t size, room;
} Column;

static char *column_add(Column *column, size_t size)
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
static PyObject *column_taken(Column *column)
{
    PyObject *made = PyByteArray_FromStringAndSize(column->data, (Py_ssize_t)column->size);
    free(column->data);
    *column = (Column){NULL, 0, 0};
    return made;
}

/* Times as the file has them: whole numbers, or doubles as soon as one of them is none; whole nanoseconds where Reader.exact. */
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

static bool times_add(Times *times, Time time)
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
    char *place = column_add(&times->values, 8);
    if (place)
        memcpy(place, &time.whole, 8);
    return place != NULL;
}

#endif
