/* Plans: a primitive for operands of these shapes, types and strides, and the reorders between its layouts and theirs.

   Plans are kept by key. Looking one up, making one and dropping one happen under the interpreter lock; a plan that
   runs is counted, and a dropped one goes when nobody runs it any longer. Each run makes its own memory objects, so
   that several threads may run one plan at once. */
#include "onednn.h"

#include <stdlib.h>

#include "common/hash_map.h"

enum { CAPACITY = 1024, ALIGNMENT = 64, THREADS_WORD = 1 };

typedef struct {
    Handle given, wanted; /* given: of the array; wanted: of the primitive, NULL where it takes the array as it is */
    Handle reorder;
    int64_t offset; /* of the reordered operand in the scratch memory */
} Passage;

struct Plan {
    Keyed keyed; /* by the words of a Key */
    int count, users, threads;
    bool dropped;
    uint64_t last_use;
    Handle primitive, scratchpad; /* primitive: NULL where the library has nothing good */
    int64_t scratchpad_offset, scratch;
    Passage passages[MAX_VIEWS];
    const char *name;
};

#define PLAN_KIND KEYED_KIND(CAPACITY)
static HashMap plans; /* Plan * */
static uint64_t clock_now;

/* --- keys --------------------------------------------------------------------------------------- */
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

/* --- making ------------------------------------------------------------------------------------- */
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
    free(plan->keyed.key);
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

/* --- the table ---------------------------------------------------------------------------------- */
static void drop(Plan *plan)
{
    if (plan->users)
        plan->dropped = true;
    else
        plan_free(plan);
}

/* Where it belongs there must be nothing; false without memory. */
static bool insert(Plan *plan, BytesKey key)
{
    if (!map_reserve(&plans, PLAN_KIND))
        return false;
    *(Plan **)map_slot(&plans, PLAN_KIND, key.hash, &key) = plan;
    plans.used++;
    return true;
}

/* Drops what was last used at `limit` or before. */
static void drop_unused_since(uint64_t limit)
{
    HashMap old = plans;
    plans = (HashMap){0};
    for (size_t i = 0; i < map_size(&old); i++) {
        Plan *plan = ((Plan **)old.slots)[i];
        if (plan == NULL)
            continue;
        BytesKey key = {plan->keyed.hash, plan->keyed.key, plan->keyed.size};
        if (plan->last_use <= limit || !insert(plan, key))
            drop(plan);
    }
    map_free(&old);
}

void plans_clear(void)
{
    drop_unused_since(clock_now);
}

static Plan *add(const Job *job, BytesKey key)
{
    if (plans.used == CAPACITY)
        drop_unused_since(clock_now < CAPACITY / 2 ? clock_now : clock_now - CAPACITY / 2);
    Plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    plan->count = job->count;
    plan->threads = (int)job->key.words[THREADS_WORD];
    plan->name = "";
    if (keyed_set(&plan->keyed, key)) {
        plan_make(plan, job);
        if (insert(plan, key))
            return plan;
    }
    plan_free(plan);
    return NULL;
}

Plan *plan_find(Job *job)
{
    if (job->key.count == MAX_KEY || !library_is_ready())
        return NULL;
    job->key.words[THREADS_WORD] = library_threads();
    library_use_threads((int)job->key.words[THREADS_WORD]);
    BytesKey key = bytes_key(job->key.words, (size_t)job->key.count * sizeof *job->key.words);
    Plan **found = map_find(&plans, PLAN_KIND, key.hash, &key);
    Plan *plan = found ? *found : add(job, key);
    if (plan == NULL || plan->primitive == NULL)
        return NULL;
    plan->last_use = ++clock_now;
    return plan;
}

PyObject *plans_describe(void)
{
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all != NULL && i < map_size(&plans); i++) {
        const Plan *plan = ((Plan **)plans.slots)[i];
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

/* --- running ------------------------------------------------------------------------------------ */
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
    library_use_threads(plan->threads);
    failed = run(plan, job, scratch);
    Py_END_ALLOW_THREADS;
    if (--plan->users == 0 && plan->dropped)
        plan_free(plan);
    Py_XDECREF(owner);
    if (failed)
        PyErr_Format(PyExc_RuntimeError, "oneDNN (%s) ended with status %d", plan->name, failed);
    return failed ? -1 : 0;
}
