/* The threads of `_kernels` for a library that shares out its work itself: a team runs one function once for every
   member, at the same time where the members wait for each other at barriers. */
#ifndef MINDTORCH_COMMON_TEAMS_H
#define MINDTORCH_COMMON_TEAMS_H

#define TEAMS_CAPSULE "mindtorch_v2._native._kernels.teams"

typedef struct Teams {
    int (*limit)(void); /* how many members the next team may have; 1 where sharing work does not pay now */
    /* The calling thread is member 0: it calls `task` itself between begin and end. */
    void (*begin)(void (*task)(void *), void *data, int count);
    void (*end)(void);
    int (*member)(void);
    int (*members)(void);
    void (*barrier)(void);
} Teams;

#endif
