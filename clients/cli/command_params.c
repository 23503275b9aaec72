/* otolith get, otolith set: the parameters of a node. */
#include "cli.h"
#include "json.h"

#include <inttypes.h>
#include <string.h>

#include "base/pattern.h"

struct listing {
    struct oto_json *json; /* NULL: text */
    bool value_only;
    const char *node; /* one of several; NULL: the only one */
};

static void print_param(void *context, const struct oto_param_info *info)
{
    const struct listing *listing = context;
    struct oto_json *json = listing->json;
    if (json != NULL) {
        oto_json_open(json, NULL, '{');
        if (listing->node != NULL) {
            oto_json_text(json, "node", listing->node);
        }
        oto_json_text(json, "param", info->key);
        oto_json_text(json, "value", info->value);
        oto_json_text(json, "unit", info->unit);
        oto_json_flag(json, "runtime", info->runtime);
        oto_json_text(json, "text", info->text);
        oto_json_close(json, '}');
    } else if (listing->value_only) {
        cli_print_line(stdout, "%s%s%s", listing->node != NULL ? listing->node : "", listing->node != NULL ? " " : "", info->value);
    } else {
        cli_print_line(stdout, "%-48s %-28s %-10s %s%s", info->key, info->value, cli_shown_unit(info->unit), info->text,
                       info->runtime ? "" : " (fixed while running)");
    }
}

/* The nodes whose names match, in the order of the world file. */
static enum oto_status get_matching(struct oto_client *client, const char *pattern, const char *param, struct listing *listing,
                                    struct oto_error *error)
{
    const char *world = oto_client_header(client)->world, *last = "";
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < oto_client_channel_count(client) && status == OTO_OK; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if ((channel->flags & OTO_CHANNEL_EVENTS) != 0 || strcmp(channel->node, last) == 0 ||
            !srv_pattern_matches_in(pattern, world, channel->node)) {
            continue;
        }
        last = listing->node = channel->node;
        if (listing->json == NULL && param == NULL) {
            cli_print_line(stdout, "%s", channel->node);
        }
        status = oto_control_get(client, channel->node, param, print_param, listing, error);
    }
    return status != OTO_OK || listing->node != NULL
               ? status
               : oto_fail(error, OTO_NOT_FOUND, "no node matches '%s'; otolith ls lists the topics", pattern);
}

int cli_get(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_control(argc, argv, "NODE [PARAM]",
                     "Read one parameter of a node, or all of them. NODE may be a pattern such as 'car_00*/imu': each line of one "
                     "parameter then begins with its node.",
                     1, 2, &simple);
    const char *node = simple.arguments[0], *param = simple.arguments[1];
    struct oto_client *client = cli_observe(&simple.common, node);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_error error = {0};
    struct oto_json json = {.to = stdout};
    struct listing listing = {.json = simple.common.json ? &json : NULL, .value_only = simple.count == 2};
    if (simple.common.json) {
        oto_json_open(&json, NULL, '[');
    }
    const enum oto_status status = srv_is_pattern(node) ? get_matching(client, node, param, &listing, &error)
                                                        : oto_control_get(client, node, param, print_param, &listing, &error);
    if (simple.common.json) {
        oto_json_close(&json, ']');
        oto_json_more(&json, "\n", 1);
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
    struct oto_reply reply = {0};
    const bool many = srv_is_pattern(simple.arguments[0]);
    const enum oto_status status =
        oto_control_set(client, simple.arguments[0], simple.arguments[1], simple.arguments[2], &reply, &error);
    return cli_finish(client, &simple.common, status, &reply, &error, "%s: %s = %s%s%s from tick %" PRIu64, simple.arguments[0],
                      simple.arguments[1], simple.arguments[2], many ? " at " : "", many ? reply.text : "", reply.tick);
}
