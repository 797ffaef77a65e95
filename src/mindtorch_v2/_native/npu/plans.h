/* Planned calls of ops on device tensors: what their files share. */
#ifndef MINDTORCH_NPU_PLANS_H
#define MINDTORCH_NPU_PLANS_H

#include "npu.h"

#define MAX_ARGS 16
#define MAX_OUTPUTS 4
#define MAX_KEY 160   /* words */
#define MAX_PLANS 512 /* per op; beyond, all are forgotten */

/* Where an operand comes from. */
enum { FROM_ARGUMENT, FROM_OUTPUT, CONSTANT };
/* How an argument counts: a value by itself, a number by its type only. */
enum { BY_VALUE, BY_TYPE };

typedef struct {
    char code;
    int from, position;
    PyObject *constant;
} PlannedOperand;

typedef struct {
    PyObject *shape;
    const ElementType *type;
    int nd;
    int64_t dims[MAX_DIMS], strides[MAX_DIMS], nbytes;
} PlannedOutput;

typedef struct Plan {
    Keyed keyed; /* by the words of Arguments */
    int users;   /* calls under way, and the table */
    bool usable; /* else calls with this key go to Python */
    FirstPhase first;
    SecondPhase second;
    PyObject *name, *returns; /* returns: makes several results one, NULL for a tuple */
    bool single, writes;
    int operand_count, output_count;
    PlannedOperand operand[MAX_OPERANDS];
    PlannedOutput output[MAX_OUTPUTS];
    uint64_t workspace;
} Plan;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function, *planner;
    int count; /* of arguments */
    char counts_by[MAX_ARGS];
    HashMap plans; /* Plan * */
} Planned;

/* What is known of a call's arguments. */
typedef struct {
    uint64_t key[MAX_KEY];
    int key_size, device;
    PyObject *device_object;
    const ElementType *type[MAX_ARGS];
} Arguments;

/* What plans need of the package; see plans_configure. */
extern struct PlannedTypes {
    PyTypeObject *tensor_base; /* what tensors are made by: their fields, and nothing else */
    PyTypeObject *tensors, *parameters, *arrays;
    long npu_key;
    PyObject *npu_keys, *bump_version, *failed, *dtype_class;
} planned;

enum { ELSEWHERE = 0, DONE = 1, FAILED = -1 }; /* for the function in Python; done; an error is set */

/* plan_keys.c: packs a call's arguments; false where one of them is not understood. */
bool read_arguments(const Planned *self, PyObject *const *args, Arguments *arguments);

/* plan_table.c */
Plan *find_plan(const Planned *self, BytesKey key); /* NULL where there is none */
void forget_plans(Planned *self);
void release_plan(Plan *plan);
/* Asks the planner; the plan stands in the table when this returns DONE. */
int make_plan(Planned *self, PyObject *const *args, BytesKey wanted);

static inline BytesKey key_of(const Arguments *arguments)
{
    return bytes_key(arguments->key, (size_t)arguments->key_size * sizeof *arguments->key);
}

#endif
