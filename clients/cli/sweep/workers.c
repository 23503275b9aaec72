/*
 * Worker processes. A worker takes a batch of neighbouring runs, so that a world is opened once for many seeds, and adds each
 * row to its own journal. A worker that a plugin crashes is replaced: the run that it was making becomes a failed row.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bar.h"
#include "base/monotonic.h"
#include "sweep/sweep.h"

enum { MOST_BATCH = 256, BATCHES_A_WORKER = 16 };
#define LOOK_EVERY_NS 200000000
#define REPORT_EVERY_NS INT64_C(10000000000) /* period of reports if stderr is no terminal */

/* The memory that a worker shares with the process that started it. */
struct slot {
    _Atomic uint64_t at, end; /* indices in crew.pending: the current run of the worker, and the end of its batch */
    _Atomic uint64_t done, failed;
    struct oto_error error; /* written once, before the worker ends with code 1 */
};

struct board {
    _Atomic uint64_t next; /* index in crew.pending of the first run that no worker has taken */
    struct slot slots[SWEEP_MOST_JOBS];
};

struct crew {
    const struct sweep_spec *spec;
    const struct sweep_options *options;
    struct sweep_shard shard;
    uint32_t *pending; /* numbers of the runs without a row, minus shard.first */
    uint64_t count, batch;
    struct board *board;
    pid_t pids[SWEEP_MOST_JOBS]; /* 0: ended */
    struct sweep_journal journal; /* rows of runs that crashed a worker; created at the first crash */
    struct cli_bar bar;
    int64_t begun_ns, report_due_ns;
    bool is_stopped;
};

/* ---- in a worker ---- */

static bool take_run(const struct crew *crew, struct slot *slot, uint64_t *run)
{
    uint64_t at = atomic_load(&slot->at);
    if (at >= atomic_load(&slot->end)) {
        at = atomic_fetch_add(&crew->board->next, crew->batch);
        if (at >= crew->count) {
            return false;
        }
        atomic_store(&slot->at, at);
        atomic_store(&slot->end, at + crew->batch < crew->count ? at + crew->batch : crew->count);
    }
    *run = crew->shard.first + crew->pending[at];
    return !cli_interrupted();
}

static enum oto_status add_row(const struct crew *crew, struct sweep_journal *journal, uint64_t run, const double *results,
                               const char *failure, struct oto_error *error)
{
    struct oto_error unused = {0};
    struct sweep_case made;
    char *row = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&row, &length);
    (void)sweep_case_make(crew->spec, run, &made, &unused);
    if (to != NULL) {
        sweep_row_write(crew->spec, &made, results, failure, to);
    }
    const bool written = to != NULL && fclose(to) == 0;
    const enum oto_status status = written ? sweep_journal_add(journal, row, length, error)
                                           : oto_fail(error, OTO_NO_MEMORY, "no memory for a row");
    sweep_case_finish(&made);
    free(row);
    return status;
}

/* After a failed run: destroys the runner with its world and Python process, and makes a new one for the next run. */
static enum oto_status restart_runner(const struct crew *crew, struct sweep_runner **runner, struct oto_error *error)
{
    sweep_runner_destroy(*runner);
    *runner = sweep_runner_create(crew->spec, crew->options->python, error);
    return *runner != NULL ? OTO_OK : error->status;
}

static enum oto_status make_runs(const struct crew *crew, struct slot *slot, struct sweep_journal *journal,
                                 struct sweep_runner **runner, double *results, struct oto_error *error)
{
    uint64_t run;
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && take_run(crew, slot, &run)) {
        struct oto_error why = {0};
        const enum oto_status made = sweep_runner_run(*runner, run, results, &why);
        if (made != OTO_OK && cli_interrupted()) {
            return OTO_OK;
        }
        if (made == OTO_NO_MEMORY) { /* the machine has too little memory: not an error of the run */
            *error = why;
            return made;
        }
        status = add_row(crew, journal, run, results, made != OTO_OK ? why.text : NULL, error);
        if (status == OTO_OK && made != OTO_OK) {
            status = restart_runner(crew, runner, error);
        }
        (void)atomic_fetch_add(&slot->failed, made != OTO_OK);
        (void)atomic_fetch_add(&slot->done, 1);
        (void)atomic_fetch_add(&slot->at, 1);
    }
    return status;
}

