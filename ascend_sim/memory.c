/* Device memory: one memfd arena mapped twice. The addresses handed out are PROT_NONE, so the host cannot touch
 * device memory by accident; kernels and copies reach the same pages through a private mapping at a fixed distance.
 * Every block is registered: uses by queued tasks are counted, and freed ranges are remembered for the reports. */
#include "spaces.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define FREED_KEPT 1024
#define RELEASE_PAGES_FROM ((size_t)64 << 20)

ptrdiff_t memory_delta;

static pthread_mutex_t lock = SHORT_LOCK; /* of the registry; a block's state is counted without it */
static pthread_once_t arena_once = PTHREAD_ONCE_INIT;
static uintptr_t arena_base;
static size_t arena_size;
static int arena_fd = -1;
static Space device_space[MAX_DEVICES], pinned_space;
static struct {
    uintptr_t low, high;
    uint64_t serial;
} freed[FREED_KEPT];
static uint64_t freed_count;

static void map_arena(void) {
    const Config *c = config();
    size_t size = c->hbm_bytes * c->device_count;
    arena_fd = memfd_create("ascend_sim", MFD_CLOEXEC);
    if (arena_fd < 0 || ftruncate(arena_fd, (off_t)size) != 0) return;
    char *handed_out = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, arena_fd, 0);
    char *real = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena_fd, 0);
    if (handed_out == MAP_FAILED || real == MAP_FAILED) return;
    madvise(handed_out, size, MADV_DONTFORK);
    madvise(real, size, MADV_DONTFORK);
    madvise(real, size, MADV_DONTDUMP);
    memory_delta = real - handed_out;
    arena_base = (uintptr_t)handed_out;
    arena_size = size;
    for (uint32_t i = 0; i < c->device_count; i++) {
        device_space[i].base = device_space[i].cursor = arena_base + i * c->hbm_bytes;
    }
}

/* ---- registry (call with the lock held) -------------------------------------------------------- */
static void discard(Space *space, Block *block) {
    space_remove(space, block);
    if (block->device < 0) {
        munmap((void *)block->address, block->span);
    } else if (block->span >= RELEASE_PAGES_FROM) {
        fallocate(arena_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(block->address - arena_base),
                  (off_t)block->span);
    }
    free(block);
}

/* ---- self-check (lock held) ------------------------------------------------------------------ */
static bool registry_is_broken(char *why, size_t why_size) {
    for (uint32_t i = 0; arena_size != 0 && i < config()->device_count; i++) {
        const Space *space = &device_space[i];
        if (space_is_broken(space, space->base, space->base + config()->hbm_bytes, why, why_size)) return true;
    }
    return space_is_broken(&pinned_space, 0, UINTPTR_MAX, why, why_size);
}

/* With ASCEND_SIM_CHECK=1 the whole registry is looked at after every change. */
static void self_check(const char *after) {
    char why[200];
    if (config()->check && registry_is_broken(why, sizeof why)) violation("memory registry after %s: %s", after, why);
}

static void remember_freed(const Block *block) {
    size_t slot = freed_count++ % FREED_KEPT;
    freed[slot].low = block->address;
    freed[slot].high = block->address + block->span;
    freed[slot].serial = block->serial;
}

static bool was_freed(uintptr_t address) {
    uint64_t kept = freed_count < FREED_KEPT ? freed_count : FREED_KEPT;
    for (uint64_t i = 0; i < kept; i++) {
        if (address >= freed[i].low && address < freed[i].high) return true;
    }
    return false;
}

static bool in_arena(uintptr_t address) { return arena_size != 0 && address - arena_base < arena_size; }

static Space *space_of(uintptr_t address) { return &device_space[(address - arena_base) / config()->hbm_bytes]; }

/* ---- classification and use -------------------------------------------------------------------- */
Region memory_region(const void *pointer, size_t bytes, int *device, char *why, size_t why_size) {
    uintptr_t address = (uintptr_t)pointer;
    Region region = REGION_PAGEABLE;
    pthread_mutex_lock(&lock);
    if (in_arena(address)) {
        Block *block = space_find(space_of(address), address);
        *device = (int)(space_of(address) - device_space);
        if (block == NULL || !memory_alive(block)) {
            snprintf(why, why_size, "device address %p is %s", pointer,
                     was_freed(address) ? "used after free" : "in no allocated block");
            region = REGION_FREED;
        } else if (address + bytes > block->address + block->size) {
            snprintf(why, why_size, "%zu bytes at %p run past the end of a block of %zu bytes", bytes, pointer,
                     block->size);
            region = REGION_FREED;
        } else {
            region = REGION_DEVICE;
        }
    } else {
        Block *block = space_find(&pinned_space, address);
        if (block != NULL && memory_alive(block)) region = REGION_PINNED;
    }
    pthread_mutex_unlock(&lock);
    return region;
}

