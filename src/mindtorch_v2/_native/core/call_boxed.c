/* Calls whose kernel takes tensors instead of arrays: on devices, of composites, and where types are cast first. */
#include "call.h"
#include "modes.h"

/* The kernel on tensors. A leaf op's is found by the dispatcher at the first call, which keeps it with the op. */
int find_boxed(Call *call, Arguments *arguments, long device)
{
    arguments->boxed = call->composite;
    if (call->composite)
        return DONE;
    if (!device || (device != KEY_CPU && arguments->observed && active_core->watches_memory))
        return FALLBACK;
    if (!call->boxed || call->boxed_key != device) {
        PyObject *kernels = PyObject_GetAttrString(call->op, "backends");
        PyObject *found = kernels && PyDict_Check(kernels) ? PyDict_GetItemWithError(kernels, boxed_key(device)) : NULL;
        Py_XINCREF(found);
        Py_XSETREF(call->boxed, found);
        call->boxed_key = device;
        Py_XDECREF(kernels);
        PyErr_Clear();
    }
    arguments->boxed = call->boxed;
    return call->boxed ? DONE : FALLBACK;
}

/* Switches gradients back on, also while an error is on its way, which stays. */
int restore_grad(bool on)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int failed = modes_swap_grad(on) < 0;
    if (type) {
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    return failed ? -1 : 0;
}

static bool is_argument(const Call *call, const Arguments *arguments, PyObject *made)
{
    for (int i = 0; i < call->count; i++)
        if (arguments->bound[i] == made)
            return true;
    return false;
}

static bool shares_memory_with_any(const Tensor *made, PyObject *given)
{
    if (!PyList_Check(given) && !PyTuple_Check(given))
        return shares_memory(made, given);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given); i++)
        if (shares_memory_with_any(made, PySequence_Fast_GET_ITEM(given, i)))
            return true;
    return false;
}

/* The writes by which a call filled new memory are not counted, and below autograd what it was cut from does not make
 * the result a view: nobody saw it before. */
static void count_from_zero(const Call *call, const Arguments *arguments, Tensor *made)
{
    if (made->storage == Py_None || PyLong_AsLong(made->keys) & KEY_GRAD
        || !(storage_was_written(made->storage) || (call->below_autograd && made->base != Py_None)))
        return;
    for (int i = 0; i < call->count; i++)
        if (shares_memory_with_any(made, arguments->bound[i]))
            return;
    storage_count_from_zero(made->storage);
    if (call->below_autograd)
        Py_SETREF(made->base, Py_NewRef(Py_None));
}

/* The steps of a composite that has a derivative, or says so, record nothing themselves. */
PyObject *run_on_tensors(const Call *call, Arguments *arguments)
{
    bool below = call->below_autograd && (arguments->grad || arguments->observed);
    int before = below ? modes_swap_grad(false) : 0;
    if (before < 0)
        return NULL;
    PyObject *kernel = held(arguments->boxed);
    PyObject *made = PyObject_Vectorcall(kernel, arguments->bound, (size_t)call->count, NULL);
    Py_DECREF(kernel);
    if (below && restore_grad(before) < 0)
        Py_CLEAR(made);
    if (made && call->makes_new && is_tensor(made))
        count_from_zero(call, arguments, (Tensor *)made);
    bool is_watched = made && arguments->observed && arguments->core->watches_memory && !call->composite
                      && !call->is_view && !call->writes;
    if (made
        && ((arguments->grad && !is_argument(call, arguments, made) && record_gradient(call, arguments, made) < 0)
            || (is_watched && watch_results(made) < 0)))
        Py_CLEAR(made);
    return made;
}
