/* Elementwise operators on a few elements, computed here: a call of numpy takes longer than the work.
 *
 * A loop serves contiguous operands of one shape and of one of three types, or an operand and a Python number, whose
 * elements are at most MOST. It declines everything else, which the op's kernel does. Results are those of the kernel
 * bit by bit (test_loops.py). Arrays are made through numpy's C interface, found at run time: the positions in its
 * table are part of numpy's ABI. */
#include "loops.h"
#include "quiet.h"

#include <string.h>

enum { MOST = 2048 };
enum { NEW_FROM_DESCR = 94, ARRAY_TYPE = 2, ABI_VERSION = 0 }; /* positions in numpy's table */

typedef PyObject *NewFromDescr(PyTypeObject *, PyObject *, int, const Py_ssize_t *, const Py_ssize_t *, void *, int,
                               PyObject *);
static NewFromDescr *new_array;
static PyObject *bool_descr;
/* numpy's ids of the three types. */
enum { FLOAT_ID = 11, DOUBLE_ID = 12, LONG_ID = 7, LONG_LONG_ID = 9 };

typedef uint64_t Whole; /* int64 wraps around, as unsigned numbers do */

/* --- the loops */
/* z[i] = x[i] op y[i], where y is an array or one number that stands for all. */
#define BINARY(name, T, R, expression)                                                                                 \
    static void name(const void *left, const void *right, void *result, Py_ssize_t count, bool is_number)              \
    {                                                                                                                  \
        const T *restrict a = left, *restrict b = right;                                                               \
        R *restrict z = result;                                                                                        \
        if (is_number) {                                                                                               \
            const T y = *b;                                                                                            \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                const T x = a[i];                                                                                      \
                z[i] = (R)(expression);                                                                                \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            const T x = a[i], y = b[i];                                                                                \
            z[i] = (R)(expression);                                                                                    \
        }                                                                                                              \
    }
#define UNARY(name, T, expression)                                                                                     \
    static void name(const void *left, const void *right, void *result, Py_ssize_t count, bool is_number)              \
    {                                                                                                                  \
        (void)right, (void)is_number;                                                                                  \
        const T *restrict a = left;                                                                                    \
        T *restrict z = result;                                                                                        \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            const T x = a[i];                                                                                          \
            z[i] = (expression);                                                                                       \
        }                                                                                                              \
    }
/* x[i] op= y[i]; y may be x itself. */
#define INTO(name, T, expression)                                                                                      \
    static void name(const void *left, const void *right, void *result, Py_ssize_t count, bool is_number)              \
    {                                                                                                                  \
        (void)left;                                                                                                    \
        T *z = result;                                                                                                 \
        const T *b = right;                                                                                            \
        const T first = count ? *b : 0;                                                                                \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            const T x = z[i], y = is_number ? first : b[i];                                                            \
            z[i] = (expression);                                                                                       \
        }                                                                                                              \
    }
