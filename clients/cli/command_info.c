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

static void fields_as_json(struct oto_json *json, const struct oto_record_type *type)
{
    oto_json_text(json, "type", type->name);
    oto_json_u64(json, "bytes", type->bytes);
    oto_json_open(json, "fields", '[');
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        oto_json_open(json, NULL, '{');
        oto_json_text(json, "name", field->name);
        oto_json_text(json, "type", type_name(field->type));
        oto_json_u64(json, "count", field->count);
        oto_json_u64(json, "offset", field->offset);
        oto_json_text(json, "unit", field->unit);
        oto_json_text(json, "frame", field->frame);
        oto_json_text(json, "text", field->text);
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
    oto_json_more(json, "\n", 1);
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
static void host_of(struct oto_client *client, const char *node, struct oto_json *json)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    struct oto_document *document = NULL;
    if (oto_control_info(client, &reply, &error) != OTO_OK ||
        oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, &error) != OTO_OK) {
        return;
    }
    const struct oto_value *host = find_host(oto_document_root(document), node);
    if (host != NULL && json != NULL) {
        oto_json_open(json, "plugin_host", '{');
        oto_json_text(json, "name", member(host, "name"));
        oto_json_text(json, "mode", member(host, "mode"));
        static const char *const numbers[] = {"pid", "restarts", "stale", "landlock"};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            oto_json_format(json, numbers[i], "%s", member(host, numbers[i]));
        }
        oto_json_close(json, '}');
    } else if (host != NULL) {
        cli_print_line(stdout, "host       plugin host %s, pid %s, %s; %s restarts, %s stale samples; Landlock ABI %s",
                       member(host, "name"), member(host, "pid"), member(host, "mode"), member(host, "restarts"),
                       member(host, "stale"), member(host, "landlock"));
    }
    oto_document_close(document);
}

static void channel_as_json(struct oto_client *client, const struct oto_channel *channel)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "topic", channel->topic);
    oto_json_text(&json, "node", channel->node);
    oto_json_text(&json, "plugin", channel->plugin);
    oto_json_text(&json, "plugin_version", channel->plugin_version);
    oto_json_text(&json, "frame_id", channel->frame_id);
    host_of(client, channel->node, &json);
    oto_json_number(&json, "rate_hz", (double)channel->rate_num / (double)channel->rate_den);
    oto_json_format(&json, "rate", "[%" PRIu64 ", %" PRIu64 "]", channel->rate_num, channel->rate_den);
    oto_json_format(&json, "schema", "\"%016" PRIx64 "\"", channel->type_hash);
    oto_json_u64(&json, "samples", oto_ring_newest(&channel->view));
    oto_json_u64(&json, "ring", channel->capacity);
    fields_as_json(&json, &channel->type);
}

static void channel_as_text(struct oto_client *client, const struct oto_channel *channel)
{
    cli_print_line(stdout, "topic      %s", channel->topic);
    cli_print_line(stdout, "node       %s", channel->node);
    cli_print_line(stdout, "plugin     %s %s", channel->plugin, channel->plugin_version);
    host_of(client, channel->node, NULL);
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
            struct oto_json json = {.to = stdout};
            oto_json_open(&json, NULL, '{');
            oto_json_text(&json, "topic", sample.topic);
            oto_json_text(&json, "frame_id", sample.frame_id);
            fields_as_json(&json, sample.type);
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
    struct cli_source *source = cli_source_open(&options);
    if (source == NULL) {
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
    return code;
}
