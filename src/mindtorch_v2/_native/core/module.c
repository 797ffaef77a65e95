/* The module _core: its functions, types and codes. */
#include "common/enums.h"
#include "common/sources.h"
#include "loops.h"
#include "modes.h"
#include "quiet.h"
#include "tensor.h"

static PyObject *setup(PyObject *module, PyObject *args)
{
    PyObject *tensor, *array, *samples;
    if (!PyArg_ParseTuple(args, "OOO", &tensor, &array, &samples))
        return NULL;
    int known = inputs_setup(module, tensor, array, samples);
    return known < 0 ? NULL : PyBool_FromLong(known);
}

/* Those of sys.monitoring belong to the module too but stand in their own file. */
static PyMethodDef functions[] = {
    {"setup", setup, METH_VARARGS, "setup(Tensor, ndarray, samples): whether arrays can be read directly."},
    {"setup_values", inputs_setup_values, METH_VARARGS,
     "setup_values(device, dtype, layout, ...): types of arguments beside tensors and numbers."},
    {"setup_memory", memory_configure, METH_O,
     "setup_memory(watch): what notes the memory of an array that was not allocated under watch."},
    {"install_allocator", allocator_install, METH_NOARGS,
     "Sees what numpy allocates in the calling context; False where somebody else does."},
    {"remove_allocator", allocator_remove, METH_NOARGS, "Ends that, in the calling context."},
    {"block_of", allocator_block, METH_VARARGS,
     "block_of(array, wanted): the number of the memory that an array owns; 0 where it has none."},
    {"watch_owner", allocator_watch_owner, METH_O,
     "Notes the memory of an array, once; False where it was not allocated under watch."},
    {"next_block", allocator_next_block, METH_NOARGS, "A number that no block of the process has."},
    {"tensors_alive", tensors_alive, METH_NOARGS, "All tensors."},
    {"mark_views", mark_views, METH_O, "Views that live require a gradient since their base does."},
    {"setup_loops", loops_setup, METH_VARARGS, "setup_loops(_ARRAY_API, bool dtype): the numbers of loops by name."},
    {"setup_calls", calls_setup, METH_VARARGS, "What calls need of the package."},
    {"observe", calls_observe, METH_O, "observe(observer): who is told about calls."},
    {"run_backward", (PyCFunction)(void (*)(void))engine_run, METH_FASTCALL, engine_run_doc},
    {"configure_engine", (PyCFunction)(void (*)(void))engine_configure, METH_FASTCALL, engine_configure_doc},
    {"find_children", attributes_find_children, METH_VARARGS,
     "find_children(class, Module.__getattr__): finds parameters, buffers and submodules without an exception on the "
     "way, unless the class has its own way of finding attributes."},
    {"node_saved", node_saved, METH_O, "The saved values of a node, checked for in-place changes since then."},
    {"setup_saved", saved_setup, METH_VARARGS,
     "setup_saved(unpack, Packed): what hands out saved values where something is out of the ordinary."},
    {"meet_threads", meet_threads, METH_VARARGS,
     "meet_threads(identifiers, function): calls it once on each of these threads."},
    {"keep_modes", calls_keep_modes, METH_VARARGS,
     "keep_modes(space, state): where the modes of the process and of each thread are."},
    {"set_bit", calls_set_bit, METH_VARARGS, "set_bit(bit, on): changes the mode word."},
    {"setup_quiet", quiet_setup, METH_VARARGS,
     "setup_quiet(variable, value): numpy's settings, and those that ignore everything."},
    {"set_overridden", calls_set_overridden, METH_O,
     "Whether a subclass of Tensor exists that is asked before operators."},
    {"swap_grad", calls_swap_grad, METH_O,
     "Sets whether the calling thread records gradients and returns what was before."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_core",      .m_doc = "Calls, the backward pass and the recorder.",
    .m_size = -1,          .m_methods = functions,
};

PyMODINIT_FUNC PyInit__core(void)
{
    if (storage_setup() < 0 || tensor_setup() < 0 || engine_setup() < 0 || modes_setup() < 0
        || PyType_Ready(&Call_Type) < 0 || PyType_Ready(&CallMethod_Type) < 0 || PyType_Ready(&Overloads_Type) < 0
        || PyType_Ready(&OverloadsMethod_Type) < 0 || PyType_Ready(&Quiet_Type) < 0 || buffer_setup() < 0
        || core_setup() < 0 || PyType_Ready(&Stacks_Type) < 0 || PyType_Ready(&StepClock_Type) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyModule_AddFunctions(module, monitoring_functions) < 0
        || PyModule_AddFunctions(module, modes_functions) < 0 || add_sources(module) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {
        {"Core", &Core_Type},
        {"Buffer", &Buffer_Type},
        {"Stacks", &Stacks_Type},
        {"StepClock", &StepClock_Type},
        {"Storage", &Storage_Type},
        {"TensorFields", &TensorFields_Type},
        {"NodeFields", &NodeFields_Type},
        {"Call", &Call_Type},
        {"CallMethod", &CallMethod_Type},
        {"Overloads", &Overloads_Type},
        {"OverloadsMethod", &OverloadsMethod_Type},
        {"Quiet", &Quiet_Type},
        {"Switch", &Switch_Type},
        {"Guarded", &Guarded_Type},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        Py_INCREF(types[i].type);
        if (PyModule_AddObject(module, types[i].name, (PyObject *)types[i].type) < 0) {
            Py_DECREF(types[i].type);
            Py_DECREF(module);
            return NULL;
        }
    }
#define NAMED_BIT(name, value) {#name, value},
    static const NamedCode key_bits[] = {KEY_BITS(NAMED_BIT){"ACCELERATORS", KEY_ACCELERATORS},
                                         {"DEVICES", KEY_DEVICES}};
    static const NamedCode details[] = {{"SHAPES", SHAPES},
                                        {"STACKS", STACKS},
                                        {"MODULES", MODULES},
                                        {"LISTENERS", LISTENERS},
                                        {"TENSORS", TENSORS},
                                        {"REFERENCES", REFERENCES},
                                        {"ARGUMENT_BITS", ARGUMENT_BITS}};
    static const NamedCode kinds[] = {{"NODE", KIND_NODE},
                                      {"BACKWARD", KIND_BACKWARD},
                                      {"SCOPE", KIND_SCOPE},
                                      {"FUNCTION", KIND_FUNCTION},
                                      {"RUNTIME", KIND_RUNTIME}};
    static const NamedCode classes[] = {{"USER", USER},
                                        {"LIBRARY", LIBRARY},
                                        {"INTERNAL", INTERNAL},
                                        {"IMPORTS", IMPORTS},
                                        {"HIDDEN_FUNCTION", HIDDEN_FUNCTION}};
    if (launches_setup(module) < 0 || EXPORT_CODES(module, "KEY_BITS", key_bits) < 0
        || EXPORT_CODES(module, "DETAIL_BITS", details) < 0 || EXPORT_CODES(module, "ROW_KINDS", kinds) < 0
        || EXPORT_CODES(module, "CODE_CLASSES", classes) < 0 || calls_export(module) < 0
        || PyModule_AddStringConstant(module, "NODE_PREFIX", NODE_PREFIX) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
