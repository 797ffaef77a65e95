/* The backward pass in C: what its files share. */
#ifndef MINDTORCH_ENGINE_H
#define MINDTORCH_ENGINE_H

#include "pass.h"

/* What the Python side lends; see engine_configure. */
extern struct Lent {
    PyObject *tensor_type, *slot_type, *accumulate, *conform, *add_gradients, *run_hooked, *names_of;
    PyObject *observer_slot; /* the dict in which "active" is the observer or None */
    PyObject *aten;          /* the namespace of operators */
    PyObject *custom_node;   /* the class of nodes that run the user's code */
    PyObject *run_hooks;     /* what a leaf's hooks make of its gradient */
} lent;

extern struct EngineNames {
    PyObject *node, *nr, *specs, *apply, *enter_node, *leave, *active, *pre_hooks, *retains, *detach;
    PyObject *nothing; /* the empty tuple */
} engine_names;

static inline int is_leaf(PyObject *target)
{
    return PyObject_TypeCheck(target, (PyTypeObject *)lent.tensor_type);
}

/* gradients.c */
/* The target that an edge leads to (a new reference), and which of its outputs; NULL with an error set. */
PyObject *edge_target(PyObject *edge, Py_ssize_t *nr);
/* Counts how many gradients each target that `root` leads to will receive. */
int count_targets(Pass *pass, Py_ssize_t root);
/* Puts a gradient (stolen) where it is awaited. */
int deliver(Pass *pass, Py_ssize_t entry, Py_ssize_t nr, PyObject *gradient);
/* Hands the gradients of a node on; `gradients` is NULL if the node itself received none. */
int hand_on(Pass *pass, PyObject *node, PyObject *next, PyObject *gradients);

/* engine_events.c */
/* Whether someone watches the process, and then how to report to them; -1 with an error set. */
int is_observed(Pass *pass);
/* Enters the application of a node to its gradients. */
int enter_application(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread, PyObject *gradient, bool is_closed);
/* Enters the evaluation of a node. */
int enter_evaluation(Pass *pass, PyObject *name, PyObject *seq, PyObject *thread);
/* Ends the innermost event, also where an error is on its way; gives `result` back, or -1. */
int end_event(Pass *pass, int result);
/* The names that the events of a node have (borrowed): of its evaluation and of its application. */
PyObject *names_of_node(PyObject *node);

#endif
