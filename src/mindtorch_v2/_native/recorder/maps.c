/* Maps from byte strings to numbers, with open addressing. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

uint64_t hash_bytes(const void *data, size_t size)
{
    /* Eight bytes at a time, mixed by multiplication; the last step spreads high bits into the low ones that pick a slot. */
    const unsigned char *at = data;
    uint64_t hash = 0x9E3779B97F4A7C15u ^ (uint64_t)size;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    uint64_t word = 0;
    memcpy(&word, at, size);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    return hash ^ (hash >> 29);
}

int32_t blob_find(const BlobMap *map, const void *key, size_t size, uint64_t hash)
{
    if (!map->slot)
        return -1;
    for (size_t place = hash & map->mask;; place = (place + 1) & map->mask) {
        const BlobSlot *slot = &map->slot[place];
        if (slot->size < 0)
            return -1;
        if (slot->hash == hash && (size_t)slot->size == size && memcmp(slot->key, key, size) == 0)
            return slot->number;
    }
}

static void put(BlobMap *map, BlobSlot made)
{
    size_t place = made.hash & map->mask;
    while (map->slot[place].size >= 0)
        place = (place + 1) & map->mask;
    map->slot[place] = made;
}

static bool grow(BlobMap *map)
{
    size_t old = map->slot ? map->mask + 1 : 0, size = old ? 2 * old : 64;
    BlobSlot *before = map->slot, *slots = malloc(size * sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < size; i++)
        slots[i].size = -1;
    map->slot = slots;
    map->mask = size - 1;
    for (size_t i = 0; i < old; i++)
        if (before[i].size >= 0)
            put(map, before[i]);
    free(before);
    return true;
}

bool blob_add(BlobMap *map, const void *key, size_t size, uint64_t hash, int32_t number)
{
    if ((!map->slot || 2 * map->used > map->mask) && !grow(map))
        return false;
    char *kept = malloc(size ? size : 1);
    if (!kept)
        return false;
    memcpy(kept, key, size);
    put(map, (BlobSlot){.hash = hash, .number = number, .size = (int32_t)size, .key = kept});
    map->used++;
    return true;
}

void blob_clear(BlobMap *map)
{
    for (size_t i = 0; map->slot && i <= map->mask; i++)
        if (map->slot[i].size >= 0)
            free(map->slot[i].key);
    free(map->slot);
    *map = (BlobMap){0};
}
