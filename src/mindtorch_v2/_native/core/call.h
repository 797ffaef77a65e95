/* Calls of operators: what the files call*.c and the engine share. A Call executes the plan that _dispatch/plan.py
 * makes of an op. */
#ifndef MINDTORCH_CALL_H
#define MINDTORCH_CALL_H

#include "tensor.h"
#include "recorder/recorder.h"

enum { MAX_PARAMS = 16, MAX_OWNED = 8 };

/* The enums of _dispatch/plan.py and steps.py, in their order; tests/mindtorch_v2/dispatch/test_call_plans.py compares
 * them. */
#define ARGUMENT_KINDS(NAME)                                                                                           \
    NAME(ARGUMENT, VALUE)                                                                                              \
    NAME(ARGUMENT, TENSOR)                                                                                             \
    NAME(ARGUMENT, OPTIONAL_TENSOR)                                                                                    \
    NAME(ARGUMENT, NUMBER)                                                                                             \
    NAME(ARGUMENT, TENSOR_LIST)                                                                                        \
    NAME(ARGUMENT, LIST_WITH_HOLES)                                                                                    \
    NAME(ARGUMENT, REPEATED)                                                                                           \
    NAME(ARGUMENT, ELEMENT_TYPE)                                                                                       \
    NAME(ARGUMENT, REAL)                                                                                               \
    NAME(ARGUMENT, SPREAD)                                                                                             \
    NAME(ARGUMENT, DEVICE)                                                                                             \
    NAME(ARGUMENT, UNSET)
#define MAKES(NAME)                                                                                                    \
    NAME(MAKES, TENSOR)                                                                                                \
    NAME(MAKES, VIEW)                                                                                                  \
    NAME(MAKES, WRITTEN)                                                                                               \
    NAME(MAKES, SEVERAL)                                                                                               \
    NAME(MAKES, VALUE)
#define RESULT_TYPES(NAME)                                                                                             \
    NAME(TYPE, OF_LEAD)                                                                                                \
    NAME(TYPE, BOOL)                                                                                                   \
    NAME(TYPE, OF_ARRAY)
#define SAVED_KINDS(NAME)                                                                                              \
    NAME(SAVED, ARGUMENT)                                                                                              \
    NAME(SAVED, RESULT)                                                                                                \
    NAME(SAVED, SHAPE)                                                                                                 \
    NAME(SAVED, DTYPE)                                                                                                 \
    NAME(SAVED, FACT)                                                                                                  \
    NAME(SAVED, STRIDES)
#define STEPS_KINDS(NAME)                                                                                              \
    NAME(STEPS, NONE)                                                                                                  \
    NAME(STEPS, INSIDE)                                                                                                \
    NAME(STEPS, NODE)                                                                                                  \
    NAME(STEPS, PRODUCT)                                                                                               \
    NAME(STEPS, COPY)
#define ENUMERATOR(prefix, name) prefix##_##name,
enum { ARGUMENT_KINDS(ENUMERATOR) };
enum { MAKES(ENUMERATOR) };
enum { RESULT_TYPES(ENUMERATOR) };
enum { SAVED_KINDS(ENUMERATOR) };
enum { STEPS_KINDS(ENUMERATOR) };

typedef struct {
    PyObject *name, *unset; /* unset: the default, NULL where there is none */
    int kind, length;
} Param;

typedef struct {
    int what, position;      /* of the argument, or the number of the output */
    unsigned users;          /* edges of which one must exist, or nothing is saved; 0: always saved */
    PyObject *fact, *absent; /* how to ask for it, and what stands for it where the argument is not a tensor */
} SavedValue;

typedef struct {
    PyTypeObject *node; /* NULL: the op has no derivative */
    PyObject *view_edge, *slot;
    int inputs[MAX_PARAMS], input_count;
    SavedValue saved[MAX_PARAMS];
    int saved_count;
    bool takes_lists;  /* an input is a list of tensors: an edge for each */
    bool only_inexact; /* a result of another type is a constant */
    unsigned constant; /* outputs that have no gradient, as bits */
} Gradient;

typedef struct {
    int kind;
    PyObject *op, *name;         /* the step's operator (NULL where none is listed), or its name */
    PyObject *constants, *fewer; /* what follows the first argument, or the operators that allocate a copy: tuples */
    int dimensions;              /* of the first argument, where that matters; else -1 */
    int first, rank;             /* of a product: the position of its first operand, and their dimensions */
    bool lists_result;           /* whether a result of contiguous operands is listed as resolved */
    PyObject *expand;            /* the operator that brings what is added to the result's shape, or NULL */
    PyObject *format;            /* of a copy: the memory format for which `fewer` lists the allocating operators */
} Steps;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;        /* the call function in Python, which does everything that is not done here */
    PyObject *op, *unseeded;   /* unseeded: what is told where no generator is given, or NULL */
    int generator;             /* its position */
    PyObject *kernel, *direct; /* arrays in, arrays out; NULL where there is none */
    PyObject *composite;       /* tensors in, tensors out; NULL of a leaf op */
    PyObject *boxed;           /* the same of a leaf op on the device `boxed_key`, once the dispatcher has found it */
    long boxed_key;
    Param params[MAX_PARAMS];
    int count, positional, lead, makes, result_type;
    int loop;             /* which loop of loops.c computes a few elements; 0: none */
    unsigned casting;     /* parameters of one type, as bits */
    PyObject *tuple_type; /* of several outputs; NULL for a plain tuple */
    bool wants_inexact, joins, is_view, is_graph_view, writes, has_steps, below_autograd, makes_new, enters_below,
        has_sequence_id;
    Gradient gradient;
    Steps steps;
} Call;

