/* Calls of operators: what call.c and call_grad.c share. */
#ifndef MINDTORCH_CALL_H
#define MINDTORCH_CALL_H

#include "tensor.h"

enum { MAX_PARAMS = 16, MAX_OWNED = 4 };
/* Bits of keys and of the mode word, as in _dispatch/keys.py. */
enum { CPU_KEY = 1, NPU_KEY = 4, GRAD_KEY = 8, NO_GRAD_BIT = 16, OBSERVED_BIT = 32 };
/* What an argument is. NUMBER: a tensor or a number; REPEATED: a number stands for several; SPREAD: the rest of the positions. */
enum { VALUE, TENSOR_PARAM, OPTIONAL_TENSOR, NUMBER_PARAM, REPEATED, ELEMENT_TYPE, REAL, SPREAD };
/* Where the result's type comes from. */
enum { TYPE_OF_LEAD, TYPE_BOOL, TYPE_OF_ARRAY };
/* What a node saves: an argument, the result, or a fact about an argument. */
enum { SAVED_ARGUMENT, SAVED_RESULT, SAVED_SHAPE, SAVED_DTYPE, SAVED_OTHER };

typedef struct {
    PyObject *name, *unset;        /* unset: the default, NULL where there is none */
    int kind, length;
} Param;

typedef struct {
    int what, param;
    unsigned users;                /* edges of which one must exist, or nothing is saved; 0: always saved */
    bool sure;                     /* the argument is a tensor */
    bool has_version;              /* its version is to be checked when it is used */
    PyObject *fact, *otherwise;    /* how to ask for it, and what stands for it where the argument is no tensor */
} SavedValue;

typedef struct {
    PyTypeObject *node;            /* NULL: the op has no derivative here */
    PyObject *view_edge, *versions_of;
    int inputs[MAX_PARAMS], input_count;
    SavedValue saved[MAX_PARAMS];
    int saved_count;
    bool only_inexact;             /* a result of another type is a constant */
} Gradient;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;            /* the call function in Python, which does everything that is not done here */
    PyObject *op, *kernel, *direct, *shown;
    Param params[MAX_PARAMS];
    int count, positional, lead, result_type;
    unsigned casting;              /* parameters of one type, as bits */
    bool wants_inexact, inplace, is_view, is_graph_view, is_observable, allocates_inside, wants_number, on_devices;
    PyObject *npu_kernel;          /* tensors in, tensors out; NULL until the dispatcher found one */
    Gradient gradient;
} Call;

/* One call under way. */
typedef struct {
    PyObject *bound[MAX_PARAMS];   /* the arguments in the schema's order, borrowed */
    PyObject *array[MAX_PARAMS];   /* the same for the kernel */
    PyObject *owned[MAX_OWNED];
    int owned_count;
    int64_t sequence_nr;           /* -1: gradients are off */
    bool grad, observed, on_npu;
} Arguments;

extern PyObject *next_sequence_nr;  /* a list of one number */

int record_gradient(const Call *call, const Arguments *arguments, Tensor *made);
bool is_inexact(PyObject *dtype);
PyObject *shape_of(PyObject *array);

#endif
