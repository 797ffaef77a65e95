/* Rows of calls into a device's runtime: they are noted when they are over. */
#include "inline.h"
#include "common/launches.h"

static int fits(PyObject *recorder)
{
    return PyObject_TypeCheck(recorder, &Core_Type);
}

static int is_free(PyObject *recorder)
{
    return ((Core *)recorder)->clock == NULL;
}

static int64_t now(PyObject *recorder)
{
    return core_now((Core *)recorder);
}

static int tell_end(Core *core)
{
    if (!(core->detail & LISTENERS))
        return 0;
    PyObject *told = PyObject_CallMethodNoArgs((PyObject *)core, names.tell_leave);
    Py_XDECREF(told);
    return told ? 0 : -1;
}

static int add_row(Core *core, Buffer *buffer, PyObject *name, int64_t launch_id, int64_t start_ns, int64_t end_ns)
{
    int32_t label, stack = -1;
    if (core_name_label(core, name, KIND_RUNTIME, &label) < 0)
        return -1;
    if (core->detail & STACKS && (stack = buffer_stack(buffer)) == -2)
        return -1;
    if (buffer_push(buffer, label, launch_id, 0, -1, stack, 0, start_ns) == -2)
        return -1;
    buffer_leave_fast(buffer, end_ns);
    return 0;
}

static int note(PyObject *recorder, PyObject *name, int64_t launch_id, int64_t start_ns, int64_t end_ns)
{
    Core *core = (Core *)recorder;
    Buffer *buffer = core_buffer(core);
    if (!buffer && PyErr_Occurred())
        return -1;
    if (buffer && buffer_is_elsewhere(buffer)) {
        if (lanes_follow(buffer) < 0)
            return -1;
        buffer = core_buffer(core);
    }
    Py_XINCREF(buffer); /* a listener may end the recording */
    int failed = core_tell(core, KIND_RUNTIME, name, Py_None, -1, 0);
    if (!failed && buffer)
        failed = add_row(core, buffer, name, launch_id, start_ns, end_ns);
    Py_XDECREF(buffer);
    return failed ? -1 : tell_end(core);
}

int launches_setup(PyObject *module)
{
    static const LaunchRecording recording = {fits, is_free, now, note};
    PyObject *capsule = PyCapsule_New((void *)&recording, LAUNCH_RECORDING, NULL);
    if (!capsule || PyModule_AddObject(module, "launch_recording", capsule) < 0) {
        Py_XDECREF(capsule);
        return -1;
    }
    return 0;
}
