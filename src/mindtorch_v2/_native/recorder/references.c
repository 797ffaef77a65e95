/* References: which tensors events were given, and whose memory those had. */
#include "inline.h"
#include "core/tensor.h"

enum { ARGUMENTS = 1 << ARGUMENT_BITS };

/* Where only the newest rows are kept, references of rows that are gone go too. */
static void drop_old(Buffer *buffer)
{
    Table *table = &buffer->references;
    while (table->held > 1) {
        const Reference *last = table_at(table, table->first + ((int64_t)1 << table->shift) - 1);
        if (last->row >= buffer->rows.first)
            return;
        table_drop_chunk(table);
    }
}

static bool is_empty(const ArrayFields *owner)
{
    for (int i = 0; i < owner->nd; i++)
        if (!owner->dimensions[i])
            return true;
    return false;
}

static void add(Buffer *buffer, int32_t row, Tensor *tensor, int32_t argument)
{
    Table *table = &buffer->references;
    const ArrayFields *owner = tensor->array ? array_owner(tensor->array) : NULL;
    if (!owner || !tensor->keys)
        return;
    if (table_is_full(table) && buffer->core->limit)
        drop_old(buffer);
    Reference *made = table_add(table);
    if (!made)
        return; /* without memory the event has no references, but goes on */
    long device = PyLong_AsLong(tensor->keys) & KEY_DEVICES;
    *made = (Reference){.tensor = tensor_id(tensor),
                        .block = allocator_block_id(owner),
                        .address = device & KEY_META || is_empty(owner) ? 0 : (int64_t)(uintptr_t)owner->data,
                        .row = row,
                        .origin = (int32_t)(device << ARGUMENT_BITS) | argument};
}

void references_add(Buffer *buffer, int32_t row, PyObject *const *values, Py_ssize_t count)
{
    PyTypeObject *tensors = &TensorFields_Type;
    for (Py_ssize_t i = 0; i < count && i < ARGUMENTS; i++) {
        PyObject *value = values[i];
        if (PyObject_TypeCheck(value, tensors)) {
            add(buffer, row, (Tensor *)value, (int32_t)i);
        } else if (PyTuple_Check(value) || PyList_CheckExact(value)) {
            for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(value); j++)
                if (PyObject_TypeCheck(PySequence_Fast_GET_ITEM(value, j), tensors))
                    add(buffer, row, (Tensor *)PySequence_Fast_GET_ITEM(value, j), (int32_t)i);
        }
    }
}

void references_of_newest(Buffer *buffer, PyObject *const *values, Py_ssize_t count)
{
    const Open *top = buffer_top(buffer);
    if (top && top->row >= 0)
        references_add(buffer, top->row, values, count);
}
