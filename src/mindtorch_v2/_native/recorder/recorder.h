/* The native recorder: what its parts share. Everything here is touched with the GIL held. */
#ifndef MINDTORCH_RECORDER_H
#define MINDTORCH_RECORDER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <structmember.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/hash_map.h"

/* How an event's name begins that stands for the evaluation of a node, as in _observer.py. */
#define NODE_PREFIX "autograd::engine::evaluate_function: "

/* Codes that Python has too; the module exports them, and tests/mindtorch_v2/native/test_codes.py compares.
 * Bits of Core.detail, as in profiler/record/row_format.py: what makes a row cost more than its times. */
enum { SHAPES = 1, STACKS = 2, MODULES = 4, LISTENERS = 8, REFERENCES = 16 };
/* Kinds of rows, as in profiler/record/kinds.py. */
enum { KIND_NODE = 1, KIND_BACKWARD = 2, KIND_SCOPE = 3, KIND_FUNCTION = 5, KIND_RUNTIME = 10, KIND_COUNT = 12 };
/* Whose code it is, as in profiler/record/stacks.py; IMPORTS marks the import machinery. */
enum { USER = 0, LIBRARY = 1, INTERNAL = 2, CLASS_MASK = 3, IMPORTS = 4 };

#define NO_END INT64_MIN

/* Reading a thread's own variable takes one instruction where the C library lets a loaded module have some in advance.
 */
#if defined(__GLIBC__) && defined(__GNUC__)
#define THREAD_LOCAL_MODEL __attribute__((tls_model("initial-exec")))
#else
#define THREAD_LOCAL_MODEL
#endif

typedef struct {
    int64_t start_ns, end_ns, sequence_nr;
    int32_t label, parent, inputs, stack, module, forward_thread;
} Row;

typedef struct {
    int64_t time_ns, block, address, nbytes;
    int32_t device, row; /* the device's code, with TENSORS where a tensor took the memory */
} MemoryRow;

enum { TENSORS = 1 << 30 };

/* A tensor that an event was given: which one it was, and whose memory it had. Profiles of shapes and memory have
 * these. */
typedef struct {
    int64_t tensor, block, address; /* ids; the block's is 0 where it has to be found by the memory's address */
    int32_t row, origin;            /* origin: the tensor's device bits << ARGUMENT_BITS | index of the argument */
} Reference;

enum { ARGUMENT_BITS = 8 };

/* Memory that lives until the last of its readers is gone: they share it instead of copying. */
typedef struct {
    PyObject_HEAD
    char *data;
    size_t size;
} Chunk;

/* Elements of one size in chunks that never move. Elements have ids from 0; the oldest chunks may be given up. */
typedef struct {
    Chunk **chunk;
    Py_ssize_t held, room;
    int64_t first; /* the first element that is kept; a multiple of the chunk's size */
    int64_t next;  /* the id of the next element */
    size_t width;
    int shift;        /* a chunk holds 1 << shift elements */
    char *spot, *end; /* where the next element goes, and the newest chunk's end */
} Table;

void table_init(Table *table, size_t width, int shift);
bool table_grow(Table *table);                  /* adds a chunk; false without memory */
void *table_at(const Table *table, int64_t id); /* NULL where it is not kept */
bool table_is_full(const Table *table);         /* whether the next element begins a chunk */
void table_drop_chunk(Table *table);
PyObject *table_parts(const Table *table, int64_t from,
                      int64_t to); /* (first id, [(chunk, first element, elements), ...]) */
void table_clear(Table *table);

/* What is known about a code object: its class and the label of its calls. */
typedef struct {
    PyObject *code;
    int32_t class, label;
} CodeSlot;

typedef struct {
    int32_t parent; /* the caller's node, or -1 */
    int32_t lasti;
    PyObject *code;
} StackNode;

/* A function in C that was called before, and its label. */
typedef struct {
    const void *definition, *type;
    char name[48];
} FunctionKey;