#define ARITHMETIC_INTO(word, expression)                                                                              \
    INTO(word##_float, float, expression)                                                                              \
    INTO(word##_double, double, expression)                                                                            \
    INTO(word##_long, Whole, expression)
#define ARITHMETIC(word, expression)                                                                                   \
    BINARY(word##_float, float, float, expression)                                                                     \
    BINARY(word##_double, double, double, expression)                                                                  \
    BINARY(word##_long, Whole, Whole, expression)
#define COMPARISON(word, expression)                                                                                   \
    BINARY(word##_float, float, bool, expression)                                                                      \
    BINARY(word##_double, double, bool, expression)                                                                    \
    BINARY(word##_long, int64_t, bool, expression)

ARITHMETIC(add, x + y)
ARITHMETIC(sub, x - y)
ARITHMETIC(mul, x *y)
BINARY(div_float, float, float, x / y)
BINARY(div_double, double, double, x / y)
ARITHMETIC_INTO(add_into, x + y)
ARITHMETIC_INTO(sub_into, x - y)
ARITHMETIC_INTO(mul_into, x *y)
INTO(div_into_float, float, x / y)
INTO(div_into_double, double, x / y)
COMPARISON(eq, x == y)
COMPARISON(ne, x != y)
COMPARISON(lt, x < y)
COMPARISON(le, x <= y)
COMPARISON(gt, x > y)
COMPARISON(ge, x >= y)
UNARY(neg_float, float, -x)
UNARY(neg_double, double, -x)
UNARY(neg_long, Whole, 0 - x)
UNARY(relu_float, float, x < 0 ? 0 : x)
UNARY(relu_double, double, x < 0 ? 0 : x)

/* Sums in the order of numpy's pairwise summation. */
#define SUM(name, T)                                                                                                   \
    static T name##_pairwise(const T *a, Py_ssize_t count)                                                             \
    {                                                                                                                  \
        if (count < 8) {                                                                                               \
            T sum = 0;                                                                                                 \
            for (Py_ssize_t i = 0; i < count; i++)                                                                     \
                sum += a[i];                                                                                           \
            return sum;                                                                                                \
        }                                                                                                              \
        if (count > 128) {                                                                                             \
            Py_ssize_t half = count / 2;                                                                               \
            half -= half % 8;                                                                                          \
            return name##_pairwise(a, half) + name##_pairwise(a + half, count - half);                                 \
        }                                                                                                              \
        T part[8];                                                                                                     \
        memcpy(part, a, sizeof part);                                                                                  \
        Py_ssize_t i = 8;                                                                                              \
        for (; i < count - count % 8; i += 8)                                                                          \
            for (int k = 0; k < 8; k++)                                                                                \
                part[k] += a[i + k];                                                                                   \
        T sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));             \
        for (; i < count; i++)                                                                                         \
            sum += a[i];                                                                                               \
        return sum;                                                                                                    \
    }                                                                                                                  \
    static void name(const void *left, const void *right, void *result, Py_ssize_t count, bool is_number)              \
    {                                                                                                                  \
        (void)right, (void)is_number;                                                                                  \
        *(T *)result = name##_pairwise(left, count);                                                                   \
    }
SUM(sum_float, float)
SUM(sum_double, double)
SUM(sum_long, Whole)

typedef void Body(const void *, const void *, void *, Py_ssize_t, bool);
enum { SAME_SHAPE, GIVES_BOOL, GIVES_ONE, GIVES_FIRST }; /* what the result looks like */
typedef struct {
    const char *name;
    int operands, gives;
    bool commutes;                        /* the operands may be swapped */
    Body *of_float, *of_double, *of_long; /* NULL where the kernel does it */
} Loop;

#define FOR_ALL(word) word##_float, word##_double, word##_long
static const Loop loops[] = {
    {"", 0, SAME_SHAPE, false, NULL, NULL, NULL}, /* 0: none */
    {"add", 2, SAME_SHAPE, true, FOR_ALL(add)},
    {"sub", 2, SAME_SHAPE, false, FOR_ALL(sub)},
    {"mul", 2, SAME_SHAPE, true, FOR_ALL(mul)},
    {"div", 2, SAME_SHAPE, false, div_float, div_double, NULL},
    {"eq", 2, GIVES_BOOL, true, FOR_ALL(eq)},
    {"ne", 2, GIVES_BOOL, true, FOR_ALL(ne)},
    {"lt", 2, GIVES_BOOL, false, FOR_ALL(lt)},
    {"le", 2, GIVES_BOOL, false, FOR_ALL(le)},
    {"gt", 2, GIVES_BOOL, false, FOR_ALL(gt)},
    {"ge", 2, GIVES_BOOL, false, FOR_ALL(ge)},
    {"neg", 1, SAME_SHAPE, false, FOR_ALL(neg)},
    {"relu", 1, SAME_SHAPE, false, relu_float, relu_double, NULL},
    {"sum", 1, GIVES_ONE, false, FOR_ALL(sum)},
    {"add_", 2, GIVES_FIRST, false, FOR_ALL(add_into)},
    {"sub_", 2, GIVES_FIRST, false, FOR_ALL(sub_into)},
    {"mul_", 2, GIVES_FIRST, false, FOR_ALL(mul_into)},
    {"div_", 2, GIVES_FIRST, false, div_into_float, div_into_double, NULL},
};

/* --- operands */
static bool is_plain(const ArrayFields *fields)
{
    enum { WANTED = ARRAY_C_CONTIGUOUS | ARRAY_ALIGNED };
    return (fields->flags & WANTED) == WANTED;
}

/* Whether an operand is one element, perhaps expanded: it stands for all elements of the other. */
static bool is_single(const ArrayFields *fields)
{
    for (int i = 0; i < fields->nd; i++)
        if (fields->strides[i] != 0 && fields->dimensions[i] != 1)
            return false;
    return fields->flags & ARRAY_ALIGNED;
}

static int type_id(const ArrayFields *fields)
{
    const DescrFields *descr = (const DescrFields *)fields->descr;
    return descr->byteorder == '=' || descr->byteorder == '|' ? descr->type_num : -1;
}

bool is_int64(const ArrayFields *fields)
{
    int type = type_id(fields);
    return (type == LONG_ID || type == LONG_LONG_ID) && sizeof(long) == 8;
}

static Body *body_of(const Loop *loop, int type)
{
    if (type == FLOAT_ID)
        return loop->of_float;
    if (type == DOUBLE_ID)
        return loop->of_double;
    return (type == LONG_ID || type == LONG_LONG_ID) && sizeof(long) == 8 ? loop->of_long : NULL;
}

static bool same_shape(const ArrayFields *a, const ArrayFields *b)
{
    if (a->nd != b->nd)
        return false;
    for (int i = 0; i < a->nd; i++)
        if (a->dimensions[i] != b->dimensions[i])
            return false;
    return true;
}

typedef union {
    float of_float;
    double of_double;
    Whole of_long;
} Number;

static bool read_whole(PyObject *value, Number *number)
{
    int overflow;
    number->of_long = PyLong_CheckExact(value) ? (Whole)PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    return PyLong_CheckExact(value) && !overflow;
}

/* A Python number as an element of the type; whole numbers as floating ones only where each type that lies between
 * holds them exactly. */
static bool read_number(PyObject *value, int type, Number *number)
{
    double read;
    if (type == LONG_ID || type == LONG_LONG_ID)
        return read_whole(value, number);
    if (PyFloat_CheckExact(value))
        read = PyFloat_AS_DOUBLE(value);
    else if (!PyLong_CheckExact(value))
        return false;
    else {
        int overflow;
        long whole = PyLong_AsLongAndOverflow(value, &overflow);
        if (overflow || whole > (1L << 24) || whole < -(1L << 24))
            return false;
        read = (double)whole;
    }
    if (type == FLOAT_ID)
        number->of_float = (float)read;
    else
        number->of_double = read;
    return type == FLOAT_ID || type == DOUBLE_ID;
}

/* Whether the arguments after the operands have their defaults. */
static bool rest_is_unset(const Call *call, const Arguments *arguments, int operands)
{
    for (int i = operands; i < call->count; i++)
        if (arguments->bound[i] != call->params[i].unset)
            return false;
    return true;
}

/* The operands of a loop with two: arrays of one shape, or one array and something that stands for all elements of the
 * other. */
typedef struct {
    const ArrayFields *a, *b; /* b: NULL where `number` stands for it */
    const void *number;
    Number own;
} Operands;

static bool pair_operands(const Loop *loop, PyObject *left, PyObject *right, int type, Operands *found)
{
    const ArrayFields *a = fields_of(left), *b = fields_of(right);
    found->a = a;
    found->b = NULL;
    found->number = &found->own;
    if (!b)
        return Py_TYPE(right) != array_class && is_plain(a) && read_number(right, type, &found->own);
    bool same = same_shape(a, b);
    if (type_id(b) != type || !(same || !a->nd || !b->nd))
        return false;
    if (same && is_plain(a) && is_plain(b))
        found->b = b;
    else if (is_plain(a) && is_single(b) && a->nd >= b->nd)
        found->number = b->data;
    else if (loop->commutes && is_plain(b) && is_single(a) && b->nd >= a->nd) {
        found->a = b;
        found->number = a->data;
    } else
        return false;
    return true;
}

/* Whether the arguments of a call are for the loop, and then which. */
static Body *fitting_body(const Call *call, const Arguments *arguments, const Loop *loop, Operands *found)
{
    const ArrayFields *a = fields_of(arguments->array[0]);
    int type = a && new_array ? type_id(a) : -1;
    Body *body = body_of(loop, type);
    if (!body || !rest_is_unset(call, arguments, loop->operands))
        return NULL;
    if (loop->gives == GIVES_FIRST && !(a->flags & ARRAY_WRITEABLE))
        return NULL; /* the kernel says so */
    *found = (Operands){.a = a};
    if (loop->operands == 2)
        return pair_operands(loop, arguments->array[0], arguments->array[1], type, found) ? body : NULL;
    return is_plain(a) ? body : NULL;
}

/* Whether an operand may be read while the first is written: all of it is the first, or nothing. */
static bool may_write(const Operands *found, Py_ssize_t count)
{
    const char *a = found->a->data, *b = found->b ? found->b->data : NULL;
    Py_ssize_t bytes = count * (Py_ssize_t)sizeof(double); /* or fewer */
    return !b || a == b || b >= a + bytes || a >= b + bytes;
}

/* A new array, its memory noted if somebody watches. */
static PyObject *new_result(PyObject *descr, int dimensions, const Py_ssize_t *sizes)
{
    QuietBlock block;
    bool is_watched = memory_is_watched();
    if (is_watched && !quiet_enter(&block))
        return NULL;
    PyObject *made = new_array(array_class, held(descr), dimensions, sizes, NULL, NULL, 0, NULL);
    if (is_watched && !quiet_leave(&block))
        Py_CLEAR(made);
    return made;
}

PyObject *loop_run(const Call *call, const Arguments *arguments)
{
    const Loop *loop = &loops[call->loop];
    Operands found;
    Body *body = fitting_body(call, arguments, loop, &found);
    Py_ssize_t count = 1;
    for (int i = 0; body && i < found.a->nd; i++)
        count *= found.a->dimensions[i];
    if (!body || count > MOST)
        return NULL;
    if (loop->gives == GIVES_FIRST) {
        if (!may_write(&found, count))
            return NULL;
        body(NULL, found.b ? found.b->data : found.number, found.a->data, count, !found.b);
        return held(arguments->array[0]);
    }
    PyObject *descr = loop->gives == GIVES_BOOL ? bool_descr : found.a->descr;
    int dimensions = loop->gives == GIVES_ONE ? 0 : found.a->nd;
    PyObject *made = new_result(descr, dimensions, found.a->dimensions);
    if (made)
        body(found.a->data, found.b ? found.b->data : found.number, ((ArrayFields *)made)->data, count, !found.b);
    return made;
}

/* --- set-up */
PyObject *loops_setup(PyObject *module, PyObject *args)
{
    /* setup_loops(numpy's _ARRAY_API, dtype of bool): the indices of the loops by name; none where the interface is not
     * known. */
    PyObject *capsule, *names = PyDict_New();
    (void)module;
    if (!names || !PyArg_ParseTuple(args, "OO", &capsule, &bool_descr)) {
        Py_XDECREF(names);
        return NULL;
    }
    Py_INCREF(bool_descr);
    void **table = PyCapsule_CheckExact(capsule) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (!table || table[ARRAY_TYPE] != (void *)array_class
        || (((unsigned (*)(void))table[ABI_VERSION])() >> 24) - 1 > 1)
        return names;
    new_array = (NewFromDescr *)table[NEW_FROM_DESCR];
    for (size_t i = 1; i < sizeof loops / sizeof *loops; i++) {
        PyObject *index = PyLong_FromSize_t(i);
        if (!index || PyDict_SetItemString(names, loops[i].name, index) < 0)
            Py_CLEAR(names);
        Py_XDECREF(index);
        if (!names)
            return NULL;
    }
    return names;
}
