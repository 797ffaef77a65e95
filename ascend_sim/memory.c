/* Device memory: one memfd arena mapped twice. The addresses handed out are PROT_NONE, so the host cannot touch
 * device memory by accident; kernels and copies reach the same pages through a private mapping at a fixed distance.
 * Every block is registered: uses by queued tasks are counted, and freed ranges are remembered for the reports. */
#include "sim.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT 64
#define FREED_KEPT 1024
#define RELEASE_PAGES_FROM ((size_t)64 << 20)

typedef struct {
    Block **items; /* by address; freed blocks stay while a task still holds them */
    size_t count, capacity;
    size_t used;
    uintptr_t base, cursor;
} Space;

ptrdiff_t memory_delta;

static pthread_mutex_t lock = SHORT_LOCK; /* of the registry; a block's state is counted without it */
static pthread_once_t arena_once = PTHREAD_ONCE_INIT;
static uintptr_t arena_base;
static size_t arena_size;
static int arena_fd = -1;
static Space device_space[MAX_DEVICES], pinned_space;
static struct { uintptr_t low, high; uint64_t serial; } freed[FREED_KEPT];
static uint64_t freed_count, next_serial;

static void map_arena(void) {
    const Config *c = config();
    size_t size = c->hbm_bytes * c->device_count;
    arena_fd = memfd_create("ascend_sim", MFD_CLOEXEC);
    if (arena_fd < 0 || ftruncate(arena_fd, (off_t)size) != 0) return;
    char *shown = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, arena_fd, 0);
    char *real = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena_fd, 0);
    if (shown == MAP_FAILED || real == MAP_FAILED) return;
    madvise(shown, size, MADV_DONTFORK);
    madvise(real, size, MADV_DONTFORK);
    madvise(real, size, MADV_DONTDUMP);
    memory_delta = real - shown;
    arena_base = (uintptr_t)shown;
    arena_size = size;
    for (uint32_t i = 0; i < c->device_count; i++) {
        device_space[i].base = device_space[i].cursor = arena_base + i * c->hbm_bytes;
    }
}

/* ---- registry (call with the lock held) -------------------------------------------------------------------------- */
static size_t position(const Space *space, uintptr_t address) { /* first block that starts after `address` */
    size_t low = 0, high = space->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (space->items[middle]->address > address) high = middle;
        else low = middle + 1;
    }
    return low;
}

static Block *find(const Space *space, uintptr_t address) {
    size_t at = position(space, address);
    if (at == 0) return NULL;
    Block *block = space->items[at - 1];
    return address < block->address + block->span ? block : NULL;
}

static Block *insert(Space *space, uintptr_t address, size_t size, size_t span, int device) {
    if (space->count == space->capacity) {
        space->capacity = space->capacity ? space->capacity * 2 : 64;
        space->items = realloc(space->items, space->capacity * sizeof *space->items);
    }
    size_t at = position(space, address);
    memmove(space->items + at + 1, space->items + at, (space->count - at) * sizeof *space->items);
    Block *block = malloc(sizeof *block);
    *block = (Block){address, size, span, device, BLOCK_LIVE, ++next_serial};
    space->items[at] = block;
    space->count++;
    space->used += span;
    return block;
}

static void discard(Space *space, Block *block) {
    size_t at = position(space, block->address) - 1;
    memmove(space->items + at, space->items + at + 1, (space->count - at - 1) * sizeof *space->items);
    space->count--;
    space->used -= block->span;
    if (block->device < 0) {
        munmap((void *)block->address, block->span);
    } else if (block->span >= RELEASE_PAGES_FROM) {
        fallocate(arena_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(block->address - arena_base),
                  (off_t)block->span);
    }
    free(block);
}

/* The first block that ends behind `address`: one that starts there, lies around it, or comes after it. */
static size_t first_behind(const Space *space, uintptr_t address) {
    size_t at = position(space, address);
    if (at > 0 && space->items[at - 1]->address + space->items[at - 1]->span > address) at--;
    return at;
}

static uintptr_t gap(const Space *space, size_t span, uintptr_t from, uintptr_t end) {
    uintptr_t candidate = from;
    for (size_t at = first_behind(space, from); at < space->count && space->items[at]->address < end; at++) {
        const Block *block = space->items[at];
        if (block->address > candidate && block->address - candidate >= span) return candidate;
        candidate = block->address + block->span;
    }
    return end > candidate && end - candidate >= span ? candidate : 0;
}

