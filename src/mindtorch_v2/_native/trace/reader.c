/* Events of traces in JSON, read into columns: what loading a trace spends its time on.

   A Reader takes the events that traces mostly consist of (slices and memory records of the usual form) and skips those
   that say nothing new (arrows, counters). It stops at every other event, which Python then reads. What is met for the
   first time (a name, a thread, a set of arguments) is described by Python too, once, and known by its text from then
   on. The form in Python, which reads every event, is profiler/load/collector.py; both give the same columns. */
#include "reader.h"
#include "event.h"

/* ---- values */
/* Nanoseconds from microseconds with decimals, half to even. */
static bool exact_time(Span text, Time *time)
{
    const uint64_t limit = (uint64_t)1 << 62;
    uint64_t digits, scale = 1;
    int decimals;
    bool negative;
    if (!decimal_number(text, &digits, &decimals, &negative))
        return false;
    for (int i = decimals; i < 3; i++) {
        if (digits > limit / 10)
            return false;
        digits *= 10;
    }
    for (int i = 3; i < decimals; i++)
        scale *= 10;
    uint64_t whole = digits / scale, rest = digits % scale;
    if (rest > scale / 2 || (scale > 1 && rest == scale / 2 && whole % 2))
        whole++;
    time->is_double = false;
    time->whole = negative ? -(int64_t)whole : (int64_t)whole;
    return whole < limit;
}

