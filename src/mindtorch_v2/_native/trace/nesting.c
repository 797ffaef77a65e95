/* Who encloses whom, from times alone: the native form of profiler/load/nesting.py, where the rules stand. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "nesting.h"

typedef struct {
    const int64_t *start;
    int64_t *end;
    const int32_t *track;
    const uint8_t *role, *nests;
    int32_t *parent, *below,
        *top; /* of each row, the row under it on its track's stack; of each track, the innermost row */
    uint8_t *loose;
    Py_ssize_t rows;
    int64_t slack;
} Nesting;

static void nest_row(Nesting *n, int32_t row)
{
    int64_t begins = n->start[row], ends = n->end[row];
    int32_t *top = &n->top[n->track[row]];
    uint8_t role = n->role[row];
    while (*top >= 0
           && !(begins < n->end[*top]
                || (begins == ends && begins == n->end[*top] && role == LAUNCHES && n->role[*top] != LAUNCHES)))
        *top = n->below[*top];
    while (*top >= 0 && ends > n->end[*top] + n->slack
           && ((n->role[*top] == YIELDS && role != YIELDS) || role == STEP)) {
        if (n->role[*top] == YIELDS)
            n->end[*top] = begins;
        else
            n->loose[*top] = 1;
        *top = n->below[*top];
    }
    if (*top >= 0) {
        int64_t over = ends - n->end[*top];
        if (over > n->slack && role != YIELDS) {
            n->loose[row] = 1;
            return;
        }
        if (over > 0)
            n->end[row] = n->end[*top];
        n->parent[row] = *top;
    }
    n->below[row] = *top;
    *top = row;
}

static void nest_rows(Nesting *n)
{
    for (Py_ssize_t row = 0; row < n->rows; row++) {
        n->parent[row] = -1;
        if (n->nests[row])
            nest_row(n, (int32_t)row);
    }
    for (Py_ssize_t row = 0; row < n->rows; row++) /* what began inside a row that left the nesting later */
        while (n->parent[row] >= 0 && n->loose[n->parent[row]])
            n->parent[row] = n->parent[n->parent[row]];
}

static bool fits(const Py_buffer view[], Py_ssize_t rows, Py_ssize_t tracks)
{
    static const Py_ssize_t width[] = {8, 8, 4, 1, 1, 4, 1};
    for (int i = 0; i < 7; i++)
        if (view[i].len != rows * width[i])
            return false;
    const int32_t *track = view[2].buf;
    for (Py_ssize_t row = 0; row < rows; row++)
        if (track[row] < 0 || track[row] >= tracks)
            return false;
    return rows < INT32_MAX;
}

/* nest(start, end, track, role, nests, parent, loose, tracks, slack) sets `parent`, `loose` and `end`. */
PyObject *nest(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer v[7];
    Py_ssize_t tracks;
    long long slack;
    if (!PyArg_ParseTuple(args, "y*w*y*y*y*w*w*nL", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &tracks, &slack))
        return NULL;
    Py_ssize_t rows = v[0].len / 8;
    bool ok = tracks >= 0 && fits(v, rows, tracks);
    int32_t *below = ok ? malloc(((size_t)rows + (size_t)tracks + 1) * sizeof *below) : NULL;
    if (below) {
        Nesting n = {v[0].buf, v[1].buf,     v[2].buf, v[3].buf, v[4].buf, v[5].buf,
                     below,    below + rows, v[6].buf, rows,     slack};
        for (Py_ssize_t i = 0; i < tracks; i++)
            n.top[i] = -1;
        nest_rows(&n);
        free(below);
    }
    for (int i = 0; i < 7; i++)
        PyBuffer_Release(&v[i]);
    if (below)
        Py_RETURN_NONE;
    if (ok)
        return PyErr_NoMemory();
    PyErr_SetString(PyExc_ValueError, "columns of different lengths, or a track that is not there");
    return NULL;
}