typedef struct {
    FunctionKey key;
    int32_t label; /* 0: a free slot */
} FunctionSlot;

enum { RECENT_FUNCTIONS = 128 };
#define HIDDEN_FUNCTION                                                                                                \
    (INT32_MIN                                                                                                         \
     + 1) /* the label of functions in C that are the package's own, as in profiler/record/native_recorder.py */

/* Call stacks as a tree of (caller, code, instruction), and the codes met. Lives as long as what was recorded with it.
 */
typedef struct {
    PyObject_HEAD
    HashMap codes;                         /* CodeSlot */
    Table nodes;                           /* StackNode */
    HashMap by_key;                        /* (parent, lasti, code) -> node */
    HashMap functions;                     /* FunctionKey -> label */
    FunctionSlot recent[RECENT_FUNCTIONS]; /* those called last, by the slot that their definition gives */
    PyObject *describe_code, *describe_function;
} Stacks;

typedef struct Core Core;

/* How a row was opened. A Python call's row is always opened by handle. */
enum { BY_HANDLE = 1, IS_OP = 2, IS_PYTHON = 4 };

typedef struct {
    int32_t row; /* -1 where the row was dropped */
    int32_t stack;
    unsigned how;
} Open;

/* A Python function that runs on a traced thread. */
typedef struct {
    PyFrameObject *frame;
    int32_t class, row, builtin_row; /* rows are -1 where they are not recorded */
    int32_t lasti, node;             /* the node that `lasti` and all callers led to when last asked; -2 for none */
} Frame;

/* What an asyncio task or a greenlet has open while another one runs; the thread's own is the root. */
typedef struct {
    PyObject_HEAD
    Open *open;
    Py_ssize_t open_count, open_room, op_depth;
    int32_t module;
    PyObject *module_stack;
    Frame *frames; /* of a greenlet */
    Py_ssize_t frame_count, frame_room, known_frames;
    int32_t id, inherited; /* the scope that it began in, or -1 */
    bool is_greenlet;
    PyObject *name;
} Lane;

typedef struct {
    int64_t row; /* from here on */
    int32_t lane;
} Switch;

typedef struct {
    PyObject_HEAD
    Core *core;
    Table rows, memory, references;
    Open *open;
    Py_ssize_t open_count, open_room, op_depth;
    int32_t module;
    Frame *frames;
    Py_ssize_t frame_count, frame_room;
    Py_ssize_t known_frames; /* the outermost ones, whose node is right as long as they call what stands above them */
    struct Hook *hook;       /* what the thread's profile function is given, where there is one */
    char calls_only;         /* only its Python calls are recorded */
    char traced, monitored, alone; /* monitored: by sys.monitoring, and nobody else uses that */
    unsigned long ident;           /* of the thread, as Python gives it, and its id */
    int id;
    PyObject *info, *module_stack, *detached;
    PyObject *context; /* the thread's contextvars.Context when last asked who runs; None before */
    Lane *root, *lane; /* the thread's own lane, and the current one; `lanes` holds all */
    PyObject *lanes;
    int32_t base; /* the parent of rows that begin where the lane has nothing open */
    char in_task, switching;
    Switch *switches;
    Py_ssize_t switch_count, switch_room;
} Buffer;

/* The label of a name that was met lately, found by the name's address. */
typedef struct {
    PyObject *name; /* owned; NULL: a free slot */
    int32_t kind, label;
} NameSlot;

enum { RECENT_NAMES = 128 };

struct Core {
    PyObject_HEAD
    uint64_t generation;
    int detail;
    char watches_memory, watches_modules, watches_outputs, all_threads, newest;
    int64_t limit, kept, dropped; /* rows: at most, now, not kept since reset */
    PyObject *clock;              /* NULL: the system's */
    bool ticking;                 /* whether times come from the processor's counter */
    uint64_t base_ticks, scale;   /* where it stood at base_ns; nanoseconds per tick, times 2 ** 32 */
    int64_t base_ns;
    PyObject *buffers;           /* dict: thread id -> Buffer */
    PyObject *names[KIND_COUNT]; /* dict: name -> label */
    NameSlot recent[RECENT_NAMES];
    HashMap inputs;
    Table stray; /* MemoryRow: frees by threads that are not recorded */
    Stacks *stacks;
};

