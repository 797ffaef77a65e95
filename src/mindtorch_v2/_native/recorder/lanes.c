/* Lanes: of a thread that runs asyncio tasks or greenlets, what each of them has open.
 *
 * A task runs in a context of its own (contextvars), so a thread whose current context is another one than at the event
 * before may run another task. Python then says which (_lane_of in profiler/record/recorded_threads.py), and its lane's
 * stack of open rows replaces the one before. Rows from there on belong to the lane. */
#include "inline.h"

#include <stdlib.h>

#define EXCHANGE(type, a, b)                                                                                           \
    do {                                                                                                               \
        type kept = (a);                                                                                               \
        (a) = (b);                                                                                                     \
        (b) = kept;                                                                                                    \
    } while (0)

/* What the thread goes on with and what the lane keeps are exchanged. */
static void exchange(Buffer *buffer, Lane *lane)
{
    EXCHANGE(Open *, buffer->open, lane->open);
    EXCHANGE(Py_ssize_t, buffer->open_count, lane->open_count);
    EXCHANGE(Py_ssize_t, buffer->open_room, lane->open_room);
    EXCHANGE(Py_ssize_t, buffer->op_depth, lane->op_depth);
    EXCHANGE(int32_t, buffer->module, lane->module);
    EXCHANGE(PyObject *, buffer->module_stack, lane->module_stack);
}

static void exchange_frames(Buffer *buffer, Lane *lane)
{
    EXCHANGE(Frame *, buffer->frames, lane->frames);
    EXCHANGE(Py_ssize_t, buffer->frame_count, lane->frame_count);
    EXCHANGE(Py_ssize_t, buffer->frame_room, lane->frame_room);
    EXCHANGE(Py_ssize_t, buffer->known_frames, lane->known_frames);
}

/* Whose running functions the thread has: a greenlet has its own, a task's stand above the thread's. */
static Lane *frames_of(Buffer *buffer, Lane *lane)
{
    return lane->is_greenlet ? lane : buffer->root;
}

static void go_to(Buffer *buffer, Lane *lane)
{
    Lane *before = buffer->lane;
    if (lane == before)
        return;
    exchange(buffer, before);
    exchange(buffer, lane);
    Lane *had = frames_of(buffer, before), *has = frames_of(buffer, lane);
    if (had != has) {
        exchange_frames(buffer, had);
        exchange_frames(buffer, has);
    }
    buffer->lane = lane; /* the list of lanes holds it */
    buffer->in_task = lane != buffer->root;
}

/* What encloses the rows of a task beside its own: the scope that it began in while that is open, else what the thread
 * has open. */
static int32_t base_of(const Buffer *buffer, const Lane *lane)
{
    if (lane == buffer->root)
        return -1;
    const Row *inherited = lane->inherited < 0 ? NULL : table_at(&buffer->rows, lane->inherited);
    if (inherited && inherited->end_ns == NO_END)
        return lane->inherited;
    for (Py_ssize_t i = buffer->root->open_count - 1; i >= 0; i--)
        if (!(buffer->root->open[i].how & IS_PYTHON))
            return buffer->root->open[i].row;
    return -1;
}

static bool note_switch(Buffer *buffer, const Lane *lane)
{
    int64_t next = buffer->rows.next;
    if (buffer->switch_count && buffer->switches[buffer->switch_count - 1].row == next)
        buffer->switch_count--; /* no row belongs to the lane before */
    if (buffer->switch_count == buffer->switch_room) {
        Py_ssize_t dropped = 0, room = buffer->switch_room ? 2 * buffer->switch_room : 64;
        while (dropped + 1 < buffer->switch_count && buffer->switches[dropped + 1].row <= buffer->rows.first)
            dropped++; /* of rows that were given up */
        Switch *grown = realloc(buffer->switches, (size_t)room * sizeof *grown);
        if (!grown) {
            PyErr_NoMemory();
            return false;
        }
        buffer->switches = grown;
        buffer->switch_room = room;
        for (Py_ssize_t i = dropped; dropped && i < buffer->switch_count; i++)
            grown[i - dropped] = grown[i];
        buffer->switch_count -= dropped;
    }
    buffer->switches[buffer->switch_count++] = (Switch){.row = next, .lane = lane->id};
    return true;
}

static int follow(Buffer *buffer, PyObject *context)
{
    PyObject *lane_of = PyObject_GetAttrString((PyObject *)buffer->core, "_lane_of");
    PyObject *found = lane_of ? call_undisturbed(lane_of, (PyObject *)buffer) : NULL;
    Py_XDECREF(lane_of);
    if (!found)
        return -1;
    Lane *lane = (Lane *)found;
    bool fits = Py_IS_TYPE(found, &Lane_Type);
    if (fits)
        Py_SETREF(buffer->context, Py_NewRef(context)); /* held, so that no other one gets its address */
    bool noted = fits && (lane == buffer->lane || note_switch(buffer, lane));
    if (noted) {
        go_to(buffer, lane);
        buffer->base = base_of(buffer, lane);
    }
    if (!fits)
        PyErr_SetString(PyExc_TypeError, "expected a lane");
    Py_DECREF(found);
    return noted ? 0 : -1;
}

