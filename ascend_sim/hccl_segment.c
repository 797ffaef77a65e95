/* The shared memory of a communicator: its name, who has joined, waiting for others, noticing that they have died. */
#include "hccl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "ascend_sim_hccl-"
#define MAGIC "ascend_sim HCCL\n"
#define LOOK_NS 50000000ull /* how often a waiting rank looks whether the others live */
#define NAME_BYTES 96

static _Atomic uint32_t serial;

static uint64_t born(int32_t process) { /* start time of a process; 0 for one that is not there or has ended */
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) return 0;
    text[got] = '\0';
    char state = 'X';
    unsigned long long start = 0;
    const char *after = strrchr(text, ')'); /* the name may contain anything */
    const char *skip = " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu";
    if (after == NULL || sscanf(after + 1, skip, &state, &start) != 2) return 0;
    return state == 'Z' || state == 'X' ? 0 : start;
}

static bool lives(const Member *member) { return born(member->process) == member->born; }

/* Names of processes that died before all ranks had joined. */
static void clean_up(void) {
    DIR *folder = opendir("/dev/shm");
    if (folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int process = 0;
        if (sscanf(entry->d_name, PREFIX "%d-", &process) != 1 || born(process) != 0) continue;
        char name[300];
        snprintf(name, sizeof name, "/%s", entry->d_name);
        shm_unlink(name);
    }
    closedir(folder);
}

int segment_create(char *root_info) {
    clean_up();
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "/" PREFIX "%d-%u-%llx", (int)getpid(), atomic_fetch_add(&serial, 1),
             (unsigned long long)host_ns());
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0) return fail(HCCL_SYSTEM_CALL, "HcclGetRootInfo: shm_open(%s): %s", name, strerror(errno));
    int code = ftruncate(file, sizeof(Segment)) == 0 ? HCCL_OK
                                                     : fail(HCCL_SYSTEM_CALL, "HcclGetRootInfo: %s", strerror(errno));
    close(file);
    memset(root_info, 0, ROOT_INFO_BYTES);
    snprintf(root_info, ROOT_INFO_BYTES, MAGIC "%s", name);
    return code;
}

void segment_ring(Segment *segment) {
    atomic_fetch_add(&segment->bell, 1);
    syscall(SYS_futex, &segment->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void name_ranks(uint32_t ranks, const Comm *comm, char *text, size_t size) {
    size_t used = 0;
    for (uint32_t rank = 0; rank < comm->size && used < size; rank++) {
        if ((ranks >> rank & 1) == 0) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%u", used > 0 ? ", " : "", rank);
    }
}

static uint32_t lost(const Comm *comm, uint32_t ranks) { /* of these, those that will never come */
    uint32_t found = 0;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        const Member *member = &comm->segment->members[rank];
        uint32_t state = atomic_load(&member->state);
        if ((ranks >> rank & 1) == 0 || state == MEMBER_ABSENT) continue;
        if (state == MEMBER_GONE || !lives(member)) found |= 1u << rank;
    }
    return found;
}

static bool is_dropped(const Stream *stream) {
    if (stream == NULL) return false;
    pthread_mutex_lock((pthread_mutex_t *)&stream->lock);
    bool dropped = stream->dropping;
    pthread_mutex_unlock((pthread_mutex_t *)&stream->lock);
    return dropped;
}

int segment_wait(Comm *comm, const Stream *stream, MissingFn missing, const void *argument, uint64_t until_ns,
                 char *why, size_t size) {
    Segment *segment = comm->segment;
    uint64_t look = host_ns() + LOOK_NS;
    char names[64];
    for (;;) {
        uint32_t bell = atomic_load(&segment->bell), ranks = missing(comm, argument);
        if (ranks == 0) return HCCL_OK;
        if (atomic_load(&comm->closing) || is_dropped(stream)) {
            snprintf(why, size, "the communicator was destroyed meanwhile");
            return HCCL_SUSPENDING;
        }
        uint64_t now = host_ns();
        if (now >= look) {
            look = now + LOOK_NS;
            uint32_t dead = lost(comm, ranks);
            if (dead != 0 && missing(comm, argument) != 0) { /* it may have done its part just before */
                name_ranks(dead, comm, names, sizeof names);
                snprintf(why, size, "rank %s has ended or left the communicator", names);
                return HCCL_REMOTE;
            }
        }
        if (until_ns != 0 && now >= until_ns) {
            name_ranks(ranks, comm, names, sizeof names);
            snprintf(why, size, "rank %s did not take part in time", names);
            return HCCL_TIMEOUT;
        }
        struct timespec pause = {0, (long)LOOK_NS};
        syscall(SYS_futex, &segment->bell, FUTEX_WAIT, bell, &pause, NULL, 0);
    }
}

static uint32_t not_joined(const Comm *comm, const void *argument) {
    (void)argument;
    uint32_t missing = 0;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        if (atomic_load(&comm->segment->members[rank].state) == MEMBER_ABSENT) missing |= 1u << rank;
    }
    return missing;
}

