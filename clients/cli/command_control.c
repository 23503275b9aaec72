/* otolith pause, resume, step, scale: control the clock of a running world. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

static const struct clock_command {
    const char *name, *synopsis, *doc, *done;
    int least, most; /* arguments */
} clock_commands[] = {
    {"pause", "", "Stop the world's clock at the next tick boundary.", "paused", 0, 0},
    {"resume", "", "Resume the world's clock.", "resumed", 0, 0},
    {"step", "[TICKS]", "Run a number of ticks (default 1), then pause; returns after the last tick.", "stepped; paused", 0, 1},
    {"scale", "FACTOR", "Set simulated seconds per real second.", "scaled", 1, 1},
};

/* Refuses arguments that the server would refuse too, before a world is needed. */
static bool check(const char *name, const char *argument)
{
    struct oto_error error = {0};
    uint64_t ticks = 0;
    double scale;
    if (strcmp(name, "step") == 0 && (cli_count(argument, &ticks, &error) != OTO_OK || ticks == 0)) {
        (void)fprintf(stderr, "otolith: step takes a whole number of ticks from 1, not '%s'\n", argument);
        return false;
    }
    if (strcmp(name, "scale") == 0 && cli_positive(argument, &scale, &error) != OTO_OK) {
        (void)cli_say(&error);
        return false;
    }
    return true;
}

int cli_clock(int argc, char **argv)
{
    const struct clock_command *command = clock_commands;
    const char *name = strchr(argv[0], ' ') + 1;
    struct cli_simple simple;
    struct oto_reply reply = {0};
    struct oto_error error = {0};
    while (strcmp(command->name, name) != 0) {
        command++;
    }
    cli_parse_control(argc, argv, command->synopsis, command->doc, command->least, command->most, &simple);
    if (simple.count == 0) {
        simple.arguments[0] = "1"; /* of step */
    }
    if (!check(name, simple.arguments[0])) {
        return CLI_USAGE;
    }
    struct oto_client *client = cli_open(&simple.common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    const enum oto_status status = oto_control_send(client, name, simple.arguments, command->most > 0 ? 1 : 0, &reply, &error);
    return cli_finish(client, &simple.common, status, &reply, &error, "%s at tick %" PRIu64, command->done, reply.tick);
}
