/* The module _trace_reader: the Python type of readers, and the codes that Python shares. */
#include "reader.h"
#include "common/enums.h"
#include "common/sources.h"
#include "nesting.h"

PyDoc_STRVAR(scan_doc,
             "scan(data, at)\n--\n\nReads events of a list from a position in the data on. Where it stopped, and why: "
             "\"end\" after the list, \"more\" where\nthe data ends, \"odd\" at an event that Python is to read.");

static PyObject *reader_scan(Reader *self, PyObject *args)
{
    Py_buffer data;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(args, "y*n", &data, &at))
        return NULL;
    const char *begin = data.buf, *end = begin + data.len, *cursor = begin + at;
    const char *why = "end";
    Status status = at < 0 || at > data.len ? ODD : DONE;
    while (status == DONE && !self->lost_digits) {
        while (cursor < end
               && (*cursor == ',' || *cursor == ' ' || *cursor == '\n' || *cursor == '\r' || *cursor == '\t'))
            cursor++;
        if (cursor < end && *cursor == ']') {
            cursor++;
            break;
        }
        status = cursor == end ? MORE : take_event(self, &cursor, end);
    }
    if (status != DONE)
        why = status == MORE ? "more" : "odd";
    PyObject *made = status == FAILED ? NULL : Py_BuildValue("ns", (Py_ssize_t)(cursor - begin), why);
    PyBuffer_Release(&data);
    return made;
}

static bool time_from(PyObject *given, Time *time)
{
    time->is_double = PyFloat_CheckExact(given);
    if (time->is_double)
        time->number = PyFloat_AS_DOUBLE(given);
    else
        time->whole = PyLong_AsLongLong(given);
    return !PyErr_Occurred();
}

