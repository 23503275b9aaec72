/* otolith info TOPIC: the node, plugin, rate, record and fields of a topic. */
#include "base/monotonic.h"
#include "json.h"
#include "document/document.h"
#include "source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"",    "u8",  "i8",  "u16", "i16", "u32",
                                         "i32", "u64", "i64", "f32", "f64", "text"};

static const char *type_name(uint32_t type)
{
    return type < sizeof type_names / sizeof *type_names ? type_names[type] : "?";
}

static void fields_as_text(const struct oto_record_type *type)
{
    cli_print_line(stdout, "record     %s, %" PRIu32 " bytes", type->name, type->bytes);
    (void)puts("fields");
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        char kind[24];
        (void)snprintf(kind, sizeof kind, field->count > 1 ? "%s[%" PRIu32 "]" : "%s", type_name(field->type), field->count);
        cli_print_line(stdout, "  %-34s %-8s %-10s %-7s %s", field->name, kind, cli_shown_unit(field->unit), field->frame, field->text);
    }
}

static void fields_as_json(const struct oto_record_type *type)
{
    (void)printf("\"type\": ");
    oto_json_put_text(stdout, type->name);
    (void)printf(", \"bytes\": %" PRIu32 ", \"fields\": [", type->bytes);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        const char *const texts[][2] = {{"unit", field->unit}, {"frame", field->frame}, {"text", field->text}};
        (void)printf("%s{\"name\": ", i > 0 ? ", " : "");
        oto_json_put_text(stdout, field->name);
        (void)printf(", \"type\": \"%s\", \"count\": %" PRIu32 ", \"offset\": %" PRIu32, type_name(field->type), field->count,
                     field->offset);
        for (size_t k = 0; k < 3; k++) {
            (void)printf(", \"%s\": ", texts[k][0]);
            oto_json_put_text(stdout, texts[k][1]);
        }
        (void)putchar('}');
    }
    (void)printf("]");
}

/* Finds the plugin host of a node in the server's reply to `info`; NULL: the node runs in the server. */
static const struct oto_value *find_host(const struct oto_value *info, const char *node)
{
    const struct oto_value *hosts = oto_value_get(info, "plugin_hosts");
    for (uint32_t i = 0; hosts != NULL && i < hosts->count; i++) {
        const struct oto_value *nodes = oto_value_get(hosts->items[i], "nodes");
        for (uint32_t n = 0; nodes != NULL && n < nodes->count; n++) {
            if (nodes->items[n]->text != NULL && strcmp(nodes->items[n]->text, node) == 0) {
                return hosts->items[i];
            }
        }
    }
    return NULL;
}

static const char *member(const struct oto_value *host, const char *key)
{
    const struct oto_value *value = oto_value_get(host, key);
    return value != NULL && value->text != NULL ? value->text : "";
}

/* Prints the plugin host of a node; prints nothing if the node runs in the server or the server does not reply. */
static void host_of(struct oto_client *client, const char *node, bool json)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    struct oto_document *document = NULL;
    if (oto_control_info(client, &reply, &error) != OTO_OK ||
        oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, &error) != OTO_OK) {
        return;
    }
    const struct oto_value *host = find_host(oto_document_root(document), node);
    if (host != NULL && json) {
        (void)printf("\"plugin_host\": {\"name\": ");
        oto_json_put_text(stdout, member(host, "name"));
        (void)printf(", \"pid\": %s, \"mode\": \"%s\", \"restarts\": %s, \"stale\": %s, \"landlock\": %s}, ", member(host, "pid"),
                     member(host, "mode"), member(host, "restarts"), member(host, "stale"), member(host, "landlock"));
    } else if (host != NULL) {
        cli_print_line(stdout, "host       plugin host %s, pid %s, %s; %s restarts, %s stale samples; Landlock ABI %s",
                       member(host, "name"), member(host, "pid"), member(host, "mode"), member(host, "restarts"),
                       member(host, "stale"), member(host, "landlock"));
    }
    oto_document_close(document);
}

