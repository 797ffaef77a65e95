/* One index per element (gather, scatter_add) or per slice (index_add). The index may be a view with any strides, as
   where a column of node numbers is expanded to the width of the messages. */
#include "kernels.h"

#define MAX_DIMS 8
#define COLUMNS 16 /* of a table that one thread adds to, at least */

/* Elements of `index` walk over the others. `table` is what the index counts in, contiguous where it is written;
 * `other` is read or written. */
typedef struct {
    char *table, *other;
    const char *index;
    int ndim, axis;
    Py_ssize_t shape[MAX_DIMS];                                                  /* of the index */
    Py_ssize_t table_step[MAX_DIMS], index_step[MAX_DIMS], other_step[MAX_DIMS]; /* steps in elements */
    Py_ssize_t limit;                                                            /* of the axis of the table */
    double alpha;
    Py_ssize_t rows, columns; /* of a scatter: all rows, and the columns of a round */
} Walk;

typedef struct {
    const char *table;
    const int64_t *index;
    char *out;
    Py_ssize_t limit;
    size_t width; /* bytes of a row */
} Rows;

#define LOOPS "indexing.inc"
#include "each_type.h"

PICKER(gather_rows)
PICKER(scatter_columns)

static bool set_steps(Py_ssize_t *steps, const Array *a)
{
    for (int i = 0; i < a->ndim; i++) {
        if (a->strides[i] % a->itemsize)
            return false;
        steps[i] = a->strides[i] / a->itemsize;
    }
    return true;
}

/* Whether all indices of one row of the walk are within the table. */
static bool row_in_range(const Walk *w, const int64_t *index)
{
    Py_ssize_t last = w->ndim - 1, count = w->index_step[last] == 0 ? 1 : w->shape[last];
    bool fine = true;
    for (Py_ssize_t j = 0; j < count; j++)
        fine &= (uint64_t)index[j * w->index_step[last]] < (uint64_t)w->limit;
    return fine;
}

static Py_ssize_t row_count(const Walk *w)
{
    Py_ssize_t rows = 1;
    for (int i = 0; i < w->ndim - 1; i++)
        rows *= w->shape[i];
    return rows;
}

static bool in_range(const Walk *w)
{
    Py_ssize_t rows = row_count(w);
    for (Py_ssize_t row = 0; row < rows; row++) {
        Py_ssize_t rest = row, at = 0;
        for (int i = w->ndim - 2; i >= 0; i--) {
            at += rest % w->shape[i] * w->index_step[i];
            rest /= w->shape[i];
        }
        if (!row_in_range(w, (const int64_t *)w->index + at))
            return false;
    }
    return true;
}

/* Fills a walk of an index over a table; false where they are not what is done here. */
static bool read_walk(Walk *w, const Array *table, PyObject *dim, const Array *index)
{
    Py_ssize_t axis;
    if ((table->type != 'f' && table->type != 'd') || (uintptr_t)table->data % (uintptr_t)table->itemsize != 0
        || index->type != 'l' || index->ndim != table->ndim || table->ndim < 1 || table->ndim > MAX_DIMS
        || !as_index(dim, &axis) || index->size == 0 || table->size == 0)
        return false;
    axis += axis < 0 ? table->ndim : 0;
    if (axis < 0 || axis >= table->ndim || !set_steps(w->table_step, table) || !set_steps(w->index_step, index))
        return false;
    w->ndim = table->ndim;
    w->axis = (int)axis;
    w->limit = table->shape[axis];
    w->table = table->data;
    w->index = index->data;
    for (int i = 0; i < w->ndim; i++) {
        w->shape[i] = index->shape[i];
        if (i != axis && index->shape[i] > table->shape[i])
            return false;
    }
    return in_range(w);
}

/* Every element is added to in the order of the rows, whatever the number of threads: they share the columns. Where the
   index counts along those, one thread does all. */
static void scatter(Walk *w, char type)
{
    Py_ssize_t n = w->shape[w->ndim - 1], each = (n + threads_get() - 1) / threads_get();
    w->columns = (each + COLUMNS - 1) / COLUMNS * COLUMNS; /* one round a thread: each looks at every row */
    Py_ssize_t blocks = (n + w->columns - 1) / w->columns;
    loop_function loop = scatter_columns_pick(type);
    w->rows = row_count(w);
    double cost = (double)w->rows * (3 + 0.3 * (double)(n < w->columns ? n : w->columns));
    if (w->axis < w->ndim - 1) {
        run_loop(loop, w, blocks, cost);
        return;
    }
    Py_BEGIN_ALLOW_THREADS;
    loop(w, 0, blocks);
    Py_END_ALLOW_THREADS;
}

/* gather(self, dim, index, sparse_grad) */
static PyObject *gather(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array table, index, out;
    Walk w = {.table = NULL};
    PyObject *result = DECLINED;
    array_open(&all, &table, args[0], false);
    array_open(&all, &index, args[2], false);
    if (!all.failed && read_walk(&w, &table, args[1], &index)) {
        result = array_new(&all, &out, index.ndim, index.shape, table.type, false);
        if (result != NULL) {
            w.other = out.data;
            set_steps(w.other_step, &out);
            run_loop(gather_rows_pick(table.type), &w, row_count(&w), 1 + 0.7 * (double)w.shape[w.ndim - 1]);
        }
    }
    arrays_close(&all);
    return result;
}