static int work(const struct crew *crew, struct slot *slot)
{
    struct sweep_journal journal;
    double *results = calloc(crew->spec->column_count + 1u, sizeof *results);
    struct sweep_runner *runner = NULL;
    enum oto_status status = sweep_journal_create(&journal, crew->options->directory, &crew->shard, &slot->error);
    if (status == OTO_OK) {
        runner = sweep_runner_create(crew->spec, crew->options->python, &slot->error);
        status = results != NULL && runner != NULL ? OTO_OK : OTO_NO_MEMORY;
    }
    if (status == OTO_OK) {
        status = make_runs(crew, slot, &journal, &runner, results, &slot->error);
    }
    struct oto_error unused = {0};
    const enum oto_status closed = sweep_journal_close(&journal, status == OTO_OK ? &slot->error : &unused);
    sweep_runner_destroy(runner);
    free(results);
    if (slot->error.status == OTO_CLOSED && cli_interrupted()) { /* while it started: the sweep tells of the interrupt, with its count */
        slot->error = unused;
        return 0;
    }
    return status == OTO_OK && closed == OTO_OK ? 0 : 1;
}

/* ---- in the process that starts them ---- */

static enum oto_status start_worker(struct crew *crew, uint32_t index, struct oto_error *error)
{
    const pid_t parent = getpid();
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends the worker with its parent; the rows that it added remain */
        _exit(getppid() == parent ? work(crew, &crew->board->slots[index]) : 1);
    }
    crew->pids[index] = pid > 0 ? pid : 0;
    return pid > 0 ? OTO_OK : oto_fail(error, OTO_LIMIT, "cannot start %" PRIu32 " workers: %s", crew->options->jobs, strerror(errno));
}

static bool is_crash(int how)
{
    const int number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGABRT || number == SIGSYS;
}

/* The run at which a worker crashed fails; another worker continues with the rest of its batch. */
static enum oto_status replace_worker(struct crew *crew, uint32_t index, int how, struct oto_error *error)
{
    struct slot *slot = &crew->board->slots[index];
    char failure[128];
    enum oto_status status = OTO_OK;
    (void)snprintf(failure, sizeof failure, "the run ended its process by signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    if (crew->journal.file < 0) {
        status = sweep_journal_create(&crew->journal, crew->options->directory, &crew->shard, error);
    }
    if (status == OTO_OK && atomic_load(&slot->at) < atomic_load(&slot->end)) {
        status = add_row(crew, &crew->journal, crew->shard.first + crew->pending[atomic_load(&slot->at)], NULL, failure, error);
        (void)atomic_fetch_add(&slot->failed, 1);
        (void)atomic_fetch_add(&slot->done, 1);
        (void)atomic_fetch_add(&slot->at, 1);
    }
    return status == OTO_OK ? start_worker(crew, index, error) : status;
}

static void stop_workers(struct crew *crew)
{
    for (uint32_t i = 0; !crew->is_stopped && i < crew->options->jobs; i++) {
        if (crew->pids[i] > 0) {
            (void)kill(crew->pids[i], SIGTERM);
        }
    }
    crew->is_stopped = true;
}

static enum oto_status judge(struct crew *crew, uint32_t index, int how, struct oto_error *error)
{
    const struct slot *slot = &crew->board->slots[index];
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        return OTO_OK;
    }
    if (slot->error.status != OTO_OK) {
        *error = slot->error;
        return slot->error.status;
    }
    if (is_crash(how) && !crew->is_stopped) {
        return replace_worker(crew, index, how, error);
    }
    return crew->is_stopped ? OTO_OK
                            : oto_fail(error, OTO_IO, "a worker was ended by signal %d (%s); the same command continues with the rows that "
                                       "are finished", WIFSIGNALED(how) ? WTERMSIG(how) : 0,
                                       WIFSIGNALED(how) ? strsignal(WTERMSIG(how)) : "none");
}

/* Collects the workers that have ended; returns the number of workers that still run. */
static uint32_t reap(struct crew *crew, enum oto_status *status, struct oto_error *error)
{
    uint32_t running = 0;
    for (uint32_t i = 0; i < crew->options->jobs; i++) {
        int how;
        if (crew->pids[i] > 0 && waitpid(crew->pids[i], &how, WNOHANG) == crew->pids[i]) {
            struct oto_error why = {0};
            crew->pids[i] = 0;
            const enum oto_status judged = judge(crew, i, how, &why);
            if (judged != OTO_OK && *status == OTO_OK) {
                *status = judged;
                *error = why;
            }
        }
        running += crew->pids[i] > 0;
    }
    return running;
}

