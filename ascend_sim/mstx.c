/* Marks and ranges that a program names itself (mstx). They are checked and numbered; nobody collects them. */
#include "sim.h"

#define DOMAINS 1024

typedef struct {
    PoolItem pool;
    char name[64];
} Domain;

static Pool domains = {.lock = PTHREAD_MUTEX_INITIALIZER, .item_size = sizeof(Domain), .tag = 0x44};
static _Atomic uint64_t ranges, regions;

/* Range 0 says that there is none. */
static uint64_t start_range(const char *text, void *handle) {
    Stream *stream;
    if (text == NULL || (handle != NULL && stream_of(handle, &stream) != ACL_OK)) return 0;
    return atomic_fetch_add(&ranges, 1) + 1;
}

API void mstxMarkA(const char *text, void *stream) { (void)text, (void)stream; }
API uint64_t mstxRangeStartA(const char *text, void *stream) { return start_range(text, stream); }
API void mstxRangeEnd(uint64_t range) { (void)range; }

API void *mstxDomainCreateA(const char *name) {
    Domain *made = name == NULL || strlen(name) >= sizeof made->name ? NULL : pool_take(&domains, DOMAINS);
    if (made == NULL) return NULL;
    strcpy(made->name, name);
    atomic_store(&made->pool.live, true);
    return pool_handle(&domains, made);
}

API void mstxDomainDestroy(void *handle) {
    Domain *found = pool_find(&domains, handle);
    if (found != NULL) pool_give(&domains, found);
}

API void mstxDomainMarkA(void *domain, const char *text, void *stream) { (void)domain, (void)text, (void)stream; }

API uint64_t mstxDomainRangeStartA(void *domain, const char *text, void *stream) {
    return pool_find(&domains, domain) == NULL ? 0 : start_range(text, stream);
}

API void mstxDomainRangeEnd(void *domain, uint64_t range) { (void)domain, (void)range; }

/* Heaps and regions of allocators are only for checkers of memory; a heap is a number. */
API void *mstxMemHeapRegister(void *domain, const void *description) {
    (void)domain;
    return description == NULL ? NULL : (void *)(uintptr_t)(atomic_fetch_add(&regions, 1) + 1);
}

API void mstxMemHeapUnregister(void *domain, void *heap) { (void)domain, (void)heap; }
API void mstxMemRegionsRegister(void *domain, const void *batch) { (void)domain, (void)batch; }
API void mstxMemRegionsUnregister(void *domain, const void *batch) { (void)domain, (void)batch; }
