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

static void list_json(const struct oto_client *client, const char *pattern, bool first)
{
    (void)printf("%s{\"world\": ", first ? "" : ", ");
    oto_json_put_text(stdout, oto_client_header(client)->world);
    (void)printf(", \"topics\": [");
    const char *comma = "";
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (!is_listed(client, channel, pattern)) {
            continue;
        }
        (void)printf("%s{\"topic\": ", comma);
        comma = ", ";
        oto_json_put_text(stdout, channel->topic);
        (void)printf(", \"rate_hz\": ");
        oto_json_put_number(stdout, channel->rate_den > 0 ? (double)channel->rate_num / (double)channel->rate_den : 0.0);
        (void)printf(", \"type\": ");
        oto_json_put_text(stdout, channel->type.name);
        (void)printf(", \"plugin\": ");
        oto_json_put_text(stdout, channel->plugin);
        (void)printf(", \"samples\": %" PRIu64 "}", oto_ring_newest(&channel->view));
    }
    (void)printf("]}");
}

static int list(const struct cli_common *common, const char *pattern, bool first)
{
    struct oto_client *client = cli_observe(common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    if (common->json) {
        list_json(client, pattern, first);
    } else {
        list_text(client, pattern);
    }
    oto_client_close(client);
    return CLI_OK;
}

int cli_ls(int argc, char **argv)
{
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
        (void)printf("[");
    }
    if (named) {
        code = list(&simple.common, simple.arguments[0], true);
        first = false;
    }
    for (size_t i = 0; i < count && !named; i++) {
        if (worlds[i].alive) {
            simple.common.world = worlds[i].name;
            code |= list(&simple.common, simple.arguments[0], first);
            first = false;
        }
    }
    if (simple.common.json) {
        (void)printf("]\n");
    } else if (first) {
        (void)fprintf(stderr, "otolith: no world is running; `otolith run WORLD` starts one\n");
        code = CLI_FAILED;
    }
    return code;
}
