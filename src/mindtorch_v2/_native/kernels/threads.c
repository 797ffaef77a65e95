/* Sharing loops among threads: a handful of workers that wait for a job, started when the first long loop comes.

   There is one job at a time; a second thread that comes with a loop meanwhile runs it alone. Whoever brings the job
   works on it too and does not wait for workers that have not begun, so that a machine without idle processors loses
   nothing by those. A worker that has begun may lose its processor to another process, and whoever brought the job
   waits: where sharing took longer than the job would have taken alone on a processor of its own, some of the following
   loops are not shared, twice as many each time. After a fork the child begins without workers. */
#include "kernels.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_THREADS 64
#define RELEASE_NS 20e3 /* loops below this keep the interpreter lock */
#define MOST_ALONE 255  /* loops that are not shared after sharing was slower */
#define SHARE_NS 60e3   /* loops below this are not shared: waking a thread costs some microseconds */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static atomic_int wanted = 1; /* threads that may work, the caller's included */
static int started;           /* workers that exist */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static atomic_int alone; /* loops that are not shared from now on */
static int alone_after;  /* how many follow when sharing is slower again; whoever holds `busy` changes it */
static _Thread_local Py_ssize_t slot; /* 0 for whoever brings a job, workers count from 1 */

static struct {
    loop_function loop;
    const void *argument;
    Py_ssize_t count, piece;
    atomic_ptrdiff_t next;
    unsigned long number; /* of the job, so that a worker takes part once */
    bool open;
    int active, places;
} job;

/* Works on pieces of the job until there are none; how many rounds that were. */
static Py_ssize_t work(void)
{
    for (Py_ssize_t rounds = 0;;) {
        Py_ssize_t begin = atomic_fetch_add(&job.next, job.piece);
        if (begin >= job.count)
            return rounds;
        Py_ssize_t end = begin + job.piece < job.count ? begin + job.piece : job.count;
        job.loop(job.argument, begin, end);
        rounds += end - begin;
    }
}

static double nanoseconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Learns from a job of which the bringer did `rounds` in `own` nanoseconds of processor time, and which took `total` of
 * real time. */
static void judge(Py_ssize_t rounds, double own, double total)
{
    bool slower = rounds > 0 && total > own * (double)job.count / (double)rounds;
    if (!slower) {
        alone_after /= 2;
        return;
    }
    alone_after = 2 * alone_after + 1 < MOST_ALONE ? 2 * alone_after + 1 : MOST_ALONE;
    atomic_store(&alone, alone_after);
}

static void *worker(void *number)
{
    slot = (Py_ssize_t)(intptr_t)number;
    unsigned long seen = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!job.open || job.number == seen || job.places == 0)
            pthread_cond_wait(&wake, &lock);
        seen = job.number;
        job.places--;
        job.active++;
        pthread_mutex_unlock(&lock);
        work();
        pthread_mutex_lock(&lock);
        if (--job.active == 0)
            pthread_cond_signal(&done);
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

static void share(loop_function loop, const void *argument, Py_ssize_t count)
{
    int helpers = atomic_load(&wanted) - 1;
    Py_ssize_t piece = count / (4 * (helpers + 1)) + 1;
    if (piece > 64)
        piece = (piece + 63) / 64 * 64;
    pthread_mutex_lock(&lock);
    if (started < helpers)
        start_workers(helpers);
    job.loop = loop;
    job.argument = argument;
    job.count = count;
    job.piece = piece;
    atomic_store(&job.next, 0);
    job.number++;
    job.places = helpers;
    job.open = true;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    double begun = nanoseconds_of(CLOCK_MONOTONIC), own = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
    Py_ssize_t rounds = work();
    own = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - own;
    pthread_mutex_lock(&lock);
    job.open = false;
    while (job.active > 0)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
    judge(rounds, own, nanoseconds_of(CLOCK_MONOTONIC) - begun);
}

/* Whether a loop of this length is shared, where nobody else has a job. */
static bool is_shared(Py_ssize_t count, double total)
{
    if (atomic_load(&wanted) == 1 || count == 1 || total < SHARE_NS)
        return false;
    return atomic_load(&alone) <= 0 || atomic_fetch_sub(&alone, 1) <= 0;
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

static void after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wake, NULL);
    pthread_cond_init(&done, NULL);
    atomic_flag_clear(&busy);
    started = 0;
    job.open = false;
    job.active = 0;
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
