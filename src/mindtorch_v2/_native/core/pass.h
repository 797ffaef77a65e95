/* What a backward pass keeps: targets with the gradients that have arrived, and a queue of those that can run. */
#ifndef MINDTORCH_PASS_H
#define MINDTORCH_PASS_H

#include "call.h"
#include "common/hash_map.h"

typedef struct {
    PyObject *target;   /* owned */
    PyObject *gradient; /* owned: a tensor, or a list for nodes with several outputs; NULL while none has arrived */
    Py_ssize_t waiting; /* gradients still to come */
    int is_leaf;
} Entry;

typedef struct {
    int64_t priority; /* small runs first: leaves, then nodes in the reverse order of their creation */
    int64_t order;
    Py_ssize_t entry;
} Ready;

typedef struct {
    Entry *entries;
    Py_ssize_t count, room;
    HashMap index; /* from a target's address to its position in `entries` */
    Ready *heap;
    Py_ssize_t ready, heap_room;
    int64_t order;
    int keep, create;
    PyObject *observer, *enter, *leave; /* owned: the observer that was asked last, and its methods */
    Core *core;                         /* the same, where it is the native recorder: it is called without Python */
} Pass;

/* The entry of a target, made if it is new; -1 with an error set. `*made` tells. Entries may move when one is made. */
Py_ssize_t pass_entry(Pass *pass, PyObject *target, int is_leaf, int *made);

/* Adds an entry, all of whose gradients have arrived, to the queue; -1 with an error set. */
int pass_push(Pass *pass, Py_ssize_t entry);

/* Takes the entry that runs next out of the queue, which must not be empty. */
Py_ssize_t pass_pop(Pass *pass);

/* Releases everything that the pass holds. */
void pass_free(Pass *pass);

#endif
