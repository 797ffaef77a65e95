/* What a backward pass tells the observer. */
#include "engine.h"

int is_observed(Pass *pass)
{
    PyObject *found = PyDict_GetItemWithError(lent.observer_slot, engine_names.active);
    if (found == NULL || found == Py_None) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (found != pass->observer) {
        PyObject *enter = PyObject_GetAttr(found, engine_names.enter_node),
                 *leave = enter == NULL ? NULL : PyObject_GetAttr(found, engine_names.leave);
        if (leave == NULL) {
            Py_XDECREF(enter);
            return -1;
        }
        Py_XSETREF(pass->observer, Py_NewRef(found));
        pass->core = PyObject_TypeCheck(found, &Core_Type) ? (Core *)found : NULL;
        Py_XSETREF(pass->enter, enter);
        Py_XSETREF(pass->leave, leave);
    }
    return 1;
}

static int enter(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread, PyObject *inputs, int is_backward)
{
    PyObject *args[] = {name, seq, thread, inputs, is_backward ? Py_True : Py_False};
    PyObject *made = PyObject_Vectorcall(pass->enter, args, 5, NULL);
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

int end_event(Pass *pass, int result)
{
    if (pass->core != NULL) {
        return core_end_op(pass->core, result == 0) < 0 ? -1 : result;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *made = PyObject_CallNoArgs(pass->leave);
    Py_XDECREF(made);
    if (result == 0) {
        return made == NULL ? -1 : 0;
    }
    PyErr_Restore(type, value, traceback);
    return -1;
}

int enter_application(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread, PyObject *gradient, bool is_closed)
{
    if (pass->core != NULL) {
        bool several = PyTuple_Check(gradient);
        return core_begin_node(pass->core, name, PyLong_AsLongLong(seq), thread,
                               several ? &PyTuple_GET_ITEM(gradient, 0) : &gradient,
                               several ? PyTuple_GET_SIZE(gradient) : 1, true, is_closed);
    }
    PyObject *inputs = PyTuple_Check(gradient) ? Py_NewRef(gradient) : PyTuple_Pack(1, gradient);
    int result = inputs == NULL ? -1 : enter(pass, name, seq, thread, inputs, 1);
    Py_XDECREF(inputs);
    return result;
}

int enter_evaluation(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread)
{
    return pass->core != NULL ? core_begin_node(pass->core, name, PyLong_AsLongLong(seq), thread, NULL, 0, false, false)
                              : enter(pass, name, seq, thread, engine_names.nothing, 0);
}

PyObject *names_of_node(PyObject *node)
{
    static PyObject *known; /* class of a node -> names */
    if (known == NULL && (known = PyDict_New()) == NULL) {
        return NULL;
    }
    PyObject *names = PyDict_GetItemWithError(known, (PyObject *)Py_TYPE(node));
    if (names == NULL) {
        PyObject *made = PyErr_Occurred() ? NULL : PyObject_CallOneArg(lent.names_of, node);
        if (made == NULL || PyDict_SetItem(known, (PyObject *)Py_TYPE(node), made) < 0) {
            Py_XDECREF(made);
            return NULL;
        }
        names = made;
        Py_DECREF(made); /* the dict holds it, as long as the process lives */
    }
    return names;
}
