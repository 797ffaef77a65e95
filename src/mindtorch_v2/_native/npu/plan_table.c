/* The plans of an op: read from what the planner gives, and kept by the keys of calls. */
#include "plans.h"

#include <string.h>

void release_plan(Plan *plan)
{
    if (--plan->users > 0)
        return;
    for (int i = 0; i < plan->operand_count; i++)
        Py_XDECREF(plan->operand[i].constant);
    for (int i = 0; i < plan->output_count; i++)
        Py_XDECREF(plan->output[i].shape);
    Py_XDECREF(plan->name);
    Py_XDECREF(plan->returns);
    free(plan->keyed.key);
    PyMem_Free(plan);
}

#define PLAN_KIND KEYED_KIND(MAX_PLANS)

Plan *find_plan(const Planned *self, BytesKey key)
{
    Plan **found = map_find(&self->plans, PLAN_KIND, key.hash, &key);
    return found == NULL ? NULL : *found;
}

void forget_plans(Planned *self)
{
    HashMap old = self->plans;
    self->plans = (HashMap){0};
    for (size_t i = 0; i < map_size(&old); i++) {
        if (((Plan **)old.slots)[i] != NULL)
            release_plan(((Plan **)old.slots)[i]);
    }
    map_free(&old);
}

static int read_operand(PyObject *given, char code, PlannedOperand *operand)
{
    operand->code = code;
    if (!PyArg_ParseTuple(given, "iiO", &operand->from, &operand->position, &operand->constant))
        return -1;
    Py_INCREF(operand->constant);
    if (operand->from == CONSTANT
        || (operand->position >= 0 && operand->position < (operand->from == FROM_OUTPUT ? MAX_OUTPUTS : MAX_ARGS))) {
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "no such argument or output");
    return -1;
}

static int read_output(PyObject *given, PlannedOutput *output)
{
    PyObject *dtype;
    if (!PyArg_ParseTuple(given, "O!O", &PyTuple_Type, &output->shape, &dtype)) {
        output->shape = NULL;
        return -1;
    }
    Py_INCREF(output->shape);
    output->type = element_type(dtype);
    output->nd = (int)PyTuple_GET_SIZE(output->shape);
    if (output->type == NULL)
        return -1;
    if (output->nd > MAX_DIMS) {
        PyErr_SetString(PyExc_ValueError, "too many dimensions");
        return -1;
    }
    int64_t items = 1;
    for (int i = output->nd - 1; i >= 0; i--) {
        output->dims[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(output->shape, i));
        output->strides[i] = items;
        items *= output->dims[i];
    }
    output->nbytes = items * output->type->item;
    return PyErr_Occurred() ? -1 : 0;
}

/* A plan as the planner gives it: (address of the first phase, of the second, name, code, operands, outputs, what makes
 * several results one, whether there is a single one, whether the first argument is written). */
static int read_plan(PyObject *given, Plan *plan)
{
    PyObject *first, *second, *operands, *outputs, *returns;
    const char *code;
    Py_ssize_t length;
    int single, writes;
    if (!PyArg_ParseTuple(given, "OOOs#O!O!Opp", &first, &second, &plan->name, &code, &length, &PyTuple_Type, &operands,
                          &PyTuple_Type, &outputs, &returns, &single, &writes)) {
        plan->name = NULL;
        return -1;
    }
    Py_INCREF(plan->name);
    plan->returns = returns == Py_None ? NULL : Py_NewRef(returns);
    plan->first = (FirstPhase)PyLong_AsVoidPtr(first);
    plan->second = (SecondPhase)PyLong_AsVoidPtr(second);
    plan->single = single;
    plan->writes = writes;
    if (PyErr_Occurred())
        return -1;
    if (PyTuple_GET_SIZE(operands) != length || length > MAX_OPERANDS - 1 || PyTuple_GET_SIZE(outputs) > MAX_OUTPUTS) {
        PyErr_SetString(PyExc_ValueError, "the wrong number of operands or outputs");
        return -1;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        if (read_operand(PyTuple_GET_ITEM(operands, i), code[i], &plan->operand[plan->operand_count++]) != 0)
            return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); i++) {
        if (read_output(PyTuple_GET_ITEM(outputs, i), &plan->output[plan->output_count++]) != 0)
            return -1;
    }
    return 0;
}

int make_plan(Planned *self, PyObject *const *args, BytesKey wanted)
{
    PyObject *given = PyObject_Vectorcall(self->planner, args, (size_t)self->count, NULL);
    if (given == NULL)
        return FAILED;
    Plan *plan = PyMem_Calloc(1, sizeof *plan);
    int status = plan != NULL && keyed_set(&plan->keyed, wanted) ? 0 : -1;
    if (status == 0) {
        plan->users = 1;
        plan->usable = given != Py_None;
        if (given != Py_None)
            status = read_plan(given, plan);
    } else {
        PyErr_NoMemory();
        PyMem_Free(plan);
        plan = NULL;
    }
    Py_DECREF(given);
    if (self->plans.used == MAX_PLANS)
        forget_plans(self);
    if (status == 0 && !map_reserve(&self->plans, PLAN_KIND)) {
        PyErr_NoMemory();
        status = -1;
    }
    Plan **slot = status == 0 ? map_slot(&self->plans, PLAN_KIND, wanted.hash, &wanted) : NULL;
    if (slot == NULL || *slot != NULL) { /* another thread may have made it meanwhile */
        if (plan != NULL)
            release_plan(plan);
        return status == 0 ? DONE : FAILED;
    }
    *slot = plan;
    self->plans.used++;
    return DONE;
}
