/* Sharing loops among threads: a handful of workers that wait for a job, started when the first long loop comes.

   There is one job at a time; a second thread that comes with a loop meanwhile runs it alone. Whoever brings the job
   works on it too and does not wait for workers that have not begun, so that a machine without idle processors loses
   nothing by those. A worker that has begun may lose its processor to another process, and whoever brought the job
   waits: where sharing took longer than the job would have taken alone on a processor of its own, nothing is shared for
   a while, twice as long each time. After a fork the child begins without workers.

   A worker that is done looks for the next job for a while before it sleeps, as the operators of a model follow each
   other within microseconds and waking a thread costs tens of them; not where sharing was slower lately.

   A job is a loop that is cut into pieces, or the work of a team: a function that is called once for every member, for
   a library that shares out its work itself (common/teams.h). */
#include "kernels.h"
#include "common/teams.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_THREADS 64
#define RELEASE_NS 20e3    /* loops below this keep the interpreter lock */
#define LEAST_ALONE_NS 1e6 /* for how long nothing is shared after sharing was slower */
#define MOST_ALONE_NS 64e6 /* losing a processor costs a few milliseconds: one try in so long is little */
#define NOTICED_NS 30e3    /* by how much sharing must be slower to count; waking a worker in vain costs less */
#define SHARE_NS 60e3      /* loops below this are not shared: waking a thread costs some microseconds */
#define LOOK_NS 200e3      /* how long a worker looks for the next job */
#define MEET_NS 50e3       /* how long whoever brought a job, and a member at a barrier, looks before it sleeps */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static atomic_int wanted = 1; /* threads that may work, the caller's included */
static int started;           /* workers that exist */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static atomic_llong alone_until; /* nothing is shared before this time, in nanoseconds */
static atomic_llong alone_for;   /* how long that was, 0 once sharing paid again; whoever holds `busy` changes it */
static _Thread_local Py_ssize_t slot;         /* 0 for whoever brings a job, workers count from 1 */
static _Thread_local int member, members = 1; /* of the team that this thread works in */

static struct {
    loop_function loop; /* NULL: the work of a team */
    const void *argument;
    void (*task)(void *);
    void *data;
    Py_ssize_t count, piece;
    atomic_ptrdiff_t next;
    atomic_ulong number; /* of the job, so that a worker takes part once */
    bool open;
    int free_seats, asleep; /* asleep: workers that must be woken */
    atomic_int active;
    double begun, own;
} job;

static struct {
    atomic_int arrived;
    atomic_uint round;
} barrier;

static double nanoseconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pause_shortly(void)
{
#ifdef MINDTORCH_X86
    __builtin_ia32_pause();
#endif
}

static void run_member(Py_ssize_t number)
{
    int member_before = member, members_before = members;
    member = (int)number;
    members = (int)job.count;
    job.task(job.data);
    member = member_before;
    members = members_before;
}

/* Works on pieces of the job until there are none; how many rounds that were. */
static Py_ssize_t work(void)
{
    for (Py_ssize_t rounds = 0;;) {
        Py_ssize_t begin = atomic_fetch_add(&job.next, job.piece);
        if (begin >= job.count)
            return rounds;
        Py_ssize_t end = begin + job.piece < job.count ? begin + job.piece : job.count;
        if (job.loop)
            job.loop(job.argument, begin, end);
        else
            run_member(begin);
        rounds += end - begin;
    }
}

/* Learns from a job of which the bringer did `rounds` in `own` nanoseconds of processor time, and which is done now. */
static void judge(Py_ssize_t rounds, double own, double now)
{
    double alone = own * (double)job.count / (double)(rounds > 0 ? rounds : 1);
    long long after = atomic_load(&alone_for);
    if (rounds == 0 || now - job.begun <= alone + NOTICED_NS) {
        atomic_store(&alone_for, after / 2 < (long long)LEAST_ALONE_NS ? 0 : after / 2);
        return;
    }
    after = 2 * after < (long long)LEAST_ALONE_NS ? (long long)LEAST_ALONE_NS : 2 * after;
    after = after < (long long)MOST_ALONE_NS ? after : (long long)MOST_ALONE_NS;
    atomic_store(&alone_for, after);
    atomic_store(&alone_until, (long long)now + after);
}

/* Looks for a job that comes soon. */
static void look_for_job(unsigned long seen)
{
    if (atomic_load(&alone_for) > 0)
        return;
    double until = nanoseconds_of(CLOCK_MONOTONIC) + LOOK_NS;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load(&job.number) != seen)
                return;
            pause_shortly();
        }
    } while (nanoseconds_of(CLOCK_MONOTONIC) < until);
}

static void *worker(void *number)
{
    slot = (Py_ssize_t)(intptr_t)number;
    unsigned long seen = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!job.open || atomic_load(&job.number) == seen || job.free_seats == 0) {
            job.asleep++;
            pthread_cond_wait(&wake, &lock);
            job.asleep--;
        }
        seen = atomic_load(&job.number);
        job.free_seats--;
        atomic_fetch_add(&job.active, 1);
        pthread_mutex_unlock(&lock);
        work();
        pthread_mutex_lock(&lock);
        if (atomic_fetch_sub(&job.active, 1) == 1)
            pthread_cond_signal(&done);
        pthread_mutex_unlock(&lock);
        look_for_job(seen);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

