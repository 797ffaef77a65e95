/* The blocks of one address space, ordered by address, for memory.c, which holds its lock in all of these calls. */
#ifndef ASCEND_SIM_SPACES_H
#define ASCEND_SIM_SPACES_H

#include "sim.h"

#define ALIGNMENT 64

typedef struct {
    Block **items; /* by address; freed blocks stay while a task still holds them */
    size_t count, capacity;
    size_t used;
    uintptr_t base, cursor;
} Space;

/* The block that an address lies in, or NULL. */
Block *space_find(const Space *space, uintptr_t address);
/* A new live block of `size` bytes that takes `span`. */
Block *space_insert(Space *space, uintptr_t address, size_t size, size_t span, int device);
/* Takes a block out of the space; its memory remains with the caller. */
void space_remove(Space *space, const Block *block);
/* An address for a block, 0 where there is no room. Next fit: an address is not used again before the arena was walked
 * once, so late accesses hit no other block. */
uintptr_t space_reserve(Space *space, size_t span);
/* Whether [address, +span) lies inside the space and touches no block: asked before every address is handed out. */
bool space_is_vacant(const Space *space, uintptr_t address, size_t span);
/* Whether the blocks between two addresses are out of order or do not add up, with the reason in `why`. */
bool space_is_broken(const Space *space, uintptr_t low, uintptr_t high, char *why, size_t why_size);

#endif
