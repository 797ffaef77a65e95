/* The module _messages: communication that a line of a program asks for again and again, without Python. */
#include "reduction.h"
#include "common/enums.h"
#include "common/sources.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_messages",
    .m_doc = "Communication between processes through MPI's own functions.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__messages(void)
{
    static const NamedCode notes[] = {{"HEAD", NOTE_HEAD},
                                      {"SLOT", NOTE_SLOT},
                                      {"HISTORY", NOTE_HISTORY},
                                      {"COUNT_BITS", COUNT_BITS},
                                      {"DONE", NOTE_DONE}};
    static const NamedCode ends[] = {
        {"DONE", IS_DONE}, {"PENDING", IS_PENDING}, {"DIFFERS", IS_DIFFERENT}, {"REFUSED", IS_REFUSED}};
    PyObject *made = PyModule_Create(&definition);
    if (made
        && (add_sources(made) < 0 || PyType_Ready(&Reduction_Type) < 0
            || PyModule_AddObjectRef(made, "Reduction", (PyObject *)&Reduction_Type) < 0
            || EXPORT_CODES(made, "NOTES", notes) < 0 || EXPORT_CODES(made, "ENDS", ends) < 0))
        Py_CLEAR(made);
    return made;
}