static int check_members(const Comm *comm) {
    const Member *members = comm->segment->members;
    for (uint32_t rank = 0; rank < comm->size; rank++) {
        if (members[rank].world != comm->size) {
            return fail(HCCL_PARAMETER, "HcclCommInitRootInfo: rank %u expects %u ranks, rank %u expects %u",
                        comm->rank, comm->size, rank, members[rank].world);
        }
        for (uint32_t other = 0; other < rank; other++) {
            if (members[other].device != members[rank].device) continue;
            return fail(
                HCCL_PARAMETER,
                "HcclCommInitRootInfo: ranks %u and %u are both on device %d; each rank needs a device of its own",
                other, rank, members[rank].device);
        }
    }
    return HCCL_OK;
}

static uint64_t connect_timeout(void) { /* the vendor's variable, in seconds */
    const char *text = getenv("HCCL_CONNECT_TIMEOUT");
    double seconds = text != NULL ? strtod(text, NULL) : 0;
    return (uint64_t)((seconds > 0 ? seconds : 120) * 1e9);
}

int segment_join(Comm *comm, const char *root_info) {
    char name[NAME_BYTES];
    size_t head = strlen(MAGIC);
    if (memcmp(root_info, MAGIC, head) != 0) return fail(HCCL_PARAMETER, "HcclCommInitRootInfo: this is no root info");
    snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, root_info + head);
    int file = shm_open(name, O_RDWR, 0600);
    if (file < 0)
        return fail(HCCL_PARAMETER, "HcclCommInitRootInfo: %s is not there (used before, or its process has ended)",
                    name);
    void *memory = mmap(NULL, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return fail(HCCL_SYSTEM_CALL, "HcclCommInitRootInfo: %s", strerror(errno));
    comm->segment = memory;
    Member *own = &comm->segment->members[comm->rank];
    int32_t nobody = 0;
    if (!atomic_compare_exchange_strong(&own->process, &nobody, (int32_t)getpid())) {
        munmap(memory, sizeof(Segment));
        return fail(HCCL_PARAMETER, "HcclCommInitRootInfo: rank %u has joined already", comm->rank);
    }
    own->born = born(own->process);
    own->device = comm->device;
    own->world = comm->size;
    atomic_store(&own->state, MEMBER_JOINED);
    segment_ring(comm->segment);
    char why[200];
    int code = segment_wait(comm, NULL, not_joined, NULL, host_ns() + connect_timeout(), why, sizeof why);
    if (code != HCCL_OK) fail(code, "HcclCommInitRootInfo: %s", why);
    shm_unlink(name); /* all hold the memory, or never will; another rank may have been quicker */
    if (code == HCCL_OK) code = check_members(comm);
    if (code != HCCL_OK) segment_leave(comm);
    return code;
}

void segment_leave(Comm *comm) {
    atomic_store(&comm->segment->members[comm->rank].state, MEMBER_GONE);
    segment_ring(comm->segment);
    munmap(comm->segment, sizeof(Segment));
    comm->segment = NULL;
}
