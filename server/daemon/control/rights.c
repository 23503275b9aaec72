#include "daemon/control/rights.h"

#include <string.h>
#include <unistd.h>

#include "base/pattern.h"

_Static_assert(SRV_MAX_ROLE_RULES <= 32, "a bit for each rule");

#define MOST_GROUPS 256 /* groups of a peer that are read; more are ignored */

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

static enum srv_role higher(enum srv_role a, enum srv_role b)
{
    return a > b ? a : b;
}

static enum srv_role lower(enum srv_role a, enum srv_role b)
{
    return a < b ? a : b;
}

static void add_rule(const struct srv_control_config *config, uint32_t index, struct srv_rights *rights)
{
    const struct srv_role_rule *rule = &config->rules[index];
    const bool is_whole = rule->nodes[0] == '\0';
    rights->role = higher(rights->role, is_whole ? (enum srv_role)rule->role : SRV_ROLE_OBSERVE);
    rights->most = higher(rights->most, (enum srv_role)rule->role);
    rights->rules |= is_whole ? 0 : 1u << index;
}

struct srv_rights srv_rights_of(const struct srv_control_config *config, int fd, const struct ucred *peer)
{
    struct srv_rights rights = {.role = SRV_ROLE_NONE};
    struct groups groups;
    if (peer->uid == geteuid() || peer->uid == 0) {
        return (struct srv_rights){.role = SRV_ROLE_ADMIN, .most = SRV_ROLE_ADMIN};
    }
    take_groups(fd, peer, &groups);
    for (uint32_t i = 0; config != NULL && i < config->rule_count; i++) {
        if (fits(&config->rules[i], peer, &groups)) {
            add_rule(config, i, &rights);
        }
    }
    return rights;
}

struct srv_rights srv_rights_of_certificate(const struct srv_control_config *config, const char *name)
{
    struct srv_rights rights = {.role = SRV_ROLE_NONE};
    for (uint32_t i = 0; config != NULL && i < config->rule_count; i++) {
        if (name[0] != '\0' && strcmp(config->rules[i].certificate, name) == 0) {
            add_rule(config, i, &rights);
        }
    }
    return rights;
}

void srv_rights_lower(struct srv_rights *rights, enum srv_role most)
{
    rights->role = lower(rights->role, most);
    rights->most = lower(rights->most, most);
}

enum srv_role srv_role_on(const struct srv_control_config *config, const struct srv_rights *rights, const char *world,
                          const char *node)
{
    enum srv_role role = rights->role;
    for (uint32_t i = 0; rights->rules >> i != 0; i++) {
        if ((rights->rules >> i & 1u) != 0 && srv_pattern_matches_in(config->rules[i].nodes, world, node)) {
            role = higher(role, (enum srv_role)config->rules[i].role);
        }
    }
    return lower(role, rights->most);
}
