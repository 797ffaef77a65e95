/* A reader of traces: what it holds, and what its Python type calls. */
#ifndef MINDTORCH_TRACE_READER_H
#define MINDTORCH_TRACE_READER_H

#include "columns.h"

/* A kind that the event's name changes into another: see RULES in profiler/load/collector.py. */
typedef struct {
    unsigned char kind, test, becomes;
    Py_ssize_t size;
    char text[48];
} Rule;

enum { BEGINS, LACKS, EQUALS };
enum { MAX_RULES = 8, KINDS = 256 };
enum { OF_SLICE, OF_TRACK, OF_INPUTS, OF_STACK, OF_MODULE, OF_CATEGORY, DESCRIPTIONS };

typedef struct {
    PyObject_HEAD
    PyObject *describe[DESCRIPTIONS]; /* see profiler/load/native_reader.py */
    HashMap known[DESCRIPTIONS];      /* texts, and the ids that Python gave them */
    PyObject *strings;                /* dict of all names and their indices */
    Rule rules[MAX_RULES];
    int rule_count;
    unsigned char how[KINDS]; /* how slices of a kind are read */
    Times start, duration, memory_time;
    Column rows[ROW_COLUMNS], memory;
    Column scratch; /* where keys are put together */
    Py_ssize_t count;
    char exact;       /* whether times become nanoseconds here */
    char lost_digits; /* whether a double did not hold a time */
} Reader;

enum { HOST, PYTHON_CALL, DEVICE }; /* how a slice is read: the last byte of its description */

/* Lengths of keys are counted once, before anything is read. */
void reader_setup(void);
/* Takes the event at the cursor and moves past it; where it is not DONE, nothing was taken. */
Status take_event(Reader *self, const char **cursor, const char *end);
/* Rows that were read: false without memory. */
bool add_row(Reader *self, Time start, Time duration, const int64_t value[ROW_COLUMNS]);
bool add_memory(Reader *self, Time time, const int64_t value[MEMORY_WIDTH]);

#endif
