/* otolith ls: the running worlds and their topics. */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/pattern.h"
#include "cli.h"

static bool is_listed(const struct oto_client *client, const struct oto_channel *channel, const char *pattern)
{
    return cli_is_shown(channel) &&
           (pattern == NULL || srv_pattern_matches_in(pattern, oto_client_header(client)->world, channel->topic));
}

static void list_text(const struct oto_client *client, const char *pattern)
{
    cli_print_line(stdout, "%s", oto_client_header(client)->world);
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        char rate[32] = "-";
        if (!is_listed(client, channel, pattern)) {
            continue;
        }
        if (channel->rate_num > 0) {
            (void)snprintf(rate, sizeof rate, "%g Hz", (double)channel->rate_num / (double)channel->rate_den);
        }
        cli_print_line(stdout, "  %-32s %-10s %-10s %-16s %" PRIu64, channel->topic, rate, channel->type.name, channel->plugin,
                       oto_ring_newest(&channel->view));
    }
}

static void list_json(struct oto_json *json, const struct oto_client *client, const char *pattern)
{
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "world", oto_client_header(client)->world);
    oto_json_open(json, "topics", '[');
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (!is_listed(client, channel, pattern)) {
            continue;
        }
        oto_json_open(json, NULL, '{');
        oto_json_text(json, "topic", channel->topic);
        oto_json_number(json, "rate_hz", channel->rate_den > 0 ? (double)channel->rate_num / (double)channel->rate_den : 0.0);
        oto_json_text(json, "type", channel->type.name);
        oto_json_text(json, "plugin", channel->plugin);
        oto_json_u64(json, "samples", oto_ring_newest(&channel->view));
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

static int list(const struct cli_common *common, const char *pattern, struct oto_json *json)
{
    struct oto_client *client = cli_observe(common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    if (common->json) {
        list_json(json, client, pattern);
    } else {
        list_text(client, pattern);
    }
    oto_client_close(client);
    return CLI_OK;
}

int cli_ls(int argc, char **argv)
{
    struct oto_json json = {.to = stdout};
    struct cli_simple simple;
    cli_parse_simple(argc, argv, "[PATTERN]",
                     "List the running worlds and their topics: rate, record, plugin, samples so far. PATTERN, such as "
                     "'car_00*/imu', selects topics.", 0, 1, &simple);
    struct oto_world_entry worlds[CLI_WORLDS_MAX];
    size_t count = oto_worlds_list(worlds, CLI_WORLDS_MAX);
    const int reason = errno;
    count = count < CLI_WORLDS_MAX ? count : CLI_WORLDS_MAX;
    int code = CLI_OK;
    bool first = true;
    const bool named = simple.common.world != NULL;
    if (count == 0 && reason != 0 && reason != ENOENT) {
        (void)fprintf(stderr, "otolith: the directory of running worlds cannot be read: %s\n", strerror(reason));
        return CLI_FAILED;
    }
    if (simple.common.json) {
        oto_json_open(&json, NULL, '[');
    }
    if (named) {
        code = list(&simple.common, simple.arguments[0], &json);
        first = false;
    }
    for (size_t i = 0; i < count && !named; i++) {
        if (worlds[i].alive) {
            simple.common.world = worlds[i].name;
            code |= list(&simple.common, simple.arguments[0], &json);
            first = false;
        }
    }
    if (simple.common.json) {
        oto_json_close(&json, ']');
        oto_json_more(&json, "\n", 1);
    } else if (first) {
        (void)fprintf(stderr, "otolith: no world is running; `otolith run WORLD` starts one\n");
        code = CLI_FAILED;
    }
    return code;
}
