/* Calls of an op on device tensors, without Python where the same kind of call was seen before.
 *
 * What a call does depends on its arguments' shapes, strides, types and further values; these are packed into a key.
 * The first call with a key asks a planner in Python (see _backends/npu/plans.py), which says what operator is launched
 * with what operands and what the results look like, or that the call is not for here. Later ones follow the plan.
 * Whatever is not understood, and whatever an operator rejects, goes to the op's function in Python. */
#include "plans.h"

#include <string.h>

struct PlannedTypes planned;

/* ---- following a plan */
static PyObject *make_output(const PlannedOutput *output, const Arguments *arguments, int64_t stream, Memory **memory)
{
    PyObject *taken = take_memory(arguments->device, output->nbytes, stream);
    if (taken == NULL)
        return NULL;
    *memory = (Memory *)taken; /* the array holds it */
    PyObject *parts[] = {output->shape, output->type->descr, taken};
    PyObject *array = PyObject_Vectorcall((PyObject *)planned.arrays, parts, 3, NULL);
    Py_DECREF(taken);
    if (array == NULL)
        return NULL;
    static PyObject *nothing;
    if (nothing == NULL && (nothing = PyTuple_New(0)) == NULL)
        return NULL;
    Tensor *made = (Tensor *)planned.tensor_base->tp_new(planned.tensors, nothing,
                                                         NULL); /* not the class's own, which makes arrays */
    if (made == NULL) {
        Py_DECREF(array);
        return NULL;
    }
    made->array = array;
    made->keys = Py_NewRef(planned.npu_keys);
    made->dtype = Py_NewRef(output->type->dtype);
    Py_SETREF(made->device, Py_NewRef(arguments->device_object));
    return (PyObject *)made;
}

static int add_operands(Operands *operands, const Plan *plan, PyObject *const *args, const Arguments *arguments,
                        Memory *const *memory)
{
    for (int i = 0; i < plan->operand_count; i++) {
        const PlannedOperand *operand = &plan->operand[i];
        int status;
        if (operand->from == CONSTANT) {
            status = add_operand(operands, operand->code, operand->constant);
        } else if (operand->from == FROM_OUTPUT) {
            const PlannedOutput *output = &plan->output[operand->position];
            status = add_memory_tensor(operands, memory[operand->position], output->nd, output->dims, output->strides,
                                       output->type);
        } else if (operand->code == 't' && arguments->type[operand->position] != NULL) {
            status = add_array_tensor(operands, (const ArrayFields *)((const Tensor *)args[operand->position])->array,
                                      arguments->type[operand->position]);
        } else {
            status = add_operand(operands, operand->code, args[operand->position]);
        }
        if (status != 0)
            return status;
    }
    return 0;
}

/* What the call gives back, made of its outputs (stolen). */
static PyObject *results_of(const Plan *plan, PyObject *target, PyObject **outputs)
{
    if (plan->writes) {
        PyObject *answer = PyObject_CallOneArg(planned.bump_version, target);
        Py_XDECREF(answer);
        return answer == NULL ? NULL : Py_NewRef(target);
    }
    if (plan->single)
        return Py_NewRef(outputs[0]);
    if (plan->returns != NULL)
        return PyObject_Vectorcall(plan->returns, outputs, (size_t)plan->output_count, NULL);
    PyObject *made = PyTuple_New(plan->output_count);
    for (int i = 0; made != NULL && i < plan->output_count; i++)
        PyTuple_SET_ITEM(made, i, Py_NewRef(outputs[i]));
    return made;
}

