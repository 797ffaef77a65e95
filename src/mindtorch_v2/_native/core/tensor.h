/* Tensors and nodes as C sees them: the fields of the Python classes `Tensor` and `Node`, at fixed offsets. */
#ifndef MINDTORCH_TENSOR_H
#define MINDTORCH_TENSOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/keys.h"
#include "common/numpy_arrays.h" /* `inputs_setup` checks the layout */

typedef struct {
    PyObject_HEAD
    PyObject *array, *keys, *dtype;                                       /* NULL until they are set */
    PyObject *edge, *storage, *base, *grad, *hooks, *post_hooks, *device; /* None until they are set */
    PyObject *view_version, *retain, *view_kind;                          /* 0, False and "" */
    struct Links {
        struct Links *next, *previous;
    } links;    /* all tensors that live, in a ring */
    int64_t id; /* no other tensor of the process has it; 0 until somebody asked */
} Tensor;

typedef struct {
    PyObject_HEAD
    PyObject *next, *saved, *versions, *seq, *shape, *dtype, *forward_thread, *hooked;
} Node;

typedef struct {
    PyObject_HEAD
    PyObject *version; /* a slot, so that reading it is as quick as a Python object's */
} Storage;

extern PyTypeObject TensorFields_Type, NodeFields_Type, Storage_Type, Call_Type, CallMethod_Type, Overloads_Type,
    OverloadsMethod_Type;
extern PyTypeObject *tensor_class, *parameter_class; /* the Python classes; NULL before calls_setup */

int tensor_setup(void);
int storage_setup(void);
Tensor *tensor_of(PyObject *array, PyObject *keys, PyObject *dtype); /* takes no references */
Node *node_of(PyTypeObject *type);
PyObject *storage_make(void);
bool storage_was_written(const PyObject *storage);
void storage_count_from_zero(PyObject *storage);
PyObject *tensors_alive(PyObject *module, PyObject *ignored);
int views_require_grad(
    Tensor *base); /* views that live require a gradient since their base does; -1 with an error set */
PyObject *mark_views(PyObject *module, PyObject *base);
int64_t tensor_id(Tensor *tensor);
const ArrayFields *array_owner(PyObject *array); /* of its memory (borrowed); NULL for what is not an array */

/* allocator */
int64_t block_next(void); /* an id that no block of the process has */
int64_t
allocator_block_id(const ArrayFields *owner);   /* of its block; 0 where another allocated it, or it was not noted */
bool allocator_watch(const ArrayFields *owner); /* notes it unless that was done; false where another allocated it */
uint64_t allocator_changes(void);               /* how often it was taken into use or out of it */
int allocator_set(void);                        /* in the calling context; -1 with a Python error set */
PyObject *allocator_install(PyObject *module, PyObject *ignored);
PyObject *allocator_remove(PyObject *module, PyObject *ignored);
PyObject *allocator_block(PyObject *module, PyObject *args);
PyObject *allocator_watch_owner(PyObject *module, PyObject *array);
PyObject *allocator_next_block(PyObject *module, PyObject *ignored);

PyObject *calls_setup(PyObject *module, PyObject *args);
PyObject *calls_observe(PyObject *module, PyObject *observer);
PyObject *calls_keep_modes(PyObject *module, PyObject *args);
PyObject *calls_set_bit(PyObject *module, PyObject *args);
PyObject *calls_set_overridden(PyObject *module, PyObject *on);
PyObject *calls_swap_grad(PyObject *module, PyObject *enabled);
int node_set_default_type(PyObject *dtype);
PyObject *attributes_find_children(PyObject *module, PyObject *args);
PyObject *node_saved(PyObject *module, PyObject *node);
PyObject *saved_setup(PyObject *module, PyObject *args);

/* engine */
extern const char engine_run_doc[], engine_configure_doc[];
PyObject *engine_run(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *engine_configure(PyObject *module, PyObject *const *args, Py_ssize_t count);
int engine_setup(void);

static inline bool is_tensor(PyObject *value)
{
    return Py_TYPE(value) == tensor_class || Py_TYPE(value) == parameter_class;
}

static inline PyObject *held(PyObject *value)
{
    Py_INCREF(value);
    return value;
}

#endif