extern PyTypeObject Core_Type, Buffer_Type, Stacks_Type, Chunk_Type, Lane_Type, StepClock_Type;
extern struct Names {
    PyObject *of_op, *of_values, *inputs, *id_of, *labels, *find_buffer, *tell_op, *tell_leave, *op_label;
} names;

/* the recorder's type: core_type.c */
int core_setup(void);

/* labels */
typedef struct {
    PyObject *op; /* NULL: a free slot */
    int32_t label;
    bool is_aten;
} OpSlot;

extern HashMap ops_met;                              /* OpSlot: every operator met, for the life of the process */
const OpSlot *core_add_op(Core *core, PyObject *op); /* of one not met before; NULL with a Python error set */
int core_known_label(Core *core, PyObject *name, int kind, int32_t *label); /* 1; 0: the name has none yet; -1: error */
int core_name_label(Core *core, PyObject *name, int kind, int32_t *label);  /* -1 with a Python error set */
void core_forget_names(Core *core);

/* events: an operator's, with its arguments one by one, and as a tuple where there is one */
int core_tell(Core *core, int kind, PyObject *name, PyObject *inputs, long long sequence_nr, int32_t forward_thread);
int launches_setup(PyObject *module);
int core_begin_op(Core *core, PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *tuple,
                  int64_t sequence_nr);
/* A node's evaluation (no inputs), its application to gradients (`is_backward`), or the forward of a custom Function.
 */
int core_begin_node(Core *core, PyObject *name, int64_t sequence_nr, PyObject *thread, PyObject *const *inputs,
                    Py_ssize_t count, bool is_backward,
                    bool is_closed);         /* closed: nothing of the user's runs inside, so nothing is traced there */
int core_end_op(Core *core, bool went_well); /* where it did not, the error that is set stays */
Buffer *core_known_buffer(const Core *core); /* the same, NULL too where it is not known yet */
Buffer *core_buffer(Core *core);             /* the calling thread's, NULL if not recorded */
PyObject *core_enter_op(Core *self, PyObject *const *args, Py_ssize_t count);
PyObject *core_enter_node(Core *self, PyObject *const *args, Py_ssize_t count);
PyObject *core_enter_scope(Core *self, PyObject *const *args, Py_ssize_t count);
PyObject *core_leave(Core *self, PyObject *ignored);
PyObject *core_clock_now(Core *self, PyObject *ignored);
PyObject *core_thread_buffer(Core *self, PyObject *ignored);
PyObject *core_bind(Core *self, PyObject *buffer);

/* rows */
int64_t clock_of_python(PyObject *clock);
void clock_start(Core *core, bool trusted); /* `trusted`: the system itself keeps time by the counter */
bool buffer_room(Buffer *buffer);           /* makes room on the stack of open rows */
int buffer_leave(Buffer *buffer, int64_t now);
void buffer_end(Buffer *buffer, int32_t row, int64_t now);
void buffer_end_elsewhere(Buffer *buffer, int32_t row, int64_t now); /* cuts nothing */
bool buffer_note_memory(Buffer *buffer, int64_t now, int64_t block, int64_t address, int64_t nbytes, int32_t device);
int core_drop_old_rows(Core *core);

/* inputs */
int inputs_setup(PyObject *module, PyObject *tensor, PyObject *ndarray, PyObject *samples);
PyObject *inputs_setup_values(PyObject *module, PyObject *args);
/* The arguments of a call by id; -2 with a Python error set. `tuple` is made where it is needed and not given. */
int32_t inputs_of_op(Core *core, PyObject *op, PyObject *const *args, Py_ssize_t count, PyObject *tuple);
int32_t inputs_of_values(Core *core, PyObject *const *values, Py_ssize_t count);
PyObject *tuple_of(PyObject *const *items, Py_ssize_t count);