static int launch_plan(Plan *plan, PyObject *const *args, const Arguments *arguments, const Target *target,
                       Memory *const *memory)
{
    Operands operands;
    operands.word_count = operands.real_count = operands.made_count = 0;
    memset(operands.reals, 0, sizeof operands.reals);
    Outcome outcome = {0, 0};
    int status = add_operands(&operands, plan, args, arguments, memory);
    if (status == 0) {
        memset(operands.words + operands.word_count, 0,
               (MAX_WORDS - (size_t)operands.word_count) * sizeof *operands.words);
        status = run_phases(&operands, target, &outcome);
    }
    drop_operands(&operands);
    if (status != 0 && PyErr_ExceptionMatches(rejected)) {
        PyErr_Clear();
        return ELSEWHERE;
    }
    if (status != 0)
        return FAILED;
    if (outcome.phase == 1) { /* the function in Python asks again, and says what is wrong */
        plan->usable = false;
        return ELSEWHERE;
    }
    if (outcome.phase == 0)
        return DONE;
    PyObject *answer = PyObject_CallFunction(planned.failed, "iiO", outcome.phase, outcome.status, plan->name);
    Py_XDECREF(answer);
    if (answer != NULL)
        PyErr_SetString(PyExc_RuntimeError, "a launch failed");
    return FAILED;
}

static int follow(Plan *plan, PyObject *const *args, const Arguments *arguments, PyObject **result)
{
    Target target = {.first = plan->first,
                     .second = plan->second,
                     .name = plan->name,
                     .device = arguments->device,
                     .workspace = &plan->workspace};
    if (watched == WATCHED_IN_PYTHON || !current_stream(target.device, &target.stream, &target.stream_id))
        return ELSEWHERE;
    PyObject *outputs[MAX_OUTPUTS] = {NULL}, *kept[MAX_ARGS];
    Memory *memory[MAX_OUTPUTS] = {NULL};
    int kept_count = 0, status = DONE;
    for (int i = 0; i < plan->operand_count; i++) { /* another thread may change a tensor while the GIL is given up */
        const PlannedOperand *operand = &plan->operand[i];
        if (operand->from == FROM_ARGUMENT && arguments->type[operand->position] != NULL && kept_count < MAX_ARGS) {
            kept[kept_count++] = Py_NewRef(((const Tensor *)args[operand->position])->array);
        }
    }
    for (int i = 0; status == DONE && i < plan->output_count; i++) {
        outputs[i] = make_output(&plan->output[i], arguments, target.stream, &memory[i]);
        if (outputs[i] == NULL)
            status = FAILED;
    }
    if (status == DONE)
        status = launch_plan(plan, args, arguments, &target, memory);
    if (status == DONE && (*result = results_of(plan, args[0], outputs)) == NULL)
        status = FAILED;
    for (int i = 0; i < plan->output_count; i++)
        Py_XDECREF(outputs[i]);
    for (int i = 0; i < kept_count; i++)
        Py_DECREF(kept[i]);
    return status;
}

static PyObject *planned_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Planned *self = (Planned *)object;
    Arguments arguments;
    PyObject *result = NULL;
    int status = ELSEWHERE;
    if (keywords == NULL && PyVectorcall_NARGS(flags) == self->count && read_arguments(self, args, &arguments)) {
        BytesKey key = key_of(&arguments);
        Plan *plan = find_plan(self, key);
        status = DONE;
        if (plan == NULL) {
            status = make_plan(self, args, key);
            if (status == DONE)
                plan = find_plan(self, key);
        }
        if (status == DONE && plan->usable) {
            plan->users++;
            status = follow(plan, args, &arguments, &result);
            release_plan(plan);
        } else if (status == DONE) {
            status = ELSEWHERE;
        }
    }
    return status == ELSEWHERE ? PyObject_Vectorcall(self->function, args, flags, keywords) : result;
}

