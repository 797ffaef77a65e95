/* MSPTI's codes and records, laid out as in the vendor's header. */
#ifndef ASCEND_SIM_MSPTI_H
#define ASCEND_SIM_MSPTI_H

#include "sim.h"

enum { OK = 0, INVALID = 1, MULTIPLE_SUBSCRIBERS = 2, MAX_LIMIT = 3, QUEUE_EMPTY = 5, NOT_PRELOADED = 6, INNER = 999 };
enum {
    KIND_MARKER = 1,
    KIND_KERNEL = 2,
    KIND_HCCL = 4,
    KIND_MEMORY = 5,
    KIND_MEMSET = 6,
    KIND_MEMCPY = 7,
    KIND_EXTERNAL = 8,
    KIND_COMMUNICATION = 9,
    KINDS = 13
};
enum { EXTERNAL_KINDS = 6, EXTERNAL_DEPTH = 256 };

#pragma pack(push, 4)
typedef struct {
    int32_t kind;
    uint64_t start, end;
    struct {
        uint32_t device, stream;
    } ds;
    uint64_t correlation;
    const char *type, *name;
    uint32_t pad;
} KernelRecord;
typedef struct {
    int32_t kind, external_kind;
    uint64_t external_id, correlation;
} ExternalRecord;
typedef struct {
    int32_t kind, what; /* copy kind or fill value */
    uint64_t bytes, start, end;
    uint32_t device, stream;
    uint64_t correlation;
    uint8_t async, pad[7];
} TransferRecord;
typedef struct {
    int32_t kind, operation, memory_kind;
    uint64_t correlation, start, end, address, bytes;
    uint32_t process, device, stream;
} MemoryRecord;
typedef struct {
    int32_t kind, dtype;
    uint64_t count;
    struct {
        uint32_t device, stream;
    } ds;
    uint64_t start, end;
    const char *algorithm, *name, *comm;
    uint64_t correlation;
} CommunicationRecord;
#pragma pack(pop)

_Static_assert(sizeof(KernelRecord) == 56 && offsetof(KernelRecord, start) == 4 && offsetof(KernelRecord, name) == 44,
               "kernel record");
_Static_assert(sizeof(ExternalRecord) == 24 && offsetof(ExternalRecord, correlation) == 16, "external record");
_Static_assert(sizeof(TransferRecord) == 56 && offsetof(TransferRecord, async) == 48, "transfer record");
_Static_assert(sizeof(MemoryRecord) == 64 && offsetof(MemoryRecord, stream) == 60, "memory record");

_Static_assert(sizeof(CommunicationRecord) == 72 && offsetof(CommunicationRecord, correlation) == 64,
               "communication record");

#endif
