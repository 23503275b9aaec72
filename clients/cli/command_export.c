/* otolith export: descriptions of a world's records for other systems, and a sensor as an FMU. */
#include "cli.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "export/fmu.h"
#include "export/ros2_msgs.h"
#include "json.h"

static int write_messages(const struct cli_simple *simple)
{
    struct oto_error error = {0};
    uint32_t count = 0;
    if (export_ros2_msgs(simple->arguments[1], &count, &error) != OTO_OK) {
        return cli_say(&error);
    }
    if (simple->common.json) {
        (void)printf("{\"messages\": %" PRIu32 "}\n", count);
    } else {
        cli_print_line(stdout, "%s: otolith_msgs with %" PRIu32 " messages and 2 services", simple->arguments[1], count);
    }
    return CLI_OK;
}

static int write_fmu(const struct cli_simple *simple, const char *file)
{
    struct oto_error error = {0};
    char made[PATH_MAX] = "";
#ifdef OTO_HAS_ZIP
    const enum oto_status status = export_fmu(simple->arguments[1], simple->arguments[2], file, made, sizeof made, &error);
#else
    const enum oto_status status = oto_fail(&error, OTO_UNSUPPORTED, "this otolith was built without libzip, which FMUs need; %s is not written",
                                            file != NULL ? file : "an FMU");
#endif
    if (status != OTO_OK) {
        return cli_say(&error);
    }
    if (simple->common.json) {
        struct oto_json json = {.to = stdout};
        oto_json_open(&json, NULL, '{');
        oto_json_text(&json, "file", made);
        oto_json_close(&json, '}');
        oto_json_more(&json, "\n", 1);
    } else {
        cli_print_line(stdout, "%s: '%s' as an FMU for co-simulation, FMI 3.0", made, simple->arguments[2]);
    }
    return CLI_OK;
}

int cli_export(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_simple(argc, argv, "ros2-msgs DIRECTORY\nfmu WORLD VEHICLE/NODE [FILE]",
                     "Write the ROS 2 package otolith_msgs: the messages and services of `otolith-ros2` that are not standard, for the plugins "
                     "that are found; build it with colcon in a workspace of your ROS 2. Or write a sensor of a world as an FMU for co-simulation "
                     "(FMI 3.0): its inputs are the truth of the vehicle, its outputs the fields of the sensor's record.", 2, 4, &simple);
    const char *what = simple.arguments[0];
    if (strcmp(what, "ros2-msgs") == 0 && simple.count == 2) {
        return write_messages(&simple);
    }
    if (strcmp(what, "fmu") == 0 && simple.count > 2) {
        return write_fmu(&simple, simple.count > 3 ? simple.arguments[3] : NULL);
    }
    cli_print_line(stderr, "otolith: there is no 'export %s' with these arguments; ros2-msgs DIRECTORY and fmu WORLD VEHICLE/NODE [FILE] are accepted", what);
    return CLI_USAGE;
}
