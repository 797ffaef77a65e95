#include "pass.h"

#define LEAF_PRIORITY INT64_MIN

/* --- targets */
typedef struct {
    PyObject *target; /* borrowed from its entry; NULL marks a free slot */
    Py_ssize_t entry;
} TargetSlot;

MAP_INLINE bool target_is_free(const void *slot)
{
    return ((const TargetSlot *)slot)->target == NULL;
}

MAP_INLINE uint64_t target_hash(const void *slot)
{
    return hash_pointer(((const TargetSlot *)slot)->target);
}

MAP_INLINE bool target_is(const void *slot, const void *target)
{
    return ((const TargetSlot *)slot)->target == target;
}

#define TARGET_KIND ((MapKind){sizeof(TargetSlot), 64, target_is_free, target_hash, target_is})

static int reserve_entry(Pass *pass)
{
    if (pass->count == pass->room) {
        Py_ssize_t room = pass->room ? pass->room * 2 : 32;
        Entry *entries = PyMem_Realloc(pass->entries, (size_t)room * sizeof *entries);
        if (entries == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        pass->entries = entries;
        pass->room = room;
    }
    if (!map_reserve(&pass->index, TARGET_KIND)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

Py_ssize_t pass_entry(Pass *pass, PyObject *target, int is_leaf, int *made)
{
    *made = 0;
    if (reserve_entry(pass) < 0) {
        return -1;
    }
    TargetSlot *slot = map_slot(&pass->index, TARGET_KIND, hash_pointer(target), target);
    if (slot->target != NULL) {
        return slot->entry;
    }
    pass->entries[pass->count] = (Entry){Py_NewRef(target), NULL, 0, is_leaf};
    *slot = (TargetSlot){target, pass->count};
    pass->index.used++;
    *made = 1;
    return pass->count++;
}

void pass_free(Pass *pass)
{
    for (Py_ssize_t i = 0; i < pass->count; i++) {
        Py_XDECREF(pass->entries[i].gradient);
        Py_DECREF(pass->entries[i].target);
    }
    PyMem_Free(pass->entries);
    map_free(&pass->index);
    PyMem_Free(pass->heap);
    Py_XDECREF(pass->observer);
    Py_XDECREF(pass->enter);
    Py_XDECREF(pass->leave);
}

/* --- the queue of what is ready */
static int before(const Ready *a, const Ready *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->order < b->order;
}

int pass_push(Pass *pass, Py_ssize_t entry)
{
    Entry *e = &pass->entries[entry];
    int64_t priority = LEAF_PRIORITY;
    if (!e->is_leaf) {
        priority = -PyLong_AsLongLong(((Node *)e->target)->seq);
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    if (pass->ready == pass->heap_room) {
        Py_ssize_t room = pass->heap_room ? pass->heap_room * 2 : 32;
        Ready *heap = PyMem_Realloc(pass->heap, (size_t)room * sizeof *heap);
        if (heap == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        pass->heap = heap;
        pass->heap_room = room;
    }
    Ready item = {priority, pass->order++, entry};
    Py_ssize_t at = pass->ready++;
    while (at > 0 && before(&item, &pass->heap[(at - 1) / 2])) {
        pass->heap[at] = pass->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    pass->heap[at] = item;
    return 0;
}

Py_ssize_t pass_pop(Pass *pass)
{
    Py_ssize_t entry = pass->heap[0].entry;
    Ready last = pass->heap[--pass->ready];
    Py_ssize_t at = 0;
    for (;;) {
        Py_ssize_t child = 2 * at + 1;
        if (child >= pass->ready) {
            break;
        }
        if (child + 1 < pass->ready && before(&pass->heap[child + 1], &pass->heap[child])) {
            child++;
        }
        if (!before(&pass->heap[child], &last)) {
            break;
        }
        pass->heap[at] = pass->heap[child];
        at = child;
    }
    if (pass->ready > 0) {
        pass->heap[at] = last;
    }
    return entry;
}
