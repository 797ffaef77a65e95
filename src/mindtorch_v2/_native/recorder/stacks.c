/* Call stacks: walked through the interpreter's public functions, and kept as a tree of (caller, code, instruction). */
#include "inline.h"

#include <stdlib.h>
#include <string.h>

int frame_lasti(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti < 0 ? -1 : frame->f_lasti * 2; /* counted in instructions of two bytes */
#endif
}

/* --- codes */
static bool add_code(Stacks *stacks, PyObject *code, CodeSlot *known)
{
    PyObject *made = call_undisturbed(stacks->describe_code, code);
    if (!made)
        return false;
    int class, label;
    int parsed = PyArg_ParseTuple(made, "ii", &class, &label);
    Py_DECREF(made);
    if (!parsed)
        return false;
    *known = (CodeSlot){.code = code, .class = class, .label = label};
    if (find_code(stacks, code)) /* the description met it, on this thread or another */
        return true;
    if (!map_reserve(&stacks->codes, CODE_KIND)) {
        PyErr_NoMemory();
        return false;
    }
    Py_INCREF(code);
    *(CodeSlot *)map_slot(&stacks->codes, CODE_KIND, hash_pointer(code), code) = *known;
    stacks->codes.used++;
    return true;
}

bool stacks_code(Stacks *stacks, PyObject *code, CodeSlot *known)
{
    const CodeSlot *found = find_code(stacks, code);
    if (found) {
        *known = *found;
        return true;
    }
    Py_INCREF(stacks); /* describing runs Python, which may end the recording */
    bool added = add_code(stacks, code, known);
    Py_DECREF(stacks);
    return added;
}

static PyObject *describe_function(Stacks *stacks, PyObject *function, PyObject *self)
{
    if (PyCFunction_Check(function) || !self)
        return call_undisturbed(stacks->describe_function, function);
    PyObject *bound = Py_TYPE(function)->tp_descr_get(function, self, (PyObject *)Py_TYPE(self));
    PyObject *made = bound ? call_undisturbed(stacks->describe_function, bound) : NULL;
    Py_XDECREF(bound);
    return made;
}

/* What tells functions in C apart: all calls of one function on objects of one type share a label. The name counts
 * because definitions may be made and freed while the program runs. */
static const char *read_function(PyObject *function, PyObject *self, const void **definition, const void **type)
{
    const PyMethodDef *found;
    if (PyCFunction_Check(function)) {
        const PyCFunctionObject *callable = (const PyCFunctionObject *)function;
        found = callable->m_ml;
        *type = callable->m_self ? Py_TYPE(callable->m_self) : NULL;
    } else if (self) {
        found = ((const PyMethodDescrObject *)function)->d_method;
        *type = Py_TYPE(self);
    } else {
        *definition = Py_TYPE(function);
        *type = NULL;
        return "";
    }
    *definition = found;
    return found->ml_name;
}

static int32_t find_function(Stacks *stacks, const FunctionKey *key, PyObject *function, PyObject *self)
{
    BytesKey bytes = bytes_key(key, sizeof *key);
    const BytesSlot *found = bytes_find(&stacks->functions, bytes);
    if (found)
        return (int32_t)found->value;
    Py_INCREF(stacks); /* as in stacks_code */
    PyObject *made = describe_function(stacks, function, self);
    long label = made ? PyLong_AsLong(made) : 0;
    Py_XDECREF(made);
    if (!PyErr_Occurred() && !bytes_add(&stacks->functions, bytes, label))
        PyErr_NoMemory();
    Py_DECREF(stacks);
    return PyErr_Occurred() ? 0 : (int32_t)label;
}

static FunctionSlot *recent_place(Stacks *stacks, const void *definition, const void *type)
{
    return &stacks->recent[((uintptr_t)definition >> 4 ^ (uintptr_t)type >> 6) % RECENT_FUNCTIONS];
}

int32_t stacks_recent_label(Stacks *stacks, PyObject *function, PyObject *self)
{
    const void *definition, *type;
    const char *name = read_function(function, self, &definition, &type);
    const FunctionSlot *slot = recent_place(stacks, definition, type);
    bool same = slot->key.definition == definition && slot->key.type == type
                && strncmp(slot->key.name, name, sizeof slot->key.name - 1) == 0;
    return same ? slot->label : 0;
}

int32_t stacks_function_label(Stacks *stacks, PyObject *function, PyObject *self)
{
    int32_t label = stacks_recent_label(stacks, function, self);
    if (label)
        return label;
    FunctionKey key;
    memset(&key, 0, sizeof key);
    strncpy(key.name, read_function(function, self, &key.definition, &key.type), sizeof key.name - 1);
    label = find_function(stacks, &key, function, self);
    if (label)
        *recent_place(stacks, key.definition, key.type) = (FunctionSlot){.key = key, .label = label};
    return label;
}

/* --- nodes */
int32_t stacks_node(Stacks *stacks, int32_t parent, PyObject *code, int32_t lasti)
{
    struct {
        PyObject *code;
        int32_t parent, lasti;
    } key = {code, parent, lasti};
    BytesKey bytes = bytes_key(&key, sizeof key);
    const BytesSlot *known = bytes_find(&stacks->by_key, bytes);
    if (known)
        return (int32_t)known->value;
    StackNode *node = table_add(&stacks->nodes);
    if (!node) {
        PyErr_NoMemory();
        return -2;
    }
    Py_INCREF(code);
    *node = (StackNode){.parent = parent, .lasti = lasti, .code = code};
    int32_t found = (int32_t)(stacks->nodes.next - 1);
    if (!bytes_add(&stacks->by_key, bytes, found)) {
        PyErr_NoMemory();
        return -2;
    }
    return found;
}

