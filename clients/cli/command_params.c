/* otolith get, otolith set: the parameters of a node. */
#include "cli.h"
#include "json.h"

#include <inttypes.h>

#include "base/pattern.h"

struct listing {
    bool json;
    bool value_only;
    bool first;
};

static void print_param(void *context, const struct oto_param_info *info)
{
    struct listing *listing = context;
    if (listing->json) {
        (void)printf("%s{\"param\": ", listing->first ? "" : ", ");
        oto_json_put_text(stdout, info->key);
        (void)printf(", \"value\": ");
        oto_json_put_text(stdout, info->value);
        (void)printf(", \"unit\": ");
        oto_json_put_text(stdout, info->unit);
        (void)printf(", \"runtime\": %s, \"text\": ", info->runtime ? "true" : "false");
        oto_json_put_text(stdout, info->text);
        (void)printf("}");
    } else if (listing->value_only) {
        cli_print_line(stdout, "%s", info->value);
    } else {
        cli_print_line(stdout, "%-48s %-28s %-10s %s%s", info->key, info->value, cli_shown_unit(info->unit), info->text,
                       info->runtime ? "" : " (fixed while running)");
    }
    listing->first = false;
}

int cli_get(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "NODE [PARAM]", "Read one parameter of a node, or all of them.", 1, 2, &simple);
    struct oto_client *client = cli_observe(&simple.common, simple.arguments[0]);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_error error = {0};
    struct listing listing = {.json = simple.common.json, .value_only = simple.count == 2, .first = true};
    if (listing.json) {
        (void)printf("[");
    }
    const enum oto_status status =
        oto_control_get(client, simple.arguments[0], simple.arguments[1], print_param, &listing, &error);
    if (listing.json) {
        (void)printf("]\n");
    }
    oto_client_close(client);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}

int cli_set(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "NODE PARAM VALUE",
                     "Change a parameter of a running node at a tick boundary. VALUE is YAML, as in a world file. NODE may be a "
                     "pattern such as 'car_00*/imu': its nodes are changed in the order of the world file, up to the first refusal.",
                     3, 3, &simple);
    struct oto_client *client = cli_open(&simple.common, simple.arguments[0]);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_error error = {0};
    struct oto_reply reply;
    const enum oto_status status =
        oto_control_set(client, simple.arguments[0], simple.arguments[1], simple.arguments[2], &reply, &error);
    oto_client_close(client);
    if (status != OTO_OK) {
        return cli_say(&error);
    }
    if (simple.common.json) {
        (void)printf("{\"tick\": %" PRIu64 "}\n", reply.tick);
    } else {
        const bool many = srv_is_pattern(simple.arguments[0]);
        (void)printf("%s: %s = %s%s%s from tick %" PRIu64 "\n", simple.arguments[0], simple.arguments[1], simple.arguments[2],
                     many ? " at " : "", many ? reply.text : "", reply.tick);
    }
    return CLI_OK;
}
