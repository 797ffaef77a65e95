/* The blocks of one address space, ordered by address. */
#include "spaces.h"

static size_t position(const Space *space, uintptr_t address) { /* first block that starts after `address` */
    size_t low = 0, high = space->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (space->items[middle]->address > address) high = middle;
        else low = middle + 1;
    }
    return low;
}

Block *space_find(const Space *space, uintptr_t address) {
    size_t at = position(space, address);
    if (at == 0) return NULL;
    Block *block = space->items[at - 1];
    return address < block->address + block->span ? block : NULL;
}

static uint64_t serial; /* of the latest block of any space */

Block *space_insert(Space *space, uintptr_t address, size_t size, size_t span, int device) {
    if (space->count == space->capacity) {
        space->capacity = space->capacity ? space->capacity * 2 : 64;
        space->items = realloc(space->items, space->capacity * sizeof *space->items);
    }
    size_t at = position(space, address);
    memmove(space->items + at + 1, space->items + at, (space->count - at) * sizeof *space->items);
    Block *block = malloc(sizeof *block);
    *block = (Block){address, size, span, device, BLOCK_LIVE, ++serial};
    space->items[at] = block;
    space->count++;
    space->used += span;
    return block;
}

void space_remove(Space *space, const Block *block) {
    size_t at = position(space, block->address) - 1;
    memmove(space->items + at, space->items + at + 1, (space->count - at - 1) * sizeof *space->items);
    space->count--;
    space->used -= block->span;
}

/* The first block that ends after `address`: one that starts there, lies around it, or comes after it. */
static size_t first_ending_after(const Space *space, uintptr_t address) {
    size_t at = position(space, address);
    if (at > 0 && space->items[at - 1]->address + space->items[at - 1]->span > address) at--;
    return at;
}

static uintptr_t gap(const Space *space, size_t span, uintptr_t from, uintptr_t end) {
    uintptr_t candidate = from;
    for (size_t at = first_ending_after(space, from); at < space->count && space->items[at]->address < end; at++) {
        const Block *block = space->items[at];
        if (block->address > candidate && block->address - candidate >= span) return candidate;
        candidate = block->address + block->span;
    }
    return end > candidate && end - candidate >= span ? candidate : 0;
}

uintptr_t space_reserve(Space *space, size_t span) {
    uintptr_t end = space->base + config()->hbm_bytes;
    if (span > config()->hbm_bytes - space->used) return 0;
    uintptr_t address = gap(space, span, space->cursor, end);
    if (address == 0) address = gap(space, span, space->base, end);
    if (address != 0) space->cursor = address + span;
    return address;
}

bool space_is_vacant(const Space *space, uintptr_t address, size_t span) {
    uintptr_t end = space->base + config()->hbm_bytes;
    if (address < space->base || address > end || span > end - address || address % ALIGNMENT != 0) return false;
    size_t at = first_ending_after(space, address);
    return at == space->count || space->items[at]->address >= address + span;
}

bool space_is_broken(const Space *space, uintptr_t low, uintptr_t high, char *why, size_t why_size) {
    size_t used = 0;
    uintptr_t at = low;
    for (size_t i = 0; i < space->count; i++) {
        const Block *block = space->items[i];
        if (block->address < at || block->size > block->span || block->span > high - block->address) {
            snprintf(why, why_size, "block %zu at %p of %zu bytes overlaps its neighbour or leaves the space", i,
                     (void *)block->address, block->span);
            return true;
        }
        at = block->address + block->span;
        used += block->span;
    }
    if (used != space->used) snprintf(why, why_size, "%zu bytes are counted, the blocks have %zu", space->used, used);
    return used != space->used;
}
