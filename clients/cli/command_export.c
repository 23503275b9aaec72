/* otolith export: descriptions of a world's records for other systems. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

#include "export/ros2_msgs.h"

int cli_export(int argc, char **argv)
{
    struct cli_simple simple;
    struct oto_error error = {0};
    uint32_t count = 0;
    cli_parse_simple(argc, argv, "ros2-msgs DIRECTORY",
                     "Write the ROS 2 package otolith_msgs: the messages and services of `otolith-ros2` that are not standard, for the plugins "
                     "that are found. Build it with colcon in a workspace of your ROS 2.", 2, 2, &simple);
    if (strcmp(simple.arguments[0], "ros2-msgs") != 0) {
        cli_print_line(stderr, "otolith: there is no 'export %s'; ros2-msgs is accepted", simple.arguments[0]);
        return CLI_USAGE;
    }
    if (export_ros2_msgs(simple.arguments[1], &count, &error) != OTO_OK) {
        return cli_say(&error);
    }
    if (simple.common.json) {
        (void)printf("{\"messages\": %" PRIu32 "}\n", count);
    } else {
        cli_print_line(stdout, "%s: otolith_msgs with %" PRIu32 " messages and 2 services", simple.arguments[1], count);
    }
    return CLI_OK;
}