/* Next fit: an address is not reused before the arena was walked once, so late accesses hit no other block. */
static uintptr_t reserve(Space *space, size_t span) {
    uintptr_t end = space->base + config()->hbm_bytes;
    if (span > config()->hbm_bytes - space->used) return 0;
    uintptr_t address = gap(space, span, space->cursor, end);
    if (address == 0) address = gap(space, span, space->base, end);
    if (address != 0) space->cursor = address + span;
    return address;
}

/* ---- self-check (lock held) ---------------------------------------------------------------------------------------------- */
/* Whether [address, +span) lies inside the space and touches no block: asked before every address is handed out. */
static bool is_vacant(const Space *space, uintptr_t address, size_t span) {
    uintptr_t end = space->base + config()->hbm_bytes;
    if (address < space->base || address > end || span > end - address || address % ALIGNMENT != 0) return false;
    size_t at = first_behind(space, address);
    return at == space->count || space->items[at]->address >= address + span;
}

/* What is wrong with the registry of a space, in words; false where nothing is. */
static bool is_broken(const Space *space, uintptr_t low, uintptr_t high, char *why, size_t why_size) {
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

static bool registry_is_broken(char *why, size_t why_size) {
    for (uint32_t i = 0; arena_size != 0 && i < config()->device_count; i++) {
        const Space *space = &device_space[i];
        if (is_broken(space, space->base, space->base + config()->hbm_bytes, why, why_size)) return true;
    }
    return is_broken(&pinned_space, 0, UINTPTR_MAX, why, why_size);
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

/* ---- classification and use ---------------------------------------------------------------------------------------- */
Place memory_place(const void *pointer, size_t bytes, int *device, char *why, size_t why_size) {
    uintptr_t address = (uintptr_t)pointer;
    Place place = PLACE_PAGEABLE;
    pthread_mutex_lock(&lock);
    if (in_arena(address)) {
        Block *block = find(space_of(address), address);
        *device = (int)(space_of(address) - device_space);
        if (block == NULL || !memory_alive(block)) {
            snprintf(why, why_size, "device address %p is %s", pointer,
                     was_freed(address) ? "used after free" : "in no allocated block");
            place = PLACE_FREED;
        } else if (address + bytes > block->address + block->size) {
            snprintf(why, why_size, "%zu bytes at %p run past the end of a block of %zu bytes", bytes, pointer,
                     block->size);
            place = PLACE_FREED;
        } else {
            place = PLACE_DEVICE;
        }
    } else {
        Block *block = find(&pinned_space, address);
        if (block != NULL && memory_alive(block)) place = PLACE_PINNED;
    }
    pthread_mutex_unlock(&lock);
    return place;
}

Block *memory_use(uintptr_t low, uintptr_t high, int device, char *why, size_t why_size) {
    Block *block = NULL;
    pthread_mutex_lock(&lock);
    if (!in_arena(low)) {
        snprintf(why, why_size, "address %p is not device memory", (void *)low);
    } else {
        block = find(space_of(low), low);
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
    Block *block = find(&pinned_space, (uintptr_t)pointer);
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

/* ---- exported ------------------------------------------------------------------------------------------------------- */
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
    uintptr_t address = reserve(space, span);
    size_t left = config()->hbm_bytes - space->used;
    bool vacant = address == 0 || is_vacant(space, address, span);
    if (address != 0 && vacant) insert(space, address, size, span, device->id);
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
    Block *block = in_arena(address) ? find(space_of(address), address) : NULL;
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
    insert(&pinned_space, (uintptr_t)address, size, span, -1);
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
    Block *block = find(&pinned_space, (uintptr_t)ptr);
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
    Place place = memory_place(ptr, 1, &device, why, sizeof why);
    memset(attributes, 0, sizeof *attributes);
    attributes->device_id = (uint32_t)device;
    attributes->location = place == PLACE_DEVICE ? 1 : place == PLACE_PINNED ? 0 : 2;
    attributes->page_size = 4096;
    return ACL_OK;
}

/* Looks at the whole registry: 0 if blocks are in order, disjoint, inside their space and add up to what is counted; else 1 and why. */
API int32_t simCheckMemory(char *why, size_t size) {
    char text[200] = "";
    pthread_mutex_lock(&lock);
    bool broken = registry_is_broken(text, sizeof text);
    pthread_mutex_unlock(&lock);
    if (why != NULL && size > 0) snprintf(why, size, "%s", text);
    return broken;
}