/* The double nearest to a number: digits below 2 ** 53 and a power of ten are exact, so their quotient is right. */
static bool double_of(Span text, double *number)
{
    static const double power[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                   1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    uint64_t digits;
    int decimals;
    bool negative;
    if (decimal_number(text, &digits, &decimals, &negative) && digits < (uint64_t)1 << 53) {
        *number = (double)digits / power[decimals];
        *number = negative ? -*number : *number;
        return true;
    }
    char copy[64];
    if ((size_t)text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, (size_t)text.size);
    copy[text.size] = 0;
    *number = PyOS_string_to_double(copy, NULL, NULL);
    if (!PyErr_Occurred())
        return true;
    PyErr_Clear();
    return false;
}

static bool time_of(const Reader *self, Span text, Time *time)
{
    if (!text.data || !(is_digit(*text.data) || *text.data == '-'))
        return false;
    if (self->exact)
        return exact_time(text, time);
    time->is_double = !whole_number(text, &time->whole);
    if (!time->is_double)
        return true;
    if (!memchr(text.data, '.', (size_t)text.size) && !memchr(text.data, 'e', (size_t)text.size)
        && !memchr(text.data, 'E', (size_t)text.size))
        return false; /* a whole number of many digits */
    return double_of(text, &time->number);
}

static bool put(Column *scratch, const char *data, size_t size)
{
    while (scratch->size + size > scratch->room) {
        size_t room = scratch->room ? 2 * scratch->room : 1 << 10;
        char *grown = realloc(scratch->data, room);
        if (!grown)
            return false;
        scratch->data = grown;
        scratch->room = room;
    }
    memcpy(scratch->data + scratch->size, data, size);
    scratch->size += size;
    return true;
}

static Status out_of_memory(void)
{
    PyErr_NoMemory();
    return FAILED;
}

/* The id of the key in `scratch`: a byte that tells apart what is written alike, a text of `split` bytes, a zero,
   another text. */
static Status id_of(Reader *self, int what, size_t split, int64_t *id)
{
    Column *key = &self->scratch;
    HashMap *known = &self->known[what];
    BytesKey bytes = bytes_key(key->data, key->size);
    const BytesSlot *slot = bytes_find(known, bytes);
    if (!slot) {
        const char *text = key->data + 1;
        PyObject *args[] = {PyLong_FromLong(key->data[0]), PyBytes_FromStringAndSize(text, (Py_ssize_t)split),
                            PyBytes_FromStringAndSize(text + split + 1, (Py_ssize_t)(key->size - split - 2))};
        PyObject *made = NULL;
        if (args[0] && args[1] && args[2])
            made = PyObject_Vectorcall(self->describe[what], args, 3, NULL);
        int64_t value = made ? PyLong_AsLongLong(made) : -1;
        for (int i = 0; i < 3; i++)
            Py_XDECREF(args[i]);
        Py_XDECREF(made);
        if (PyErr_Occurred())
            return FAILED;
        if (!bytes_add(known, bytes, value))
            return out_of_memory();
        *id = value;
        return DONE;
    }
    *id = slot->value;
    return DONE;
}

static Status id_of_pair(Reader *self, int what, char mark, Span first, Span second, int64_t *id)
{
    self->scratch.size = 0;
    if (!put(&self->scratch, &mark, 1) || !put(&self->scratch, first.data, (size_t)first.size)
        || !put(&self->scratch, "", 1) || !put(&self->scratch, second.data, (size_t)second.size))
        return out_of_memory();
    return id_of(self, what, (size_t)first.size, id);
}

static int refined(const Reader *self, int kind, const char *name, Py_ssize_t size)
{
    for (const Rule *rule = self->rules; rule < self->rules + self->rule_count; rule++) {
        if (rule->kind != kind)
            continue;
        bool begins = size >= rule->size && !memcmp(name, rule->text, (size_t)rule->size);
        bool met = rule->test == BEGINS   ? begins
                   : rule->test == EQUALS ? begins && size == rule->size
                                          : !memmem(name, (size_t)size, rule->text, (size_t)rule->size);
        if (met)
            return rule->becomes;
    }
    return kind;
}

/* The index of a name, which is new, among all strings; -1 on failure. */
static int64_t index_of_name(Reader *self, const char *name, Py_ssize_t size)
{
    PyObject *text = PyUnicode_DecodeUTF8(name, size, "surrogateescape");
    PyObject *next = text ? PyLong_FromSsize_t(PyDict_GET_SIZE(self->strings)) : NULL;
    PyObject *index = next ? PyDict_SetDefault(self->strings, text, next) : NULL; /* borrowed */
    int64_t found = index ? PyLong_AsLongLong(index) : -1;
    Py_XDECREF(text);
    Py_XDECREF(next);
    return found;
}

/* What a slice with this name, in quotes, of a category of this kind is: the index of the name, the kind, how it is
   read. A trace may have a name for each event, so only those with escapes are left to Python. */
static Status slice_of(Reader *self, int kind, Span name, int64_t *described)
{
    Column *key = &self->scratch;
    char mark = (char)kind;
    key->size = 0;
    if (!put(key, &mark, 1) || !put(key, name.data, (size_t)name.size) || !put(key, "", 1))
        return out_of_memory();
    if (memchr(name.data, '\\', (size_t)name.size))
        return id_of(self, OF_SLICE, (size_t)name.size, described);
    BytesKey bytes = bytes_key(key->data, key->size);
    const BytesSlot *slot = bytes_find(&self->known[OF_SLICE], bytes);
    if (slot) {
        *described = slot->value;
        return DONE;
    }
    int64_t index = index_of_name(self, name.data + 1, name.size - 2);
    if (index < 0)
        return FAILED;
    int exact_kind = refined(self, kind, name.data + 1, name.size - 2);
    *described = index << 16 | exact_kind << 8 | self->how[exact_kind];
    return bytes_add(&self->known[OF_SLICE], bytes, *described) ? DONE : out_of_memory();
}

/* The id of a slice's own arguments, or -1 where it has none. Those up to `last_taken` are told elsewhere. */
static Status own_arguments(Reader *self, const Event *event, int last_taken, bool is_operator, int64_t *id)
{
    const char head[2] = {(char)is_operator, 0};
    self->scratch.size = 0;
    bool ok = put(&self->scratch, head, sizeof head);
    for (int i = 0; ok && i < event->members; i++) {
        int key = event->member_key[i];
        if (key >= 0 && key <= last_taken)
            continue;
        ok = (self->scratch.size == sizeof head || put(&self->scratch, ",", 1))
             && put(&self->scratch, event->member[i].data, (size_t)event->member[i].size);
    }
    if (!ok)
        return out_of_memory();
    *id = -1;
    return self->scratch.size == sizeof head ? DONE : id_of(self, OF_INPUTS, 0, id);
}

/* The id of a text among the arguments, or -1 where it is absent or empty. */
static Status text_argument(Reader *self, const Event *event, int key, int what, int64_t *id)
{
    Span text = event->argument[key];
    *id = -1;
    if (!text.data || span_is(text, "\"\""))
        return DONE;
    return *text.data == '"' ? id_of_pair(self, what, 0, text, (Span){"", 0}, id) : ODD;
}

static bool whole_argument(const Event *event, int key, int64_t missing, int64_t *value)
{
    *value = missing;
    return !event->argument[key].data || whole_number(event->argument[key], value);
}

/* ---- rows */
bool add_row(Reader *self, Time start, Time duration, const int64_t value[ROW_COLUMNS])
{
    if (!self->exact && start.is_double && start.number > 8796093022208.0 && self->count < 1000)
        self->lost_digits = 1; /* three decimals are exact in a double below 2 ** 43 */
    if (!times_add(&self->start, start) || !times_add(&self->duration, duration))
        return false;
    for (int i = 0; i < ROW_COLUMNS; i++) {
        char *added = column_add(&self->rows[i], (size_t)WIDTH[i]);
        if (!added)
            return false;
        int32_t narrow = (int32_t)value[i];
        if (WIDTH[i] == 8)
            memcpy(added, &value[i], 8);
        else if (WIDTH[i] == 4)
            memcpy(added, &narrow, 4);
        else
            *added = (char)value[i];
    }
    self->count++;
    return true;
}

static Status take_slice(Reader *self, const Event *event)
{
    Span category = event->value[E_CAT].data ? event->value[E_CAT] : (Span){"\"\"", 2}, name = event->value[E_NAME];
    Span pid = event->value[E_PID], tid = event->value[E_TID], arguments = event->value[E_ARGS];
    Time start, duration = {false, {0}};
    int64_t described, value[ROW_COLUMNS];
    if (!name.data || *name.data != '"' || *category.data != '"' || !pid.data || !tid.data
        || (arguments.data && *arguments.data != '{') || !time_of(self, event->value[E_TS], &start)
        || (event->value[E_DUR].data && !time_of(self, event->value[E_DUR], &duration)))
        return ODD;
    if (!whole_argument(event, A_EXTERNAL, -1, &value[EXTERNAL])
        || !whole_argument(event, A_SEQUENCE, -1, &value[SEQUENCE])
        || !whole_argument(event, A_CORRELATION, -1, &value[CORRELATION])
        || !whole_argument(event, A_FORWARD, 0, &value[FORWARD]))
        return ODD;
    int64_t kind;
    Status status = id_of_pair(self, OF_CATEGORY, 0, category, (Span){"", 0}, &kind);
    if (status != DONE)
        return status;
    if (kind < 0 || kind >= KINDS)
        return ODD;
    status = slice_of(self, (int)kind, name, &described);
    if (status != DONE)
        return status;
    int how = (int)(described & 0xFF);
    value[KIND] = described >> 8 & 0xFF;
    value[NAME] = described >> 16;
    if (how == DEVICE && event->argument[A_DEVICE].data)
        pid = event->argument[A_DEVICE];
    Span stream = event->argument[A_STREAM];
    int last_taken = how != DEVICE ? A_FINISHED : A_STREAM;
    if (how == DEVICE && stream.data && *tid.data == '-'
        && (stream.size != tid.size || memcmp(stream.data, tid.data, (size_t)tid.size)))
        last_taken = A_DEVICE; /* "stream" is a number that stands for none: it stays among the arguments */
    else if (how == DEVICE && stream.data)
        tid = stream;
    value[UNFINISHED] = event->argument[A_FINISHED].data && span_is(event->argument[A_FINISHED], "false");
    value[INPUTS] = -1;
    status = id_of_pair(self, OF_TRACK, how == DEVICE, pid, tid, &value[TRACK]);
    if (status == DONE && how != PYTHON_CALL && event->members)
        status = own_arguments(self, event, last_taken, value[KIND] == 0, &value[INPUTS]);
    if (status == DONE)
        status = text_argument(self, event, A_STACK, OF_STACK, &value[STACK]);
    if (status == DONE)
        status = text_argument(self, event, A_MODULE, OF_MODULE, &value[MODULE]);
    return status == DONE && !add_row(self, start, duration, value) ? out_of_memory() : status;
}

bool add_memory(Reader *self, Time time, const int64_t value[MEMORY_WIDTH])
{
    char *added = column_add(&self->memory, 8 * MEMORY_WIDTH);
    if (added)
        memcpy(added, value, 8 * MEMORY_WIDTH);
    return added && times_add(&self->memory_time, time);
}

static Status take_instant(Reader *self, const Event *event)
{
    int64_t value[MEMORY_WIDTH];
    Time time;
    Span pid = event->value[E_PID], tid = event->value[E_TID];
    const Span *given = event->argument;
    if (!event->value[E_NAME].data || !span_is(event->value[E_NAME], "\"[memory]\"") || !pid.data || !tid.data
        || !given[A_BYTES].data || !given[A_DEVICE_TYPE].data || !time_of(self, event->value[E_TS], &time))
        return ODD;
    if (!whole_argument(event, A_ADDRESS, INT64_MIN, &value[0]) || !whole_argument(event, A_BYTES, 0, &value[1])
        || !whole_argument(event, A_TOTAL, -1, &value[2]) || !whole_argument(event, A_DEVICE_TYPE, 0, &value[3])
        || !whole_argument(event, A_DEVICE_ID, -1, &value[4]))
        return ODD;
    Status status = id_of_pair(self, OF_TRACK, 2, pid, tid, &value[5]);
    return status == DONE && !add_memory(self, time, value) ? out_of_memory() : status;
}

Status take_event(Reader *self, const char **cursor, const char *end)
{
    Event event;
    const char *at = *cursor;
    Status status = read_event(&at, end, &event);
    if (status != DONE)
        return status;
    Span phase = event.value[E_PH];
    if (phase.size != 3 || *phase.data != '"')
        return ODD;
    switch (phase.data[1]) {
    case 'X':
        status = take_slice(self, &event);
        break;
    case 'i':
    case 'I':
        status = take_instant(self, &event);
        break;
    case 's': /* arrows and counters follow from the rest */
    case 't':
    case 'f':
    case 'C':
        break;
    default:
        return ODD;
    }
    if (status == DONE)
        *cursor = at;
    return status;
}

void reader_setup(void)
{
    for (int i = 0; i < EVENT_KEYS; i++)
        EVENT_SIZE[i] = (unsigned char)strlen(EVENT_KEY[i]);
    for (int i = 0; i < ARGUMENT_KEYS; i++)
        ARGUMENT_SIZE[i] = (unsigned char)strlen(ARGUMENT_KEY[i]);
}