Block *memory_use(uintptr_t low, uintptr_t high, int device, char *why, size_t why_size) {
    Block *block = NULL;
    pthread_mutex_lock(&lock);
    if (!in_arena(low)) {
        snprintf(why, why_size, "address %p is not device memory", (void *)low);
    } else {
        block = space_find(space_of(low), low);
        if (block == NULL || !memory_alive(block)) {
            snprintf(why, why_size, "device address %p is %s", (void *)low,
                     was_freed(low) ? "used after free" : "in no allocated block");
            block = NULL;
        } else if (high > block->address + block->size) {
            snprintf(why, why_size, "access up to %p runs past the block [%p, +%zu]", (void *)high,
                     (void *)block->address, block->size);
            block = NULL;
        } else if (block->device != device) {
            snprintf(why, why_size, "address %p belongs to device %d, the stream to device %d", (void *)low,
                     block->device, device);
            block = NULL;
        } else {
            atomic_fetch_add(&block->state, BLOCK_USE);
        }
    }
    pthread_mutex_unlock(&lock);
    return block;
}

Block *memory_use_pinned(const void *pointer) {
    pthread_mutex_lock(&lock);
    Block *block = space_find(&pinned_space, (uintptr_t)pointer);
    if (block != NULL && !memory_alive(block)) block = NULL;
    if (block != NULL) atomic_fetch_add(&block->state, BLOCK_USE);
    pthread_mutex_unlock(&lock);
    return block;
}

void memory_unuse(Block **blocks, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        Block *block = blocks[i];
        if (atomic_fetch_sub(&block->state, BLOCK_USE) != BLOCK_USE) continue;
        pthread_mutex_lock(&lock); /* freed, and this was the last use: nobody else knows the block */
        discard(block->device < 0 ? &pinned_space : &device_space[block->device], block);
        self_check("a task's end");
        pthread_mutex_unlock(&lock);
    }
}

/* Takes the life of a block; gives how many tasks still use it. At zero it is gone. */
static uint32_t end_block(Space *space, Block *block) { /* lock held */
    remember_freed(block);
    count(&counters.live_bytes, -(int64_t)block->span);
    uint32_t left = atomic_fetch_sub(&block->state, BLOCK_LIVE) - BLOCK_LIVE;
    if (left == 0) discard(space, block);
    return left / BLOCK_USE;
}

