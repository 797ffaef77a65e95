/* The hash table of the native part: open addressing, a power of two of slots of which at most half are used, no
 * deletion.
 *
 * A map holds structs of any kind; one of zeros is a free slot. Who uses it describes its slots by a MapKind, whose
 * functions the compiler inlines, so that a map costs what one written by hand does. Slots move when the map grows. */
#ifndef MINDTORCH_HASH_MAP_H
#define MINDTORCH_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *slots; /* NULL until the first is needed */
    size_t mask, used;
} HashMap;

typedef struct {
    size_t width, first; /* bytes of a slot; slots to begin with, a power of two */
    bool (*is_free)(const void *slot);
    uint64_t (*hash)(const void *slot);
    bool (*holds)(const void *slot, const void *key);
} MapKind;

#define MAP_INLINE static inline __attribute__((always_inline, unused))

/* The slot that holds a key, or the free one where it belongs. The map must have slots. */
MAP_INLINE void *map_slot(const HashMap *map, const MapKind kind, uint64_t hash, const void *key)
{
    for (size_t index = hash & map->mask;; index = (index + 1) & map->mask) {
        char *slot = map->slots + index * kind.width;
        if (kind.is_free(slot) || kind.holds(slot, key))
            return slot;
    }
}

/* The slot that holds a key; NULL where it is not in the map. */
MAP_INLINE void *map_find(const HashMap *map, const MapKind kind, uint64_t hash, const void *key)
{
    void *slot = map->slots ? map_slot(map, kind, hash, key) : NULL;
    return slot && !kind.is_free(slot) ? slot : NULL;
}

/* Makes room for one more; false without memory. Whoever fills the slot adds 1 to `used`. */
MAP_INLINE bool map_reserve(HashMap *map, const MapKind kind)
{
    if (map->slots && 2 * map->used <= map->mask)
        return true;
    size_t count = map->slots ? 2 * (map->mask + 1) : kind.first;
    char *slots = calloc(count, kind.width);
    if (!slots)
        return false;
    for (size_t i = 0; map->slots && i <= map->mask; i++) {
        const char *slot = map->slots + i * kind.width;
        if (kind.is_free(slot))
            continue;
        size_t index = kind.hash(slot) & (count - 1);
        while (!kind.is_free(slots + index * kind.width))
            index = (index + 1) & (count - 1);
        memcpy(slots + index * kind.width, slot, kind.width);
    }
    free(map->slots);
    map->slots = slots;
    map->mask = count - 1;
    return true;
}

/* How many slots there are, free ones included, for a walk over all: map->slots + i * width. */
MAP_INLINE size_t map_size(const HashMap *map)
{
    return map->slots ? map->mask + 1 : 0;
}

MAP_INLINE void map_free(HashMap *map)
{
    free(map->slots);
    *map = (HashMap){0};
}

/* Eight bytes at a time, mixed by multiplication; the last step spreads high bits into the low ones that pick a slot.
 */
static inline __attribute__((unused)) uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *at = data;
    uint64_t hash = 0x9E3779B97F4A7C15u ^ (uint64_t)size, word;
    for (; size >= 8; size -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    word = 0;
    if (size)
        memcpy(&word, at, size);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    return hash ^ (hash >> 29);
}

MAP_INLINE uint64_t hash_pointer(const void *pointer)
{
    return ((uint64_t)(uintptr_t)pointer >> 4) * 0x9E3779B97F4A7C15u >> 20;
}

/* --- texts, or any bytes, to integers */
typedef struct {
    uint64_t hash;
    char *key; /* owned; NULL: a free slot */
    size_t size;
    int64_t value;
} BytesSlot;

typedef struct {
    uint64_t hash;
    const void *data;
    size_t size;
} BytesKey;

MAP_INLINE bool bytes_is_free(const void *slot)
{
    return !((const BytesSlot *)slot)->key;
}

MAP_INLINE uint64_t bytes_hash(const void *slot)
{
    return ((const BytesSlot *)slot)->hash;
}

MAP_INLINE bool bytes_holds(const void *slot, const void *key)
{
    const BytesSlot *own = slot;
    const BytesKey *wanted = key;
    return own->hash == wanted->hash && own->size == wanted->size && memcmp(own->key, wanted->data, wanted->size) == 0;
}

#define BYTES_KIND ((MapKind){sizeof(BytesSlot), 64, bytes_is_free, bytes_hash, bytes_holds})

MAP_INLINE BytesKey bytes_key(const void *data, size_t size)
{
    return (BytesKey){hash_bytes(data, size), data, size};
}

/* The slot of bytes that are known; NULL for others. */
static __attribute__((noinline, unused)) const BytesSlot *bytes_find(const HashMap *map, BytesKey key)
{
    return map_find(map, BYTES_KIND, key.hash, &key);
}

/* Adds bytes that are not in the map, copied; false without memory. */
static inline __attribute__((unused)) bool bytes_add(HashMap *map, BytesKey key, int64_t value)
{
    if (!map_reserve(map, BYTES_KIND))
        return false;
    char *kept = malloc(key.size ? key.size : 1);
    if (!kept)
        return false;
    memcpy(kept, key.data, key.size);
    BytesSlot *slot = map_slot(map, BYTES_KIND, key.hash, &key);
    *slot = (BytesSlot){key.hash, kept, key.size, value};
    map->used++;
    return true;
}

static inline __attribute__((unused)) void bytes_clear(HashMap *map)
{
    for (size_t i = 0; i < map_size(map); i++)
        free(((BytesSlot *)map->slots)[i].key);
    map_free(map);
}

/* --- pointers to structs, each of which begins with the key that it is kept by */
typedef struct {
    uint64_t hash;
    void *key; /* owned */
    size_t size;
} Keyed;

MAP_INLINE bool keyed_is_free(const void *slot)
{
    return *(Keyed *const *)slot == NULL;
}

MAP_INLINE uint64_t keyed_hash(const void *slot)
{
    return (*(Keyed *const *)slot)->hash;
}

MAP_INLINE bool keyed_holds(const void *slot, const void *key)
{
    const Keyed *own = *(Keyed *const *)slot;
    const BytesKey *wanted = key;
    return own->hash == wanted->hash && own->size == wanted->size && memcmp(own->key, wanted->data, wanted->size) == 0;
}

/* `capacity`: how many the map holds without growing, a power of two. */
#define KEYED_KIND(capacity) ((MapKind){sizeof(Keyed *), 2 * (capacity), keyed_is_free, keyed_hash, keyed_holds})

/* Copies a key into the struct that is kept by it; false without memory. Its end frees `key`. */
static inline __attribute__((unused)) bool keyed_set(Keyed *entry, BytesKey key)
{
    *entry = (Keyed){key.hash, malloc(key.size ? key.size : 1), key.size};
    if (entry->key)
        memcpy(entry->key, key.data, key.size);
    return entry->key != NULL;
}

#endif
