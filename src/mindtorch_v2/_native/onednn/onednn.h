/* oneDNN for the CPU kernels: what the files of this folder share.

   A kernel describes its operands as Views, its sizes and numbers as a Key, and asks for the Plan of that key: the
   library's primitive, the layouts that it wants its operands in, and the reorders between those and the arrays.
   plan_run executes it. A kernel declines what it was not made for, as those of kernels/ do, and so does everything
   where the library is missing. */
#ifndef MINDTORCH_ONEDNN_H
#define MINDTORCH_ONEDNN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <string.h>

#include "abi.h"
#include "common/arguments.h"

#define DECLINED Py_NotImplemented /* borrowed, as in kernels/kernels.h */

enum { MAX_VIEWS = 12, MAX_KEY = 160 };

/* --- the library -------------------------------------------------------------------------------- */
extern OneDnn dnnl;
extern Handle engine, stream, attributes; /* the scratch memory of a primitive is the caller's */

void library_set_finder(PyObject *function); /* is called once: loads the library, and returns whether that was done */
bool library_is_ready(void);                 /* looks for it the first time; also false with an error set */
int library_load(const char *path);          /* 0, or -1 with a Python error that says why not */
void library_set_threads(int count);
int library_threads(void);           /* how many threads the next call may use */
void library_use_threads(int count); /* what the library is told of in this thread */
bool library_has_own_threads(void);  /* whether those are this package's instead of OpenMP's */

/* --- OpenMP */
bool openmp_replace(void *library); /* whether the library's parallel regions are now teams of this package's threads */
int openmp_limit(void);
void openmp_use(int count);

/* --- operands ----------------------------------------------------------------------------------- */
typedef struct {
    char *data;
    int ndim, type;                    /* type: TYPE_*, 0 for one that the library does not have */
    int64_t dims[DIMS], strides[DIMS]; /* in elements */
    int64_t size;
    bool channels_last; /* how view_allocate makes it */
} View;

int arrays_setup(void);
PyObject *scratch_new(int64_t bytes, char **data); /* memory of one call, from numpy, so that profiles see it */
bool view_read(View *view, PyObject *array);       /* false for what is no plain aligned array of a known type */
bool is_contiguous(const View *view);
bool is_channels_last(const View *view);
void view_lay_out(View *view, bool channels_last); /* strides of fresh dense memory */
View view_like(const View *view);                  /* the same shape and type in row-major order */
PyObject *view_allocate(View *view);               /* a new array with the view's strides, whose data it then is */
PyObject *view_allocate_as(View *view, Py_ssize_t ndim, const int64_t *shape); /* row-major, of another shape */

/* --- plans -------------------------------------------------------------------------------------- */
typedef struct {
    int64_t words[MAX_KEY];
    int count;
} Key;

typedef struct {
    View *view; /* NULL: not given */
    int argument;
    bool output, fixed; /* fixed: the primitive must take the array as it lies */
} Operand;

typedef struct Plan Plan;

typedef struct Job {
    Key key;
    Operand operands[MAX_VIEWS];
    int count;
    /* Makes the primitive's description from those of the operands (desc[i] of operands[i], NULL where not given). */
    int (*describe)(const struct Job *job, Handle *desc, Handle *made);
    const void *sizes; /* what `describe` needs beside */
} Job;

void key_begin(Key *key, int64_t op);
void key_add(Key *key, int64_t word);
void key_add_double(Key *key, double value);
void job_add(Job *job, int argument, View *view, bool output, bool fixed);

/* Also chooses the number of threads. */
Plan *plan_find(Job *job);                /* borrowed; NULL where the library has nothing good for it */
int plan_run(Plan *plan, const Job *job); /* 0, or -1 with an error */
PyObject *plans_describe(void);           /* a list of (implementation, reorders, scratch bytes) */
void plans_clear(void);

/* --- kernels ------------------------------------------------------------------------------------ */
/* `fallback` is the kernel that does what is declined. */
typedef PyObject *(*kernel_function)(PyObject *const *args, PyObject *fallback);
typedef struct {
    const char *name;
    kernel_function call;
    Py_ssize_t arguments;
    int64_t least; /* elements of the first array below which it is not tried */
    bool narrow;   /* float32 is left to the fallback kernel, which is quicker */
} KernelEntry;

extern const KernelEntry CONVOLUTIONS[], PRODUCTS[], ELEMENTWISE[];

#endif
