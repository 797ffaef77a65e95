/* A scanner for JSON that only finds where values begin and end. What it accepts is valid JSON; whatever else there is,
   and all that is unusual, is left to Python's decoder, which then has the last word on it. */
#ifndef MINDTORCH_TRACE_JSON_H
#define MINDTORCH_TRACE_JSON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum {
    DONE,  /* a value was read */
    MORE,  /* the data ends before the value does */
    ODD,   /* for Python's decoder */
    FAILED /* a Python error is set */
} Status;

enum {
    MAX_DEPTH = 40,
    MAX_NUMBER = 300,
    MAX_WHOLE_DIGITS = 18,
    MAX_DIGITS = 19
}; /* what an int64 and a uint64 hold in any case */

/* Text between two positions; a string's includes its quotation marks. */
typedef struct {
    const char *data;
    Py_ssize_t size;
} Span;

static inline const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool span_is(Span span, const char *text)
{
    size_t size = strlen(text);
    return (size_t)span.size == size && memcmp(span.data, text, size) == 0;
}

/* Moves past a string that begins here. */
static inline Status skip_string(const char **cursor, const char *end)
{
    const char *at = *cursor + 1;
    for (;;) {
        while (at < end && *at != '"' && *at != '\\')
            at++;
        if (at == end)
            return MORE;
        if (*at++ == '"')
            break;
        if (at == end || (*at == 'u' && end - at < 5))
            return MORE;
        if (*at == 'u') {
            if (!is_hex(at[1]) || !is_hex(at[2]) || !is_hex(at[3]) || !is_hex(at[4]))
                return ODD;
            at += 5;
        } else if (strchr("\"\\/bfnrt", *at) && *at)
            at++;
        else
            return ODD;
    }
    *cursor = at;
    return DONE;
}

/* Moves past a number. One that touches the end of the data may go on. */
static inline Status skip_number(const char **cursor, const char *end)
{
    const char *at = *cursor + (**cursor == '-');
    if (at == end)
        return MORE;
    if (!is_digit(*at))
        return ODD;
    const char *first = at;
    while (at < end && is_digit(*at))
        at++;
    if (*first == '0' && at - first > 1)
        return ODD;
    if (at < end && *at == '.') {
        first = ++at;
        while (at < end && is_digit(*at))
            at++;
        if (at == first)
            return at == end ? MORE : ODD;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        first = at;
        while (at < end && is_digit(*at))
            at++;
        if (at == first)
            return at == end ? MORE : ODD;
    }
    if (at - *cursor
        > MAX_NUMBER) /* Python refuses whole numbers of more than 4300 digits, which must not be found out later */
        return ODD;
    *cursor = at;
    return at == end ? MORE : DONE;
}

static inline Status skip_word(const char **cursor, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(words[i]), left = (size_t)(end - *cursor);
        if (memcmp(*cursor, words[i], left < size ? left : size) == 0) {
            *cursor += size;
            return left < size ? MORE : DONE;
        }
    }
    return ODD;
}

static Status skip_value(const char **cursor, const char *end, int depth);

/* Moves past the members of an object or a list whose bracket has been read. */
static Status skip_members(const char **cursor, const char *end, int depth, char closing)
{
    const char *at = skip_space(*cursor, end);
    if (depth == 0)
        return ODD;
    for (bool first = true;; first = false) {
        if (at == end)
            return MORE;
        if (first && *at == closing)
            break;
        if (closing == '}') {
            Status key = *at == '"' ? skip_string(&at, end) : ODD;
            if (key != DONE)
                return key;
            at = skip_space(at, end);
            if (at == end || *at != ':')
                return at == end ? MORE : ODD;
            at = skip_space(at + 1, end);
        }
        Status value = skip_value(&at, end, depth);
        if (value != DONE)
            return value;
        at = skip_space(at, end);
        if (at == end)
            return MORE;
        if (*at == closing)
            break;
        if (*at != ',')
            return ODD;
        at = skip_space(at + 1, end);
    }
    *cursor = at + 1;
    return DONE;
}

/* Moves past the value that begins here. */
static Status skip_value(const char **cursor, const char *end, int depth)
{
    if (*cursor == end)
        return MORE;
    switch (**cursor) {
    case '"':
        return skip_string(cursor, end);
    case '{':
    case '[': {
        const char *at = *cursor + 1;
        Status status = skip_members(&at, end, depth - 1, **cursor == '{' ? '}' : ']');
        if (status == DONE)
            *cursor = at;
        return status;
    }
    case 't':
    case 'f':
    case 'n':
        return skip_word(cursor, end);
    default:
        return skip_number(cursor, end);
    }
}

/* The whole number that a span is; false for anything else, and for one of more than 18 digits. */
static inline bool whole_number(Span span, int64_t *value)
{
    const char *at = span.data, *end = at + span.size;
    bool negative = at < end && *at == '-';
    at += negative;
    if (at == end || end - at > MAX_WHOLE_DIGITS)
        return false;
    int64_t made = 0;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return false;
        made = made * 10 + (*at - '0');
    }
    *value = negative ? -made : made;
    return true;
}

/* A number without exponent as digits and how many of them are decimals; false for anything else. */
static inline bool decimal_number(Span span, uint64_t *digits, int *decimals, bool *negative)
{
    const char *at = span.data, *end = at + span.size, *point = NULL;
    *negative = at < end && *at == '-';
    at += *negative;
    if (end - at > MAX_DIGITS + 1)
        return false;
    *digits = 0;
    for (; at < end; at++) {
        if (*at == '.' && !point)
            point = at;
        else if (is_digit(*at))
            *digits = *digits * 10 + (uint64_t)(*at - '0');
        else
            return false;
    }
    *decimals = point ? (int)(end - point - 1) : 0;
    return point || end - span.data - *negative <= MAX_DIGITS;
}

#endif
