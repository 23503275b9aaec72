#include "daemon/control/role.h"

#include <string.h>
#include <unistd.h>

#define MOST_GROUPS 256 /* groups of a peer that are read; more are ignored */

static const char *const names[] = {
    [SRV_ROLE_NONE] = "none", [SRV_ROLE_OBSERVE] = "observe", [SRV_ROLE_OPERATE] = "operate", [SRV_ROLE_ADMIN] = "admin"};

const char *srv_role_text(enum srv_role role)
{
    return names[role];
}

enum srv_role srv_role_named(const char *name)
{
    for (int role = SRV_ROLE_OBSERVE; role <= SRV_ROLE_ADMIN; role++) {
        if (strcmp(name, names[role]) == 0) {
            return (enum srv_role)role;
        }
    }
    return SRV_ROLE_NONE;
}

struct groups {
    gid_t list[MOST_GROUPS + 1];
    size_t count;
};

/* The peer's primary group, then its other groups as the kernel reports them. */
static void take_groups(int fd, const struct ucred *peer, struct groups *groups)
{
    socklen_t bytes = MOST_GROUPS * sizeof *groups->list;
    groups->list[0] = peer->gid;
    groups->count = 1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, &groups->list[1], &bytes) == 0) {
        groups->count += bytes / sizeof *groups->list;
    }
}

static bool fits(const struct srv_role_rule *rule, const struct ucred *peer, const struct groups *groups)
{
    bool found = rule->uid != 0 && rule->uid == peer->uid;
    for (size_t i = 0; i < groups->count && rule->gid != 0; i++) {
        found = found || groups->list[i] == rule->gid;
    }
    return found;
}

enum srv_role srv_role_of(const struct srv_control_config *config, int fd, const struct ucred *peer)
{
    struct groups groups;
    int32_t role = SRV_ROLE_NONE;
    if (peer->uid == geteuid() || peer->uid == 0) {
        return SRV_ROLE_ADMIN;
    }
    take_groups(fd, peer, &groups);
    for (uint32_t i = 0; config != NULL && i < config->rule_count; i++) {
        if (fits(&config->rules[i], peer, &groups) && config->rules[i].role > role) {
            role = config->rules[i].role;
        }
    }
    return (enum srv_role)role;
}