/* One call under way. */
typedef struct {
    PyObject *bound[MAX_PARAMS]; /* the arguments in the schema's order, borrowed */
    PyObject *array[MAX_PARAMS]; /* the same for the kernel */
    PyObject *owned[MAX_OWNED];
    int owned_count;
    long keys;       /* of the tensors */
    bool has_number; /* a number stands where a tensor may */
    bool grad, observed;
    bool is_in_order;    /* the kernel's result lies in memory as the operands tell */
    PyObject *boxed;     /* tensors in, tensors out: runs instead of the kernel on arrays; borrowed, or NULL */
    int64_t sequence_nr; /* -1: the event carries none */
    Core *core;          /* who is told: held, as a profile may end inside the call */
    PyObject *edges;     /* of a write with history, taken before it: owned, or NULL */
    unsigned present;    /* which inputs have one of them, as bits */
    PyObject *before;    /* what is about to be overwritten, where its derivative needs it: owned, or NULL */
} Arguments;

/* Whether something was done, goes to the Python function, or failed with an error set. */
enum { FALLBACK = 0, DONE = 1, FAILED = -1 };

/* call_state.c: the modes of the process and the thread, what calls need of the package. */
extern long mode_word;    /* as SPACE["_mode"] */
extern Core *active_core; /* the recorder, where it is the observer and a native one */
extern PyTypeObject *array_class;
extern PyObject *next_sequence_nr; /* a list of one number */
extern PyObject *settle, *explain, *as_array, *check_writable, *type_by_numpy_id, *bool_type, *cpu_device,
    *resolve_device;
bool thread_has_no_grad(void);
bool is_plain_call(void);   /* nobody wants calls to go the general way */
bool asks_subclasses(void); /* a subclass of Tensor exists that is asked before operators */
bool is_inexact(PyObject *dtype);
PyObject *boxed_key(long key);                 /* borrowed: the keys of a tensor without gradient on one device */
PyObject *cpu_tensor_keys(void);               /* borrowed */
const ArrayFields *fields_of(PyObject *array); /* NULL where it cannot be read */
PyObject *shape_of(PyObject *array);
PyObject *tuple_of_sizes(const Py_ssize_t *sizes, int count);
bool owns_plain_memory(const Tensor *tensor); /* a contiguous CPU tensor whose memory nobody else can see */
bool is_row_major(const Tensor *tensor);      /* its elements lie in the order of their indices */

/* call_type.c: adds the enums above to a module, as dictionaries. */
int calls_export(PyObject *module);

/* call_arguments.c: what is seldom, or costly in any case; FALLBACK, DONE or FAILED. */
int bind_spread(Arguments *arguments, PyObject *const *args, Py_ssize_t count, int position);
int repeat(Arguments *arguments, int position, int length);
int read_list(PyObject *value, Arguments *arguments, bool has_holes);
int read_device(Arguments *arguments, int position);
bool has_asked(const Call *call, const Arguments *arguments);

/* call_boxed.c: the kernel on tensors. */
int find_boxed(Call *call, Arguments *arguments, long device);
PyObject *run_on_tensors(const Call *call, Arguments *arguments);
int restore_grad(bool on);

/* call_result.c: what the kernel returned (stolen) as the op's result. */
PyObject *make_result(const Call *call, const Arguments *arguments, PyObject *made);
bool layouts_differ(const Call *call, const Arguments *arguments);
PyObject *settle_order(const Call *call, const Arguments *arguments, PyObject *array);
void explain_error(const Call *call, const Arguments *arguments);
int check_target(PyObject *target);
int watch_results(PyObject *made);

/* call_grad.c: ties a result, or a tuple or list of them, to a new node; -1 with an error set. */
int record_gradient(const Call *call, const Arguments *arguments, PyObject *made);
/* An in-place write of a tensor that has, or gets, a history: whether C does it, what must be noted before, and after
 * it. */
bool writes_history(const Call *call, const Arguments *arguments);
int prepare_write(const Call *call, Arguments *arguments);
int record_write(const Call *call, const Arguments *arguments);

/* call_saved.c: sets what a node keeps; -1 with an error set. */
int set_saved(const Call *call, const Arguments *arguments, PyObject *made, unsigned present, Node *node);
bool same_version(PyObject *a, PyObject *b);

/* call_steps.c */
bool steps_fit(const Call *call,
               const Arguments *arguments); /* whether the steps can be recorded around the kernel on arrays */
PyObject *steps_run(const Call *call, Arguments *arguments);
/* The events of a call and of the steps in it, where the call itself is not needed; -1 with an error set. */
int steps_record(PyObject *call, PyObject *const *args, Py_ssize_t count, Core *core);
int steps_read(PyObject *given, Steps *steps);

/* Both types that are called before a Python function hold that function right after their vectorcall. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
} BeforeFunction;
PyObject *function_get(PyObject *self, PyObject *instance, PyObject *owner); /* as functions are bound to an instance */
PyObject *function_getattro(PyObject *self, PyObject *name);
extern PyGetSetDef function_attributes[];
PyObject *function_reduce(PyObject *self, PyObject *ignored);

/* call.c */
PyObject *run_kernel(const Call *call, Arguments *arguments);
PyObject *call_vector(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords);

/* Whether an argument is or may be a tensor. */
static inline bool takes_tensor(const Param *param)
{
    return param->kind >= ARGUMENT_TENSOR && param->kind <= ARGUMENT_NUMBER;
}

static inline bool shares_memory(const Tensor *target, PyObject *given)
{
    return given == (PyObject *)target
           || (is_tensor(given) && target->storage != Py_None && ((Tensor *)given)->storage == target->storage);
}

static inline bool takes_list(const Param *param)
{
    return param->kind == ARGUMENT_TENSOR_LIST || param->kind == ARGUMENT_LIST_WITH_HOLES;
}

#endif
