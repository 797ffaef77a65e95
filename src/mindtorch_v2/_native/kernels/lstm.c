/* LSTM layers: the products with the inputs are made before and after, for all steps at once; here is what goes step by
 * step. */
#include "kernels.h"

typedef struct {
    char *gates, *weight, *hx, *cx, *out, *work, *grad, *panels;
    Py_ssize_t steps, batch, hidden, row_block;
    bool reverse, back;
} Layer;

#define LOOPS "lstm.inc"
#include "each_type.h"

enum { MOST_ARRAYS = 7 };

/* Opens contiguous arrays of one type; those in `written` (bits) for writing. */
static bool open_all(Arrays *all, PyObject *const *args, int count, unsigned written, char **data, Array *gates)
{
    for (int i = 0; i < count; i++) {
        Array a;
        array_open(all, &a, args[i], written >> i & 1);
        if (all->failed || !is_real(&a) || (i > 0 && a.type != gates->type))
            return false;
        if (i == 0)
            *gates = a;
        data[i] = a.data;
    }
    return gates->ndim == 3 && gates->size > 0;
}

/* Packs the weight, runs the loop and closes the arrays; the packed weight is scratch memory. */
static PyObject *run(Arrays *all, loop_function pack, loop_function loop, Layer *job, const Array *gates)
{
    job->steps = gates->shape[0];
    job->batch = gates->shape[1];
    job->hidden = gates->shape[2] / 4;
    job->row_block = (job->batch + threads_get() - 1) / threads_get();
    Py_ssize_t rounds = (job->batch + job->row_block - 1) / job->row_block;
    Py_ssize_t line = 64 / gates->itemsize, columns = job->back ? job->hidden : 4 * job->hidden;
    Py_ssize_t depth = job->back ? 4 * job->hidden : job->hidden;
    Py_ssize_t size = (columns + line - 1) / line * line * depth + line; /* a line more, to begin at one */
    Array panels;
    PyObject *scratch = array_new(all, &panels, 1, &size, gates->type, false);
    if (scratch == NULL) {
        arrays_close(all);
        return NULL;
    }
    job->panels = (char *)(((uintptr_t)panels.data + 63) & ~(uintptr_t)63);
    run_loop(pack, job, 1, (double)panels.size);
    double cell = 4 * (double)job->hidden * (0.03 * (double)job->hidden + 1);
    run_loop(loop, job, rounds, cell * (double)(job->steps * job->row_block));
    arrays_close(all);
    Py_DECREF(scratch);
    Py_RETURN_TRUE;
}

/* lstm_forward(gates, weight, hx, cx, out, work, reverse): gates (steps, batch, 4 * hidden) hold the inputs' part;
 * fills out and work. */
static PyObject *lstm_forward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array gates = {0};
    char *data[MOST_ARRAYS];
    if (open_all(&all, args, 6, 1u | 1u << 4 | 1u << 5, data, &gates)) {
        Layer job = {.gates = data[0],
                     .weight = data[1],
                     .hx = data[2],
                     .cx = data[3],
                     .out = data[4],
                     .work = data[5],
                     .reverse = args[6] == Py_True};
        return run(&all, PICK(lstm_pack, gates.type), PICK(lstm_forward, gates.type), &job, &gates);
    }
    arrays_close(&all);
    return DECLINED;
}

/* lstm_backward(dz, weight, dh, cx, dc, work, grad or None, reverse): fills dz; dh and dc go from the last to the first
 * step. */
static PyObject *lstm_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array dz = {0};
    char *data[MOST_ARRAYS] = {NULL};
    if (open_all(&all, args, args[6] == Py_None ? 6 : 7, 1u | 1u << 2 | 1u << 4, data, &dz)) {
        Layer job = {.gates = data[0],
                     .weight = data[1],
                     .hx = data[2],
                     .cx = data[3],
                     .out = data[4],
                     .work = data[5],
                     .grad = data[6],
                     .reverse = args[7] == Py_True,
                     .back = true};
        return run(&all, PICK(lstm_pack, dz.type), PICK(lstm_backward, dz.type), &job, &dz);
    }
    arrays_close(&all);
    return DECLINED;
}

const KernelEntry LSTM_KERNELS[] = {
    {"lstm_forward", lstm_forward, 7},
    {"lstm_backward", lstm_backward, 8},
    {NULL, NULL, 0},
};
