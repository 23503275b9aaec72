/* Opens plugins for the server: a plugin host loads each file first. [loop] */
#ifndef SRV_HOST_DESCRIBE_H
#define SRV_HOST_DESCRIBE_H

#include "plugin/host.h"

/*
 * Stages and checks the file, and has a plugin host load it and request its extensions: a damaged file can crash the
 * dynamic loader, and then only the plugin host ends. `isolated`: the file must also meet the rules for isolated
 * plugins, the tables are those that the plugin host read, and nothing is mapped here. Otherwise the same copy is then
 * opened in this process.
 */
enum oto_status srv_plugin_open_checked(const char *path, bool isolated, struct oto_plugin **plugin,
                                        struct oto_error *error);

#endif
