/* Calls of an op on device tensors, without Python where the same kind of call was seen before.
 *
 * What a call does depends on its arguments' shapes, strides, types and further values; these are packed into a key.
 * The first call with a key asks a planner in Python (see _backends/npu/plans.py), which says what operator is launched
 * with what operands and what the results look like, or that the call is not for here. Later ones follow the plan.
 * Whatever is not understood, and whatever an operator rejects, goes to the op's function in Python. */
#include "npu.h"

#include <string.h>

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
    int users; /* calls under way, and the table */
    uint64_t hash;
    int key_size;
    uint64_t *key;
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

static PyTypeObject *tensor_base; /* what tensors are made by: their fields, and nothing else */
static PyTypeObject *tensors, *parameters, *arrays;
static long npu_key;
static PyObject *npu_keys, *bump_version, *failed, *dtype_class;
static struct {
    PyObject *object;
    int index;
} devices[MAX_DEVICES];
static int device_count;

enum { ELSEWHERE = 0, DONE = 1, FAILED = -1 }; /* for the function in Python; done; an error is set */

/* ---- keys */
static bool add_word(Arguments *arguments, uint64_t word)
{
    if (arguments->key_size == MAX_KEY)
        return false;
    arguments->key[arguments->key_size++] = word;
    return true;
}

/* The index of a device object; -1 for one that is not understood. */
static int device_index(PyObject *device)
{
    for (int i = 0; i < device_count; i++) {
        if (devices[i].object == device)
            return devices[i].index;
    }
    PyObject *index = device == Py_None ? NULL : PyObject_GetAttr(device, npu_names.index);
    long found = index == NULL ? -1 : index == Py_None ? 0 : PyLong_AsLong(index);
    Py_XDECREF(index);
    PyErr_Clear();
    if (found < 0 || found >= MAX_DEVICES)
        return -1;
    if (device_count < MAX_DEVICES) {
        devices[device_count].object = Py_NewRef(device);
        devices[device_count++].index = (int)found;
    }
    return (int)found;
}

static bool add_tensor(Arguments *arguments, int position, PyObject *value)
{
    const Tensor *tensor = (const Tensor *)value;
    if (tensor->array == NULL || tensor->dtype == NULL || tensor->keys == NULL || Py_TYPE(tensor->array) != arrays)
        return false;
    if ((PyLong_AsLong(tensor->keys) & KEY_DEVICES) != npu_key)
        return false;
    const ArrayFields *array = (const ArrayFields *)tensor->array;
    const ElementType *type = element_type(tensor->dtype);
    int index = device_index(tensor->device);
    if (type == NULL)
        PyErr_Clear();
    if (type == NULL || index < 0 || array->nd > MAX_DIMS || 2 * array->nd >= MAX_KEY - arguments->key_size)
        return false;
    if (arguments->device_object == NULL) {
        arguments->device_object = tensor->device;
        arguments->device = index;
    } else if (arguments->device != index) {
        return false;
    }
    arguments->type[position] = type;
    arguments->key[arguments->key_size++] = 't' | (uint64_t)type->code << 8 | (uint64_t)array->nd << 16
                                            | (uint64_t)((array->flags & ARRAY_WRITEABLE) != 0) << 32;
    for (int i = 0; i < array->nd; i++) {
        arguments->key[arguments->key_size++] = (uint64_t)array->dimensions[i];
        arguments->key[arguments->key_size++] = (uint64_t)array->strides[i];
    }
    return true;
}

static bool add_text(Arguments *arguments, PyObject *value)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == NULL || size > 64) {
        PyErr_Clear();
        return false;
    }
    uint64_t words[8] = {0};
    memcpy(words, text, (size_t)size);
    bool added = add_word(arguments, 's' | (uint64_t)size << 8);
    for (Py_ssize_t i = 0; added && i < (size + 7) / 8; i++)
        added = add_word(arguments, words[i]);
    return added;
}

