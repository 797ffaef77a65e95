/* Plans: a primitive for operands of these shapes, types and strides, and the reorders between its layouts and theirs.

   Plans are kept by key. Looking one up, making one and dropping one happen under the interpreter lock; a plan that
   runs is counted, and a dropped one goes when nobody runs it any longer. Each run makes its own memory objects, so
   that several threads may run one plan at once. */
#include "onednn.h"

#include <stdlib.h>

enum { SLOTS = 4096, CAPACITY = 1024, ALIGNMENT = 64, THREADS_WORD = 1 };

typedef struct {
    Handle given, wanted; /* given: of the array; wanted: of the primitive, NULL where it takes the array as it is */
    Handle reorder;
    int64_t offset; /* of the reordered operand in the scratch memory */
} Passage;

struct Plan {
    uint64_t hash;
    int64_t *words;
    int word_count, count;
    int users;
    bool dropped;
    uint64_t last_use;
    Handle primitive, scratchpad; /* primitive: NULL where the library has nothing good */
    int64_t scratchpad_offset, scratch;
    Passage passages[MAX_VIEWS];
    const char *name;
};

static Plan *table[SLOTS];
static int kept;
static uint64_t clock_now;

/* --- keys
 * ----------------------------------------------------------------------------------------------------------------- */
void key_begin(Key *key, int64_t op)
{
    key->count = 0;
    key_add(key, op);
    key_add(key, 0); /* the number of threads, known once the library is there */
}

void key_add(Key *key, int64_t word)
{
    if (key->count < MAX_KEY)
        key->words[key->count++] = word;
}

void key_add_double(Key *key, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    key_add(key, bits);
}

void job_add(Job *job, int argument, View *view, bool output, bool fixed)
{
    job->operands[job->count++] = (Operand){view, argument, output, fixed};
    key_add(&job->key, view == NULL ? 0 : (int64_t)view->type << 8 | view->ndim << 2 | (fixed << 1) | output);
    for (int i = 0; view != NULL && i < view->ndim; i++) {
        key_add(&job->key, view->dims[i]);
        key_add(&job->key, view->strides[i]);
    }
}

