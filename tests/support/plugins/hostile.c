/*
 * Plugins that do what a plugin must not, in one operation each: HOSTILE_WHERE is the operation, HOSTILE_DEED the deed.
 * System calls are made without the C library, so that no rule about imports stands before them. A sensor, or with
 * HOSTILE_ESTIMATOR an estimator, with HOSTILE_MOTION a motion.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "otolith/estimator.h"
#ifdef HOSTILE_KNOWS_MAILBOX
#include "isolate/host_mailbox.h"
#endif

#ifdef HOSTILE_NEEDS_LIBC
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#endif

static long call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

/* Not inlined, because the report of the crash must name it. */
static __attribute__((noinline)) void deed_null(void)
{
    volatile int *volatile nowhere = (volatile int *)(uintptr_t)16; /* not 0, which sanitizers catch before the processor */
    *nowhere = 1;
}
static void deed_divide(void)
{
    volatile int zero = 0, one = 1;
    one = one / zero;
}
static void deed_abort(void)
{
    abort();
}
static void deed_exit(void)
{
    (void)call(SYS_exit_group, 0, 0, 0);
}
static void deed_loop(void)
{
    for (volatile int forever = 1; forever != 0;) {
    }
}
static void deed_open(void)
{
    (void)call(SYS_openat, -100, (long)(uintptr_t) "/etc/hostname", 0);
}
static void deed_socket(void)
{
    (void)call(SYS_socket, 1, 1, 0);
}
static void deed_fork(void)
{
    (void)call(SYS_clone, 17, 0, 0);
}
/* A process whose parent is gone. */
static void deed_daemon(void)
{
    const int64_t minute[2] = {60, 0};
    if (call(SYS_clone, 17, 0, 0) == 0) {
        if (call(SYS_clone, 17, 0, 0) == 0) {
            (void)call(SYS_nanosleep, (long)(uintptr_t)minute, 0, 0);
        }
        (void)call(SYS_exit_group, 0, 0, 0);
    }
}
/* A process that outlives the crash. */
static void deed_fork_and_crash(void)
{
    const int64_t minute[2] = {60, 0};
    if (call(SYS_clone, 17, 0, 0) == 0) {
        (void)call(SYS_nanosleep, (long)(uintptr_t)minute, 0, 0);
        (void)call(SYS_exit_group, 0, 0, 0);
    }
    deed_null();
}
static void deed_timer(void)
{
    int32_t timer;
    (void)call(SYS_timer_create, 1, 0, (long)(uintptr_t)&timer);
}
static void deed_alarm(void)
{
    const int64_t hour[4] = {0, 0, 3600, 0};
    (void)call(SYS_setitimer, 0, (long)(uintptr_t)hour, 0);
}
static void deed_ptrace(void)
{
    (void)call(SYS_ptrace, 16, 1, 0);
}
static void deed_kill(void)
{
    (void)call(SYS_kill, 1, 0, 0);
}
static void deed_write(void)
{
    (void)call(SYS_write, 1, (long)(uintptr_t) "x", 1);
}
static void deed_exec(void)
{
    (void)call(SYS_execve, (long)(uintptr_t) "/bin/true", 0, 0);
}
static void deed_handler(void)
{
    (void)call(SYS_rt_sigaction, 11, 0, 0);
}
static void deed_stack(void)
{
    volatile char much[1 << 16];
    much[0] = 1;
    if (much[0] == 1) {
        deed_stack();
    }
    much[1] = much[0];
}
static void deed_float(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)1 << 24));
#endif
}
static void deed_malloc(void)
{
    void *volatile memory = malloc(64);
    free(memory);
}
/* These two die of what the kernel lets them do. */
static void must_be_denied(long result)
{
    if (result != -EACCES && result != -EPERM) {
        deed_null();
    }
}
static void deed_change(void)
{
    const long folder = (long)(uintptr_t) "/tmp/otolith-hostile";
    const long made = call(SYS_mkdirat, AT_FDCWD, folder, 0700);
    if (made == 0) { /* not confined; a folder that stays would answer the next run with -EEXIST */
        (void)call(SYS_unlinkat, AT_FDCWD, folder, AT_REMOVEDIR);
    }
    must_be_denied(made);
    must_be_denied(call(SYS_openat, AT_FDCWD, (long)(uintptr_t) "/dev/null", O_WRONLY));
    must_be_denied(call(SYS_execve, (long)(uintptr_t) "/bin/true", 0, 0));
}
static void deed_reach(void)
{
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = 9, .sin_addr = {0x0100007f}};
    must_be_denied(call(SYS_kill, call(SYS_getppid, 0, 0, 0), 0, 0));
    must_be_denied(call(SYS_connect, call(SYS_socket, AF_INET, SOCK_STREAM, 0), (long)(uintptr_t)&here, sizeof here));
}
static void deed_nothing(void)
{
}
#ifdef HOSTILE_KNOWS_MAILBOX
/* A plugin in a host can write all of the mailbox, which its state stands in. */
static void *own_state;
static struct srv_host_mailbox *mailbox(void)
{
    struct srv_host_mailbox *head = (void *)((uintptr_t)own_state & ~(uintptr_t)4095);
    while (head->magic != SRV_HOST_MAGIC) {
        head = (void *)((unsigned char *)head - 4096);
    }
    return head;
}
static void deed_flood(void)
{
    struct srv_host_mailbox *head = mailbox();
    for (;;) {
        head->question.slot++;
        (void)__atomic_add_fetch(&head->asked, 1, __ATOMIC_RELEASE);
        (void)__atomic_add_fetch(&head->notifications, 1, __ATOMIC_RELEASE);
    }
}
static void deed_scribble(void)
{
    struct srv_host_mailbox *head = mailbox();
    for (uint32_t i = 0; i < head->slot_count; i++) {
        struct srv_host_slot *slot = srv_host_slot_at(head, i);
        memset(slot, 0xff, sizeof *slot);
    }
    memset(&head->current_slot, 0xff, sizeof *head - offsetof(struct srv_host_mailbox, current_slot));
    deed_null();
}
#endif
#ifdef HOSTILE_NEEDS_LIBC
static void *idle(void *unused)
{
    for (;;) {
        (void)call(SYS_sched_yield, 0, 0, 0);
    }
    return unused;
}
static void deed_thread(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, idle, NULL);
}
static void deed_signal(void)
{
    (void)signal(SIGUSR1, SIG_IGN);
}
static void deed_file(void)
{
    (void)fopen("/etc/passwd", "r");
}
static void deed_quit(void)
{
    exit(0);
}
static void deed_atexit(void)
{
    (void)atexit(deed_nothing);
}
#endif

