/*
 * otolith doctor: checks whether this machine is fit for real time. Each check is one row of a table: its name, and a
 * function that returns the fact, a verdict and an advice.
 */
#include "plugin/host.h"
#include "base/landlock.h"
#include "base/monotonic.h"
#include "cli.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum verdict { GOOD, NOTE, BAD };

struct finding {
    enum verdict verdict;
    char fact[200];
    char advice[240]; /* empty: nothing to do */
};

static bool read_line(const char *path, char *text, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, bytes - 1) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return length > 0;
}

static void say_finding(struct finding *finding, enum verdict verdict, const char *fact, const char *advice)
{
    finding->verdict = verdict;
    (void)snprintf(finding->fact, sizeof finding->fact, "%s", fact);
    (void)snprintf(finding->advice, sizeof finding->advice, "%s", verdict == GOOD ? "" : advice);
}

static void look_at_clock_source(struct finding *finding)
{
    char source[64];
    if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source)) {
        say_finding(finding, NOTE, "unknown: /sys has no clock source", "mount /sys to let it be checked");
        return;
    }
    const bool fast = strcmp(source, "tsc") == 0 || strcmp(source, "kvm-clock") == 0 || strcmp(source, "arch_sys_counter") == 0;
    say_finding(finding, fast ? GOOD : BAD, source, "reading this clock costs a system call: boot with clocksource=tsc if the CPU allows");
}

static void look_at_kernel(struct finding *finding)
{
    struct utsname name;
    char realtime[8];
    (void)uname(&name);
    const bool full = (read_line("/sys/kernel/realtime", realtime, sizeof realtime) && realtime[0] == '1') ||
                      strstr(name.version, "PREEMPT_RT") != NULL;
    char fact[200];
    (void)snprintf(fact, sizeof fact, "%.60s, %.100s", name.release, name.version);
    say_finding(finding, full ? GOOD : NOTE, fact, "medians are good on this kernel, worst cases are not bounded: Debian has linux-image-rt-amd64");
}

static void look_at_fifo(struct finding *finding)
{
    struct rlimit limit = {0, 0};
    (void)getrlimit(RLIMIT_RTPRIO, &limit);
    const struct sched_param parameter = {.sched_priority = 1};
    const bool allowed = sched_setscheduler(0, SCHED_FIFO, &parameter) == 0;
    if (allowed) {
        const struct sched_param other = {0};
        (void)sched_setscheduler(0, SCHED_OTHER, &other);
    }
    char fact[200];
    (void)snprintf(fact, sizeof fact, "SCHED_FIFO %s (RLIMIT_RTPRIO %llu)", allowed ? "allowed" : "refused",
                   (unsigned long long)limit.rlim_cur);
    say_finding(finding, allowed ? GOOD : NOTE, fact,
                "add '@users - rtprio 80' to /etc/security/limits.d/otolith.conf and log in again, or grant CAP_SYS_NICE");
}

static void look_at_memory_lock(struct finding *finding)
{
    struct rlimit limit = {0, 0};
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    const bool enough = geteuid() == 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= 256u << 20;
    char fact[200];
    if (limit.rlim_cur == RLIM_INFINITY) {
        (void)snprintf(fact, sizeof fact, "unlimited");
    } else {
        (void)snprintf(fact, sizeof fact, "%llu KiB", (unsigned long long)limit.rlim_cur / 1024);
    }
    say_finding(finding, enough ? GOOD : NOTE, fact, "add '@users - memlock unlimited' to /etc/security/limits.d/otolith.conf, else pages may fault on the tick");
}

static void look_at_throttling(struct finding *finding)
{
    char runtime[32];
    if (!read_line("/proc/sys/kernel/sched_rt_runtime_us", runtime, sizeof runtime)) {
        say_finding(finding, NOTE, "unknown", "");
        return;
    }
    char fact[200];
    (void)snprintf(fact, sizeof fact, "sched_rt_runtime_us %s", runtime);
    say_finding(finding, GOOD, fact, "");
}