static void channel_as_json(struct oto_client *client, const struct oto_channel *channel)
{
    const char *const texts[][2] = {{"topic", channel->topic},
                                    {"node", channel->node},
                                    {"plugin", channel->plugin},
                                    {"plugin_version", channel->plugin_version},
                                    {"frame_id", channel->frame_id}};
    (void)putchar('{');
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        (void)printf("\"%s\": ", texts[i][0]);
        oto_json_put_text(stdout, texts[i][1]);
        (void)printf(", ");
    }
    host_of(client, channel->node, true);
    (void)printf("\"rate_hz\": ");
    oto_json_put_number(stdout, (double)channel->rate_num / (double)channel->rate_den);
    (void)printf(", \"rate\": [%" PRIu64 ", %" PRIu64 "], \"schema\": \"%016" PRIx64 "\", \"samples\": %" PRIu64 ", \"ring\": %" PRIu32 ", ",
                 channel->rate_num, channel->rate_den, channel->type_hash, oto_ring_newest(&channel->view),
                 channel->capacity);
    fields_as_json(&channel->type);
    (void)printf("}\n");
}

static void channel_as_text(struct oto_client *client, const struct oto_channel *channel)
{
    cli_print_line(stdout, "topic      %s", channel->topic);
    cli_print_line(stdout, "node       %s", channel->node);
    cli_print_line(stdout, "plugin     %s %s", channel->plugin, channel->plugin_version);
    host_of(client, channel->node, false);
    if (channel->rate_num > 0) {
        (void)printf("rate       %g Hz (%" PRIu64 "/%" PRIu64 ")\n", (double)channel->rate_num / (double)channel->rate_den,
                     channel->rate_num, channel->rate_den);
    }
    cli_print_line(stdout, "frame_id   %s", channel->frame_id);
    (void)printf("schema     %016" PRIx64 "\nsamples    %" PRIu64 " so far; shared memory holds the last %" PRIu32 "\n",
                 channel->type_hash, oto_ring_newest(&channel->view), channel->capacity);
    fields_as_text(&channel->type);
}

/* Prints a topic of a remote publisher, which describes it in the schema frame and in one sample. */
static int info_remote(struct cli_source *source, const struct cli_source_options *options)
{
    struct oto_error error = {0};
    struct oto_wire_sample sample;
    const int64_t deadline_ns = srv_now_ns() + INT64_C(5000000000);
    while (!cli_interrupted() && srv_now_ns() < deadline_ns) {
        if (cli_source_next(source, 200, &sample, &error) != OTO_OK || sample.type == NULL) {
            continue;
        }
        if (options->common.json) {
            (void)printf("{\"topic\": ");
            oto_json_put_text(stdout, sample.topic);
            (void)printf(", \"frame_id\": ");
            oto_json_put_text(stdout, sample.frame_id);
            (void)printf(", ");
            fields_as_json(sample.type);
            (void)printf("}\n");
        } else {
            cli_print_line(stdout, "topic      %s", sample.topic);
            cli_print_line(stdout, "frame_id   %s", sample.frame_id);
            fields_as_text(sample.type);
        }
        return CLI_OK;
    }
    (void)oto_fail(&error, OTO_TIMEOUT, "no sample of '%s' arrived within 5 s", options->topic);
    return cli_say(&error);
}

int cli_info(int argc, char **argv)
{
    struct argp argp = cli_source_argp;
    struct cli_source_options options = {0};
    argp.args_doc = "TOPIC";
    argp.doc = "Describe a topic: its node, plugin, rate, record and fields.";
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    struct cli_source *source = malloc(sizeof *source);
    if (source == NULL) {
        return cli_no_memory();
    }
    if (!cli_source_open(source, &options)) {
        free(source);
        return CLI_FAILED;
    }
    int code = CLI_OK;
    if (source->subscriber != NULL) {
        code = info_remote(source, &options);
    } else if (options.common.json) {
        channel_as_json(source->client, source->channel);
    } else {
        channel_as_text(source->client, source->channel);
    }
    cli_source_close(source);
    free(source);
    return code;
}