/* The stack of a traced thread. A function that waits for what it called stands still, so only those are looked at that
 * ran since. */
static int32_t sample_traced(Buffer *buffer, Stacks *stacks)
{
    int32_t node = -1;
    bool same = true;
    Py_ssize_t first = buffer->known_frames;
    while (first > 0 && node == -1) {
        first--;
        node = (buffer->frames[first].class & CLASS_MASK) == INTERNAL ? -1 : buffer->frames[first].node;
    }
    for (Py_ssize_t i = node == -1 ? 0 : first + 1; i < buffer->frame_count; i++) {
        Frame *frame = &buffer->frames[i];
        if ((frame->class & CLASS_MASK) == INTERNAL)
            continue;
        int32_t lasti = frame_lasti(frame->frame);
        if (!same || frame->node == -2 || frame->lasti != lasti) {
            PyCodeObject *code = PyFrame_GetCode(frame->frame);
            frame->node = stacks_node(stacks, node, (PyObject *)code, lasti);
            Py_DECREF(code); /* the node holds it */
            frame->lasti = lasti;
            same = false;
            if (frame->node == -2)
                return -2;
        }
        node = frame->node;
    }
    buffer->known_frames = buffer->frame_count - 1;
    return node;
}

static int32_t sample_walking(Stacks *stacks)
{
    /* Outermost frames come first in the tree, but the walk begins innermost. */
    struct {
        PyObject *code;
        int32_t lasti;
    } few[128], *met = few;
    Py_ssize_t count = 0, room = 128;
    int32_t node = -1;
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame) {
        PyObject *code = (PyObject *)PyFrame_GetCode(frame);
        CodeSlot slot;
        bool failed = !stacks_code(stacks, code, &slot);
        if (!failed && (slot.class & CLASS_MASK) != INTERNAL) {
            if (count == room) {
                void *grown = malloc(2 * (size_t)room * sizeof *met);
                if (grown) {
                    memcpy(grown, met, (size_t)count * sizeof *met);
                    if (met != few)
                        free(met);
                    met = grown;
                    room *= 2;
                } else {
                    PyErr_NoMemory();
                    failed = true;
                }
            }
            if (!failed) {
                met[count].code = code;
                met[count++].lasti = frame_lasti(frame);
            }
        }
        Py_DECREF(code); /* the table of codes holds it */
        PyFrameObject *caller = failed ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = caller;
        if (failed)
            node = -2;
    }
    while (count-- > 0 && node != -2)
        node = stacks_node(stacks, node, met[count].code, met[count].lasti);
    if (met != few)
        free(met);
    return node;
}

int32_t stacks_sample(Buffer *buffer)
{
    PyFrameObject *now = buffer->frame_count ? PyThreadState_GetFrame(PyThreadState_Get()) : NULL;
    /* Making the frame's object may have collected garbage, whose finalisers may have ended tracing. */
    bool known = now && buffer->frame_count && now == buffer->frames[buffer->frame_count - 1].frame;
    Py_XDECREF(now);
    Stacks *stacks = buffer->core->stacks;
    if (known)
        return sample_traced(buffer, stacks);
    Py_INCREF(stacks); /* it must outlive what is described on the way */
    int32_t node = sample_walking(stacks);
    Py_DECREF(stacks);
    return node;
}

/* --- the type */
Stacks *stacks_new(void)
{
    Stacks *made = PyObject_New(Stacks, &Stacks_Type);
    if (made) {
        memset((char *)made + sizeof(PyObject), 0, sizeof *made - sizeof(PyObject));
        table_init(&made->nodes, sizeof(StackNode), 12);
    }
    return made;
}

static void stacks_dealloc(Stacks *self)
{
    for (size_t i = 0; i < map_size(&self->codes); i++)
        Py_XDECREF(((CodeSlot *)self->codes.slots)[i].code);
    map_free(&self->codes);
    for (int64_t i = 0; i < self->nodes.next; i++)
        Py_DECREF(((StackNode *)table_at(&self->nodes, i))->code);
    table_clear(&self->nodes);
    bytes_clear(&self->by_key);
    bytes_clear(&self->functions);
    Py_XDECREF(self->describe_code);
    Py_XDECREF(self->describe_function);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *stacks_frames(Stacks *self, PyObject *id)
{
    long node = PyLong_AsLong(id);
    if (node == -1 && PyErr_Occurred())
        return NULL;
    PyObject *list = PyList_New(0);
    for (const StackNode *at; list && (at = table_at(&self->nodes, node)); node = at->parent) {
        PyObject *pair = Py_BuildValue("(Oi)", at->code, (int)at->lasti);
        if (!pair || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyMethodDef stacks_methods[] = {
    {"frames_of", (PyCFunction)stacks_frames, METH_O, "The (code, instruction) pairs of a stack, innermost first."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject Stacks_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Stacks",
    .tp_doc = "Call stacks by id.",
    .tp_basicsize = sizeof(Stacks),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)stacks_dealloc,
    .tp_methods = stacks_methods,
};
