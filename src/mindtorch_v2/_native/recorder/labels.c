/* Labels of events: the ids that operators and names have in rows. */
#include "inline.h"

HashMap ops_met;

const OpSlot *core_add_op(Core *core, PyObject *op)
{
    PyObject *made = PyObject_CallMethodOneArg((PyObject *)core, names.op_label, op);
    if (!made)
        return NULL;
    int label, aten;
    int parsed = PyArg_ParseTuple(made, "ip", &label, &aten);
    Py_DECREF(made);
    if (!parsed)
        return NULL;
    if (!map_reserve(&ops_met, OP_KIND)) {
        PyErr_NoMemory();
        return NULL;
    }
    OpSlot *slot = map_slot(&ops_met, OP_KIND, hash_pointer(op), op);
    if (!slot->op) {
        Py_INCREF(op);
        *slot = (OpSlot){.op = op, .label = label, .is_aten = aten};
        ops_met.used++;
    }
    return slot;
}

static NameSlot *recent_name(Core *core, PyObject *name, int kind)
{
    return &core->recent[((uintptr_t)name >> 4 ^ (uintptr_t)kind << 5) % RECENT_NAMES];
}

void core_forget_names(Core *core)
{
    for (int i = 0; i < RECENT_NAMES; i++)
        Py_CLEAR(core->recent[i].name);
}

int core_known_label(Core *core, PyObject *name, int kind, int32_t *label)
{
    NameSlot *slot = recent_name(core, name, kind);
    if (slot->name == name && slot->kind == kind) {
        *label = slot->label;
        return 1;
    }
    PyObject *known = PyDict_GetItemWithError(core->names[kind], name);
    if (!known)
        return PyErr_Occurred() ? -1 : 0;
    *label = (int32_t)PyLong_AsLong(known);
    slot->kind = kind;
    slot->label = *label;
    Py_XSETREF(slot->name, Py_NewRef(name));
    return 1;
}

int core_name_label(Core *core, PyObject *name, int kind, int32_t *label)
{
    uint64_t generation = core->generation;
    int known = core_known_label(core, name, kind, label);
    if (known)
        return known < 0 ? -1 : 0;
    PyObject *labels = PyObject_GetAttr((PyObject *)core, names.labels);
    PyObject *kind_object = PyLong_FromLong(kind);
    PyObject *made =
        labels && kind_object ? PyObject_CallMethodObjArgs(labels, names.id_of, name, kind_object, NULL) : NULL;
    Py_XDECREF(labels);
    Py_XDECREF(kind_object);
    if (!made)
        return -1;
    *label = (int32_t)PyLong_AsLong(made);
    int failed = PyErr_Occurred() ? -1 : 0;
    if (!failed && generation == core->generation) /* else the recorder began anew meanwhile, with other ids */
        failed = PyDict_SetItem(core->names[kind], name, made);
    Py_DECREF(made);
    return failed;
}
