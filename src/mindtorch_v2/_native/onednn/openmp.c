/* One pool of threads for everything: oneDNN, as its wheels are built, shares out its work through GCC's OpenMP, whose
   threads would compete with this package's own for the processors, and spin where another process needs one.

   The functions of OpenMP that the library calls stand in its table of addresses, which the loader has filled in. Those
   entries, of this one library, are set to the functions here: a parallel region is then a team of this package's
   threads (common/teams.h). Where the library calls anything of OpenMP that is not here nothing is replaced. */
#include "onednn.h"
#include "common/teams.h"

#if defined(__linux__) && defined(__x86_64__) && defined(__GLIBC__)
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

static const Teams *teams;
static _Thread_local int allowed; /* members of the teams that this thread begins; 0: not said */
static _Thread_local int alone;   /* regions that have begun in this thread without a team */

static int member(void)
{
    return alone ? 0 : teams->member();
}

static int members(void)
{
    return alone ? 1 : teams->members();
}

static int max_threads(void)
{
    return allowed ? allowed : teams->members();
}

static int in_parallel(void)
{
    return members() > 1;
}

static void parallel_start(void (*task)(void *), void *data, unsigned count)
{
    int wanted = count ? (int)count : max_threads();
    if (wanted < 2 || alone || teams->members() > 1)
        alone++;
    else
        teams->begin(task, data, wanted);
}

static void parallel_end(void)
{
    if (alone)
        alone--;
    else
        teams->end();
}

static void parallel(void (*task)(void *), void *data, unsigned count, unsigned flags)
{
    (void)flags;
    parallel_start(task, data, count);
    task(data);
    parallel_end();
}

static void barrier(void)
{
    if (!alone)
        teams->barrier();
}

/* Loops in a region whose rounds are dealt out beforehand: one piece for each member where `chunk` is 0, pieces of that
   length in turn where it is not. */
static _Thread_local struct {
    long start, count, step, chunk, turn;
} dealt;

static bool loop_next(long *begin, long *end)
{
    long each = dealt.chunk, first, last, n = members(), at = member();
    if (each == 0) {
        long rest = dealt.count % n;
        each = dealt.count / n;
        first = at * each + (at < rest ? at : rest);
        last = dealt.turn ? first : first + each + (at < rest);
    } else {
        first = (dealt.turn * n + at) * each;
        last = first + each < dealt.count ? first + each : dealt.count;
    }
    dealt.turn++;
    *begin = dealt.start + first * dealt.step;
    *end = dealt.start + last * dealt.step;
    return first < last;
}

static bool loop_start(long start, long end, long step, long chunk, long *first, long *last)
{
    dealt.start = start;
    dealt.step = step;
    dealt.count = (end - start + step + (step > 0 ? -1 : 1)) / step;
    dealt.count = dealt.count > 0 ? dealt.count : 0;
    dealt.chunk = chunk;
    dealt.turn = 0;
    return loop_next(first, last);
}

static void loop_end(void)
{
}

typedef void (*Function)(void);
static const struct {
    const char *name;
    Function function;
} REPLACED[] = {
    {"omp_get_thread_num", (Function)member},
    {"omp_get_num_threads", (Function)members},
    {"omp_get_max_threads", (Function)max_threads},
    {"omp_in_parallel", (Function)in_parallel},
    {"GOMP_parallel", (Function)parallel},
    {"GOMP_parallel_start", (Function)parallel_start},
    {"GOMP_parallel_end", (Function)parallel_end},
    {"GOMP_barrier", (Function)barrier},
    {"GOMP_loop_static_start", (Function)loop_start},
    {"GOMP_loop_static_next", (Function)loop_next},
    {"GOMP_loop_end_nowait", (Function)loop_end},
};
enum { REPLACED_COUNT = sizeof REPLACED / sizeof *REPLACED };

/* The tables of a loaded library that say which addresses the loader had to fill in. */
typedef struct {
    const ElfW(Rela) * plt, *data;
    size_t plt_count, data_count;
    const ElfW(Sym) * symbols;
    const char *names;
    ElfW(Addr) base;
} Imports;

static bool read_imports(Imports *imports, void *library)
{
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    *imports = (Imports){.base = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        const void *address = (const void *)entry->d_un.d_ptr; /* glibc has made these absolute */
        switch (entry->d_tag) {
        case DT_JMPREL:
            imports->plt = address;
            break;
        case DT_PLTRELSZ:
            imports->plt_count = entry->d_un.d_val / sizeof *imports->plt;
            break;
        case DT_RELA:
            imports->data = address;
            break;
        case DT_RELASZ:
            imports->data_count = entry->d_un.d_val / sizeof *imports->data;
            break;
        case DT_SYMTAB:
            imports->symbols = address;
            break;
        case DT_STRTAB:
            imports->names = address;
            break;
        default:
            break;
        }
    }
    return imports->plt && imports->symbols && imports->names;
}

static bool write_address(ElfW(Addr) * entry, Function function)
{
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)entry / size * size;
    if (mprotect((void *)page, size, PROT_READ | PROT_WRITE) != 0)
        return false;
    memcpy(entry, &function, sizeof function);
    return true; /* the page stays writable: which other pages were protected is the loader's to know */
}

/* Looks at every imported function of OpenMP, and replaces it where `write`; false where one is not here. */
static bool each_import(const Imports *imports, bool write, int *found)
{
    for (int table = 0; table < 2; table++) {
        const ElfW(Rela) *entries = table ? imports->data : imports->plt;
        size_t count = table ? imports->data_count : imports->plt_count;
        for (size_t i = 0; i < count; i++) {
            unsigned long type = ELF64_R_TYPE(entries[i].r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
                continue;
            const char *name = imports->names + imports->symbols[ELF64_R_SYM(entries[i].r_info)].st_name;
            if (strncmp(name, "GOMP_", 5) != 0 && strncmp(name, "omp_", 4) != 0)
                continue;
            int known = 0;
            while (known < REPLACED_COUNT && strcmp(REPLACED[known].name, name) != 0)
                known++;
            if (known == REPLACED_COUNT)
                return false;
            ++*found;
            if (write && !write_address((ElfW(Addr) *)(imports->base + entries[i].r_offset), REPLACED[known].function))
                return false;
        }
    }
    return true;
}

bool openmp_replace(void *library)
{
    Imports imports;
    int found = 0;
    teams = PyCapsule_Import(TEAMS_CAPSULE, 0);
    if (teams == NULL) {
        PyErr_Clear();
        return false;
    }
    return read_imports(&imports, library) && each_import(&imports, false, &found) && found > 0
           && each_import(&imports, true, &found);
}

int openmp_limit(void)
{
    return teams->limit();
}

void openmp_use(int count)
{
    allowed = count;
}
#else
bool openmp_replace(void *library)
{
    (void)library;
    return false;
}

int openmp_limit(void)
{
    return 1;
}

void openmp_use(int count)
{
    (void)count;
}
#endif