static uint64_t hash_of(const Key *key)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < key->count; i++) {
        hash = (hash ^ (uint64_t)key->words[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

/* --- making
 * --------------------------------------------------------------------------------------------------------------- */
static Handle describe_view(const View *view, bool any)
{
    Handle made = NULL;
    int failed = any ? dnnl.memory_desc_create_with_tag(&made, view->ndim, view->dims, view->type, FORMAT_ANY)
                     : dnnl.memory_desc_create_with_strides(&made, view->ndim, view->dims, view->type, view->strides);
    return failed ? NULL : made;
}

/* The library's reference code is slower than this package's own kernels. */
static bool is_reference(Handle desc)
{
    const char *name = "ref";
    dnnl.primitive_desc_query(desc, QUERY_NAME, 0, &name);
    return strncmp(name, "ref", 3) == 0 || strstr(name, "ref_") != NULL || strstr(name, ":ref") != NULL;
}

static int64_t reserve(Plan *plan, int64_t bytes)
{
    int64_t offset = plan->scratch;
    plan->scratch += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return offset;
}

static bool add_reorder(Plan *plan, Passage *passage, const Operand *operand, Handle wanted)
{
    Handle desc = NULL;
    if (dnnl.memory_desc_clone(&passage->wanted, wanted))
        return false;
    Handle from = operand->output ? passage->wanted : passage->given;
    Handle to = operand->output ? passage->given : passage->wanted;
    if (dnnl.reorder_primitive_desc_create(&desc, from, engine, to, engine, attributes))
        return false;
    Handle pad = dnnl.primitive_desc_query_md(desc, QUERY_SCRATCHPAD, 0);
    bool fine =
        (pad == NULL || dnnl.memory_desc_get_size(pad) == 0) && dnnl.primitive_create(&passage->reorder, desc) == 0;
    dnnl.primitive_desc_destroy(desc);
    passage->offset = reserve(plan, (int64_t)dnnl.memory_desc_get_size(passage->wanted));
    return fine;
}

static bool add_primitive(Plan *plan, const Job *job, Handle desc)
{
    if (is_reference(desc))
        return false;
    dnnl.primitive_desc_query(desc, QUERY_NAME, 0, &plan->name);
    Handle pad = dnnl.primitive_desc_query_md(desc, QUERY_SCRATCHPAD, 0);
    if (pad != NULL && dnnl.memory_desc_get_size(pad) > 0) {
        if (dnnl.memory_desc_clone(&plan->scratchpad, pad))
            return false;
        plan->scratchpad_offset = reserve(plan, (int64_t)dnnl.memory_desc_get_size(pad));
    }
    for (int i = 0; i < job->count; i++) {
        if (job->operands[i].view == NULL)
            continue;
        Handle wanted = dnnl.primitive_desc_query_md(desc, QUERY_ARGUMENT, job->operands[i].argument);
        if (wanted == NULL)
            return false;
        if (!dnnl.memory_desc_equal(wanted, plan->passages[i].given)
            && !add_reorder(plan, &plan->passages[i], &job->operands[i], wanted))
            return false;
    }
    return dnnl.primitive_create(&plan->primitive, desc) == 0;
}

static void plan_free(Plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        Passage *passage = &plan->passages[i];
        if (passage->given)
            dnnl.memory_desc_destroy(passage->given);
        if (passage->wanted)
            dnnl.memory_desc_destroy(passage->wanted);
        if (passage->reorder)
            dnnl.primitive_destroy(passage->reorder);
    }
    if (plan->scratchpad)
        dnnl.memory_desc_destroy(plan->scratchpad);
    if (plan->primitive)
        dnnl.primitive_destroy(plan->primitive);
    free(plan->words);
    free(plan);
}

/* Fills a plan; where anything is refused it stays without a primitive. */
static void plan_make(Plan *plan, const Job *job)
{
    Handle desc[MAX_VIEWS] = {NULL}, made = NULL;
    bool fine = true;
    for (int i = 0; i < job->count; i++) {
        const Operand *operand = &job->operands[i];
        if (operand->view == NULL)
            continue;
        plan->passages[i].given = describe_view(operand->view, false);
        desc[i] = describe_view(operand->view, !operand->fixed);
        fine = fine && plan->passages[i].given && desc[i];
    }
    fine = fine && job->describe(job, desc, &made) == 0 && made != NULL && add_primitive(plan, job, made);
    if (!fine && plan->primitive) {
        dnnl.primitive_destroy(plan->primitive);
        plan->primitive = NULL;
    }
    if (made)
        dnnl.primitive_desc_destroy(made);
    for (int i = 0; i < job->count; i++)
        if (desc[i])
            dnnl.memory_desc_destroy(desc[i]);
}

/* --- the table
 * ------------------------------------------------------------------------------------------------------------ */
static void drop(int slot)
{
    Plan *plan = table[slot];
    table[slot] = NULL;
    kept--;
    if (plan->users)
        plan->dropped = true;
    else
        plan_free(plan);
}

void plans_clear(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (table[i])
            drop(i);
}

static void insert(Plan *plan)
{
    uint64_t slot = plan->hash % SLOTS;
    while (table[slot])
        slot = (slot + 1) % SLOTS;
    table[slot] = plan;
    kept++;
}

/* Drops the half that was not used for longest; the others get their slots anew. */
static void make_room(void)
{
    Plan *stay[CAPACITY];
    int count = 0;
    uint64_t limit = clock_now < CAPACITY / 2 ? clock_now : clock_now - CAPACITY / 2;
    for (int i = 0; i < SLOTS; i++) {
        if (table[i] && table[i]->last_use <= limit)
            drop(i);
        else if (table[i]) {
            stay[count++] = table[i];
            table[i] = NULL;
        }
    }
    kept = 0;
    for (int i = 0; i < count; i++)
        insert(stay[i]);
}

static Plan *lookup(const Key *key, uint64_t hash)
{
    for (uint64_t slot = hash % SLOTS; table[slot]; slot = (slot + 1) % SLOTS) {
        Plan *plan = table[slot];
        if (plan->hash == hash && plan->word_count == key->count
            && memcmp(plan->words, key->words, (size_t)key->count * sizeof *plan->words) == 0)
            return plan;
    }
    return NULL;
}

static Plan *add(const Job *job, uint64_t hash)
{
    if (kept == CAPACITY)
        make_room();
    Plan *plan = calloc(1, sizeof *plan);
    int64_t *words = malloc((size_t)job->key.count * sizeof *words);
    if (plan == NULL || words == NULL) {
        free(plan);
        free(words);
        return NULL;
    }
    memcpy(words, job->key.words, (size_t)job->key.count * sizeof *words);
    *plan = (Plan){.hash = hash, .words = words, .word_count = job->key.count, .count = job->count, .name = ""};
    plan_make(plan, job);
    insert(plan);
    return plan;
}

Plan *plan_find(Job *job)
{
    if (job->key.count == MAX_KEY || !library_is_ready())
        return NULL;
    job->key.words[THREADS_WORD] = library_threads();
    library_use_threads((int)job->key.words[THREADS_WORD]);
    uint64_t hash = hash_of(&job->key);
    Plan *plan = lookup(&job->key, hash);
    if (plan == NULL)
        plan = add(job, hash);
    if (plan == NULL || plan->primitive == NULL)
        return NULL;
    plan->last_use = ++clock_now;
    return plan;
}

PyObject *plans_describe(void)
{
    PyObject *all = PyList_New(0);
    for (int i = 0; all != NULL && i < SLOTS; i++) {
        const Plan *plan = table[i];
        if (plan == NULL)
            continue;
        int reorders = 0;
        for (int k = 0; k < plan->count; k++)
            reorders += plan->passages[k].reorder != NULL;
        PyObject *row = Py_BuildValue("siL", plan->name, reorders, (long long)plan->scratch);
        if (row == NULL || PyList_Append(all, row) < 0)
            Py_CLEAR(all);
        Py_XDECREF(row);
    }
    return all;
}

/* --- running
 * -------------------------------------------------------------------------------------------------------------- */
static int execute(Handle primitive, int count, const ExecArgument *arguments)
{
    return dnnl.primitive_execute(primitive, stream, count, arguments);
}

static int reorder(const Passage *passage, Handle from, Handle to)
{
    ExecArgument pair[2] = {{ARG_SRC, from}, {ARG_DST, to}};
    return execute(passage->reorder, 2, pair);
}

/* Without the interpreter lock. */
static int run(const Plan *plan, const Job *job, char *scratch)
{
    Handle arrays[MAX_VIEWS] = {NULL}, copies[MAX_VIEWS] = {NULL}, pad = NULL;
    ExecArgument arguments[MAX_VIEWS + 1];
    int count = 0, failed = 0;
    for (int i = 0; i < job->count && !failed; i++) {
        const Operand *operand = &job->operands[i];
        const Passage *passage = &plan->passages[i];
        if (operand->view == NULL)
            continue;
        failed = dnnl.memory_create(&arrays[i], passage->given, engine, operand->view->data);
        if (passage->reorder && !failed) {
            failed = dnnl.memory_create(&copies[i], passage->wanted, engine, scratch + passage->offset);
            if (!operand->output && !failed)
                failed = reorder(passage, arrays[i], copies[i]);
        }
        arguments[count++] = (ExecArgument){operand->argument, copies[i] ? copies[i] : arrays[i]};
    }
    if (plan->scratchpad && !failed) {
        failed = dnnl.memory_create(&pad, plan->scratchpad, engine, scratch + plan->scratchpad_offset);
        arguments[count++] = (ExecArgument){ARG_SCRATCHPAD, pad};
    }
    failed = failed || execute(plan->primitive, count, arguments);
    for (int i = 0; i < job->count; i++) {
        if (copies[i] && job->operands[i].output && !failed)
            failed = reorder(&plan->passages[i], copies[i], arrays[i]);
        if (copies[i])
            dnnl.memory_destroy(copies[i]);
        if (arrays[i])
            dnnl.memory_destroy(arrays[i]);
    }
    if (pad)
        dnnl.memory_destroy(pad);
    return failed;
}

int plan_run(Plan *plan, const Job *job)
{
    char *scratch = NULL;
    PyObject *owner = plan->scratch ? scratch_new(plan->scratch, &scratch) : NULL;
    if (plan->scratch && owner == NULL)
        return -1;
    int failed;
    plan->users++;
    Py_BEGIN_ALLOW_THREADS;
    library_use_threads((int)plan->words[THREADS_WORD]);
    failed = run(plan, job, scratch);
    Py_END_ALLOW_THREADS;
    if (--plan->users == 0 && plan->dropped)
        plan_free(plan);
    Py_XDECREF(owner);
    if (failed)
        PyErr_Format(PyExc_RuntimeError, "oneDNN (%s) ended with status %d", plan->name, failed);
    return failed ? -1 : 0;
}
