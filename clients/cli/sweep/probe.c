/*
 * Checks before a sweep starts. A separate process opens the worlds, because a plugin may crash it, and measures memory and
 * time. Then the needs of the sweep are compared with the memory and disk of the machine.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sweep/sweep.h"

enum { MOST_LISTED = 256, NUMBER_BYTES = 20 };
#define PROCESS_BYTES (UINT64_C(4) << 20) /* of a worker besides its world */

/* ---- in the process ---- */

static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *from = fopen("/proc/self/statm", "re");
    const bool is_read = from != NULL && fscanf(from, "%*u %lu", &pages) == 1;
    if (from != NULL) {
        (void)fclose(from);
    }
    return is_read ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static double cpu_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Opens the world with every value of every list (first values of the others): a refused value is an error of the spec. */
static enum oto_status check_lists(struct sweep_runner *runner, const struct sweep_spec *spec, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    uint64_t stride = spec->runs;
    uint32_t checked = 0;
    for (uint32_t i = 0; spec->vary != NULL && i < spec->vary->count; i++) {
        const struct oto_value *list = spec->vary->items[i];
        stride /= list->count;
        for (uint32_t k = 1; status == OTO_OK && k < list->count && checked < MOST_LISTED; k++, checked++) {
            status = sweep_runner_open(runner, k * stride, error);
        }
    }
    return status;
}

static void measure(struct sweep_runner *runner, const struct sweep_spec *spec, uint64_t first, struct sweep_probe *probe)
{
    struct oto_error unused = {0};
    double *results = calloc(spec->column_count + 1u, sizeof *results);
    const double begun_s = cpu_s();
    (void)sweep_runner_run(runner, first, results, &unused); /* a failure is ignored here; the sweep makes this run again */
    probe->run_s = cpu_s() - begun_s;
    free(results);
}

static void probe_world(const struct sweep_spec *spec, const char *python, uint64_t first, bool checks_lists, bool measures,
                        struct sweep_probe *probe)
{
    struct oto_error *error = &probe->error;
    const uint64_t before = resident_bytes();
    struct sweep_runner *runner = NULL;
    probe->status = sweep_spec_hash(spec, &probe->hash, error);
    if (probe->status == OTO_OK) {
        runner = sweep_runner_create(spec, python, error);
        probe->status = runner != NULL ? sweep_runner_open(runner, first, error) : error->status;
    }
    if (probe->status == OTO_OK) {
        const uint64_t grown = resident_bytes() - before, counted = sweep_runner_bytes(runner);
        probe->worker_bytes = PROCESS_BYTES + (grown < UINT64_C(1) << 50 ? grown : 0) + counted;
    }
    if (probe->status == OTO_OK && checks_lists) {
        probe->status = check_lists(runner, spec, error);
    }
    if (probe->status == OTO_OK && measures) {
        measure(runner, spec, first, probe);
    }
    sweep_runner_destroy(runner);
}

/* ---- around it ---- */

static enum oto_status wait_for(pid_t pid, const struct sweep_spec *spec, struct oto_error *error)
{
    int how = 0;
    while (waitpid(pid, &how, 0) < 0) {
        if (errno != EINTR) {
            return oto_fail(error, OTO_IO, "cannot wait for a process: %s", strerror(errno));
        }
    }
    if (WIFSIGNALED(how) && !cli_interrupted()) {
        return oto_fail(error, OTO_PLUGIN, "opening '%.200s' ended a process by signal %d (%s): one of its plugins is damaged",
                        spec->world_path, WTERMSIG(how), strsignal(WTERMSIG(how)));
    }
    return cli_interrupted() ? oto_fail(error, OTO_CLOSED, "interrupted before the first run") : OTO_OK;
}

enum oto_status sweep_probe_make(const struct sweep_spec *spec, const struct sweep_options *options, const struct sweep_shard *shard,
                                 struct sweep_probe *probe, struct oto_error *error)
{
    struct sweep_probe *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory: %s", strerror(errno));
    }
    const bool is_whole = shard->of == 1;
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        probe_world(spec, options->python, shard->first, is_whole, options->emit != NULL, shared);
        _exit(0);
    }
    enum oto_status status = pid > 0 ? wait_for(pid, spec, error) : oto_fail(error, OTO_IO, "cannot start a process: %s", strerror(errno));
    *probe = *shared;
    (void)munmap(shared, sizeof *shared);
    if (status == OTO_OK && probe->status != OTO_OK) {
        status = probe->status;
        *error = probe->error;
    }
    return status;
}

