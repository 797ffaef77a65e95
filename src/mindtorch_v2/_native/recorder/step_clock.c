/* The steps of a program, as its optimizer ends them: when each ended, and which took too long. It is asked at every
 * step of a program that may take a tenth of a millisecond, so it takes a tenth of a microsecond. Its form in Python is
 * profiler/capture/steps.py. */
#include "inline.h"

#include <string.h>

enum { KEPT_ENDS = 1 << 14, PATIENCE = 8 };

typedef struct {
    PyObject_HEAD
    PyObject *clock, *turn;    /* NULL: the system's; what is called, with the time, once `turn_ns` has come */
    const void *leader;        /* whose steps count; compared only, perhaps no longer there */
    int strangers;             /* steps of others since */
    int64_t last_ns;           /* when the last step ended; 0 before */
    int64_t limit_ns, turn_ns; /* a longer step is slow (0: none is); when to call `turn` */
    long long count, slow_count, slow_step, slow_ns; /* of slow ones: how many, the last one's number and length */
    int64_t ends[KEPT_ENDS];                         /* of step i at i % KEPT_ENDS */
} StepClock;

static bool leads(StepClock *self, const void *optimizer)
{
    if (optimizer == self->leader) {
        self->strangers = 0;
        return true;
    }
    if (self->leader && ++self->strangers <= PATIENCE)
        return false;
    self->leader = optimizer;
    self->strangers = 0;
    self->last_ns = 0;
    return true;
}

static PyObject *end_step(StepClock *self, PyObject *optimizer)
{
    if (!leads(self, optimizer))
        Py_RETURN_NONE;
    int64_t now = self->clock ? clock_of_python(self->clock) : system_now();
    if (now == -1 && PyErr_Occurred())
        return NULL;
    if (self->last_ns && self->limit_ns && now - self->last_ns > self->limit_ns) {
        self->slow_count++;
        self->slow_step = self->count;
        self->slow_ns = now - self->last_ns;
    }
    self->ends[self->count++ % KEPT_ENDS] = now;
    self->last_ns = now;
    if (now < self->turn_ns || !self->turn)
        Py_RETURN_NONE;
    PyObject *time = PyLong_FromLongLong(now), *made = time ? PyObject_CallOneArg(self->turn, time) : NULL;
    Py_XDECREF(time);
    return made;
}

static PyObject *ends(StepClock *self, PyObject *most)
{
    long long wanted = PyLong_AsLongLong(most);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    long long first = self->count - (wanted < KEPT_ENDS ? wanted : KEPT_ENDS);
    PyObject *found = PyList_New(0);
    for (long long i = first > 0 ? first : 0; found && i < self->count; i++) {
        PyObject *pair = Py_BuildValue("(LL)", (long long)self->ends[i % KEPT_ENDS], i);
        if (!pair || PyList_Append(found, pair) < 0)
            Py_CLEAR(found);
        Py_XDECREF(pair);
    }
    return found;
}

static PyObject *clock_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *clock, *turn;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "OO", &clock, &turn))
        return NULL;
    StepClock *made = (StepClock *)type->tp_alloc(type, 0);
    if (!made)
        return NULL;
    made->clock = clock == Py_None ? NULL : Py_NewRef(clock);
    made->turn = turn == Py_None ? NULL : Py_NewRef(turn);
    return (PyObject *)made;
}

static int clock_traverse(StepClock *self, visitproc visit, void *arg)
{
    Py_VISIT(self->clock);
    Py_VISIT(self->turn);
    return 0;
}

static int clock_clear(StepClock *self)
{
    Py_CLEAR(self->clock);
    Py_CLEAR(self->turn);
    return 0;
}

static void clock_dealloc(StepClock *self)
{
    PyObject_GC_UnTrack(self);
    clock_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
    {"end_step", (PyCFunction)end_step, METH_O, "end_step(optimizer): a step of this optimizer has ended."},
    {"ends", (PyCFunction)ends, METH_O, "ends(most): (time, number) of the last steps, oldest first."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"limit_ns", T_LONGLONG, offsetof(StepClock, limit_ns), 0, "A step that takes longer is slow; 0 where none is."},
    {"turn_ns", T_LONGLONG, offsetof(StepClock, turn_ns), 0, "When the function is called that the clock was given."},
    {"count", T_LONGLONG, offsetof(StepClock, count), READONLY, "How many steps have ended."},
    {"slow_count", T_LONGLONG, offsetof(StepClock, slow_count), READONLY, "How many were slow."},
    {"slow_step", T_LONGLONG, offsetof(StepClock, slow_step), READONLY, "The number of the last slow one."},
    {"slow_ns", T_LONGLONG, offsetof(StepClock, slow_ns), READONLY, "How long that one took."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject StepClock_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._core.StepClock",
    .tp_doc = "StepClock(clock or None, turn or None): counts steps and knows when they ended.",
    .tp_basicsize = sizeof(StepClock),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = clock_new,
    .tp_traverse = (traverseproc)clock_traverse,
    .tp_clear = (inquiry)clock_clear,
    .tp_dealloc = (destructor)clock_dealloc,
    .tp_methods = methods,
    .tp_members = members,
};
