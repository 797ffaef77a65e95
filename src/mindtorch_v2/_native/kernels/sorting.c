/* Sorting rows, with the indices that their elements had: a radix sort, which is stable. NaN is greater than every
 * number. */
#include "kernels.h"

#define DIGIT 11
#define BINS (1 << DIGIT)
#define SHORT_ROW 48 /* elements up to which insertion is faster */

typedef struct {
    uint64_t key, index;
} Entry;

typedef struct {
    const char *rows;
    char *values;
    int64_t *indices;
    double *scratch; /* of each thread: two arrays of entries, or of words where a row is sorted as those */
    Py_ssize_t length, itemsize, slot_size;
    char type;
    bool falling;
} Sorting;

/* A number whose order among unsigned integers is that of the element. Both zeros are equal, and so are all NaN. */
INLINE uint64_t key_of(const char *element, char type)
{
    if (type == 'f') {
        float value;
        uint32_t bits;
        memcpy(&value, element, sizeof value);
        value += 0.0f;
        memcpy(&bits, &value, sizeof bits);
        return value != value ? UINT32_MAX : bits & 0x80000000u ? (uint32_t)~bits : bits | 0x80000000u;
    }
    if (type == 'd') {
        double value;
        uint64_t bits;
        memcpy(&value, element, sizeof value);
        value += 0.0;
        memcpy(&bits, &value, sizeof bits);
        return value != value ? UINT64_MAX : bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
    }
    if (type == 'i') {
        int32_t value;
        memcpy(&value, element, sizeof value);
        return (uint32_t)value ^ 0x80000000u;
    }
    int64_t value;
    memcpy(&value, element, sizeof value);
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

static void sort_short(Entry *entries, Py_ssize_t n)
{
    for (Py_ssize_t i = 1; i < n; i++) {
        Entry entry = entries[i];
        Py_ssize_t j = i;
        for (; j > 0 && entries[j - 1].key > entry.key; j--)
            entries[j] = entries[j - 1];
        entries[j] = entry;
    }
}

/* Keys of 32 bits share a word with their indices, which halves what each pass moves. Returns where the result lies. */
static uint64_t *sort_words(uint64_t *from, uint64_t *to, Py_ssize_t n)
{
    Py_ssize_t counts[3][BINS] = {{0}};
    for (Py_ssize_t i = 0; i < n; i++)
        for (int pass = 0; pass < 3; pass++)
            counts[pass][from[i] >> (32 + pass * DIGIT) & (BINS - 1)]++;
    for (int pass = 0; pass < 3; pass++) {
        Py_ssize_t *count = counts[pass], start = 0;
        int shift = 32 + pass * DIGIT;
        if (count[from[0] >> shift & (BINS - 1)] == n)
            continue; /* all have the same digit */
        for (int bin = 0; bin < BINS; bin++) {
            Py_ssize_t here = count[bin];
            count[bin] = start;
            start += here;
        }
        for (Py_ssize_t i = 0; i < n; i++)
            to[count[from[i] >> shift & (BINS - 1)]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

static Entry *sort_entries(Entry *from, Entry *to, Py_ssize_t n)
{
    for (int shift = 0; shift < 64; shift += DIGIT) {
        Py_ssize_t count[BINS] = {0}, start = 0;
        for (Py_ssize_t i = 0; i < n; i++)
            count[from[i].key >> shift & (BINS - 1)]++;
        if (count[from[0].key >> shift & (BINS - 1)] == n)
            continue;
        for (int bin = 0; bin < BINS; bin++) {
            Py_ssize_t here = count[bin];
            count[bin] = start;
            start += here;
        }
        for (Py_ssize_t i = 0; i < n; i++)
            to[count[from[i].key >> shift & (BINS - 1)]++] = from[i];
        Entry *other = from;
        from = to;
        to = other;
    }
    return from;
}

INLINE void put(const Sorting *job, const char *row, Py_ssize_t out, Py_ssize_t index)
{
    job->indices[out] = index;
    memcpy(job->values + out * job->itemsize, row + index * job->itemsize, (size_t)job->itemsize);
}

/* One round is one row. */
static void sort_rows(const void *argument, Py_ssize_t begin, Py_ssize_t end)
{
    const Sorting *job = argument;
    Py_ssize_t n = job->length;
    bool narrow = job->itemsize == 4;
    Entry *entries = (Entry *)(job->scratch + thread_slot() * job->slot_size);
    for (Py_ssize_t r = begin; r < end; r++) {
        const char *row = job->rows + r * n * job->itemsize;
        uint64_t flip = !job->falling ? 0 : narrow ? UINT32_MAX : UINT64_MAX;
        if (narrow && n > SHORT_ROW) {
            uint64_t *words = (uint64_t *)entries;
            for (Py_ssize_t i = 0; i < n; i++)
                words[i] = (key_of(row + i * 4, job->type) ^ flip) << 32 | (uint64_t)i;
            words = sort_words(words, words + n, n);
            for (Py_ssize_t i = 0; i < n; i++)
                put(job, row, r * n + i, (Py_ssize_t)(words[i] & UINT32_MAX));
            continue;
        }
        for (Py_ssize_t i = 0; i < n; i++)
            entries[i] = (Entry){key_of(row + i * job->itemsize, job->type) ^ flip, (uint64_t)i};
        Entry *sorted = entries;
        if (n > SHORT_ROW)
            sorted = sort_entries(entries, entries + n, n);
        else
            sort_short(entries, n);
        for (Py_ssize_t i = 0; i < n; i++)
            put(job, row, r * n + i, (Py_ssize_t)sorted[i].index);
    }
}

/* sort_lines(lines, falling, values, indices): fills values and indices (int64) with the sorted rows of the last
 * dimension. */
static PyObject *sort_lines(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    Arrays all = {.count = 0};
    Array rows, values, indices, scratch;
    PyObject *result = DECLINED;
    array_open(&all, &rows, args[0], false);
    array_open(&all, &values, args[2], true);
    array_open(&all, &indices, args[3], true);
    if (!all.failed && rows.contiguous && rows.type != 'x' && rows.size > 0 && rows.ndim > 0
        && rows.shape[rows.ndim - 1] <= INT32_MAX && is_like(&values, &rows) && indices.type == 'l'
        && indices.contiguous && same_shape(&indices, &rows)) {
        Sorting job = {.rows = rows.data,
                       .values = values.data,
                       .indices = (int64_t *)indices.data,
                       .length = rows.shape[rows.ndim - 1],
                       .itemsize = rows.itemsize,
                       .type = rows.type,
                       .falling = args[1] == Py_True};
        Py_ssize_t row_count = rows.size / job.length;
        bool as_words = job.itemsize == 4 && job.length > SHORT_ROW;
        job.slot_size = (as_words ? 2 : 4) * job.length; /* an entry is two doubles, a word one */
        /* one row is sorted by the thread that brings it */
        Py_ssize_t size = (row_count == 1 ? 1 : thread_slots()) * job.slot_size;
        PyObject *memory = array_new(&all, &scratch, 1, &size, 'd', false);
        if (memory != NULL) {
            job.scratch = (double *)scratch.data;
            run_loop(sort_rows, &job, row_count, 15.0 * (double)job.length);
            Py_DECREF(memory); /* `all` keeps its buffer until it is closed */
        }
        result = memory == NULL ? NULL : Py_NewRef(Py_True);
    }
    arrays_close(&all);
    return result;
}

const KernelEntry SORTING_KERNELS[] = {
    {"sort_lines", sort_lines, 4},
    {NULL, NULL, 0},
};