enum { WHERE_PREPARE, WHERE_INIT, WHERE_STEP, WHERE_MIGRATE, WHERE_VALIDATE, WHERE_EVALUATE, WHERE_ZERO };
#ifdef HOSTILE_AT_LOAD
OTO_PLUGIN_EXPORT void at_load(void);
void at_load(void)
{
    deed_null();
}
#endif

#define HOSTILE_CAT_(a, b) a##b
#define HOSTILE_CAT(a, b) HOSTILE_CAT_(a, b)
#define DEED HOSTILE_CAT(deed_, HOSTILE_DEED)

/* Not all are used by each. */
static void (*const deeds[])(void) __attribute__((unused)) = {
    deed_null,  deed_divide, deed_abort,   deed_exit,  deed_loop,  deed_open,   deed_socket, deed_fork,   deed_ptrace,
    deed_kill,  deed_write,  deed_exec,    deed_handler, deed_stack, deed_float, deed_malloc, deed_nothing,
    deed_change, deed_reach,  deed_daemon, deed_timer, deed_alarm, deed_fork_and_crash,
#ifdef HOSTILE_KNOWS_MAILBOX
    deed_flood, deed_scribble,
#endif
#ifdef HOSTILE_NEEDS_LIBC
    deed_thread, deed_signal, deed_file,   deed_atexit, deed_quit,
#endif
};

static void at(int where)
{
    if (HOSTILE_WHERE == where) {
        DEED();
    }
}

struct hostile_state {
    uint64_t steps;
};

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *params,
                               const void **data, struct oto_error *error)
{
    (void)host;
    (void)setup;
    (void)params;
    (void)error;
    *data = NULL;
    at(WHERE_PREPARE);
    return OTO_OK;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)instance;
    (void)error;
    at(WHERE_INIT);
    return OTO_OK;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    struct hostile_state *state = instance->state;
    state->steps++;
#ifdef HOSTILE_KNOWS_MAILBOX
    own_state = state;
#endif
    if (state->steps >= 5) {
        at(WHERE_STEP);
    }
#ifndef HOSTILE_MOTION
    *(uint64_t *)now->outputs[0].payload = now->n;
#else
    (void)now;
#endif
    return OTO_STEP_OK;
}

static enum oto_status migrate(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                               uint32_t old_version)
{
    (void)instance;
    (void)old_state;
    (void)old_bytes;
    (void)old_version;
    at(WHERE_MIGRATE);
    return OTO_OK;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    (void)instance;
    at(WHERE_VALIDATE);
    return OTO_OK;
}

#ifdef HOSTILE_MOTION
#define KIND OTO_KIND_MOTION
#define OUTPUTS 0
static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant asked,
                                     struct oto_truth_record *truth)
{
    const struct hostile_state *state = instance->state;
    at(asked.t_ns == 0 ? WHERE_ZERO : state->steps >= 5 ? WHERE_EVALUATE : -1);
    truth->q_enu_from_body = oto_quat_identity();
    return OTO_STEP_OK;
}
static const struct oto_motion_extension motion = {.size = sizeof motion, .evaluate = evaluate};
static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_MOTION) == 0 ? &motion : NULL;
}
#else
#define OUTPUTS 1
#endif

static const struct oto_field hostile_fields[] = {{"n", OTO_FIELD_U64, 1, 0, "", "", "the sample's number"}};
static const struct oto_record_type hostile_type = {"hostile", 8, 1, hostile_fields};
static const struct oto_port hostile_outputs[] = {{"", &hostile_type, OTO_PORT_ALWAYS, 0}};

#ifdef HOSTILE_ESTIMATOR
#define KIND OTO_KIND_ESTIMATOR
static const struct oto_estimator_extension estimator = {.size = sizeof estimator};
static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_ESTIMATOR) == 0 ? &estimator : NULL;
}
#elif !defined(HOSTILE_MOTION)
#define KIND OTO_KIND_SENSOR
#define extension NULL
#endif

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "hostile", .kind = KIND, .version = "1.0.0", .text = "does harm",
    .outputs = hostile_outputs, .output_count = OUTPUTS, .state_bytes = sizeof(struct hostile_state), .state_version = 2,
    .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .init = init, .step = step,
                                          .migrate = migrate, .validate = validate};
OTO_PLUGIN_DEFINE(descriptor, ops, extension);
