/* An all_reduce that is asked for again and again, and the notes that processes keep for each other. */
#ifndef MINDTORCH_REDUCTION_H
#define MINDTORCH_REDUCTION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Notes as distributed/_status.py writes them: where the bytes of a note begin that are its text, its size and how many
 * are kept of collectives; the bits of a key that count; where a note says that it is done. */
enum { NOTE_HEAD = 20, NOTE_SLOT = 384, NOTE_HISTORY = 32, COUNT_BITS = 28, NOTE_DONE = 12 };

/* How a call ended: results are there; MPI is still at it; another process took something else for it; nothing was
 * begun. */
enum { IS_DONE, IS_PENDING, IS_DIFFERENT, IS_REFUSED };

extern PyTypeObject Reduction_Type;

#endif
