/* Scaled dot-product attention in tiles, so that no matrix of all scores exists. Arrays are (batch, heads, rows,
 * width). */
#include "blas.h"

typedef struct {
    char *data;
    Py_ssize_t batch, head, row; /* distances in elements */
} Rows;

typedef struct {
    Rows q, k, v, mask, out, lse, grad, dq, dk, dv;
    Py_ssize_t heads, group, rows, keys, width, mask_key; /* group: query heads that share a head of keys */
    double scale;
    bool causal;
    Py_ssize_t row_tile, key_tile, slot_size; /* a slot is the scratch memory of one thread, in elements */
    char *scratch;
} Attention;

#define ROW_TILE 64
#define KEY_TILE 512

#define LOOPS "attention.inc"
#include "each_type.h"

/* Whether the array has four dimensions, the type and, unless it is a mask or the sums, elements side by side. */
static bool as_rows(const Array *a, char type, bool side_by_side, Rows *rows)
{
    if (a->ndim < 3 || a->ndim > 4 || a->type != type || (a->ndim == 4 && side_by_side && a->strides[3] != a->itemsize))
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->strides[i] % a->itemsize != 0 || a->strides[i] < 0)
            return false;
    *rows = (Rows){a->data, a->strides[0] / a->itemsize, a->strides[1] / a->itemsize, a->strides[2] / a->itemsize};
    return (uintptr_t)a->data % (uintptr_t)a->itemsize == 0
           && (a->ndim == 3 || !side_by_side || rows->row >= a->shape[3]);
}

/* Fills in what forward and backward share from q, k, v, the mask (or None), causal and scale. */
static bool read_common(Arrays *all, PyObject *const *args, Attention *job, char *type)
{
    Array q, k, v, mask;
    array_open(all, &q, args[0], false);
    array_open(all, &k, args[1], false);
    array_open(all, &v, args[2], false);
    if (all->failed || q.ndim != 4 || k.ndim != 4 || v.ndim != 4 || (q.type != 'f' && q.type != 'd') || q.size == 0
        || k.size == 0)
        return false;
    *type = q.type;
    if (!as_rows(&q, q.type, true, &job->q) || !as_rows(&k, q.type, true, &job->k)
        || !as_rows(&v, q.type, true, &job->v))
        return false;
    if (args[3] != Py_None) {
        array_open(all, &mask, args[3], false);
        if (all->failed || mask.ndim != 4 || !as_rows(&mask, q.type, false, &job->mask))
            return false;
        job->mask_key = mask.strides[3] / mask.itemsize;
    }
    job->causal = args[4] == Py_True;
    job->heads = q.shape[1];
    job->group = q.shape[1] / k.shape[1];
    job->rows = q.shape[2];
    job->keys = k.shape[2];
    job->width = q.shape[3];
    job->row_tile = job->rows < ROW_TILE ? job->rows : ROW_TILE;
    job->key_tile = job->keys < KEY_TILE ? job->keys : KEY_TILE;
    return as_double(args[5], &job->scale);
}

/* Runs the loop with scratch memory for every thread. */
static PyObject *run(Arrays *all, Attention *job, loop_function loop, char type, Py_ssize_t count, double nanoseconds)
{
    Array scratch;
    Py_ssize_t size = thread_slots() * job->slot_size;
    PyObject *memory = array_new(all, &scratch, 1, &size, type, false);
    if (memory == NULL)
        return NULL;
    job->scratch = scratch.data;
    run_loop(loop, job, count, nanoseconds);
    Py_DECREF(memory); /* `all` keeps its buffer until it is closed */
    Py_RETURN_TRUE;
}

static double tile_cost(const Attention *job, double products)
{
    double keys = (double)job->keys * (job->causal ? 0.5 : 1);
    return (double)job->row_tile * keys * (1 + products * (double)job->width * 0.03);
}

/* attention_forward(q, k, v, mask, causal, scale, out, lse): fills out and lse (batch, heads, rows). */
static PyObject *attention_forward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array out, lse;
    Attention job = {.scale = 0};
    char type;
    PyObject *result = DECLINED;
    if (blas_ready() && read_common(&all, args, &job, &type)) {
        array_open(&all, &out, args[6], true);
        array_open(&all, &lse, args[7], true);
        if (!all.failed && out.ndim == 4 && lse.ndim == 3 && as_rows(&out, type, true, &job.out)
            && as_rows(&lse, type, false, &job.lse)) {
            job.slot_size = job.row_tile * (job.key_tile + job.width + 2);
            Py_ssize_t tiles = (job.rows + job.row_tile - 1) / job.row_tile;
            result = run(&all, &job, PICK(attention_tiles, type), type, out.shape[0] * job.heads * tiles,
                         tile_cost(&job, 2));
        }
    }
    arrays_close(&all);
    return result;
}

/* attention_backward(q, k, v, mask, causal, scale, out, lse, grad, dq, dk, dv): fills dq, adds to dk and dv. */
static PyObject *attention_backward(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Attention job = {.scale = 0};
    char type;
    PyObject *result = DECLINED;
    if (blas_ready() && read_common(&all, args, &job, &type)) {
        Rows *const rows[] = {&job.out, &job.lse, &job.grad, &job.dq, &job.dk, &job.dv};
        bool fits = true;
        for (int i = 0; i < 6 && fits; i++) {
            Array a;
            array_open(&all, &a, args[6 + i], i >= 3);
            fits = !all.failed && a.ndim == (i == 1 ? 3 : 4) && as_rows(&a, type, i != 1, rows[i]);
        }
        if (fits) {
            job.slot_size = job.row_tile * (2 * job.key_tile + 1);
            Py_ssize_t batch = PyObject_Length(args[0]), tiles = (job.rows + job.row_tile - 1) / job.row_tile;
            result = run(&all, &job, PICK(attention_gradients, type), type, batch * (job.heads / job.group),
                         tile_cost(&job, 5) * (double)(tiles * job.group));
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry ATTENTION_KERNELS[] = {
    {"attention_forward", attention_forward, 8},
    {"attention_backward", attention_backward, 12},
    {NULL, NULL, 0},
};