static void add_up(const struct crew *crew, struct sweep_tally *tally)
{
    *tally = (struct sweep_tally){.seconds = (double)(srv_now_ns() - crew->begun_ns) * 1e-9};
    for (uint32_t i = 0; i < crew->options->jobs; i++) {
        tally->done += atomic_load(&crew->board->slots[i].done);
        tally->failed += atomic_load(&crew->board->slots[i].failed);
    }
}

static void show(struct crew *crew)
{
    char text[128];
    struct sweep_tally tally;
    const int64_t now_ns = srv_now_ns();
    add_up(crew, &tally);
    (void)snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " runs, %.1f runs/s, %" PRIu64 " failed", tally.done, crew->count,
                   (double)tally.done / (tally.seconds > 0.0 ? tally.seconds : 1.0), tally.failed);
    if (crew->options->quiet) {
        return;
    }
    cli_bar_show(&crew->bar, tally.done, crew->count, text);
    if (!crew->bar.on_terminal && now_ns >= crew->report_due_ns) {
        const double left_s = tally.done > 0 ? tally.seconds * (double)(crew->count - tally.done) / (double)tally.done : 0.0;
        crew->report_due_ns = now_ns + REPORT_EVERY_NS;
        (void)fprintf(stderr, "otolith: %s, %.0f s left\n", text, left_s);
    }
}

static enum oto_status run_all(struct crew *crew, struct oto_error *error)
{
    const struct timespec wait = {.tv_nsec = LOOK_EVERY_NS};
    enum oto_status status = OTO_OK;
    sigset_t child, before;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, &before);
    for (uint32_t i = 0; status == OTO_OK && i < crew->options->jobs; i++) {
        status = start_worker(crew, i, error);
    }
    while (reap(crew, &status, error) > 0) {
        if (status != OTO_OK || cli_interrupted()) {
            stop_workers(crew);
        }
        show(crew);
        (void)sigtimedwait(&child, NULL, &wait);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* The runs without a row, in their order. */
static enum oto_status list_pending(struct crew *crew, const struct sweep_rows *rows, struct oto_error *error)
{
    const uint64_t runs = rows->shard.end - rows->shard.first;
    crew->pending = calloc(runs + 1, sizeof *crew->pending);
    if (crew->pending == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a list of %" PRIu64 " runs", runs);
    }
    for (uint64_t i = 0; i < runs; i++) {
        if (rows->rows[i].text == NULL) {
            crew->pending[crew->count++] = (uint32_t)i;
        }
    }
    const uint64_t share = crew->count / (BATCHES_A_WORKER * (uint64_t)crew->options->jobs);
    crew->batch = share < 1 ? 1 : share > MOST_BATCH ? MOST_BATCH : share;
    return OTO_OK;
}

enum oto_status sweep_run_workers(const struct sweep_spec *spec, const struct sweep_options *options, const struct sweep_rows *rows,
                                  struct sweep_tally *tally, struct oto_error *error)
{
    const int64_t now_ns = srv_now_ns();
    struct crew crew = {.spec = spec, .options = options, .shard = rows->shard, .journal = {.file = -1}, .begun_ns = now_ns,
                        .report_due_ns = now_ns + REPORT_EVERY_NS};
    enum oto_status status = list_pending(&crew, rows, error);
    crew.board = mmap(NULL, sizeof *crew.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (status == OTO_OK && crew.board == MAP_FAILED) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for workers: %s", strerror(errno));
    }
    if (status == OTO_OK) {
        cli_bar_begin(&crew.bar);
        status = crew.count > 0 ? run_all(&crew, error) : OTO_OK;
        cli_bar_end(&crew.bar);
        add_up(&crew, tally);
        const enum oto_status closed = sweep_journal_close(&crew.journal, error);
        status = status == OTO_OK ? closed : status;
    }
    if (status == OTO_OK && cli_interrupted()) {
        status = oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " of %" PRIu64 " runs; the same command continues there",
                          rows->known + tally->done, rows->shard.end - rows->shard.first);
    }
    if (crew.board != MAP_FAILED) {
        (void)munmap(crew.board, sizeof *crew.board);
    }
    free(crew.pending);
    return status;
}
