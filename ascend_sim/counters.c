/* Counters for tests: read one by name. */
#include "sim.h"

Counters counters;

static const struct {
    const char *name;
    size_t offset;
} names[] = {
#define FIELD(f)                                                                                                       \
    { #f, offsetof(Counters, f) }
    FIELD(allocs),        FIELD(frees),        FIELD(alloc_bytes),   FIELD(live_bytes),      FIELD(peak_bytes),
    FIELD(pinned_allocs), FIELD(pinned_frees), FIELD(launches),      FIELD(kernels_started), FIELD(kernels_done),
    FIELD(copies),        FIELD(memsets),      FIELD(tasks_skipped), FIELD(faults),          FIELD(violations),
    FIELD(tensors_live),  FIELD(scalars_live), FIELD(arrays_live),   FIELD(lists_live),      FIELD(executors_live),
    FIELD(streams_made),  FIELD(events_made),  FIELD(records),       FIELD(host_calls),
#undef FIELD
};

/* UINT64_MAX for an unknown name. */
API uint64_t simCounter(const char *name) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) == 0) {
            return atomic_load((_Atomic uint64_t *)((char *)&counters + names[i].offset));
        }
    }
    return UINT64_MAX;
}

/* Name of the counter with this index, or NULL: lets a test list them all. */
API const char *simCounterName(uint32_t index) {
    return index < sizeof names / sizeof *names ? names[index].name : NULL;
}

/* Blocks and objects that were created and not released. */
API uint64_t simLeaks(void) {
    uint64_t blocks = counters.allocs - counters.frees + (counters.pinned_allocs - counters.pinned_frees);
    return blocks + counters.tensors_live + counters.scalars_live + counters.arrays_live + counters.lists_live +
           counters.executors_live;
}

API void simResetCounters(void) { /* what is live stays counted */
    _Atomic uint64_t *flows[] = {
        &counters.launches, &counters.kernels_done, &counters.copies,  &counters.memsets,    &counters.tasks_skipped,
        &counters.faults,   &counters.violations,   &counters.records, &counters.host_calls, &counters.alloc_bytes};
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++) atomic_store(flows[i], 0);
    atomic_store(&counters.peak_bytes, atomic_load(&counters.live_bytes));
}
