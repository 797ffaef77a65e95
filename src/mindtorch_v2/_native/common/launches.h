/* How the launcher of a device tells the recorder about launches: the two are modules of their own. */
#ifndef MINDTORCH_LAUNCHES_H
#define MINDTORCH_LAUNCHES_H

#include <Python.h> /* after who includes this has chosen how */
#include <stdint.h>

#define LAUNCH_RECORDING "mindtorch_v2._native._core.launch_recording" /* a capsule */

typedef struct {
    int (*fits)(PyObject *recorder);    /* whether it is a native recorder */
    int (*is_free)(PyObject *recorder); /* whether its clock may be read without the GIL */
    int64_t (*now)(PyObject *recorder); /* nanoseconds; -1 with a Python error set */
    /* The row of a call into a device's runtime, as a child of what is open. -1 with a Python error set. */
    int (*note)(PyObject *recorder, PyObject *name, int64_t number, int64_t start_ns, int64_t end_ns);
} LaunchRecording;

#endif
