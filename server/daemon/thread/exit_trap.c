#include "daemon/thread/exit_trap.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/audit_arch.h"

/* The kernel uses only the low byte of an exit code. srv_exit_trap_let_go writes PASS to the other bits: the trap allows it. */
#define CODE_BITS 0xffu
#define PASS 0x6f746f00u
#define BY_FILTER 1 /* SYS_SECCOMP of the kernel, which this C library does not name */

#if defined(__x86_64__)
#define FIRST_ARGUMENT(context) ((unsigned)(context)->uc_mcontext.gregs[REG_RDI])
#elif defined(__aarch64__)
#define FIRST_ARGUMENT(context) ((unsigned)(context)->uc_mcontext.regs[0])
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(verdict) BPF_STMT(BPF_RET | BPF_K, verdict)

void srv_exit_trap_set(void)
{
    struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SRV_AUDIT_ARCH, 0, 5),
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 3),
        LOAD(args[0]),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~CODE_BITS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PASS, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_TRAP),
    };
    const struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        /* Without the flag SPEC_ALLOW old kernels slow the thread down permanently. */
        (void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
    }
}

bool srv_exit_trap_caught(const siginfo_t *facts)
{
    return facts->si_code == BY_FILTER && facts->si_syscall == SYS_exit_group;
}

void srv_exit_trap_let_go(const void *context)
{
    const ucontext_t *thread = context;
    for (;;) {
        (void)syscall(SYS_exit_group, PASS | (FIRST_ARGUMENT(thread) & CODE_BITS));
    }
}