/* ---- room ---- */

static uint64_t row_bytes(const struct sweep_spec *spec)
{
    uint64_t bytes = 2 * NUMBER_BYTES + NUMBER_BYTES * (uint64_t)spec->column_count;
    return bytes + NUMBER_BYTES * (uint64_t)(sweep_row_lead(spec) - 2);
}

/* Disk space of the rows: each row is in the journal and in result.csv. */
uint64_t sweep_disk_bytes(const struct sweep_spec *spec, uint64_t runs)
{
    return runs * row_bytes(spec) * 2;
}

/* Memory of the index of the rows, of the list of runs to make, and of the summary. */
uint64_t sweep_index_bytes(const struct sweep_spec *spec, uint64_t runs)
{
    return runs * (sizeof(struct sweep_row_at) + sizeof(uint32_t)) + spec->combinations * (8 + 40 * (uint64_t)spec->column_count);
}

static uint64_t read_number(const char *path)
{
    unsigned long long number = UINT64_MAX;
    FILE *from = fopen(path, "re");
    if (from != NULL && fscanf(from, "%llu", &number) != 1) {
        number = UINT64_MAX; /* "max" */
    }
    if (from != NULL) {
        (void)fclose(from);
    }
    return number;
}

/* The smaller of MemAvailable and the memory that the control groups of this process still allow. */
static uint64_t free_memory(void)
{
    char line[4096], path[4300];
    unsigned long long kib = 0;
    uint64_t bytes = UINT64_MAX;
    FILE *from = fopen("/proc/meminfo", "re");
    while (from != NULL && fgets(line, sizeof line, from) != NULL) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
            bytes = (uint64_t)kib * 1024;
        }
    }
    if (from != NULL) {
        (void)fclose(from);
    }
    from = fopen("/proc/self/cgroup", "re");
    const bool has_group = from != NULL && fgets(line, sizeof line, from) != NULL && strncmp(line, "0::/", 4) == 0;
    if (from != NULL) {
        (void)fclose(from);
    }
    line[strcspn(line, "\n")] = '\0';
    for (char *slash = has_group ? line + strlen(line) : NULL; slash != NULL; slash = strrchr(line + 3, '/')) {
        *slash = '\0';
        (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        const uint64_t most = read_number(path);
        (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.current", line + 3);
        const uint64_t used = read_number(path);
        if (most != UINT64_MAX && used != UINT64_MAX) {
            const uint64_t left = most > used ? most - used : 0;
            bytes = left < bytes ? left : bytes;
        }
    }
    return bytes;
}

enum oto_status sweep_check_memory(const struct sweep_spec *spec, const struct sweep_probe *probe, uint32_t jobs, uint64_t runs,
                                   struct oto_error *error)
{
    const double each = (double)probe->worker_bytes, workers = each * (double)jobs, index = (double)sweep_index_bytes(spec, runs);
    const double memory = (double)free_memory();
    return workers + index <= memory
               ? OTO_OK
               : oto_fail(error, OTO_NO_MEMORY, "the sweep needs about %.1f GiB of memory (%" PRIu32 " workers of %.3f GiB, and %.1f GiB for %"
                          PRIu64 " runs), and %.1f GiB are free; fewer --jobs, a shorter run or a --shard need less",
                          (workers + index) / 0x1p30, jobs, each / 0x1p30, index / 0x1p30, runs, memory / 0x1p30);
}

/* A directory that does not exist yet is on the disk of its parent. */
enum oto_status sweep_check_disk(const struct sweep_spec *spec, const char *directory, uint64_t runs, struct oto_error *error)
{
    char path[4096];
    struct statvfs disk;
    const char *slash = strrchr(directory, '/');
    (void)snprintf(path, sizeof path, "%.*s", slash != NULL && slash != directory ? (int)(slash - directory) : 1, slash != NULL ? directory : ".");
    if (statvfs(directory, &disk) != 0 && statvfs(path, &disk) != 0) {
        return oto_fail(error, OTO_IO, "cannot find the free space of '%.256s': %s", directory, strerror(errno));
    }
    const double needed = (double)sweep_disk_bytes(spec, runs), left = (double)disk.f_bavail * (double)disk.f_frsize;
    return needed <= left ? OTO_OK
                          : oto_fail(error, OTO_LIMIT, "the rows of %" PRIu64 " runs need about %.1f GiB of disk, and '%.200s' has %.1f GiB "
                                     "free", runs, needed / 0x1p30, directory, left / 0x1p30);
}
