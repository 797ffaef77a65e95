/* The native part of the Ascend backend: what its files share. Everything is touched with the GIL held unless said
 * otherwise. */
#ifndef MINDTORCH_NPU_H
#define MINDTORCH_NPU_H

#include "common/hash_map.h"
#include "core/tensor.h"
#include "common/enums.h"
#include "common/launches.h"

#define MAX_OPERANDS 18
#define MAX_WORDS 20
#define MAX_REALS 8
#define MAX_DIMS 16
#define MAX_DEVICES 16

typedef int32_t (*FirstPhase)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                              int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                              double, double, double, double, double, double, double, double);
typedef int32_t (*SecondPhase)(void *, uint64_t, void *, void *);
typedef int32_t (*Destroy)(const void *);

/* Arrays are read at numpy's published layout (ArrayFields); `configure` checks it against real arrays before it is
 * used. */

/* ---- memory.c */
typedef struct Cache Cache;

/* Owns a block of device memory while any array over it lives. */
typedef struct {
    PyObject_HEAD
    PyObject *block; /* the allocator's */
    Cache *cache;
    int64_t address, nbytes, size, stream;
    int pool;
    char shared; /* other streams used it: it goes back through the allocator */
} Memory;

extern PyTypeObject Memory_Type, Cache_Type;
extern Cache *caches[MAX_DEVICES]; /* of the devices in use */

bool memory_is_lost(const Memory *memory);                        /* whether its device was reset since */
Memory *cache_take(Cache *cache, int64_t nbytes, int64_t stream); /* NULL where none is at hand; no error is set */

/* ---- operands.c */
typedef struct {
    void *object;
    Destroy destroy;
} Made;
typedef struct {
    int64_t words[MAX_WORDS];
    double reals[MAX_REALS];
    Made made[MAX_OPERANDS];
    int word_count, real_count, made_count;
} Operands;

/* An element type. */
typedef struct {
    PyObject *dtype, *descr; /* ours and numpy's */
    int32_t code;            /* the libraries' */
    int64_t item;
} ElementType;

extern PyObject *rejected;
extern struct NpuNames {
    PyObject *array, *dtype, *index, *item, *begin, *end;
} npu_names;

const ElementType *element_type(PyObject *dtype);                /* NULL with an exception */
Memory *memory_under(const ArrayFields *array);                  /* borrowed; NULL for none */
int add_operand(Operands *operands, char code, PyObject *value); /* -1 with an exception */
int add_array_tensor(Operands *operands, const ArrayFields *array, const ElementType *type);
int add_memory_tensor(Operands *operands, const Memory *memory, int nd, const int64_t *dims, const int64_t *strides,
                      const ElementType *type);
void drop_operands(Operands *operands);
PyObject *operands_configure(PyObject *module, PyObject *args);

/* ---- launch.c */
typedef struct {
    FirstPhase first;
    SecondPhase second;
    PyObject *name; /* without "aclnn" */
    int device;
    int64_t stream; /* its handle */
    int32_t stream_id;
    PyObject *stream_object; /* for a watcher in Python; NULL where there is none */
    uint64_t *workspace;     /* the size that was needed last time; NULL where nobody remembers */
} Target;

typedef struct {
    int phase;
    int32_t status;
} Outcome; /* phase 0: all went well */

int run_phases(Operands *operands, const Target *target, Outcome *outcome); /* -1 with an exception */
PyObject *take_memory(int device, int64_t nbytes, int64_t stream);          /* a Memory */
/* The calling thread's stream on a device; false where Python has to find out, or to choose the device first. */
bool current_stream(int device, int64_t *handle, int32_t *id);

/* ---- watch.c */
typedef struct {
    int64_t id, start, end;
    bool is_anchor;
} Span;
/* Codes that Python has too: plans.c and memory.c export theirs. */
int plans_export(PyObject *module);
int statistics_export(PyObject *module);

enum { UNWATCHED, WATCHED_HERE, WATCHED_IN_PYTHON };

extern int watched;
extern PyObject *python_watcher; /* has begin(name, stream) and end(name, stream) */

int span_open(Span *span);   /* before the GIL is given up; -1 with an exception */
void span_begin(Span *span); /* the launch itself begins; without the GIL */
void span_end(Span *span);
int span_close(Span *span, PyObject *name, int device, int32_t stream); /* with the GIL again */
extern PyMethodDef watch_methods[];

/* ---- plans.c */
extern PyTypeObject Planned_Type;
PyObject *plans_configure(PyObject *module, PyObject *args);

#endif
