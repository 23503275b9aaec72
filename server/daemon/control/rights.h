/* Determines the rights of a client from its credentials and the world's `control: roles:`. [loop] */
#ifndef SRV_RIGHTS_H
#define SRV_RIGHTS_H

#include <sys/socket.h>

#include "world/world_config.h"

/* What a client may do. */
struct srv_rights {
    enum srv_role role; /* for the whole world */
    enum srv_role most; /* for any node at most */
    uint32_t rules;     /* bit i: rule i applies, for its nodes */
};

/*
 * The rights of the peer of a connected socket. The server's own user and root are administrators. Another user has the
 * highest role of the rules that match the user or one of its groups; SRV_ROLE_NONE: no rule matches. A rule with `nodes`
 * gives its role for these nodes, and the role observe for the whole world.
 */
struct srv_rights srv_rights_of(const struct srv_control_config *config, int fd, const struct ucred *peer);
/* The rights of a remote client, by the common name of its certificate. */
struct srv_rights srv_rights_of_certificate(const struct srv_control_config *config, const char *name);
/* Removes all roles above this one. */
void srv_rights_lower(struct srv_rights *rights, enum srv_role most);
/* The role for the node "world/vehicle/node". */
enum srv_role srv_role_on(const struct srv_control_config *config, const struct srv_rights *rights, const char *world,
                          const char *node);

#endif
