/* Calls of operators: what the files call*.c and the engine share. */
#ifndef MINDTORCH_CALL_H
#define MINDTORCH_CALL_H

#include "tensor.h"

enum { MAX_PARAMS = 16, MAX_OWNED = 4 };
/* What an argument is. NUMBER: a tensor or a number; REPEATED: a number stands for several; SPREAD: the rest of the positions. */
enum { VALUE, TENSOR_PARAM, OPTIONAL_TENSOR, NUMBER_PARAM, REPEATED, ELEMENT_TYPE, REAL, SPREAD };
/* Where the result's type comes from. */
enum { TYPE_OF_LEAD, TYPE_BOOL, TYPE_OF_ARRAY };
/* What a node saves: an argument, the result, or a fact about an argument. */
enum { SAVED_ARGUMENT, SAVED_RESULT, SAVED_SHAPE, SAVED_DTYPE, SAVED_OTHER };

typedef struct {
    PyObject *name, *unset; /* unset: the default, NULL where there is none */
    int kind, length;
} Param;

typedef struct {
    int what, param;
    unsigned users;             /* edges of which one must exist, or nothing is saved; 0: always saved */
    bool has_version;           /* its version is to be checked when it is used */
    PyObject *fact, *otherwise; /* how to ask for it, and what stands for it where the argument is no tensor */
} SavedValue;

typedef struct {
    PyTypeObject *node; /* NULL: the op has no derivative here */
    PyObject *view_edge, *versions_of;
    int inputs[MAX_PARAMS], input_count;
    SavedValue saved[MAX_PARAMS];
    int saved_count;
    bool only_inexact; /* a result of another type is a constant */
} Gradient;

/* How an observed call shows its steps without Python: one step around the kernel, a step that is no operator, or the operands of a
 * matrix product resolved before it and its result after. */
enum { NO_STEPS, STEP_INSIDE, STEP_NODE, STEPS_OF_PRODUCT };

typedef struct {
    int kind;
    PyObject *op, *name; /* the step's operator, or its name */
    PyObject *constants; /* what follows the first argument: a tuple */
    int dimensions;      /* of the first argument, where that matters; else -1 */
    int first;           /* of a product: the place of its first operand */
    bool shows_result;   /* whether a result of contiguous operands is shown resolved */
    PyObject *expand;    /* the operator that brings what is added to the result's shape, or NULL */
} Steps;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* the call function in Python, which does everything that is not done here */
    PyObject *op, *kernel, *direct, *shown;
    Param params[MAX_PARAMS];
    int count, positional, lead, result_type;
    unsigned casting; /* parameters of one type, as bits */
    bool wants_inexact, inplace, is_view, is_graph_view, is_observable, allocates_inside, is_composite, on_devices;
    bool joins;              /* several tensors are joined elementwise: their memory orders may differ */
    PyObject *device_kernel; /* tensors in, tensors out; NULL until the dispatcher found one */
    Gradient gradient;
    Steps steps;
} Call;

/* One call under way. */
typedef struct {
    PyObject *bound[MAX_PARAMS]; /* the arguments in the schema's order, borrowed */
    PyObject *array[MAX_PARAMS]; /* the same for the kernel */
    PyObject *owned[MAX_OWNED];
    int owned_count;
    int64_t sequence_nr; /* -1: gradients are off */
    bool grad, observed, on_device;
    Core *core; /* who is told, and by which methods (modes.Seen): held, as a profile may end inside the call */
    PyObject *seen;
} Arguments;

bool steps_fit(const Call *call,
               const Arguments *arguments); /* whether the op's steps are known here, for such arguments */
PyObject *steps_run(const Call *call, Arguments *arguments);
int steps_read(PyObject *given, Steps *steps);
PyObject *plain_kernel(const Call *call, Arguments *arguments);
const ArrayFields *fields_of(PyObject *array); /* NULL where it cannot be read */
extern PyObject *next_sequence_nr;             /* a list of one number */

PyObject *call_vector(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords);
int record_gradient(const Call *call, const Arguments *arguments, Tensor *made);
bool is_inexact(PyObject *dtype);
bool is_plain_call(void);                     /* nobody wants calls to go the general way */
bool owns_plain_memory(const Tensor *tensor); /* a contiguous CPU tensor whose memory nobody else can see */
bool is_row_major(const Tensor *tensor);      /* its elements lie in the order of their indices */
PyObject *cpu_tensor_keys(void);              /* borrowed */
PyObject *shape_of(PyObject *array);

/* Whether an argument is or may be a tensor. */
static inline bool takes_tensor(const Param *param)
{
    return param->kind >= TENSOR_PARAM && param->kind <= NUMBER_PARAM;
}

#endif