/* The thread's context. It gets one where it has none yet: greenlets without one could not be told apart. */
static PyObject *context_here(void)
{
    static PyObject *variable;
    const PyThreadState *state = PyThreadState_Get();
    if (!state->context) {
        if (!variable && !(variable = PyContextVar_New("mindtorch_v2 lane", NULL)))
            return NULL;
        PyObject *token = PyContextVar_Set(variable, Py_None);
        if (!token)
            return NULL;
        Py_DECREF(token);
    }
    return Py_NewRef(state->context);
}

int lanes_follow(Buffer *buffer)
{
    if (buffer->switching)
        return 0;
    PyObject *context = context_here();
    if (!context)
        return -1;
    Py_INCREF(buffer);
    buffer->switching = 1; /* what Python calls meanwhile is not traced */
    int failed = follow(buffer, context);
    buffer->switching = 0;
    Py_DECREF(buffer);
    Py_DECREF(context);
    return failed;
}

bool lanes_end(Buffer *buffer, int32_t row, int64_t now, void (*end)(Buffer *, int32_t, int64_t))
{
    /* Ends a row that another lane than the current one has open. */
    const Row *here = row < 0 ? NULL : table_at(&buffer->rows, row);
    if (PyList_GET_SIZE(buffer->lanes) < 2 || (here && here->end_ns != NO_END))
        return false;
    Lane *current = buffer->lane;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(buffer->lanes); i++) {
        Lane *lane = (Lane *)PyList_GET_ITEM(buffer->lanes, i);
        for (Py_ssize_t index = lane->open_count - 1; lane != current && index >= 0; index--)
            if (lane->open[index].row == row) {
                go_to(buffer, lane);
                end(buffer, row, now);
                go_to(buffer, current);
                return true;
            }
    }
    return false;
}

void lanes_each(Buffer *buffer, void (*run)(Buffer *))
{
    Lane *current = buffer->lane;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(buffer->lanes); i++) {
        go_to(buffer, (Lane *)PyList_GET_ITEM(buffer->lanes, i));
        run(buffer);
    }
    go_to(buffer, current);
}

/* --- the type */
static Lane *lane_new(int32_t id, PyObject *name, bool is_greenlet, int32_t inherited)
{
    Lane *made = PyObject_New(Lane, &Lane_Type);
    if (!made)
        return NULL;
    char *fields = (char *)made + offsetof(Lane, open);
    for (size_t i = 0; i < sizeof *made - offsetof(Lane, open); i++)
        fields[i] = 0;
    made->id = id;
    made->is_greenlet = is_greenlet;
    made->inherited = inherited;
    made->module = -1;
    made->name = Py_NewRef(name);
    if (!(made->module_stack = PyList_New(0)))
        Py_CLEAR(made);
    return made;
}

static void lane_dealloc(Lane *self)
{
    while (self->frame_count)
        Py_DECREF(self->frames[--self->frame_count].frame);
    free(self->frames);
    free(self->open);
    Py_XDECREF(self->module_stack);
    Py_XDECREF(self->name);
    PyObject_Free(self);
}

int lanes_init(Buffer *buffer)
{
    buffer->root = buffer->lane = lane_new(0, Py_None, true, -1);
    buffer->lanes = buffer->root ? PyList_New(1) : NULL;
    if (!buffer->lanes)
        return -1;
    PyList_SET_ITEM(buffer->lanes, 0, (PyObject *)buffer->root);
    buffer->base = -1;
    buffer->context = Py_NewRef(Py_None); /* no context, so the first event asks who runs */
    return 0;
}

void lanes_clear(Buffer *buffer)
{
    free(buffer->switches);
    Py_XDECREF(buffer->context);
    Py_XDECREF(buffer->lanes);
}

static PyObject *add_lane(Buffer *self, PyObject *args)
{
    int id, is_greenlet, inherited;
    PyObject *name;
    if (!PyArg_ParseTuple(args, "iOpi", &id, &name, &is_greenlet, &inherited))
        return NULL;
    PyObject *made = (PyObject *)lane_new(id, name, is_greenlet, inherited);
    if (made && PyList_Append(self->lanes, made) < 0)
        Py_CLEAR(made);
    return made;
}

static PyObject *switch_list(Buffer *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *made = PyList_New(self->switch_count);
    for (Py_ssize_t i = 0; made && i < self->switch_count; i++) {
        PyObject *pair = Py_BuildValue("(Li)", (long long)self->switches[i].row, (int)self->switches[i].lane);
        if (pair)
            PyList_SET_ITEM(made, i, pair);
        else
            Py_CLEAR(made);
    }
    return made;
}

PyMethodDef lanes_methods[] = {
    {"add_lane", (PyCFunction)add_lane, METH_VARARGS, "add_lane(id, name, is_greenlet, inherited): a lane for a task."},
    {"switches", (PyCFunction)switch_list, METH_NOARGS, "(row, lane): from which row on the thread ran in which lane."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"id", T_INT, offsetof(Lane, id), READONLY, "Its id; 0 is the thread's own."},
    {"name", T_OBJECT_EX, offsetof(Lane, name), READONLY, "The task's name."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject Lane_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.Lane",
    .tp_doc = "What a task has open.",
    .tp_basicsize = sizeof(Lane),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)lane_dealloc,
    .tp_members = members,
};
