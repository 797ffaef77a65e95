/* Rows of text made from columns: what the exporters of traces spend their time on.

   A row is a sequence of segments, the same for all rows of a call; what they show comes from columns. The form in
   Python, and what each kind of segment is, stand in profiler/export/rows.py. Both give the same bytes. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/enums.h"
#include "common/sources.h"

enum { TEXT, PICK, NUMBER, MICRO, IF };

#define MAX_DIGITS 20 /* of an int64, with its sign */
#define MAX_SEGMENTS 64

typedef struct {
    int kind;
    Py_buffer column;  /* TEXT: the bytes; PICK: int32; NUMBER, MICRO: int64; IF: uint8 */
    Py_buffer blob;    /* PICK: all texts, one after the other */
    Py_buffer offsets; /* PICK: int64, where each text begins, and the end of the last */
    Py_ssize_t texts;  /* PICK: how many there are */
    Py_ssize_t covers; /* IF: how many of the following segments are left out where it is 0 */
} Segment;

typedef struct {
    char *data;
    size_t size, capacity;
} Text;

static const char PAIRS[] = "000102030405060708091011121314151617181920212223242526272829303132333435363738394041424344"
                            "45464748495051525354555657585960"
                            "616263646566676869707172737475767778798081828384858687888990919293949596979899";

static bool reserve(Text *out, size_t more)
{
    if (more <= out->capacity - out->size)
        return true;
    size_t wanted = out->capacity * 2;
    if (wanted < out->size + more)
        wanted = out->size + more;
    char *grown = PyMem_RawRealloc(out->data, wanted);
    if (grown == NULL)
        return false;
    out->data = grown;
    out->capacity = wanted;
    return true;
}

static bool put(Text *out, const char *from, size_t size)
{
    if (!reserve(out, size))
        return false;
    memcpy(out->data + out->size, from, size);
    out->size += size;
    return true;
}

/* There must be room for MAX_DIGITS. */
static void put_digits(Text *out, uint64_t value, bool negative)
{
    char digits[MAX_DIGITS], *at = digits + sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(at, PAIRS + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, PAIRS + value * 2, 2);
    } else
        *--at = (char)('0' + value);
    if (negative)
        out->data[out->size++] = '-';
    size_t size = (size_t)(digits + sizeof digits - at);
    memcpy(out->data + out->size, at, size);
    out->size += size;
}

static bool put_number(Text *out, int64_t value)
{
    if (!reserve(out, MAX_DIGITS))
        return false;
    put_digits(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
    return true;
}

/* Nanoseconds as microseconds with three decimals; the decimals count upwards from the whole number below, as in
 * Python. */
static bool put_micro(Text *out, int64_t ns)
{
    int64_t whole = ns / 1000, rest = ns % 1000;
    if (rest < 0) {
        rest += 1000;
        whole -= 1;
    }
    if (!reserve(out, MAX_DIGITS + 4) || !put_number(out, whole))
        return false;
    char *at = out->data + out->size;
    at[0] = '.';
    at[1] = (char)('0' + rest / 100);
    memcpy(at + 2, PAIRS + rest % 100 * 2, 2);
    out->size += 4;
    return true;
}

static bool put_row(Text *out, const Segment *segments, Py_ssize_t count, Py_ssize_t row)
{
    bool ok = true;
    for (Py_ssize_t i = 0; i < count && ok; i++) {
        const Segment *s = &segments[i];
        switch (s->kind) {
        case TEXT:
            ok = put(out, s->column.buf, (size_t)s->column.len);
            break;
        case PICK: {
            const int64_t *offsets = s->offsets.buf;
            int32_t which = ((const int32_t *)s->column.buf)[row];
            ok = put(out, (const char *)s->blob.buf + offsets[which], (size_t)(offsets[which + 1] - offsets[which]));
            break;
        }
        case NUMBER:
            ok = put_number(out, ((const int64_t *)s->column.buf)[row]);
            break;
        case MICRO:
            ok = put_micro(out, ((const int64_t *)s->column.buf)[row]);
            break;
        default:
            if (((const uint8_t *)s->column.buf)[row] == 0)
                i += s->covers;
        }
    }
    return ok;
}

static bool get_column(PyObject *object, Py_buffer *view, Py_ssize_t item, Py_ssize_t count)
{
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) < 0)
        return false;
    if (view->len == item * count)
        return true;
    PyErr_Format(PyExc_ValueError, "a column has %zd bytes, expected %zd for %zd rows", view->len, item * count, count);
    return false;
}

/* Makes sure that no row reads outside the texts. */
static bool check_pick(const Segment *s, Py_ssize_t rows)
{
    const int64_t *offsets = s->offsets.buf;
    for (Py_ssize_t i = 0; i <= s->texts; i++)
        if (offsets[i] < (i ? offsets[i - 1] : 0) || offsets[i] > s->blob.len) {
            PyErr_SetString(PyExc_ValueError, "the offsets of texts are not in order");
            return false;
        }
    const int32_t *which = s->column.buf;
    for (Py_ssize_t row = 0; row < rows; row++)
        if (which[row] < 0 || which[row] >= s->texts) {
            PyErr_Format(PyExc_IndexError, "row %zd asks for text %d of %zd", row, (int)which[row], s->texts);
            return false;
        }
    return true;
}

