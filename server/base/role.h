/* Roles of clients of the control socket. Pure: any thread. */
#ifndef SRV_ROLE_H
#define SRV_ROLE_H

/* What a client may do; each role includes the roles before it. */
enum srv_role { SRV_ROLE_NONE = 0, SRV_ROLE_OBSERVE, SRV_ROLE_OPERATE, SRV_ROLE_ADMIN };

const char *srv_role_text(enum srv_role role);
/* SRV_ROLE_NONE: there is no role of this name. */
enum srv_role srv_role_named(const char *name);

#endif
