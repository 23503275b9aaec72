#include "confine.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/audit_arch.h"
#include "base/landlock.h"

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, member))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE_CALL(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(call), 0, 1), REFUSE

/*
 * The filter is a list of refused system calls (EPERM), not of allowed ones, because the next version of libwebsockets, libuv or
 * the C library may need other calls. New sockets may only be unix sockets, as for the world's control socket.
 */
static void filter_calls(void)
{
    static struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SRV_AUDIT_ARCH, 1, 0),
        REFUSE,
        LOAD(nr),
        REFUSE_CALL(SYS_execve),
        REFUSE_CALL(SYS_execveat),
        REFUSE_CALL(SYS_ptrace),
        REFUSE_CALL(SYS_process_vm_readv),
        REFUSE_CALL(SYS_process_vm_writev),
        REFUSE_CALL(SYS_bpf),
        REFUSE_CALL(SYS_perf_event_open),
        REFUSE_CALL(SYS_io_uring_setup),
        REFUSE_CALL(SYS_userfaultfd),
        REFUSE_CALL(SYS_unshare),
        REFUSE_CALL(SYS_setns),
        REFUSE_CALL(SYS_mount),
        REFUSE_CALL(SYS_chroot),
        REFUSE_CALL(SYS_add_key),
        REFUSE_CALL(SYS_keyctl),
        REFUSE_CALL(SYS_bind),
        REFUSE_CALL(SYS_listen),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
        REFUSE,
        ALLOW,
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void web_confine(void)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none); /* the tokens are in memory */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        (void)srv_landlock_close(NULL);
        filter_calls();
    }
}