/* scatter_add_(self, dim, index, src) */
static PyObject *scatter_add(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array table, index, src;
    Walk w = {.alpha = 1};
    PyObject *result = DECLINED;
    array_open(&all, &table, args[0], true);
    array_open(&all, &index, args[2], false);
    array_open(&all, &src, args[3], false);
    bool fits = !all.failed && is_real(&table) && src.type == table.type && src.ndim == table.ndim
                && apart(&table, &src) && table.data != src.data && read_walk(&w, &table, args[1], &index)
                && set_steps(w.other_step, &src);
    for (int i = 0; fits && i < w.ndim; i++)
        fits = src.shape[i] >= w.shape[i];
    if (fits) {
        w.other = src.data;
        scatter(&w, table.type);
        result = Py_NewRef(Py_None);
    }
    arrays_close(&all);
    return result;
}

/* Slices along the first dimension that lie in one piece are rows. */
static void join_slices(Walk *w, const Array *table, const Array *src)
{
    if (w->axis != 0 || w->ndim < 3 || !src->contiguous)
        return;
    w->shape[1] = src->size / src->shape[0];
    w->table_step[0] = table->size / table->shape[0];
    w->other_step[0] = w->shape[1];
    w->table_step[1] = w->other_step[1] = 1;
    w->ndim = 2;
}

/* index_add_(self, dim, index, source, alpha): an index of slices is one whose other dimensions do not move it. */
static PyObject *index_add(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array table, index, src;
    Walk w = {.alpha = 1};
    Py_ssize_t axis;
    PyObject *result = DECLINED;
    array_open(&all, &table, args[0], true);
    array_open(&all, &index, args[2], false);
    array_open(&all, &src, args[3], false);
    bool fits = !all.failed && is_real(&table) && src.type == table.type && src.ndim == table.ndim && table.ndim > 0
                && table.ndim <= MAX_DIMS && index.ndim == 1 && index.type == 'l' && as_index(args[1], &axis)
                && as_double(args[4], &w.alpha) && apart(&table, &src) && table.data != src.data && src.size > 0;
    axis += fits && axis < 0 ? table.ndim : 0;
    fits = fits && axis >= 0 && axis < table.ndim && src.shape[axis] == index.shape[0]
           && set_steps(w.table_step, &table) && set_steps(w.other_step, &src)
           && index.strides[0] % index.itemsize == 0;
    for (int i = 0; fits && i < table.ndim; i++) {
        w.shape[i] = src.shape[i];
        fits = i == axis || src.shape[i] == table.shape[i];
    }
    if (fits) {
        w.ndim = table.ndim;
        w.axis = (int)axis;
        w.limit = table.shape[axis];
        w.table = table.data, w.index = index.data, w.other = src.data;
        w.index_step[axis] = index.strides[0] / index.itemsize;
        join_slices(&w, &table, &src);
        if (in_range(&w)) {
            scatter(&w, table.type);
            result = Py_NewRef(Py_None);
        }
    }
    arrays_close(&all);
    return result;
}

/* As numpy counts: negative positions from the end. */
static bool rows_in_range(const int64_t *index, Py_ssize_t count, Py_ssize_t limit)
{
    bool fine = true;
    for (Py_ssize_t i = 0; i < count; i++)
        fine &= index[i] >= -(int64_t)limit && index[i] < (int64_t)limit;
    return fine;
}

static void copy_rows(const void *argument, Py_ssize_t begin, Py_ssize_t end)
{
    const Rows *job = argument;
    for (Py_ssize_t i = begin; i < end; i++) {
        int64_t row = job->index[i] + (job->index[i] < 0 ? job->limit : 0);
        memcpy(job->out + (size_t)i * job->width, job->table + (size_t)row * job->width, job->width);
    }
}

/* take_rows(table, index): table[index] for positions of any shape along the first dimension */
static PyObject *take_rows(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array table, index, out;
    PyObject *result = DECLINED;
    array_open(&all, &table, args[0], false);
    array_open(&all, &index, args[1], false);
    if (!all.failed && is_real(&table) && table.ndim > 0 && table.size > 0 && index.type == 'l' && index.contiguous
        && index.size > 0 && index.ndim + table.ndim - 1 <= MAX_DIMS
        && rows_in_range((const int64_t *)index.data, index.size, table.shape[0])) {
        Py_ssize_t shape[MAX_DIMS];
        for (int i = 0; i < index.ndim; i++)
            shape[i] = index.shape[i];
        for (int i = 1; i < table.ndim; i++)
            shape[index.ndim + i - 1] = table.shape[i];
        result = array_new(&all, &out, index.ndim + table.ndim - 1, shape, table.type, false);
        if (result != NULL) {
            Rows job = {.table = table.data,
                        .index = (const int64_t *)index.data,
                        .out = out.data,
                        .limit = table.shape[0],
                        .width = (size_t)(table.size / table.shape[0] * table.itemsize)};
            run_loop(copy_rows, &job, index.size, 3 + 0.05 * (double)job.width);
        }
    }
    arrays_close(&all);
    return result;
}

const KernelEntry INDEXING_KERNELS[] = {
    {"take_rows", take_rows, 2},  {"gather", gather, 4}, {"scatter_add_", scatter_add, 4},
    {"index_add_", index_add, 5}, {NULL, NULL, 0},
};