/* Starts workers until there are enough; where that fails there are fewer. Signals stay with Python's threads. */
static void start_workers(int enough)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    if (pthread_attr_init(&detached) == 0) {
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        pthread_t thread;
        while (started < enough && pthread_create(&thread, &detached, worker, (void *)(intptr_t)(started + 1)) == 0)
            started++;
        pthread_attr_destroy(&detached);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Offers the rounds of a job from `first` on to `helpers` workers; `busy` is held. */
static void offer(loop_function loop, const void *argument, Py_ssize_t first, Py_ssize_t count, Py_ssize_t piece,
                  int helpers)
{
    pthread_mutex_lock(&lock);
    if (started < helpers)
        start_workers(helpers);
    job.loop = loop;
    job.argument = argument;
    job.count = count;
    job.piece = piece;
    atomic_store(&job.next, first);
    job.free_seats = helpers;
    job.open = true;
    atomic_fetch_add(&job.number, 1);
    if (job.asleep)
        pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    job.begun = nanoseconds_of(CLOCK_MONOTONIC);
    job.own = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Waits for the workers that have begun, of a job of which the bringer did `rounds`. */
static void finish(Py_ssize_t rounds)
{
    double own = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - job.own, now = nanoseconds_of(CLOCK_MONOTONIC);
    pthread_mutex_lock(&lock);
    job.open = false;
    pthread_mutex_unlock(&lock);
    for (double until = now + MEET_NS; atomic_load(&job.active) > 0 && now < until;) {
        for (int i = 0; i < 64 && atomic_load(&job.active) > 0; i++)
            pause_shortly();
        now = nanoseconds_of(CLOCK_MONOTONIC);
    }
    pthread_mutex_lock(&lock);
    while (atomic_load(&job.active) > 0)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
    judge(rounds, own, nanoseconds_of(CLOCK_MONOTONIC));
}

static void share(loop_function loop, const void *argument, Py_ssize_t count)
{
    int helpers = atomic_load(&wanted) - 1;
    Py_ssize_t piece = count / (4 * (helpers + 1)) + 1;
    if (piece > 64)
        piece = (piece + 63) / 64 * 64;
    offer(loop, argument, 0, count, piece, helpers);
    finish(work());
}

/* Whether the next job is shared, as sharing was not slower lately. */
static bool sharing_pays(void)
{
    long long until = atomic_load(&alone_until);
    return until == 0 || (long long)nanoseconds_of(CLOCK_MONOTONIC) >= until;
}

/* Whether a loop of this length is shared, where nobody else has a job. */
static bool is_shared(Py_ssize_t count, double total)
{
    if (atomic_load(&wanted) == 1 || count == 1 || total < SHARE_NS)
        return false;
    return sharing_pays();
}

void run_loop(loop_function loop, const void *argument, Py_ssize_t count, double nanoseconds)
{
    double total = (double)count * nanoseconds;
    if (count <= 0)
        return;
    if (total < RELEASE_NS) {
        loop(argument, 0, count);
        return;
    }
    Py_BEGIN_ALLOW_THREADS if (is_shared(count, total) && !atomic_flag_test_and_set(&busy))
    {
        share(loop, argument, count);
        atomic_flag_clear(&busy);
    }
    else
    {
        loop(argument, 0, count);
    }
    Py_END_ALLOW_THREADS
}

/* --- teams */
static int team_limit(void)
{
    int limit = atomic_load(&wanted);
    if (limit == 1 || members > 1 || !sharing_pays())
        return 1;
    pthread_mutex_lock(&lock);
    if (started < limit - 1)
        start_workers(limit - 1);
    int most = started + 1;
    pthread_mutex_unlock(&lock);
    return most < limit ? most : limit;
}

/* Whoever begins a team is its first member; a second team waits for the end of the first. */
static void team_begin(void (*task)(void *), void *data, int count)
{
    double until = nanoseconds_of(CLOCK_MONOTONIC) + MEET_NS;
    while (atomic_flag_test_and_set(&busy))
        if (nanoseconds_of(CLOCK_MONOTONIC) < until)
            pause_shortly();
        else
            sched_yield();
    job.task = task;
    job.data = data;
    atomic_store(&barrier.arrived, 0);
    offer(NULL, NULL, 1, count, 1, count - 1);
    members = count;
}

/* Members that no worker has taken are the first one's: it has passed all barriers, so those have none with it. */
static void team_end(void)
{
    members = 1;
    finish(1 + work());
    atomic_flag_clear(&busy);
}

static int team_member(void)
{
    return member;
}

static int team_members(void)
{
    return members;
}

static void team_barrier(void)
{
    if (members == 1)
        return;
    unsigned round = atomic_load(&barrier.round);
    if (atomic_fetch_add(&barrier.arrived, 1) + 1 == members) {
        atomic_store(&barrier.arrived, 0);
        atomic_fetch_add(&barrier.round, 1);
        return;
    }
    double until = nanoseconds_of(CLOCK_MONOTONIC) + MEET_NS;
    while (atomic_load(&barrier.round) == round)
        if (nanoseconds_of(CLOCK_MONOTONIC) < until)
            pause_shortly();
        else
            sched_yield();
}

const Teams THREAD_TEAMS = {team_limit, team_begin, team_end, team_member, team_members, team_barrier};

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wake, NULL);
    pthread_cond_init(&done, NULL);
    atomic_flag_clear(&busy);
    started = 0;
    job.open = false;
    job.asleep = 0;
    atomic_store(&job.active, 0);
}

int threads_init(void)
{
    if (pthread_atfork(NULL, NULL, after_fork) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "cannot prepare threads for a fork");
        return -1;
    }
    return 0;
}

Py_ssize_t thread_slot(void)
{
    return slot;
}

Py_ssize_t thread_slots(void)
{
    int limit = atomic_load(&wanted);
    return 1 + (started > limit - 1 ? started : limit - 1);
}

int threads_get(void)
{
    return atomic_load(&wanted);
}

void threads_set(int count)
{
    atomic_store(&wanted, count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count);
}