static void look_at_governor(struct finding *finding)
{
    char governor[32];
    if (!read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor)) {
        say_finding(finding, GOOD, "the kernel does not scale this CPU's frequency", "");
        return;
    }
    say_finding(finding, strcmp(governor, "performance") == 0 ? GOOD : NOTE, governor,
                "cpupower frequency-set -g performance shortens the worst wake-ups");
}

static void look_at_idle(struct finding *finding)
{
    const bool allowed = access("/dev/cpu_dma_latency", W_OK) == 0;
    say_finding(finding, allowed ? GOOD : NOTE, allowed ? "/dev/cpu_dma_latency may be held at 0" : "/dev/cpu_dma_latency is not writable",
                "where allowed, deep idle states are kept off and wake-ups come about twice as fast");
}

static void look_at_seals(struct finding *finding)
{
    const int fd = memfd_create("otolith-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const bool sealed = fd >= 0 && ftruncate(fd, 4096) == 0 &&
                        fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    say_finding(finding, sealed ? GOOD : BAD, sealed ? "memfd with F_SEAL_FUTURE_WRITE" : "not available", "otolith needs Linux 5.1 or newer");
}

static void look_at_filter(struct finding *finding)
{
    char actions[160];
    const bool filters = read_line("/proc/sys/kernel/seccomp/actions_avail", actions, sizeof actions) &&
                         strstr(actions, "trap") != NULL;
    say_finding(finding, filters ? GOOD : BAD, filters ? "seccomp filters: plugin hosts are confined" : "no seccomp filters",
                "nodes with `isolation: process` and probes of swaps do not start: build the kernel with CONFIG_SECCOMP_FILTER");
}

static void look_at_page(struct finding *finding)
{
    char path[PATH_MAX], fact[200];
    struct oto_error error = {0};
    const uint32_t abi = srv_landlock_abi();
    if (cli_sibling("otolith-web", path, sizeof path, &error) != OTO_OK) {
        say_finding(finding, NOTE, "otolith-web is not built", "install libwebsockets-dev and libwebsockets-evlib-uv and build otolith again");
        return;
    }
    (void)snprintf(fact, sizeof fact, "otolith-web gives up privileges and starts no program%s%s", abi > 0 ? "; Landlock: it writes no file" : "",
                   abi >= 4 ? " and connects to no address" : "");
    say_finding(finding, abi > 0 ? GOOD : NOTE, fact, "this kernel has no Landlock (Linux 5.13, lsm=landlock), which would forbid it to write files");
}

static void look_at_memory(struct finding *finding)
{
    struct statvfs space;
    if (statvfs("/dev/shm", &space) != 0) {
        say_finding(finding, NOTE, "/dev/shm cannot be read", "");
        return;
    }
    const double mib = (double)space.f_bavail * (double)space.f_frsize / 1048576.0;
    char fact[200];
    (void)snprintf(fact, sizeof fact, "%.0f MiB free in /dev/shm", mib);
    say_finding(finding, mib > 64.0 ? GOOD : BAD, fact, "worlds are in shared memory: free some of it");
}

static int compare_ns(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Runs an absolute timer at 1 kHz for a second. Its lateness is the least that a paced world on this machine can have. */
static void look_at_lateness(struct finding *finding)
{
    enum { TICKS = 1000 };
    static const int64_t period_ns = 1000000;
    int64_t *late_ns = malloc(TICKS * sizeof *late_ns);
    if (late_ns == NULL) {
        say_finding(finding, NOTE, "out of memory", "");
        return;
    }
    const int64_t start_ns = srv_now_ns() + period_ns;
    for (int64_t i = 0; i < TICKS; i++) {
        const int64_t deadline_ns = start_ns + i * period_ns;
        const struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR && !cli_interrupted()) {
        }
        late_ns[i] = srv_now_ns() - deadline_ns;
    }
    qsort(late_ns, TICKS, sizeof *late_ns, compare_ns);
    char fact[200];
    (void)snprintf(fact, sizeof fact, "a 1 kHz loop wakes %.1f us late (p50), %.1f us (p99), %.1f us at most",
                   (double)late_ns[TICKS / 2] * 1e-3, (double)late_ns[TICKS * 99 / 100] * 1e-3,
                   (double)late_ns[TICKS - 1] * 1e-3);
    const enum verdict verdict = late_ns[TICKS * 99 / 100] < 200000 ? GOOD : late_ns[TICKS * 99 / 100] < 1000000 ? NOTE : BAD;
    free(late_ns);
    say_finding(finding, verdict, fact, "the machine is busy or virtual: real-time runs at 1 kHz will slip now and then; asap and step are not affected");
}

static void look_at_ros2(struct finding *finding)
{
    char path[PATH_MAX];
    struct oto_error error = {0};
    const bool is_built = cli_sibling("otolith-ros2", path, sizeof path, &error) == OTO_OK;
    say_finding(finding, is_built ? GOOD : NOTE, is_built ? "otolith-ros2 is built" : "otolith-ros2 is not built",
                "install cyclonedds-dev and build otolith again, to publish worlds as ROS 2 topics");
}

static void look_at_fmi(struct finding *finding)
{
    char path[PATH_MAX];
    struct oto_error error = {0};
    const bool is_built = oto_plugin_find("motion_fmu", path, sizeof path, &error) == OTO_OK;
    say_finding(finding, is_built ? GOOD : NOTE, is_built ? "motion_fmu is built" : "motion_fmu is not built",
                "install libzip-dev and build otolith again, to use FMUs as motions and to export sensors as FMUs");
}

static const struct {
    const char *name;
    void (*look)(struct finding *finding);
} checks[] = {
    {"clock source", look_at_clock_source},
    {"kernel", look_at_kernel},
    {"real-time scheduling", look_at_fifo},
    {"memory locking", look_at_memory_lock},
    {"real-time throttling", look_at_throttling},
    {"frequency governor", look_at_governor},
    {"idle states", look_at_idle},
    {"sealed memory", look_at_seals},
    {"plugin isolation", look_at_filter},
    {"page", look_at_page},
    {"shared memory", look_at_memory},
    {"ROS 2", look_at_ros2},
    {"FMI", look_at_fmi},
    {"lateness", look_at_lateness},
};

int cli_doctor(int argc, char **argv)
{
    static const char *const words[] = {"good", "note", "bad"};
    struct cli_simple simple;
    cli_parse_simple(argc, argv, "", "Check whether this machine is fit for real time, and advise what to change. Takes a second.", 0, 0,
                     &simple);
    cli_catch_signals();
    bool bad = false;
    struct oto_json json = {.to = stdout};
    if (simple.common.json) {
        oto_json_open(&json, NULL, '[');
    }
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        struct finding finding = {GOOD, "", ""};
        checks[i].look(&finding);
        bad = bad || finding.verdict == BAD;
        if (simple.common.json) {
            oto_json_open(&json, NULL, '{');
            oto_json_text(&json, "check", checks[i].name);
            oto_json_text(&json, "verdict", words[finding.verdict]);
            oto_json_text(&json, "fact", finding.fact);
            oto_json_text(&json, "advice", finding.advice);
            oto_json_close(&json, '}');
        } else {
            (void)printf("%-4s  %-21s %s\n", words[finding.verdict], checks[i].name, finding.fact);
            if (finding.advice[0] != '\0') {
                (void)printf("      %-21s -> %s\n", "", finding.advice);
            }
        }
        (void)fflush(stdout);
    }
    if (simple.common.json) {
        oto_json_close(&json, ']');
        oto_json_more(&json, "\n", 1);
    }
    return bad ? CLI_FAILED : CLI_OK;
}
