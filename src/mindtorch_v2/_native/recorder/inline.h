/* What runs for every event, short enough to be compiled into its callers. */
#ifndef MINDTORCH_RECORDER_INLINE_H
#define MINDTORCH_RECORDER_INLINE_H

#include "recorder.h"

#include <time.h>

static inline char *table_element(const Table *table, int64_t index)
{
    size_t inside = (size_t)index & (((size_t)1 << table->shift) - 1);
    return table->chunk[index >> table->shift]->data + inside * table->width;
}

/* Memory for the next element; NULL without memory, and no Python error is set. */
static inline void *table_add(Table *table)
{
    if (table->spot == table->end && !table_grow(table))
        return NULL;
    char *made = table->spot;
    table->spot += table->width;
    table->next++;
    return made;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <x86intrin.h>
#define HAS_TICKS 1
static inline uint64_t ticks_now(void)
{
    return __rdtsc();
}
#else
#define HAS_TICKS 0
static inline uint64_t ticks_now(void)
{
    return 0;
}
#endif

/* What seldom happens stays out of the way of what often does. */
#if defined(__GNUC__)
#define SELDOM __attribute__((noinline, cold))
#else
#define SELDOM
#endif

static inline int64_t system_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds by the processor's counter, where the core is `ticking`: a third of the time of asking the system. */
static inline int64_t counted_now(const Core *core)
{
#if HAS_TICKS
    return core->base_ns + (int64_t)((unsigned __int128)(ticks_now() - core->base_ticks) * core->scale >> 32);
#else
    return core->base_ns;
#endif
}

/* Nanoseconds; -1 with a Python error set. */
static inline int64_t core_now(const Core *core)
{
    if (HAS_TICKS && core->ticking)
        return counted_now(core);
    return core->clock ? clock_of_python(core->clock) : system_now();
}

static inline bool code_is_free(const void *slot)
{
    return !((const CodeSlot *)slot)->code;
}

static inline uint64_t code_hash(const void *slot)
{
    return hash_pointer(((const CodeSlot *)slot)->code);
}

static inline bool code_is(const void *slot, const void *code)
{
    return ((const CodeSlot *)slot)->code == code;
}

#define CODE_KIND ((MapKind){sizeof(CodeSlot), 1024, code_is_free, code_hash, code_is})

/* What is known about a code; NULL where it was not met. */
static inline const CodeSlot *find_code(const Stacks *stacks, PyObject *code)
{
    return map_find(&stacks->codes, CODE_KIND, hash_pointer(code), code);
}

/* Code is recorded where recorded code calls it, or nobody. The user's code is also recorded where the package calls it
 * (a hook, a custom Function), perhaps through a library, but not what an import inside the package runs. */
static inline bool is_recorded(const Frame *caller, int32_t class)
{
    int32_t whose = class & CLASS_MASK;
    if (whose == INTERNAL)
        return false;
    if (!caller || caller->row != -1)
        return true;
    return whose == USER && (caller->class & CLASS_MASK) != USER && !(caller->class & IMPORTS);
}

/* The innermost of the running functions ended; its caller goes on. */
static inline void frames_shrink(Buffer *buffer)
{
    buffer->frame_count--;
    if (buffer->known_frames >= buffer->frame_count)
        buffer->known_frames = buffer->frame_count ? buffer->frame_count - 1 : 0;
}

static inline bool op_is_free(const void *slot)
{
    return !((const OpSlot *)slot)->op;
}

static inline uint64_t op_hash(const void *slot)
{
    return hash_pointer(((const OpSlot *)slot)->op);
}

static inline bool op_is(const void *slot, const void *op)
{
    return ((const OpSlot *)slot)->op == op;
}

#define OP_KIND ((MapKind){sizeof(OpSlot), 1024, op_is_free, op_hash, op_is})

/* The label of an operator; NULL with a Python error set. */
static inline const OpSlot *core_op_label(Core *core, PyObject *op)
{
    const OpSlot *known = map_find(&ops_met, OP_KIND, hash_pointer(op), op);
    return known ? known : core_add_op(core, op);
}

/* Whether the next row will be dropped: then there is no need to describe it. */
static inline bool buffer_refuses(const Buffer *buffer)
{
    const Core *core = buffer->core;
    return (core->limit && !core->newest && core->kept >= core->limit) || buffer->rows.next >= INT32_MAX;
}

/* Opens a row: its number; -1 if it is dropped; -2 with a Python error set. */
static inline int32_t buffer_push(Buffer *buffer, int32_t label, int64_t sequence_nr, int32_t forward_thread,
                                  int32_t inputs, int32_t stack, unsigned how, int64_t now)
{
    Core *core = buffer->core;
    if (buffer->open_count == buffer->open_room && !buffer_room(buffer))
        return -2;
    int32_t number = -1;
    if (!buffer_refuses(buffer)) {
        if (core->limit && core->newest && table_is_full(&buffer->rows))
            core_drop_old_rows(core);
        Row *row = table_add(&buffer->rows);
        if (!row) {
            PyErr_NoMemory();
            return -2;
        }
        number = (int32_t)(buffer->rows.next - 1);
        row->start_ns = now;
        row->end_ns = NO_END;
        row->sequence_nr = sequence_nr;
        row->label = label;
        row->parent = buffer->open_count ? buffer->open[buffer->open_count - 1].row : buffer->base;
        row->inputs = inputs;
        row->stack = stack;
        row->module = buffer->module;
        row->forward_thread = forward_thread;
        core->kept++;
    } else {
        core->dropped++;
        if (how & BY_HANDLE)
            return -1; /* nobody will end it */
    }
    Open *opened = &buffer->open[buffer->open_count++];
    opened->row = number;
    opened->stack = stack;
    opened->how = how;
    buffer->op_depth += (how & IS_OP) != 0;
    return number;
}

/* Whether the thread may run another task than at the event before. No task is left inside an operator. */
static inline bool buffer_is_elsewhere(const Buffer *buffer)
{
    return !buffer->op_depth && PyThreadState_Get()->context != buffer->context;
}

/* What was opened last; NULL where nothing is open. */
static inline const Open *buffer_top(const Buffer *buffer)
{
    return buffer->open_count ? &buffer->open[buffer->open_count - 1] : NULL;
}

/* The call stack for a new row; -2 with a Python error set. What an operator of the package calls has the operator's:
 * only the package's own frames lie between them. */
static inline int32_t buffer_stack(Buffer *buffer)
{
    const Open *top = buffer_top(buffer);
    return top && top->how & IS_OP ? top->stack : stacks_sample(buffer);
}

/* Ends the innermost row that was not opened by handle; mostly the one opened last. */
static inline void buffer_leave_fast(Buffer *buffer, int64_t now)
{
    const Open *top = buffer_top(buffer);
    if (!top || top->how & BY_HANDLE || top->row < buffer->rows.first) {
        buffer_leave(buffer, now);
        return;
    }
    ((Row *)table_element(&buffer->rows, top->row - buffer->rows.first))->end_ns = now;
    buffer->op_depth -= (top->how & IS_OP) != 0;
    buffer->open_count--;
}

/* Ends a row that was opened by handle; mostly the one opened last. */
static inline void buffer_end_fast(Buffer *buffer, int32_t row, int64_t now)
{
    const Open *top = buffer_top(buffer);
    if (!top || top->row != row || !(top->how & BY_HANDLE) || row < buffer->rows.first) {
        buffer_end(buffer, row, now);
        return;
    }
    ((Row *)table_element(&buffer->rows, row - buffer->rows.first))->end_ns = now;
    buffer->op_depth -= (top->how & IS_OP) != 0;
    buffer->open_count--;
}

#endif