void memory_reset_device(int device) {
    Space *space = &device_space[device];
    pthread_mutex_lock(&lock);
    for (size_t i = space->count; i-- > 0;) {
        Block *block = space->items[i];
        if (memory_alive(block)) end_block(space, block);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- exported ---------------------------------------------------------------------------------- */
static void note_peak(void) {
    uint64_t live = atomic_load(&counters.live_bytes), peak = atomic_load(&counters.peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&counters.peak_bytes, &peak, live)) {}
}

API int32_t aclrtMalloc(void **ptr, size_t size, int32_t policy) {
    (void)policy;
    REQUIRE(ptr);
    *ptr = NULL;
    if (size == 0) return fail(ACL_INVALID_PARAM, "aclrtMalloc: size must be greater than zero");
    Device *device = NULL;
    int code = current_device(&device);
    if (code != 0) return code;
    pthread_once(&arena_once, map_arena);
    if (arena_size == 0) return fail(RT_INTERNAL, "aclrtMalloc: the arena could not be mapped");
    uint64_t start = mspti_wants_memory() ? activity_ns() : 0;
    Space *space = &device_space[device->id];
    if (size > config()->hbm_bytes) {
        return fail(RT_OUT_OF_MEMORY, "aclrtMalloc: %zu bytes asked, the device has %zu", size, config()->hbm_bytes);
    }
    size_t span = ((size + 31) / 32 * 32 + 32 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    pthread_mutex_lock(&lock);
    uintptr_t address = space_reserve(space, span);
    size_t left = config()->hbm_bytes - space->used;
    bool vacant = address == 0 || space_is_vacant(space, address, span);
    if (address != 0 && vacant) space_insert(space, address, size, span, device->id);
    self_check("aclrtMalloc");
    pthread_mutex_unlock(&lock);
    if (!vacant) {
        violation("aclrtMalloc: %zu bytes at %p are in use", span, (void *)address);
        return fail(RT_INTERNAL, "aclrtMalloc: the allocator of the simulator chose memory that is in use");
    }
    if (address == 0) {
        return fail(RT_OUT_OF_MEMORY, "aclrtMalloc: out of memory on device %d: %zu bytes asked, %zu free", device->id,
                    size, left);
    }
    if (config()->fill) memset(device_pointer((void *)address), 0xFF, span);
    count(&counters.allocs, 1);
    count(&counters.alloc_bytes, (int64_t)size);
    count(&counters.live_bytes, (int64_t)span);
    note_peak();
    if (start != 0) mspti_memory(false, address, size, device->id, start, activity_ns());
    *ptr = (void *)address;
    return ACL_OK;
}

API int32_t aclrtMallocAlign32(void **ptr, size_t size, int32_t policy) { return aclrtMalloc(ptr, size, policy); }

API int32_t aclrtFree(void *ptr) {
    REQUIRE(ptr);
    if (runtime_usable() != 0) return runtime_usable();
    uintptr_t address = (uintptr_t)ptr;
    pthread_mutex_lock(&lock);
    Block *block = in_arena(address) ? space_find(space_of(address), address) : NULL;
    if (block == NULL || !memory_alive(block) || block->address != address) {
        bool twice = in_arena(address) && was_freed(address);
        pthread_mutex_unlock(&lock);
        violation("aclrtFree(%p): %s", ptr, twice ? "freed twice" : "not the start of a block");
        return fail(RT_PARAM_INVALID, "aclrtFree(%p): %s", ptr, twice ? "freed twice" : "not the start of a block");
    }
    size_t size = block->size;
    int device = block->device;
    uint32_t pending = end_block(&device_space[device], block);
    self_check("aclrtFree");
    pthread_mutex_unlock(&lock);
    count(&counters.frees, 1);
    if (mspti_wants_memory()) mspti_memory(true, address, size, device, activity_ns(), activity_ns());
    if (pending == 0) return ACL_OK;
    violation("aclrtFree(%p): %u queued task(s) still use this block of %zu bytes", ptr, pending, size);
    return fail(RT_INTERNAL, "aclrtFree(%p): %u queued task(s) still use this block", ptr, pending);
}

API int32_t aclrtMallocHost(void **ptr, size_t size) {
    REQUIRE(ptr);
    *ptr = NULL;
    if (size == 0) return fail(ACL_INVALID_PARAM, "aclrtMallocHost: size must be greater than zero");
    Device *device = NULL;
    int code = current_device(&device);
    if (code != 0) return code;
    size_t span = (size + 4095) / 4096 * 4096;
    void *address = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) return fail(RT_OUT_OF_MEMORY, "aclrtMallocHost: no host memory for %zu bytes", size);
    pthread_mutex_lock(&lock);
    space_insert(&pinned_space, (uintptr_t)address, size, span, -1);
    self_check("aclrtMallocHost");
    pthread_mutex_unlock(&lock);
    count(&counters.pinned_allocs, 1);
    *ptr = address;
    return ACL_OK;
}

API int32_t aclrtFreeHost(void *ptr) {
    REQUIRE(ptr);
    if (runtime_usable() != 0) return runtime_usable();
    pthread_mutex_lock(&lock);
    Block *block = space_find(&pinned_space, (uintptr_t)ptr);
    if (block == NULL || !memory_alive(block) || block->address != (uintptr_t)ptr) {
        pthread_mutex_unlock(&lock);
        return fail(RT_PARAM_INVALID, "aclrtFreeHost(%p): not a pinned block", ptr);
    }
    uint32_t left = atomic_fetch_sub(&block->state, BLOCK_LIVE) - BLOCK_LIVE, pending = left / BLOCK_USE;
    if (left == 0) discard(&pinned_space, block);
    self_check("aclrtFreeHost");
    pthread_mutex_unlock(&lock);
    count(&counters.pinned_frees, 1);
    if (pending == 0) return ACL_OK;
    violation("aclrtFreeHost(%p): %u queued task(s) still use this block", ptr, pending);
    return fail(RT_INTERNAL, "aclrtFreeHost(%p): %u queued task(s) still use this block", ptr, pending);
}

API int32_t aclrtGetMemInfo(int32_t attribute, size_t *free_bytes, size_t *total) {
    REQUIRE(free_bytes);
    REQUIRE(total);
    Device *device = NULL;
    int code = current_device(&device);
    if (code != 0) return code;
    bool hbm = attribute == 1 || attribute == 5 || attribute == 6 || attribute == 7 || attribute == 8;
    pthread_mutex_lock(&lock);
    *total = hbm ? config()->hbm_bytes : 0;
    *free_bytes = hbm ? *total - device_space[device->id].used : 0;
    pthread_mutex_unlock(&lock);
    return ACL_OK;
}

typedef struct {
    uint32_t device_id;
    int32_t location; /* 0 host, 1 device, 2 not registered */
    uint32_t page_size, reserved[4];
} PointerAttributes;

API int32_t aclrtPointerGetAttributes(const void *ptr, PointerAttributes *attributes) {
    REQUIRE(ptr);
    REQUIRE(attributes);
    char why[160];
    int device = 0;
    Region region = memory_region(ptr, 1, &device, why, sizeof why);
    memset(attributes, 0, sizeof *attributes);
    attributes->device_id = (uint32_t)device;
    attributes->location = region == REGION_DEVICE ? 1 : region == REGION_PINNED ? 0 : 2;
    attributes->page_size = 4096;
    return ACL_OK;
}

/* Looks at the whole registry: 0 if blocks are in order, disjoint, inside their space and add up to what is counted;
 * else 1 and why. */
API int32_t simCheckMemory(char *why, size_t size) {
    char text[200] = "";
    pthread_mutex_lock(&lock);
    bool broken = registry_is_broken(text, sizeof text);
    pthread_mutex_unlock(&lock);
    if (why != NULL && size > 0) snprintf(why, size, "%s", text);
    return broken;
}
