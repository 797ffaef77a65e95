/* Copies of arrays whose fastest dimension is not the last one: transposed matrices, alone or in batches. */
#include "kernels.h"

#define MAX_DIMS 16

typedef struct {
    const char *from;
    char *to;
    Py_ssize_t rows, columns;      /* of the source: rows become the target's last dimension */
    Py_ssize_t from_step, to_step; /* bytes between rows of the source, between columns in the target */
    int outer;                     /* all other dimensions */
    Py_ssize_t sizes[MAX_DIMS], from_strides[MAX_DIMS], to_strides[MAX_DIMS];
} Turn;

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (Four){__VA_ARGS__})
#endif

typedef int32_t Four __attribute__((vector_size(16)));

#define TURN 4
#define LOOPS "copies.inc"
#include "each_type.h"

/* The dimension along which the source lies element by element; -1 if that is the last one, or none, or too short. */
static int fastest(const Array *source)
{
    int last = source->ndim - 1;
    if (source->ndim < 2 || source->ndim > MAX_DIMS || source->shape[last] < 4)
        return -1;
    for (int i = 0; i < last; i++)
        if (source->strides[i] == source->itemsize && source->shape[i] >= 4)
            return source->strides[last] == source->itemsize ? -1 : i;
    return -1;
}

static bool can_turn(const Array *source)
{
    return source->type != 'x' && source->size >= 256 && (uintptr_t)source->data % (uintptr_t)source->itemsize == 0
           && fastest(source) >= 0;
}

static void turn(const Array *target, const Array *source)
{
    int axis = fastest(source), last = source->ndim - 1;
    Turn job = {.from = source->data,
                .to = target->data,
                .rows = source->shape[last],
                .columns = source->shape[axis],
                .from_step = source->strides[last],
                .to_step = target->strides[axis]};
    Py_ssize_t matrices = 1;
    for (int i = 0; i < last; i++) {
        if (i == axis)
            continue;
        job.sizes[job.outer] = source->shape[i];
        job.from_strides[job.outer] = source->strides[i];
        job.to_strides[job.outer++] = target->strides[i];
        matrices *= source->shape[i];
    }
    Py_ssize_t edge = 64 / source->itemsize;
    Py_ssize_t rounds = matrices * ((job.columns + edge - 1) / edge);
    run_loop(PICK(turn, source->itemsize == 4 ? 'f' : 'd'), &job, rounds, 0.8 * (double)source->size / (double)rounds);
}

/* contiguous_copy(array) -> a row-major copy */
static PyObject *contiguous_copy(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array source, target;
    PyObject *result = DECLINED;
    array_open(&all, &source, args[0], false);
    if (!all.failed && can_turn(&source) && source.type != 'i') {
        result = array_new(&all, &target, source.ndim, source.shape, source.type, false);
        if (result != NULL)
            turn(&target, &source);
    }
    arrays_close(&all);
    return result;
}

/* copy_(self, src, non_blocking) */
static PyObject *copy_into(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array target, source;
    PyObject *result = DECLINED;
    array_open(&all, &source, args[1], false);
    if (all.failed || !can_turn(&source)) {
        arrays_close(&all);
        return DECLINED;
    }
    array_open(&all, &target, args[0], true);
    /* Where the two share memory, numpy takes a copy first. */
    if (!all.failed && is_like(&target, &source)) {
        Py_ssize_t low = 0, high = source.itemsize;
        for (int i = 0; i < source.ndim; i++)
            *(source.strides[i] < 0 ? &low : &high) += source.strides[i] * (source.shape[i] - 1);
        if (source.data + high <= target.data || target.data + target.size * target.itemsize <= source.data + low) {
            turn(&target, &source);
            result = Py_NewRef(Py_None);
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry COPY_KERNELS[] = {
    {"contiguous_copy", contiguous_copy, 1},
    {"copy_", copy_into, 3},
    {NULL, NULL, 0},
};
