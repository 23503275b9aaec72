/* The text of a crash record. The record was written by a process that is not trusted. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "isolate/plugin_host.h"
#include "plugin/elf_symbol.h"

const char *srv_host_operation_text(uint32_t operation)
{
    static const char *const texts[SRV_OPERATION_COUNT] = {
        [SRV_OPERATION_IDLE] = "nothing",          [SRV_OPERATION_LOAD] = "loading",
        [SRV_OPERATION_PREPARE] = "prepare",       [SRV_OPERATION_INIT] = "init",
        [SRV_OPERATION_SET_PARAMS] = "set_params", [SRV_OPERATION_STEP] = "step",
        [SRV_OPERATION_MIGRATE] = "migrate",       [SRV_OPERATION_VALIDATE] = "validate",
        [SRV_OPERATION_ADOPT] = "adopt",           [SRV_OPERATION_EVALUATE] = "evaluate"};
    return operation < SRV_OPERATION_COUNT ? texts[operation] : "nothing";
}

struct named_call {
    long number;
    const char *name;
};

static const char *call_name(uint64_t number)
{
    static const struct named_call calls[] = {
        {SYS_openat, "openat"},   {SYS_socket, "socket"},   {SYS_connect, "connect"},  {SYS_clone, "clone"},
        {SYS_clone3, "clone3"},   {SYS_execve, "execve"},   {SYS_ptrace, "ptrace"},    {SYS_kill, "kill"},
        {SYS_tgkill, "tgkill"},   {SYS_write, "write"},     {SYS_read, "read"},        {SYS_rt_sigaction, "rt_sigaction"},
        {SYS_mprotect, "mprotect"}, {SYS_prctl, "prctl"},   {SYS_nanosleep, "nanosleep"},
        {SYS_clock_nanosleep, "clock_nanosleep"},           {SYS_unlinkat, "unlinkat"}, {SYS_sendto, "sendto"},
        {SYS_process_vm_writev, "process_vm_writev"},
#ifdef SYS_open
        {SYS_open, "open"},       {SYS_fork, "fork"},       {SYS_vfork, "vfork"},      {SYS_unlink, "unlink"},
#endif
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if ((uint64_t)calls[i].number == number) {
            return calls[i].name;
        }
    }
    return NULL;
}

/* Writes the place of a crash: "at function+0x12", if the file's symbols name the function. */
static void describe_place(const struct srv_host_crash *crash, int fd, char *text, size_t bytes)
{
    struct stat facts;
    char function[96];
    uint64_t into = 0;
    text[0] = '\0';
    if (crash->in_plugin == 0 || fd < 0 || fstat(fd, &facts) != 0 || facts.st_size <= 0) {
        return;
    }
    void *map = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        return;
    }
    if (oto_elf_symbol_at(map, (size_t)facts.st_size, crash->library_offset, function, sizeof function, &into)) {
        (void)snprintf(text, bytes, ", at %s+0x%llx", function, (unsigned long long)into);
    } else {
        (void)snprintf(text, bytes, ", at 0x%llx of the plugin", (unsigned long long)crash->library_offset);
    }
    (void)munmap(map, (size_t)facts.st_size);
}

void srv_crash_describe(const struct srv_host_crash *crash, int fd, char *text, size_t bytes)
{
    char place[160], call[32];
    const int signal = crash->signal < 64 ? (int)crash->signal : 0;
    const char *name = sigabbrev_np(signal);
    describe_place(crash, fd, place, sizeof place);
    if (signal == SIGSYS) {
        (void)snprintf(call, sizeof call, "%llu", (unsigned long long)crash->system_call);
        (void)snprintf(text, bytes, "was ended by SIGSYS: the system call %s is not allowed there%s",
                       call_name(crash->system_call) != NULL ? call_name(crash->system_call) : call, place);
    } else if (signal == SIGSEGV || signal == SIGBUS) {
        (void)snprintf(text, bytes, "was ended by SIG%s, touching address 0x%llx%s", name,
                       (unsigned long long)crash->address, place);
    } else {
        (void)snprintf(text, bytes, "was ended by SIG%s%s", name != NULL ? name : "?", place);
    }
}
