/* otolith pause, resume, step, scale: control the clock of a running world. */
#include "cli.h"
#include "json.h"

#include <inttypes.h>

static int finish(struct oto_client *client, const struct cli_common *common, enum oto_status status,
                  const struct oto_reply *reply, const struct oto_error *error, const char *what)
{
    oto_client_close(client);
    if (status != OTO_OK) {
        return cli_say(error);
    }
    if (common->json) {
        (void)printf("{\"tick\": %" PRIu64 ", \"text\": ", reply->tick);
        json_text(stdout, reply->text);
        (void)printf("}\n");
    } else {
        (void)printf("%s at tick %" PRIu64 "\n", what, reply->tick);
    }
    return CLI_OK;
}

int cli_pause(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "", "Stop the world's clock at the next tick boundary.", 0, 0, &simple);
    struct oto_client *client = cli_open(&simple.common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_reply reply;
    struct oto_error error = {0};
    const enum oto_status status = oto_control_pause(client, &reply, &error);
    return finish(client, &simple.common, status, &reply, &error, "paused");
}

int cli_resume(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "", "Resume the world's clock.", 0, 0, &simple);
    struct oto_client *client = cli_open(&simple.common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_reply reply;
    struct oto_error error = {0};
    const enum oto_status status = oto_control_resume(client, &reply, &error);
    return finish(client, &simple.common, status, &reply, &error, "resumed");
}

int cli_step(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "[TICKS]", "Run a number of ticks (default 1), then pause; returns after the last tick.", 0, 1,
                     &simple);
    struct oto_error error = {0};
    uint64_t ticks = 1;
    if (simple.count == 1 && (cli_count(simple.arguments[0], &ticks, &error) != OTO_OK || ticks == 0)) {
        (void)fprintf(stderr, "otolith: step takes a whole number of ticks from 1, not '%s'\n", simple.arguments[0]);
        return CLI_USAGE;
    }
    struct oto_client *client = cli_open(&simple.common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_reply reply;
    const enum oto_status status = oto_control_step(client, ticks, &reply, &error);
    return finish(client, &simple.common, status, &reply, &error, "stepped; paused");
}

int cli_scale(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "FACTOR", "Set simulated seconds per real second.", 1, 1, &simple);
    struct oto_error error = {0};
    double scale = 1.0;
    if (cli_positive(simple.arguments[0], &scale, &error) != OTO_OK) {
        (void)cli_say(&error);
        return CLI_USAGE;
    }
    struct oto_client *client = cli_open(&simple.common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_reply reply;
    const enum oto_status status = oto_control_scale(client, scale, &reply, &error);
    return finish(client, &simple.common, status, &reply, &error, "scaled");
}
