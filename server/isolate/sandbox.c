#include "sandbox.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/audit_arch.h"
#include "base/landlock.h"
#include "host_mailbox.h"

#define FILES_MAX 256
#define MEMORY_MAX_BYTES (UINT64_C(4) << 30)
#define CODE_MAX 96

/* System calls that steps, the handler of deadly signals and the C library's clocks need. */
static const int allowed[] = {SYS_futex,        SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall,
                              SYS_clock_gettime, SYS_sched_yield, SYS_getpid,         SYS_gettid,
                              SYS_exit,         SYS_exit_group};
/* mmap and brk fail, so that malloc returns NULL; a refused call would end the process. */
static const int no_memory[] = {SYS_brk, SYS_mmap, SYS_mremap, SYS_munmap, SYS_madvise};

struct program {
    struct sock_filter code[CODE_MAX];
    unsigned short length;
};

static void add(struct program *program, struct sock_filter instruction)
{
    assert(program->length < CODE_MAX);
    program->code[program->length++] = instruction;
}

static void add_load(struct program *program, size_t offset)
{
    add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

/* Filter code: returns `verdict` if the loaded word equals `value`. */
static void add_verdict_if(struct program *program, unsigned value, unsigned verdict)
{
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* Allows a call whose first argument has this value. The filter looks at the low half: high bits change nothing there. */
static void add_allow_with(struct program *program, int call, unsigned first_argument)
{
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4));
    add_load(program, offsetof(struct seccomp_data, args[0]));
    add_verdict_if(program, first_argument, SECCOMP_RET_ALLOW);
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
}

static void write_program(struct program *program)
{
    add_load(program, offsetof(struct seccomp_data, arch));
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SRV_AUDIT_ARCH, 1, 0));
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    add_load(program, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        add_verdict_if(program, (unsigned)allowed[i], SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < sizeof no_memory / sizeof *no_memory; i++) {
        add_verdict_if(program, (unsigned)no_memory[i], SECCOMP_RET_ERRNO | ENOMEM);
    }
    add_allow_with(program, SYS_write, STDERR_FILENO);
    add_allow_with(program, SYS_sendto, SRV_HOST_CONTROL_FD);
    add_allow_with(program, SYS_tgkill, (unsigned)getpid()); /* abort() */
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
}

/* The server ends a step that does not return; if the server gets no processor, the kernel does after one second. */
void host_sandbox_take_priority(int fifo_priority)
{
    const struct sched_param wanted = {.sched_priority = fifo_priority};
    const struct rlimit second = {1000000, 2000000}; /* SIGXCPU, then SIGKILL */
    if (fifo_priority > 0 && setrlimit(RLIMIT_RTTIME, &second) == 0 &&
        sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &wanted) == 0) {
        (void)mlockall(MCL_CURRENT);
    }
}

bool host_sandbox_is_closable(void)
{
#ifdef OTO_SANITIZED_BUILD
    return false;
#else
    return true;
#endif
}

enum oto_status host_sandbox_close(struct oto_error *error)
{
    struct program program = {.length = 0};
    if (!host_sandbox_is_closable()) {
        return OTO_OK;
    }
    write_program(&program);
    const struct sock_fprog filter = {program.length, program.code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        return oto_fail(error, OTO_IO, "the kernel does not take the filter of system calls: %s", strerror(errno));
    }
    return OTO_OK;
}

/* Lowers a limit to `most`, or to the server's own limit if that is lower. */
static bool limit(int what, rlim_t most)
{
    struct rlimit bound;
    if (getrlimit((__rlimit_resource_t)what, &bound) != 0) {
        return false;
    }
    bound.rlim_cur = bound.rlim_max = bound.rlim_max < most ? bound.rlim_max : most;
    return setrlimit((__rlimit_resource_t)what, &bound) == 0;
}

static bool set_limits(void)
{
    bool set = limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, FILES_MAX);
#ifndef OTO_SANITIZED_BUILD /* sanitizers reserve terabytes of address space */
    set = set && limit(RLIMIT_AS, MEMORY_MAX_BYTES);
#endif
    return set;
}

enum oto_status host_sandbox_begin(pid_t server, const char *own_directory, uint32_t *landlock, struct oto_error *error)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !set_limits()) {
        return oto_fail(error, OTO_IO, "the plugin host cannot be confined: %s", strerror(errno));
    }
    if (getppid() != server) {
        return oto_fail(error, OTO_CLOSED, "the server that started this plugin host is gone");
    }
    if (own_directory[0] != '\0' && setenv("TMPDIR", own_directory, 1) != 0) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the environment of the plugin host");
    }
    *landlock = srv_landlock_close(own_directory[0] != '\0' ? own_directory : NULL);
    return OTO_OK;
}
