#include "host_crash.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (64u * 1024u)

/* A signal handler gets no argument of its own: this is the one mutable global of the program. */
static struct {
    struct srv_host_crash *crash;
    struct host_ranges ranges;
} watched;

static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

static uintptr_t program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static void record(int signal, const siginfo_t *facts, uintptr_t pc)
{
    struct srv_host_crash *crash = watched.crash;
    const bool call = signal == SIGSYS;
    if (crash->signal != 0) {
        return; /* only the first signal shows the cause */
    }
    crash->code = (uint32_t)facts->si_code;
    crash->address = facts->si_code > 0 && !call ? (uint64_t)(uintptr_t)facts->si_addr : 0;
    crash->system_call = call ? (uint64_t)(unsigned)facts->si_syscall : 0;
    crash->pc = (uint64_t)pc;
    for (uint32_t i = 0; i < watched.ranges.count; i++) {
        const struct host_range *range = &watched.ranges.range[i];
        if (pc >= range->start && pc < range->end) {
            crash->in_plugin = 1 + i;
            crash->library_offset = (uint64_t)(pc - range->start);
        }
    }
    __atomic_store_n(&crash->signal, (uint32_t)signal, __ATOMIC_RELEASE);
}

/*
 * Records a deadly signal. A fault of the processor occurs again when the handler returns, and then the default action
 * kills the process. Other signals end the process here.
 */
static void on_deadly(int signal, siginfo_t *facts, void *context)
{
    record(signal, facts, program_counter(context));
    const bool strikes_again = facts->si_code > 0 && signal != SIGSYS && signal != SIGTRAP && signal != SIGABRT;
    if (!strikes_again) {
        (void)syscall(SYS_exit_group, 128 + signal);
    }
}

enum oto_status host_crash_watch(struct srv_host_crash *crash, struct oto_error *error)
{
    struct sigaction action = {.sa_sigaction = on_deadly, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    void *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = {.ss_sp = memory, .ss_size = STACK_BYTES};
    (void)sigemptyset(&action.sa_mask);
    watched.crash = crash;
    if (memory == MAP_FAILED || sigaltstack(&stack, NULL) != 0) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the stack of signals: %s", strerror(errno));
    }
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        (void)sigaction(deadly[i], &action, NULL);
    }
    return OTO_OK;
}

struct search {
    uintptr_t code;
    struct host_range found;
};

static int look_at(struct dl_phdr_info *library, size_t bytes, void *context)
{
    struct search *search = context;
    struct host_range whole = {library->dlpi_addr, library->dlpi_addr};
    bool inside = false;
    (void)bytes;
    for (size_t i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &library->dlpi_phdr[i];
        const uintptr_t start = library->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type != PT_LOAD) {
            continue;
        }
        inside = inside || (search->code >= start && search->code < end);
        whole.end = end > whole.end ? end : whole.end;
    }
    if (inside) {
        search->found = whole;
    }
    return inside ? 1 : 0;
}

void host_crash_know(uint32_t index, const struct oto_plugin *plugin)
{
    struct search search = {.code = (uintptr_t)oto_plugin_ops(plugin)->step};
    (void)dl_iterate_phdr(look_at, &search);
    if (index < SRV_HOST_MAX_PLUGINS) {
        watched.ranges.range[index] = search.found;
        watched.ranges.count = index >= watched.ranges.count ? index + 1 : watched.ranges.count;
    }
}
