/* One event of a trace: where its members stand in the text. */
#ifndef MINDTORCH_TRACE_EVENT_H
#define MINDTORCH_TRACE_EVENT_H

#include "json.h"

enum { E_PH, E_CAT, E_NAME, E_PID, E_TID, E_TS, E_DUR, E_ARGS, EVENT_KEYS };
static const char *const EVENT_KEY[EVENT_KEYS] = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"};

/* Those that are taken out of a slice's arguments come first; then those which only device slices give up; the rest is
   for memory records and part of any slice's own arguments. */
enum {
    A_EXTERNAL,
    A_SEQUENCE,
    A_CORRELATION,
    A_FORWARD,
    A_RECORD,
    A_INDEX,
    A_STACK,
    A_MODULE,
    A_FINISHED,
    A_DEVICE,
    A_STREAM,
    A_ADDRESS,
    A_BYTES,
    A_TOTAL,
    A_DEVICE_TYPE,
    A_DEVICE_ID,
    ARGUMENT_KEYS
};
static const char *const ARGUMENT_KEY[ARGUMENT_KEYS] = {"External id",
                                                        "Sequence number",
                                                        "correlation",
                                                        "Fwd thread id",
                                                        "Record function id",
                                                        "Ev Idx",
                                                        "Call stack",
                                                        "Module Hierarchy",
                                                        "finished",
                                                        "device",
                                                        "stream",
                                                        "Addr",
                                                        "Bytes",
                                                        "Total Allocated",
                                                        "Device Type",
                                                        "Device Id"};
static unsigned char EVENT_SIZE[EVENT_KEYS], ARGUMENT_SIZE[ARGUMENT_KEYS];

/* Arguments are described when they are asked for (profiler/load/inputs.py), which must not fail then: what is nested
   more deeply, and refused, is read at once. */
enum { MAX_ARGUMENTS = 48, MAX_ARGUMENT_DEPTH = 30 };

typedef struct {
    Span value[EVENT_KEYS]; /* data is NULL where absent */
    Span argument[ARGUMENT_KEYS];
    Span member[MAX_ARGUMENTS]; /* `"key": value` of each argument */
    signed char member_key[MAX_ARGUMENTS];
    int members;
} Event;

static int key_index(const char *key, size_t size, const char *const names[], const unsigned char sizes[], int count)
{
    for (int i = 0; i < count; i++)
        if (sizes[i] == size && memcmp(names[i], key, size) == 0)
            return i;
    return -1;
}

/* Reads `"key":` and moves to the value; the key without its quotation marks. Keys with escapes are odd. */
static Status read_key(const char **cursor, const char *end, Span *key)
{
    const char *at = *cursor;
    if (at == end)
        return MORE;
    if (*at != '"')
        return ODD;
    const char *close = ++at;
    while (close < end && *close != '"' && *close != '\\')
        close++;
    if (close == end)
        return MORE;
    if (*close == '\\')
        return ODD;
    *key = (Span){at, close - at};
    at = skip_space(close + 1, end);
    if (at == end || *at != ':')
        return at == end ? MORE : ODD;
    *cursor = skip_space(at + 1, end);
    return DONE;
}

/* After a member: moves to the next one, or past the closing bracket. */
static Status next_member(const char **cursor, const char *end, bool *is_last)
{
    const char *at = skip_space(*cursor, end);
    if (at == end)
        return MORE;
    *is_last = *at == '}';
    if (*at != '}' && *at != ',')
        return ODD;
    *cursor = *is_last ? at + 1 : skip_space(at + 1, end);
    return DONE;
}

/* Reads the arguments, whose bracket is here. A key that comes twice is odd: the last one counts. */
static Status read_arguments(const char **cursor, const char *end, Event *event)
{
    const char *at = skip_space(*cursor + 1, end);
    bool is_last = at < end && *at == '}';
    if (is_last)
        at++;
    while (!is_last) {
        const char *begin = at;
        Span key;
        Status status = read_key(&at, end, &key);
        const char *value = at;
        if (status == DONE)
            status = skip_value(&at, end, MAX_ARGUMENT_DEPTH);
        if (status != DONE)
            return status;
        int index = key_index(key.data, (size_t)key.size, ARGUMENT_KEY, ARGUMENT_SIZE, ARGUMENT_KEYS);
        if (event->members == MAX_ARGUMENTS || (index >= 0 && event->argument[index].data))
            return ODD;
        if (index >= 0)
            event->argument[index] = (Span){value, at - value};
        event->member_key[event->members] = (signed char)index;
        event->member[event->members++] = (Span){begin, at - begin};
        status = next_member(&at, end, &is_last);
        if (status != DONE)
            return status;
    }
    *cursor = at;
    return DONE;
}

static Status read_event(const char **cursor, const char *end, Event *event)
{
    memset(event, 0, offsetof(Event, member));
    event->members = 0;
    if (**cursor != '{')
        return ODD;
    const char *at = skip_space(*cursor + 1, end);
    for (bool is_last = false; !is_last;) {
        Span key;
        Status status = read_key(&at, end, &key);
        if (status != DONE)
            return status;
        int index = key_index(key.data, (size_t)key.size, EVENT_KEY, EVENT_SIZE, EVENT_KEYS);
        if (index >= 0 && event->value[index].data)
            return ODD;
        const char *value = at;
        status = index == E_ARGS && at < end && *at == '{' ? read_arguments(&at, end, event)
                                                           : skip_value(&at, end, MAX_DEPTH);
        if (status != DONE)
            return status;
        if (index >= 0)
            event->value[index] = (Span){value, at - value};
        status = next_member(&at, end, &is_last);
        if (status != DONE)
            return status;
    }
    *cursor = at;
    return DONE;
}

#endif
