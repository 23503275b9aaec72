#include <stdio.h>
#include <stdlib.h>

#include "world/world_config.h"

int main(void)
{
    char *schema = srv_world_config_schema();
    if (schema == NULL || fputs(schema, stdout) < 0)
        return 1;
    free(schema);
    return 0;
}
