/* Determines the role of a client from its credentials and the world's `control: roles:`. [loop] */
#ifndef SRV_ROLE_H
#define SRV_ROLE_H

#include <sys/socket.h>

#include "world/world_config.h"

/*
 * The role of the peer of a connected socket. The server's own user and root are administrators. Another user has the highest
 * role of the rules that match the user or one of its groups; SRV_ROLE_NONE: no rule matches.
 */
enum srv_role srv_role_of(const struct srv_control_config *config, int fd, const struct ucred *peer);
const char *srv_role_text(enum srv_role role);
/* SRV_ROLE_NONE: there is no role of this name. */
enum srv_role srv_role_named(const char *name);

#endif