static bool numbers_from(PyObject *given, int64_t *value, int count)
{
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != count) {
        PyErr_Format(PyExc_TypeError, "expected a tuple of %d numbers", count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        value[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(given, i));
        if (value[i] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

static PyObject *reader_add(Reader *self, PyObject *args)
{
    PyObject *start, *duration, *numbers;
    int64_t value[ROW_COLUMNS];
    Time first, second;
    if (!PyArg_ParseTuple(args, "OOO", &start, &duration, &numbers) || !time_from(start, &first)
        || !time_from(duration, &second) || !numbers_from(numbers, value, ROW_COLUMNS))
        return NULL;
    return add_row(self, first, second, value) ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

static PyObject *reader_add_memory(Reader *self, PyObject *args)
{
    PyObject *time, *numbers;
    int64_t value[MEMORY_WIDTH];
    Time when;
    if (!PyArg_ParseTuple(args, "OO", &time, &numbers) || !time_from(time, &when)
        || !numbers_from(numbers, value, MEMORY_WIDTH))
        return NULL;
    return add_memory(self, when, value) ? Py_NewRef(Py_None) : PyErr_NoMemory();
}

static PyObject *times_taken(Times *times)
{
    PyObject *values = column_taken(&times->values);
    return values ? Py_BuildValue("NO", values, times->are_doubles ? Py_True : Py_False) : NULL;
}

PyDoc_STRVAR(
    take_doc,
    "take()\n--\n\nHands over what was read: the times of slices, their durations and the times of memory "
    "records, each as (values, are they\ndoubles?), then the columns of slices and the table of memory records.");

static PyObject *reader_take(Reader *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *made = PyTuple_New(ROW_COLUMNS + 4);
    for (int i = 0; made && i < ROW_COLUMNS + 4; i++) {
        PyObject *part = i == 0   ? times_taken(&self->start)
                         : i == 1 ? times_taken(&self->duration)
                         : i == 2 ? times_taken(&self->memory_time)
                                  : column_taken(i == 3 ? &self->memory : &self->rows[i - 4]);
        if (!part) {
            Py_CLEAR(made);
            break;
        }
        PyTuple_SET_ITEM(made, i, part);
    }
    self->count = 0;
    return made;
}

static bool rules_from(PyObject *given, Rule *rules, int *count)
{
    *count = (int)PyTuple_GET_SIZE(given);
    if (*count > MAX_RULES) {
        PyErr_Format(PyExc_ValueError, "expected %d rules at most", MAX_RULES);
        return false;
    }
    for (int i = 0; i < *count; i++) {
        const char *text;
        Rule *rule = &rules[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "bbs#b", &rule->kind, &rule->test, &text, &rule->size,
                              &rule->becomes))
            return false;
        if ((size_t)rule->size > sizeof rule->text || rule->test > EQUALS) {
            PyErr_SetString(PyExc_ValueError, "a rule is unknown or its text too long");
            return false;
        }
        memcpy(rule->text, text, (size_t)rule->size);
    }
    return true;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *describe, *strings, *rules;
    const char *how;
    Py_ssize_t kinds;
    int exact;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!O!O!y#p", &PyTuple_Type, &describe, &PyDict_Type, &strings, &PyTuple_Type, &rules,
                          &how, &kinds, &exact))
        return NULL;
    if (PyTuple_GET_SIZE(describe) != DESCRIPTIONS || kinds != KINDS)
        return PyErr_Format(PyExc_ValueError, "expected %d functions and %d bytes", DESCRIPTIONS, KINDS);
    Reader *self = (Reader *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->exact = (char)exact;
    self->strings = Py_NewRef(strings);
    memcpy(self->how, how, KINDS);
    for (int i = 0; i < DESCRIPTIONS; i++)
        self->describe[i] = Py_NewRef(PyTuple_GET_ITEM(describe, i));
    if (!rules_from(rules, self->rules, &self->rule_count))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int reader_traverse(Reader *self, visitproc visit, void *arg)
{
    for (int i = 0; i < DESCRIPTIONS; i++)
        Py_VISIT(self->describe[i]);
    Py_VISIT(self->strings);
    return 0;
}

static int reader_clear(Reader *self)
{
    for (int i = 0; i < DESCRIPTIONS; i++)
        Py_CLEAR(self->describe[i]);
    Py_CLEAR(self->strings);
    return 0;
}

static void reader_dealloc(Reader *self)
{
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    for (int i = 0; i < DESCRIPTIONS; i++)
        bytes_clear(&self->known[i]);
    for (int i = 0; i < ROW_COLUMNS; i++)
        free(self->rows[i].data);
    free(self->start.values.data);
    free(self->duration.values.data);
    free(self->memory_time.values.data);
    free(self->memory.data);
    free(self->scratch.data);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef reader_methods[] = {
    {"scan", (PyCFunction)reader_scan, METH_VARARGS, scan_doc},
    {"add", (PyCFunction)reader_add, METH_VARARGS, "add(time, duration, numbers): a slice that Python has read."},
    {"add_memory", (PyCFunction)reader_add_memory, METH_VARARGS,
     "add_memory(time, numbers): a memory record that Python has read."},
    {"take", (PyCFunction)reader_take, METH_NOARGS, take_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *get_lost_digits(Reader *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(self->lost_digits);
}

static PyGetSetDef reader_attributes[] = {
    {"lost_digits", (getter)get_lost_digits, NULL,
     "Whether there was a time that no double holds; scanning then stops.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Reader_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "mindtorch_v2._native._trace_reader.Reader",
    .tp_doc = "Reader(describe, strings, rules, how, exact): columns of a trace's events.",
    .tp_basicsize = sizeof(Reader),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = reader_new,
    .tp_traverse = (traverseproc)reader_traverse,
    .tp_clear = (inquiry)reader_clear,
    .tp_dealloc = (destructor)reader_dealloc,
    .tp_methods = reader_methods,
    .tp_getset = reader_attributes,
};

PyDoc_STRVAR(value_end_doc,
             "value_end(data, at)\n--\n\nWhere the JSON value ends that begins at a position; -1 where the data ends "
             "before it does, -2 for what is not a usual value.");

static PyObject *value_end(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer data;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(args, "y*n", &data, &at))
        return NULL;
    const char *begin = data.buf, *cursor = begin + at;
    Status status = at < 0 || at > data.len ? ODD : skip_value(&cursor, begin + data.len, MAX_DEPTH);
    Py_ssize_t end = status == DONE ? cursor - begin : status == MORE ? -1 : -2;
    PyBuffer_Release(&data);
    return PyLong_FromSsize_t(end);
}

/* ---- the module */
static PyMethodDef methods[] = {
    {"value_end", value_end, METH_VARARGS, value_end_doc},
    {"nest", nest, METH_VARARGS,
     "nest(start, end, track, is_step, nests, parent, loose, tracks, slack): sets the last columns."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_trace_reader",
    .m_doc = "Events of traces in JSON, read into columns.",
    .m_methods = methods,
    .m_size = -1,
};

static int export_all(PyObject *made)
{
    static const NamedCode tests[] = {{"BEGINS", BEGINS}, {"LACKS", LACKS}, {"EQUALS", EQUALS}},
                           readings[] = {{"HOST", HOST}, {"PYTHON_CALL", PYTHON_CALL}, {"DEVICE", DEVICE}},
                           roles[] = {{"LEAVES", LEAVES}, {"STEP", STEP}, {"YIELDS", YIELDS}, {"LAUNCHES", LAUNCHES}},
                           described[] = {{"slice", OF_SLICE}, {"track", OF_TRACK},   {"inputs", OF_INPUTS},
                                          {"stack", OF_STACK}, {"module", OF_MODULE}, {"category", OF_CATEGORY}},
                           columns[] = {{"external", EXTERNAL},
                                        {"sequence_nr", SEQUENCE},
                                        {"correlation", CORRELATION},
                                        {"forward_thread", FORWARD},
                                        {"name", NAME},
                                        {"track", TRACK},
                                        {"inputs", INPUTS},
                                        {"stack", STACK},
                                        {"module", MODULE},
                                        {"kind", KIND},
                                        {"unfinished", UNFINISHED}};
    NamedCode widths[ROW_COLUMNS];
    for (int i = 0; i < ROW_COLUMNS; i++)
        widths[i] = (NamedCode){columns[i].name, WIDTH[columns[i].value]};
    return EXPORT_CODES(made, "NAME_TESTS", tests) < 0 || EXPORT_CODES(made, "READINGS", readings) < 0
                   || EXPORT_CODES(made, "ROLES", roles) < 0 || EXPORT_CODES(made, "DESCRIPTIONS", described) < 0
                   || EXPORT_CODES(made, "COLUMNS", columns) < 0 || EXPORT_CODES(made, "WIDTHS", widths) < 0
               ? -1
               : 0;
}

PyMODINIT_FUNC PyInit__trace_reader(void)
{
    reader_setup();
    PyObject *made = PyModule_Create(&module);
    if (made
        && (PyType_Ready(&Reader_Type) < 0 || PyModule_AddObjectRef(made, "Reader", (PyObject *)&Reader_Type) < 0
            || add_sources(made) < 0 || export_all(made) < 0))
        Py_CLEAR(made);
    return made;
}