static bool parse_pick(PyObject *item, Segment *s, Py_ssize_t rows)
{
    PyObject *column, *blob, *offsets;
    if (!PyArg_ParseTuple(item, "iOOO", &s->kind, &column, &blob, &offsets) || !get_column(column, &s->column, 4, rows))
        return false;
    if (PyObject_GetBuffer(blob, &s->blob, PyBUF_SIMPLE) < 0
        || PyObject_GetBuffer(offsets, &s->offsets, PyBUF_SIMPLE) < 0)
        return false;
    s->texts = s->offsets.len / 8 - 1;
    if (s->texts < 0) {
        PyErr_SetString(PyExc_ValueError, "there is no end of the last text");
        return false;
    }
    return check_pick(s, rows);
}

static bool parse_segment(PyObject *item, Segment *s, Py_ssize_t rows, Py_ssize_t following)
{
    PyObject *column;
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) < 2) {
        PyErr_SetString(PyExc_TypeError, "a segment is a tuple of at least two");
        return false;
    }
    long kind = PyLong_AsLong(PyTuple_GET_ITEM(item, 0));
    if (kind == -1 && PyErr_Occurred())
        return false;
    switch (kind) {
    case TEXT:
        return PyArg_ParseTuple(item, "iO", &s->kind, &column)
               && PyObject_GetBuffer(column, &s->column, PyBUF_SIMPLE) == 0;
    case PICK:
        return parse_pick(item, s, rows);
    case NUMBER:
    case MICRO:
        return PyArg_ParseTuple(item, "iO", &s->kind, &column) && get_column(column, &s->column, 8, rows);
    case IF:
        if (!PyArg_ParseTuple(item, "iOn", &s->kind, &column, &s->covers) || !get_column(column, &s->column, 1, rows))
            return false;
        if (s->covers >= 0 && s->covers <= following)
            return true;
        PyErr_SetString(PyExc_ValueError, "a condition covers more segments than follow");
        return false;
    default:
        PyErr_Format(PyExc_ValueError, "no kind of segment has the number %ld", kind);
        return false;
    }
}

static bool put_rows(Text *out, const Segment *segments, Py_ssize_t count, Py_ssize_t rows, const char *separator,
                     size_t size)
{
    for (Py_ssize_t row = 0; row < rows; row++)
        if ((row && !put(out, separator, size)) || !put_row(out, segments, count, row))
            return false;
    return true;
}

PyDoc_STRVAR(format_rows_doc,
             "format_rows(segments, rows, separator)\n--\n\nThe rows as bytes, with the separator between them.");

static PyObject *format_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *items, *made = NULL;
    Py_ssize_t rows, separator_size;
    const char *separator;
    if (!PyArg_ParseTuple(args, "O!ny#", &PyTuple_Type, &items, &rows, &separator, &separator_size))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(items), ready = 0;
    if (count > MAX_SEGMENTS || rows < 0) {
        PyErr_Format(PyExc_ValueError, "%zd segments for %zd rows", count, rows);
        return NULL;
    }
    Segment segments[MAX_SEGMENTS];
    memset(segments, 0, sizeof segments); /* releasing a buffer that was never filled is harmless */
    Text out = {PyMem_RawMalloc(1 << 16), 0, 1 << 16};
    bool ok = out.data != NULL;
    while (ok && ready < count) {
        ok = parse_segment(PyTuple_GET_ITEM(items, ready), &segments[ready], rows, count - ready - 1);
        ready++;
    }
    if (ok) {
        Py_BEGIN_ALLOW_THREADS ok = put_rows(&out, segments, count, rows, separator, (size_t)separator_size);
        Py_END_ALLOW_THREADS
    }
    if (ok)
        made = PyBytes_FromStringAndSize(out.data, (Py_ssize_t)out.size);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < ready; i++) {
        PyBuffer_Release(&segments[i].column);
        PyBuffer_Release(&segments[i].blob);
        PyBuffer_Release(&segments[i].offsets);
    }
    PyMem_RawFree(out.data);
    return made;
}

static PyMethodDef methods[] = {
    {"format_rows", format_rows, METH_VARARGS, format_rows_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_trace_writer",
    .m_doc = "Rows of text made from columns.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__trace_writer(void)
{
    static const NamedCode segments[] = {
        {"TEXT", TEXT}, {"PICK", PICK}, {"NUMBER", NUMBER}, {"MICRO", MICRO}, {"IF", IF}};
    PyObject *made = PyModule_Create(&module);
    if (made
        && (add_sources(made) < 0 || PyModule_AddIntMacro(made, MAX_SEGMENTS) < 0
            || EXPORT_CODES(made, "SEGMENTS", segments) < 0))
        Py_CLEAR(made);
    return made;
}