/* Planned(function, planner, how each argument counts) */
static PyObject *planned_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *function, *planner, *counts;
    if (keywords != NULL || !PyArg_ParseTuple(args, "OOO!", &function, &planner, &PyTuple_Type, &counts))
        return NULL;
    if (PyTuple_GET_SIZE(counts) > MAX_ARGS) {
        PyErr_Format(PyExc_ValueError, "at most %d arguments can be planned for, got %zd", MAX_ARGS,
                     PyTuple_GET_SIZE(counts));
        return NULL;
    }
    Planned *made = (Planned *)type->tp_alloc(type, 0);
    if (made == NULL)
        return NULL;
    made->vectorcall = planned_call;
    made->function = Py_NewRef(function);
    made->planner = Py_NewRef(planner);
    made->count = (int)PyTuple_GET_SIZE(counts);
    for (int i = 0; i < made->count; i++)
        made->counts_by[i] = (char)PyLong_AsLong(PyTuple_GET_ITEM(counts, i));
    return (PyObject *)made;
}

static void planned_dealloc(Planned *self)
{
    PyObject_GC_UnTrack(self);
    forget_plans(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->planner);
    Py_TYPE(self)->tp_free(self);
}

static int planned_traverse(Planned *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->planner);
    return 0;
}

static PyMemberDef planned_members[] = {
    {"function", T_OBJECT, offsetof(Planned, function), READONLY, "What does the calls that are not planned."},
    {"plans", T_PYSSIZET, offsetof(Planned, plans.used), READONLY, "How many kinds of calls are known."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Planned_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._npu_launch.Planned",
    .tp_doc = "The calls of an op on device tensors.",
    .tp_basicsize = sizeof(Planned),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Planned, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = planned_new,
    .tp_dealloc = (destructor)planned_dealloc,
    .tp_traverse = (traverseproc)planned_traverse,
    .tp_members = planned_members,
};

/* configure_plans(fields of tensors, Tensor, Parameter, ndarray, bump_version, failed, class of element types, key) ->
 * whether tensors are laid out as they are read here. failed(phase, status, name) raises. */
PyObject *plans_configure(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *fields, *tensor, *parameter, *array, *bump, *fail, *dtype;
    if (!PyArg_ParseTuple(args, "O!O!O!O!OOOl", &PyType_Type, &fields, &PyType_Type, &tensor, &PyType_Type, &parameter,
                          &PyType_Type, &array, &bump, &fail, &dtype, &planned.npu_key)) {
        return NULL;
    }
    if (((PyTypeObject *)fields)->tp_basicsize != (Py_ssize_t)sizeof(Tensor)
        || !PyType_IsSubtype((PyTypeObject *)tensor, (PyTypeObject *)fields)) {
        Py_RETURN_FALSE;
    }
    if (planned.npu_keys == NULL && (planned.npu_keys = PyLong_FromLong(planned.npu_key)) == NULL)
        return NULL;
    Py_XSETREF(planned.bump_version, Py_NewRef(bump));
    Py_XSETREF(planned.failed, Py_NewRef(fail));
    Py_XSETREF(planned.dtype_class, Py_NewRef(dtype));
    planned.tensors = (PyTypeObject *)Py_NewRef(tensor);
    planned.tensor_base = (PyTypeObject *)Py_NewRef(fields);
    planned.parameters = (PyTypeObject *)Py_NewRef(parameter);
    planned.arrays = (PyTypeObject *)Py_NewRef(array);
    Py_RETURN_TRUE;
}

int plans_export(PyObject *module)
{
    static const NamedCode origins[] = {
        {"FROM_ARGUMENT", FROM_ARGUMENT}, {"FROM_OUTPUT", FROM_OUTPUT}, {"CONSTANT", CONSTANT}};
    static const NamedCode counted[] = {{"BY_VALUE", BY_VALUE}, {"BY_TYPE", BY_TYPE}};
    static const NamedCode limits[] = {{"ARGUMENTS", MAX_ARGS}, {"OUTPUTS", MAX_OUTPUTS}};
    return EXPORT_CODES(module, "ORIGINS", origins) < 0 || EXPORT_CODES(module, "COUNTED", counted) < 0
                   || EXPORT_CODES(module, "LIMITS", limits) < 0
               ? -1
               : 0;
}
