/* The role of a client: its credentials against the world's `control: roles:`. [loop] */
#ifndef SRV_ROLE_H
#define SRV_ROLE_H

#include <sys/socket.h>

#include "world/world_config.h"

/*
 * The role of the peer of a connected socket: the server's own user and root are administrators, others have the highest
 * role of the rules that their user or one of their groups fits; SRV_ROLE_NONE where there is none.
 */
enum srv_role srv_role_of(const struct srv_control_config *config, int fd, const struct ucred *peer);
const char *srv_role_text(enum srv_role role);
/* SRV_ROLE_NONE: no role is called so. */
enum srv_role srv_role_named(const char *name);

#endif
