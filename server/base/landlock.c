#include "base/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Constants that the headers of Linux 5.13 do not define. */
#define FS_REFER (UINT64_C(1) << 13)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_IOCTL_DEV (UINT64_C(1) << 15)
#define NET_BIND_TCP (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

/* The denied operations, in the layout of struct landlock_ruleset_attr. Members that a kernel does not know must be 0. */
struct denied {
    uint64_t fs, net, scoped;
};

static const struct {
    uint32_t abi; /* the first ABI that can deny these operations */
    struct denied denied;
} steps[] = {
    {1,
     {.fs = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
            LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM}},
    {2, {.fs = FS_REFER}},
    {3, {.fs = FS_TRUNCATE}},
    {4, {.net = NET_BIND_TCP | NET_CONNECT_TCP}},
    {5, {.fs = FS_IOCTL_DEV}},
    {6, {.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL}},
};

uint32_t srv_landlock_abi(void)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi > 0 ? (uint32_t)abi : 0;
}

/* Exempts a directory: files and directories in it may be written, made and removed. */
static bool exempt(int rules, const char *own, uint64_t denied)
{
    static const uint64_t kept = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | FS_TRUNCATE;
    struct landlock_path_beneath_attr rule = {.allowed_access = denied & kept, .parent_fd = open(own, O_PATH | O_CLOEXEC)};
    const long failed = rule.parent_fd >= 0 ? syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) : -1;
    if (rule.parent_fd >= 0) {
        (void)close(rule.parent_fd);
    }
    return failed == 0;
}

uint32_t srv_landlock_close(const char *own)
{
    const uint32_t abi = srv_landlock_abi();
    struct denied denied = {0};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && steps[i].abi <= abi; i++) {
        denied.fs |= steps[i].denied.fs;
        denied.net |= steps[i].denied.net;
        denied.scoped |= steps[i].denied.scoped;
    }
    const int rules = abi > 0 ? (int)syscall(SYS_landlock_create_ruleset, &denied, sizeof denied, 0) : -1;
    if (rules < 0) {
        return 0;
    }
    const bool ready = own == NULL || exempt(rules, own, denied.fs);
    const long failed = ready ? syscall(SYS_landlock_restrict_self, rules, 0) : -1;
    (void)close(rules);
    return failed == 0 ? abi : 0;
}