/* references */
void references_add(Buffer *buffer, int32_t row, PyObject *const *values, Py_ssize_t count); /* one for each tensor */
void references_of_newest(Buffer *buffer, PyObject *const *values, Py_ssize_t count); /* of the row opened last */

/* stacks */
Stacks *stacks_new(void);
bool stacks_code(Stacks *stacks, PyObject *code, CodeSlot *known); /* false with a Python error set */
int32_t stacks_node(Stacks *stacks, int32_t parent, PyObject *code, int32_t lasti);
int32_t stacks_sample(Buffer *buffer); /* the calling thread's stack */
int frame_lasti(PyFrameObject *frame);
int32_t stacks_function_label(Stacks *stacks, PyObject *function,
                              PyObject *self); /* `self`: of a method that is not bound */

int32_t stacks_recent_label(Stacks *stacks, PyObject *function,
                            PyObject *self); /* of one called lately; 0 where it was not */

/* tracer */
extern PyMethodDef tracer_methods[];
void tracer_pause(const Buffer *buffer);                    /* an operator begins: nothing inside it is traced */
void tracer_resume(const Buffer *buffer);                   /* goes on unless an operator is still open */
extern _Thread_local bool tracer_paused THREAD_LOCAL_MODEL; /* whether there is anything to resume */
void tracer_clear(Buffer *buffer);
int tracer_handle(Buffer *buffer, PyFrameObject *frame, int what, PyObject *function, PyObject *self);
int hook_begin(Buffer *buffer); /* sets the calling thread's profile hook */
void hook_end(
    Buffer *buffer); /* at once where it is the calling thread's, else when that thread calls something next */
void hook_forget(Buffer *buffer);
extern PyMethodDef monitoring_functions[];
PyObject *call_undisturbed(PyObject *function, PyObject *argument); /* an interrupt is raised later */
int keep_on_thread(const char *name, PyObject *object);             /* until the thread ends or keeps another one */
int monitoring_begin(Buffer *buffer);                               /* the calling thread is traced into it */
void monitoring_end(Buffer *buffer);
void monitoring_buffer_dies(const Buffer *buffer);
int buffer_setup(void);

/* lanes */
extern PyMethodDef lanes_methods[];
int lanes_init(Buffer *buffer);
void lanes_clear(Buffer *buffer);
int lanes_follow(Buffer *buffer); /* goes to the lane of the task that runs now */
bool lanes_end(Buffer *buffer, int32_t row, int64_t now, void (*end)(Buffer *, int32_t, int64_t));
void lanes_each(Buffer *buffer, void (*run)(Buffer *)); /* in every lane, one after another */

/* threads that run already when tracing begins */
PyObject *meet_threads(PyObject *module, PyObject *args);
void meeting_here(void); /* meets the calling thread, if it waits for that */

/* memory */
PyObject *memory_configure(PyObject *module,
                           PyObject *function); /* function(array): notes memory that was not allocated under watch */
Core *calls_active(void);                       /* the recorder where it is the observer, else NULL (borrowed) */
bool memory_is_watched(void);
int watch_memory(PyObject *array); /* notes the memory of an array, once */
bool memory_note_birth(int64_t block, int64_t address, int64_t nbytes, int32_t device,
                       bool only_at_work); /* false where it was not noted */
void memory_note_end(int64_t block, int64_t address, int64_t nbytes);
int64_t memory_last_record(void);                    /* of the calling thread: its id; -1 where it is not recorded */
MemoryRow *memory_record(int64_t id, int64_t block); /* of the calling thread, if it is about that block; else NULL */
PyObject *core_allocated(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *core_freed(PyObject *self, PyObject *const *args, Py_ssize_t count);
#endif
