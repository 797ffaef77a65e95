/* The device clock: its own epoch, a drift in parts per million, a resolution of one 20 ns tick. */
#include "sim.h"

#include <time.h>

static uint64_t base_monotonic, base_realtime;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* One clock cannot be read at the moment of the other: the narrowest of several readings between two of the other clock
 * is taken, so that a process that is interrupted here does not shift all stamps. */
static void anchor(void) {
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 32; i++) {
        uint64_t before = read_clock(CLOCK_MONOTONIC), realtime = read_clock(CLOCK_REALTIME);
        uint64_t width = read_clock(CLOCK_MONOTONIC) - before;
        if (width >= narrowest) continue;
        narrowest = width;
        base_monotonic = before + width / 2;
        base_realtime = realtime;
    }
}

uint64_t host_ns(void) { return read_clock(CLOCK_MONOTONIC); }

static uint64_t since_anchor(void) {
    pthread_once(&once, anchor);
    return read_clock(CLOCK_MONOTONIC) - base_monotonic;
}

uint64_t device_tick(int device) {
    const Config *c = config();
    double drifted = (double)since_anchor() * (1.0 + c->clock_ppm * 1e-6);
    /* devices were not booted at the same moment */
    uint64_t epoch = (uint64_t)c->clock_epoch_ns + (uint64_t)device * 7000000000ull;
    return (epoch + (uint64_t)drifted) / TICK_NS;
}

uint64_t activity_ns(void) {
    uint64_t elapsed = since_anchor();
    return (base_realtime + elapsed + (uint64_t)config()->mspti_offset_ns) / TICK_NS * TICK_NS;
}

/* The vendor's library reads the device's counter and the host's time together every few seconds, and counts on from
 * there with what it takes for the counter's frequency. Between two such moments its stamps drift away, at each they
 * jump back. */
uint64_t kernel_stamp(uint64_t at, uint64_t known_at) {
    pthread_once(&once, anchor);
    const Config *c = config();
    uint64_t from = base_monotonic;
    double rate = 1.0;
    if (c->mspti_mode == MSPTI_VENDOR) {
        from += (known_at - base_monotonic) / c->mspti_anchor_ns * c->mspti_anchor_ns;
        rate += c->clock_ppm * 1e-6;
    }
    int64_t counted = (int64_t)((double)((int64_t)(at - from)) * rate) + c->mspti_offset_ns;
    return (base_realtime + (from - base_monotonic) + (uint64_t)counted) / TICK_NS * TICK_NS;
}

void deadline_after(struct timespec *when, int64_t ms) {
    uint64_t at = host_ns() + (uint64_t)ms * 1000000ull;
    when->tv_sec = (time_t)(at / 1000000000ull);
    when->tv_nsec = (long)(at % 1000000000ull);
}

void cond_init_monotonic(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void device_delay(uint64_t ns) {
    if (ns == 0) return;
    uint64_t at = host_ns() + ns;
    struct timespec when = {(time_t)(at / 1000000000ull), (long)(at % 1000000000ull)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0) {}
}
