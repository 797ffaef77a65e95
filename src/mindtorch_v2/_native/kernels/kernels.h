/* What the native kernels share: how they see arrays, how they decline, how they run loops on several threads.

   A kernel has the signature of the numpy kernel it stands before. It either does the whole work or declines, without
   having changed anything, whatever it was not made for: other types, strided arrays, arguments that are errors. */
#ifndef MINDTORCH_KERNELS_H
#define MINDTORCH_KERNELS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/arguments.h"

/* On x86-64 loops are also compiled for machines with AVX2 and FMA and for those with AVX-512; see each_type.h.
   PICK(name, type) is the right one. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(MINDTORCH_BASELINE)
#define MINDTORCH_X86
#define PICK_MACHINE(name) (machine == MACHINE_AVX512 ? name##_avx512 : machine == MACHINE_AVX2 ? name##_avx2 : name)
#define PICK(name, type) ((type) == 'f' ? PICK_MACHINE(name##_f) : PICK_MACHINE(name##_d))
#else
#define PICK(name, type) ((type) == 'f' ? name##_f : name##_d)
#endif

/* Defines name_pick(type), which gives the right loop. */
#define PICKER(name)                                                                                                   \
    static loop_function name##_pick(char type)                                                                        \
    {                                                                                                                  \
        return PICK(name, type);                                                                                       \
    }

/* How a loss becomes one number, as in nn/_reduction.py. */
enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

enum { MACHINE_BASELINE, MACHINE_AVX2, MACHINE_AVX512 };
extern int machine; /* which of them this is, set when the module is loaded */

/* Each round of the loop reads and writes its own elements only, even where input and output are the same array. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define INLINE static inline __attribute__((always_inline))

/* --- kernels */
/* A new reference, NULL with an exception, or DECLINED (borrowed). */
typedef PyObject *(*kernel_function)(PyObject *const *args, Py_ssize_t count);

#define DECLINED Py_NotImplemented

typedef struct {
    const char *name;
    kernel_function call;
    Py_ssize_t arguments;
} KernelEntry;

/* One table a family, ended by a NULL name. */
extern const KernelEntry ACTIVATION_KERNELS[], SOFTMAX_KERNELS[], LAYER_NORM_KERNELS[], REDUCTION_KERNELS[],
    COPY_KERNELS[], OPTIMIZER_KERNELS[], LOSS_KERNELS[], POOLING_KERNELS[], CONVOLUTION_KERNELS[], ATTENTION_KERNELS[],
    CONV_PRODUCT_KERNELS[], LSTM_KERNELS[], SORTING_KERNELS[], INDEXING_KERNELS[], PRODUCT_KERNELS[],
    BROADCASTING_KERNELS[], CHANNEL_KERNELS[], CONVERSION_KERNELS[], RANDOM_KERNELS[];

/* --- arrays */
typedef struct {
    char *data;
    Py_ssize_t size; /* elements */
    int ndim;
    const Py_ssize_t *shape;
    const Py_ssize_t *strides; /* in bytes */
    Py_ssize_t itemsize;
    char type;       /* 'f' float, 'd' double, 'l' int64, 'i' int32, 'x' any other */
    bool contiguous; /* row-major and aligned */
} Array;

#define MAX_ARRAYS 12

/* The arrays of one call. Open them, look at `failed` once, and close. */
typedef struct {
    Py_buffer buffers[MAX_ARRAYS];
    int count;
    bool failed;
} Arrays;

/* Opens an array; sets `failed` (and no exception) for what is no plain numpy array, or one that cannot be written. */
void array_open(Arrays *all, Array *array, PyObject *object, bool writable);
void arrays_close(Arrays *all);
/* Whether an object is an array of some thousand elements, before it is opened, which costs more than small ones. */
bool array_is_large(PyObject *object);
Py_ssize_t array_size(PyObject *object);     /* its elements; 0 for what is no array that can be looked at so */
bool arrays_match(PyObject *a, PyObject *b); /* whether two such arrays have the same shape */
/* Whether an object is an array, or an element type, that can be read as common/numpy_arrays.h says. */
bool array_has_known_layout(PyObject *object);
bool dtype_has_known_layout(PyObject *object);

INLINE bool is_real(const Array *a)
{
    return a->contiguous && (a->type == 'f' || a->type == 'd');
}

/* Whether two arrays have the same shape. */
bool same_shape(const Array *a, const Array *b);
/* Whether `b` can be read while `a` is written element by element: the same memory or none in common. */
bool apart(const Array *a, const Array *b);
/* Whether `b` is a contiguous array of the type and shape of `a`. */
bool is_like(const Array *b, const Array *a);

/* A new contiguous array, opened for writing; NULL with an exception. `zeroed` fills it with zeros. */
PyObject *array_new(Arrays *all, Array *array, int ndim, const Py_ssize_t *shape, char type, bool zeroed);

/* numpy.empty_like: a new array without gaps, in the order of `array`; NULL with an exception. */
PyObject *array_empty_like(PyObject *array, PyObject *dtype);

int arrays_init(void);

/* --- threads */
/* Works on the elements begin..end-1 of a job. Called without the interpreter lock, on several threads at once. */
typedef void (*loop_function)(const void *job, Py_ssize_t begin, Py_ssize_t end);

/* Runs a loop over 0..count-1 that takes about `nanoseconds` a round. Called with the interpreter lock, which is
   released while long loops run; they are also shared out if there are several threads. Pieces are multiples of 64
   rounds where there are many of them. */
void run_loop(loop_function loop, const void *job, Py_ssize_t count, double nanoseconds);

/* Scratch memory of a loop has one slot for each thread that may run it: thread_slot() of thread_slots(). */
Py_ssize_t thread_slot(void);
Py_ssize_t thread_slots(void);

extern const struct Teams THREAD_TEAMS; /* see common/teams.h */

int threads_init(void);
int threads_get(void);
void threads_set(int count);

#endif
