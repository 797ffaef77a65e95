/* Records of when memory begins and ends. */
#include "inline.h"
#include "core/tensor.h"

static PyObject *watch_array;

/* --- records */
static _Thread_local bool noting THREAD_LOCAL_MODEL; /* a clock in Python may itself allocate */

bool memory_is_watched(void)
{
    const Core *core = calls_active();
    return core && core->watches_memory;
}

/* Whether anything of the package runs on the thread: what the user's own code does with numpy is not the package's
 * memory. */
static bool is_at_work(const Buffer *buffer)
{
    for (Py_ssize_t i = buffer->open_count - 1; i >= 0; i--)
        if (!(buffer->open[i].how & BY_HANDLE))
            return true;
    return false;
}

/* Whether it was added. */
static bool add_record(Core *core, int64_t block, int64_t address, int64_t nbytes, int32_t device, bool only_at_work)
{
    Buffer *buffer = core_buffer(core);
    if (PyErr_Occurred() || (!buffer && nbytes > 0) || (only_at_work && !is_at_work(buffer)))
        return false;
    const Table *table = buffer ? &buffer->memory : &core->stray;
    if (core->limit && (!buffer || !core->newest) && table->next - table->first >= core->limit) {
        core->dropped++;
        return false;
    }
    int64_t now = core_now(core);
    if (PyErr_Occurred())
        return false;
    if (core->clock) /* a clock in Python may have run anything */
        buffer = core_buffer(core);
    if (PyErr_Occurred())
        return false;
    if (buffer) {
        return buffer_note_memory(buffer, now, block, address, nbytes, device);
    }
    MemoryRow *row = nbytes < 0 ? table_add(&core->stray) : NULL;
    if (row)
        *row = (MemoryRow){
            .time_ns = now, .block = block, .address = address, .nbytes = nbytes, .device = device, .row = -1};
    else
        core->dropped++;
    return row != NULL;
}

/* Memory begins and ends inside of numpy and of deallocations: there is nobody to raise an error to. Where the thread
 * has its buffer and the processor counts, nothing can fail, nor touch an error that is on its way. */
static bool note(Core *core, int64_t block, int64_t address, int64_t nbytes, int32_t device, bool only_at_work)
{
    if (!core || !core->watches_memory || noting)
        return false;
    Buffer *known = HAS_TICKS && core->ticking && !core->limit ? core_known_buffer(core) : NULL;
    if (known && !table_is_full(&known->memory))
        return (!only_at_work || is_at_work(known))
               && buffer_note_memory(known, counted_now(core), block, address, nbytes, device);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    noting = true;
    Py_INCREF(core);
    bool added = add_record(core, block, address, nbytes, device, only_at_work);
    noting = false;
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(NULL);
    Py_DECREF(core);
    PyErr_Restore(type, value, traceback);
    return added;
}

bool memory_note_birth(int64_t block, int64_t address, int64_t nbytes, int32_t device, bool only_at_work)
{
    return note(calls_active(), block, address, nbytes, device, only_at_work);
}

void memory_note_end(int64_t block, int64_t address, int64_t nbytes)
{
    note(calls_active(), block, address, -nbytes, 0, false);
}

static Buffer *own_buffer(void)
{
    Core *core = calls_active();
    Buffer *buffer = core && !noting ? core_buffer(core) : NULL;
    if (!buffer)
        PyErr_Clear();
    return buffer;
}

int64_t memory_last_record(void)
{
    const Buffer *buffer = own_buffer();
    return buffer ? buffer->memory.next - 1 : -1;
}

MemoryRow *memory_record(int64_t id, int64_t block)
{
    const Buffer *buffer = own_buffer();
    MemoryRow *row = buffer && id >= 0 && id < buffer->memory.next ? table_at(&buffer->memory, id) : NULL;
    return row && row->block == block && row->nbytes > 0 ? row : NULL;
}

/* --- arrays and tensors */
/* Notes the memory of an array, once. Memory that was not allocated under watch is known by the array that owns it, in
 * Python. */
int watch_memory(PyObject *array)
{
    const ArrayFields *owner = array_owner(array);
    if (!owner || allocator_watch(owner))
        return 0;
    PyObject *done = PyObject_CallOneArg(watch_array, array);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

PyObject *memory_configure(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(watch_array, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* --- what Python reports */
static PyObject *report(PyObject *self, PyObject *const *args, Py_ssize_t count, int sign)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "expected a block, an address, a count of bytes and a device code");
        return NULL;
    }
    long long block = PyLong_AsLongLong(args[0]), address = PyLong_AsLongLong(args[1]),
              nbytes = PyLong_AsLongLong(args[2]);
    long device = PyLong_AsLong(args[3]);
    if (PyErr_Occurred())
        return NULL;
    note((Core *)self, block, address, sign * nbytes, sign > 0 ? (int32_t)device | TENSORS : (int32_t)device, false);
    Py_RETURN_NONE;
}

PyObject *core_allocated(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return report(self, args, count, 1);
}

PyObject *core_freed(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return report(self, args, count, -1);
}
