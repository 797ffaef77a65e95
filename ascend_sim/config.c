/* Configuration from the environment, read at the first use. */
#include "sim.h"

static const SocProfile profiles[] = {
    /* name          bf16   f32    mspti  events streams cores vector */
    {"Ascend910B1", true, true, true, 65536, 1984, 24, 48},
    {"Ascend910B2", true, true, true, 65536, 1984, 24, 48},
    {"Ascend910B3", true, true, true, 65536, 1984, 20, 40},
    {"Ascend910B4", true, true, true, 65536, 1984, 20, 40},
    {"Ascend910_9391", true, true, true, 65536, 1984, 24, 48},
    {"Ascend910A", false, false, false, 65535, 2048, 32, 32},
    {"Ascend910B", false, false, false, 65535, 2048, 32, 32}, /* of the first generation too */
    {"Ascend910ProA", false, false, false, 65535, 2048, 32, 32},
    {"Ascend910ProB", false, false, false, 65535, 2048, 32, 32},
    {"Ascend910PremiumA", false, false, false, 65535, 2048, 32, 32},
    {"Ascend310P3", false, false, false, 1023, 1024, 8, 8},
};

static Config instance;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double number(const char *name, double fallback) {
    const char *text = getenv(name);
    if (text == NULL || *text == '\0') return fallback;
    char *end;
    double value = strtod(text, &end);
    switch (*end) {
    case 'k':
    case 'K': return value * 1024.0;
    case 'm':
    case 'M': return value * 1024.0 * 1024.0;
    case 'g':
    case 'G': return value * 1024.0 * 1024.0 * 1024.0;
    default: return value;
    }
}

static SocProfile choose_soc(void) {
    const char *wanted = getenv("ASCEND_SIM_SOC");
    if (wanted == NULL || *wanted == '\0') return profiles[0];
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        const char *name = profiles[i].name;
        if (strcmp(wanted, name) == 0 || strcmp(wanted, name + strlen("Ascend")) == 0) return profiles[i];
    }
    if (strcmp(wanted, "310P") == 0) return profiles[sizeof profiles / sizeof *profiles - 1];
    fprintf(stderr, "ascend_sim: unknown ASCEND_SIM_SOC=%s, using %s\n", wanted, profiles[0].name);
    return profiles[0];
}

static MsptiMode choose_mspti(void) {
    const char *mode = getenv("ASCEND_SIM_MSPTI");
    if (mode != NULL && strcmp(mode, "vendor") == 0) return MSPTI_VENDOR;
    if (mode != NULL && strcmp(mode, "nopreload") == 0) return MSPTI_NOT_PRELOADED;
    if (mode != NULL && strcmp(mode, "absent") == 0) return MSPTI_ABSENT;
    return MSPTI_ON;
}

static void load(void) {
    Config *c = &instance;
    c->soc = choose_soc();
    c->device_count = (uint32_t)number("ASCEND_SIM_DEVICES", 2);
    if (c->device_count > MAX_DEVICES) c->device_count = MAX_DEVICES;
    c->hbm_bytes = (size_t)number("ASCEND_SIM_HBM", 4.0 * 1024 * 1024 * 1024);
    c->hbm_bytes = (c->hbm_bytes + 4095) / 4096 * 4096;
    c->queue_depth = (uint32_t)number("ASCEND_SIM_QUEUE_DEPTH", 4096);
    if (c->queue_depth == 0) c->queue_depth = 1;
    c->max_events = (uint32_t)number("ASCEND_SIM_MAX_EVENTS", c->soc.max_events);
    c->max_streams = (uint32_t)number("ASCEND_SIM_MAX_STREAMS", c->soc.max_streams);
    c->clock_epoch_ns = (int64_t)number("ASCEND_SIM_CLOCK_EPOCH_NS", 3.6e12);
    c->clock_ppm = number("ASCEND_SIM_CLOCK_PPM", 40.0);
    c->mspti_offset_ns = (int64_t)number("ASCEND_SIM_MSPTI_OFFSET_NS", 0);
    c->kernel_delay_ns = (uint64_t)(number("ASCEND_SIM_KERNEL_DELAY_US", 0) * 1000);
    c->copy_delay_ns = (uint64_t)(number("ASCEND_SIM_COPY_DELAY_US", 0) * 1000);
    c->hccl_delay_ns = (uint64_t)(number("ASCEND_SIM_HCCL_DELAY_US", 0) * 1000);
    c->copy_gbps = number("ASCEND_SIM_COPY_GBPS", 0);
    c->mspti_delay_ms = (uint32_t)number("ASCEND_SIM_MSPTI_DELAY_MS", 5);
    c->mspti_piece = (uint32_t)number("ASCEND_SIM_MSPTI_PIECE", 256);
    if (c->mspti_piece == 0) c->mspti_piece = 1;
    c->mspti_mode = choose_mspti();
    c->mspti_anchor_ns = (uint64_t)(number("ASCEND_SIM_MSPTI_ANCHOR_MS", 7000) * 1e6);
    if (c->mspti_anchor_ns == 0) c->mspti_anchor_ns = 1;
    c->quiet = number("ASCEND_SIM_QUIET", 0) != 0;
    c->fill = number("ASCEND_SIM_FILL", 1) != 0;
    c->check = number("ASCEND_SIM_CHECK", 0) != 0;
}

Config *config(void) {
    pthread_once(&once, load);
    return &instance;
}

/* ---- data types -------------------------------------------------------------------------------- */
size_t dtype_size(int dtype) {
    switch (dtype) {
    case DT_FLOAT:
    case DT_INT32: return 4;
    case DT_FLOAT16:
    case DT_BF16:
    case DT_INT16: return 2;
    case DT_INT64:
    case DT_DOUBLE: return 8;
    case DT_INT8:
    case DT_UINT8:
    case DT_BOOL: return 1;
    default: return 0;
    }
}

const char *dtype_name(int dtype) {
    switch (dtype) {
    case DT_FLOAT: return "FLOAT";
    case DT_FLOAT16: return "FLOAT16";
    case DT_BF16: return "BFLOAT16";
    case DT_INT8: return "INT8";
    case DT_INT16: return "INT16";
    case DT_INT32: return "INT32";
    case DT_INT64: return "INT64";
    case DT_UINT8: return "UINT8";
    case DT_DOUBLE: return "DOUBLE";
    case DT_BOOL: return "BOOL";
    default: return "unsupported type";
    }
}
