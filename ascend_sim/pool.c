/* Pools of streams, events and contexts. A handle carries a tag, a generation and an index, so a handle that was
 * never given out or whose object was destroyed is told apart without touching memory. */
#include "sim.h"

#define INDEX_BITS 20
#define GENERATION_BITS 24
#define TAG_SHIFT (INDEX_BITS + GENERATION_BITS)

static PoolItem *item_at(Pool *pool, uint32_t index) {
    char *chunk = atomic_load(&pool->chunks[index / POOL_CHUNK]);
    return chunk == NULL ? NULL : (PoolItem *)(chunk + (size_t)(index % POOL_CHUNK) * pool->item_size);
}

static uint32_t next_index(Pool *pool) {
    if (pool->free_head == 0) return pool->made;
    return pool->free_head - 1;
}

void *pool_take(Pool *pool, uint32_t limit) {
    pthread_mutex_lock(&pool->lock);
    uint32_t index = next_index(pool);
    if (pool->live >= limit || index >= POOL_CHUNK * POOL_CHUNKS) {
        pthread_mutex_unlock(&pool->lock);
        return NULL;
    }
    if (index == pool->made) {
        if (index % POOL_CHUNK == 0) {
            char *chunk = calloc(POOL_CHUNK, pool->item_size);
            atomic_store(&pool->chunks[index / POOL_CHUNK], chunk);
        }
        pool->made++;
        item_at(pool, index)->index = index;
    } else {
        PoolItem *reused = item_at(pool, index);
        pool->free_head = reused->next_free;
        if (pool->free_head == 0) pool->free_tail = 0;
    }
    PoolItem *item = item_at(pool, index);
    pool->live++;
    atomic_fetch_add(&item->generation, 1);
    pthread_mutex_unlock(&pool->lock);
    return item;
}

void pool_give(Pool *pool, void *object) {
    PoolItem *item = object;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&item->live, false);
    item->next_free = 0;
    if (pool->free_tail != 0) item_at(pool, pool->free_tail - 1)->next_free = item->index + 1;
    else pool->free_head = item->index + 1;
    pool->free_tail = item->index + 1;
    pool->live--;
    pthread_mutex_unlock(&pool->lock);
}

void *pool_handle(const Pool *pool, const void *object) {
    const PoolItem *item = object;
    uint64_t generation = atomic_load(&item->generation) & ((1u << GENERATION_BITS) - 1);
    return (void *)(((uintptr_t)pool->tag << TAG_SHIFT) | (generation << INDEX_BITS) | item->index);
}

void *pool_find(Pool *pool, const void *handle) {
    uintptr_t bits = (uintptr_t)handle;
    if (bits >> TAG_SHIFT != pool->tag) return NULL;
    uint32_t index = (uint32_t)(bits & ((1u << INDEX_BITS) - 1));
    if (index >= POOL_CHUNK * POOL_CHUNKS) return NULL;
    PoolItem *item = item_at(pool, index);
    if (item == NULL || !atomic_load(&item->live) || pool_handle(pool, item) != handle) return NULL;
    return item;
}

void *pool_at(Pool *pool, uint32_t index) {
    PoolItem *item = index < POOL_CHUNK * POOL_CHUNKS ? item_at(pool, index) : NULL;
    return item != NULL && atomic_load(&item->live) ? item : NULL;
}