static bool add_value(Arguments *arguments, PyObject *value, bool inside)
{
    uint64_t bits = 0;
    if (value == Py_None)
        return add_word(arguments, 'n');
    if (PyBool_Check(value))
        return add_word(arguments, value == Py_True ? 'T' : 'F');
    if (PyLong_CheckExact(value)) {
        bits = (uint64_t)PyLong_AsLongLong(value);
        if (bits == (uint64_t)-1 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        return add_word(arguments, 'i') && add_word(arguments, bits);
    }
    if (PyFloat_CheckExact(value)) {
        double real = PyFloat_AS_DOUBLE(value);
        memcpy(&bits, &real, sizeof bits);
        return add_word(arguments, 'f') && add_word(arguments, bits);
    }
    if (PyUnicode_CheckExact(value))
        return add_text(arguments, value);
    if ((PyObject *)Py_TYPE(value) == dtype_class)
        return add_word(arguments, 'd') && add_word(arguments, (uint64_t)(uintptr_t)value);
    bool list = PyList_CheckExact(value);
    if (inside || !(list || PyTuple_Check(value)))
        return false;
    Py_ssize_t n = list ? PyList_GET_SIZE(value) : PyTuple_GET_SIZE(value);
    bool added = n <= MAX_DIMS && add_word(arguments, 'l' | (uint64_t)n << 8);
    for (Py_ssize_t i = 0; added && i < n; i++) {
        added = add_value(arguments, list ? PyList_GET_ITEM(value, i) : PyTuple_GET_ITEM(value, i), true);
    }
    return added;
}

static bool read_arguments(const Planned *self, PyObject *const *args, Arguments *arguments)
{
    arguments->key_size = 0;
    arguments->device_object = NULL;
    for (int i = 0; i < self->count; i++) {
        PyObject *value = args[i];
        arguments->type[i] = NULL;
        bool added;
        if (Py_TYPE(value) == tensors || Py_TYPE(value) == parameters)
            added = add_tensor(arguments, i, value);
        else if (self->counts_by[i] == BY_TYPE && PyFloat_CheckExact(value))
            added = add_word(arguments, 'g');
        else if (self->counts_by[i] == BY_TYPE && PyLong_CheckExact(value))
            added = add_word(arguments, 'h');
        else
            added = add_value(arguments, value, false);
        if (!added)
            return false;
    }
    return arguments->device_object != NULL;
}

/* ---- plans */
static void release_plan(Plan *plan)
{
    if (--plan->users > 0)
        return;
    for (int i = 0; i < plan->operand_count; i++)
        Py_XDECREF(plan->operand[i].constant);
    for (int i = 0; i < plan->output_count; i++)
        Py_XDECREF(plan->output[i].shape);
    Py_XDECREF(plan->name);
    Py_XDECREF(plan->returns);
    PyMem_Free(plan->key);
    PyMem_Free(plan);
}

static bool plan_is_free(const void *slot)
{
    return *(Plan *const *)slot == NULL;
}

static uint64_t plan_hash(const void *slot)
{
    return (*(Plan *const *)slot)->hash;
}

static bool plan_is(const void *slot, const void *key)
{
    const Plan *plan = *(Plan *const *)slot;
    const BytesKey *wanted = key;
    return plan->hash == wanted->hash && (size_t)plan->key_size * sizeof *plan->key == wanted->size
           && memcmp(plan->key, wanted->data, wanted->size) == 0;
}

#define PLAN_KIND ((MapKind){sizeof(Plan *), 2 * MAX_PLANS, plan_is_free, plan_hash, plan_is})

static BytesKey key_of(const Arguments *arguments)
{
    return bytes_key(arguments->key, (size_t)arguments->key_size * sizeof *arguments->key);
}

/* NULL where there is none. */
static Plan *find_plan(const Planned *self, BytesKey key)
{
    Plan **found = map_find(&self->plans, PLAN_KIND, key.hash, &key);
    return found == NULL ? NULL : *found;
}

static void forget_plans(Planned *self)
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

/* Asks the planner; the plan stands in the table when this returns DONE. */
static int make_plan(Planned *self, PyObject *const *args, const Arguments *arguments, BytesKey wanted)
{
    PyObject *given = PyObject_Vectorcall(self->planner, args, (size_t)self->count, NULL);
    if (given == NULL)
        return FAILED;
    Plan *plan = PyMem_Calloc(1, sizeof *plan);
    size_t bytes = (size_t)arguments->key_size * sizeof *plan->key;
    uint64_t *key = PyMem_Malloc(bytes);
    int status = plan == NULL || key == NULL ? -1 : 0;
    if (status == 0) {
        *plan = (Plan){
            .users = 1, .hash = wanted.hash, .key_size = arguments->key_size, .key = key, .usable = given != Py_None};
        memcpy(key, arguments->key, bytes);
        if (given != Py_None)
            status = read_plan(given, plan);
    } else {
        PyErr_NoMemory();
        PyMem_Free(key);
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

/* ---- following a plan */
static PyObject *make_output(const PlannedOutput *output, const Arguments *arguments, int64_t stream, Memory **memory)
{
    PyObject *taken = take_memory(arguments->device, output->nbytes, stream);
    if (taken == NULL)
        return NULL;
    *memory = (Memory *)taken; /* the array holds it */
    PyObject *parts[] = {output->shape, output->type->descr, taken};
    PyObject *array = PyObject_Vectorcall((PyObject *)arrays, parts, 3, NULL);
    Py_DECREF(taken);
    if (array == NULL)
        return NULL;
    static PyObject *nothing;
    if (nothing == NULL && (nothing = PyTuple_New(0)) == NULL)
        return NULL;
    Tensor *made = (Tensor *)tensor_base->tp_new(tensors, nothing, NULL); /* not the class's own, which makes arrays */
    if (made == NULL) {
        Py_DECREF(array);
        return NULL;
    }
    made->array = array;
    made->keys = Py_NewRef(npu_keys);
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
        PyObject *answer = PyObject_CallOneArg(bump_version, target);
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
    PyObject *answer = PyObject_CallFunction(failed, "iiO", outcome.phase, outcome.status, plan->name);
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
            status = make_plan(self, args, &arguments, key);
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

/* ---- the type */
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
                          &PyType_Type, &array, &bump, &fail, &dtype, &npu_key)) {
        return NULL;
    }
    if (((PyTypeObject *)fields)->tp_basicsize != (Py_ssize_t)sizeof(Tensor)
        || !PyType_IsSubtype((PyTypeObject *)tensor, (PyTypeObject *)fields)) {
        Py_RETURN_FALSE;
    }
    if (npu_keys == NULL && (npu_keys = PyLong_FromLong(npu_key)) == NULL)
        return NULL;
    Py_XSETREF(bump_version, Py_NewRef(bump));
    Py_XSETREF(failed, Py_NewRef(fail));
    Py_XSETREF(dtype_class, Py_NewRef(dtype));
    tensors = (PyTypeObject *)Py_NewRef(tensor);
    tensor_base = (PyTypeObject *)Py_NewRef(fields);
    parameters = (PyTypeObject *)Py_NewRef(parameter);
    arrays = (PyTypeObject *)Py_NewRef(array);
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
