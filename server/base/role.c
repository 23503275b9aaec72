#include "base/role.h"

#include <string.h>

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
