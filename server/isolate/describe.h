/* Opens a plugin for a plugin host: no code of it runs in this process, not even while it is mapped. [loop] */
#ifndef SRV_HOST_DESCRIBE_H
#define SRV_HOST_DESCRIBE_H

#include "plugin/host.h"

/* Stages and checks the file, also by the rules for isolated plugins. A plugin host reads its descriptor. */
enum oto_status srv_plugin_describe(const char *path, struct oto_plugin **plugin, struct oto_error *error);

#endif
