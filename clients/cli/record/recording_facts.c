/* The parts of a recording beside the samples: the origin of the world, its inputs, and the facts of the end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/diagnostics.h"
#include "base/file_kind.h"
#include "document/document.h"
#include "mcap/reader.h"
#include "otolith/hash.h"
#include "otolith/version.h"
#include "record/recording_private.h"
#include "sim/run_log.h"

#define LOG_PART_BYTES (4u << 20)
#define NODES_MAX 256u /* of a world that is not large; whose parameters are attached, because samples wait for their requests */

static uint64_t sim_now_ns(const struct recording *recording)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(recording->client, &clock);
    return clock.sim_time_ns > 0 ? (uint64_t)clock.sim_time_ns : 0;
}

enum oto_status recording_attach(struct recording *recording, const char *name, const char *media_type, const void *data,
                                 size_t bytes, struct oto_error *error)
{
    const uint64_t now_ns = sim_now_ns(recording);
    const struct oto_mcap_attachment attachment = {now_ns, now_ns, name, media_type, data, bytes};
    return oto_mcap_attach(recording->writer, &attachment, error);
}

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory for a recording");
}

/* ---- origin ---- */

static const char *text_of(const struct oto_value *facts, const char *key)
{
    const struct oto_value *value = oto_value_get(facts, key);
    return value != NULL && value->kind == OTO_VALUE_SCALAR ? value->text : NULL;
}

/* Attaches a log without entries for a world that writes no log: it names the world, its seed and its overrides. */
static enum oto_status attach_start(struct recording *recording, const struct oto_value *facts, const char *world_path,
                                    uint64_t world_hash, struct oto_error *error)
{
    const struct oto_segment_header *header = oto_client_header(recording->client);
    const struct oto_value *overrides = oto_value_get(facts, "overrides");
    struct oto_json json = {.layout = OTO_JSON_LINE}, *to = &json;
    oto_run_log_put_begin(to, "header");
    oto_json_text(to, "format", OTO_RUN_LOG_FORMAT);
    oto_json_u64(to, "version", OTO_RUN_LOG_VERSION);
    oto_json_text(to, "otolith", OTO_VERSION_STRING);
    oto_json_text(to, "world", header->world);
    oto_json_u64(to, "seed", header->seed);
    oto_json_u64(to, "hashes_every", 1);
    oto_json_text(to, "file", world_path);
    oto_run_log_put_words(to, "file_hash", &world_hash, 1);
    oto_json_flag(to, "inputs_unknown", true);
    oto_run_log_put_end(to);
    for (uint32_t i = 0; overrides != NULL && overrides->kind == OTO_VALUE_LIST && i < overrides->count; i++) {
        char *path = strdup(overrides->items[i]->text), *equals = path != NULL ? strchr(path, '=') : NULL;
        if (equals != NULL) {
            *equals = '\0';
            oto_run_log_put_begin(to, "override");
            oto_json_text(to, "path", path);
            oto_json_text(to, "value", equals + 1);
            oto_run_log_put_end(to);
        }
        free(path);
    }
    oto_run_log_put_begin(to, "start");
    oto_run_log_put_end(to);
    const enum oto_status status = !json.failed ? recording_attach(recording, RECORDING_INPUTS, "application/jsonl", json.text, json.bytes, error)
                                                : no_memory(error);
    oto_json_free(&json);
    return status;
}

/* Copies world, files and inputs from the recording that a playback plays, so that `otolith verify` proves that recording. */
static enum oto_status copy_origin(struct recording *recording, const char *path, struct oto_error *error)
{
    struct oto_mcap_reader *reader = NULL;
    enum oto_status status = oto_mcap_reader_open(path, &reader, error);
    for (uint32_t i = 0; status == OTO_OK && i < oto_mcap_reader_attachment_count(reader); i++) {
        const char *name = oto_mcap_reader_attachment_name(reader, i);
        unsigned char *data = NULL;
        size_t bytes = 0;
        if (strcmp(name, RECORDING_WORLD) != 0 && strcmp(name, RECORDING_INPUTS) != 0 && strcmp(name, RECORDING_PLACES) != 0 &&
            strncmp(name, RECORDING_FILES "/", sizeof RECORDING_FILES) != 0) {
            continue;
        }
        status = oto_mcap_reader_attachment(reader, i, &data, &bytes, error);
        if (status == OTO_OK) {
            status = recording_attach(recording, name, "application/octet-stream", data, bytes, error);
        }
        free(data);
    }
    oto_mcap_reader_close(reader);
    return status;
}

/* Attaches the files that the world names. `facts`: the server's reply to `info`. */
static enum oto_status attach_named_files(struct recording *recording, const struct oto_value *facts, const char *world_path,
                                          struct oto_error *error)
{
    const struct oto_value *list = oto_value_get(facts, "overrides");
    const uint32_t count = list != NULL && list->kind == OTO_VALUE_LIST ? list->count : 0;
    const char **overrides = calloc((size_t)count + 1, sizeof *overrides);
    if (overrides == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        overrides[i] = list->items[i]->kind == OTO_VALUE_SCALAR ? list->items[i]->text : "";
    }
    const enum oto_status status = recording_attach_files(recording, world_path, overrides, count, error);
    free(overrides);
    return status;
}

static enum oto_status attach_world(struct recording *recording, const struct recording_options *options,
                                    struct oto_error *error)
{
    struct oto_document *document = NULL;
    struct oto_reply reply;
    char *text = NULL;
    size_t bytes = 0;
    enum oto_status status = oto_control_info(recording->client, &reply, error);
    if (status == OTO_OK) {
        status = oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, error);
    }
    const struct oto_value *facts = status == OTO_OK ? oto_document_root(document) : NULL;
    const char *path = facts != NULL ? text_of(facts, "file") : NULL;
    const char *played = facts != NULL ? text_of(facts, "recording") : NULL;
    if (played != NULL) {
        status = copy_origin(recording, played, error);
    } else if (status == OTO_OK && path != NULL && cli_read_file(path, &text, &bytes, error) == OTO_OK) {
        const char *log = options->log_path != NULL ? options->log_path : text_of(facts, "log");
        status = recording_attach(recording, RECORDING_WORLD, "application/yaml", text, bytes, error);
        if (status == OTO_OK) {
            status = attach_named_files(recording, facts, path, error);
        }
        if (status == OTO_OK && log != NULL && log[0] != '\0') {
            recording->log_path = strdup(log);
            status = recording->log_path != NULL ? recording_attach_log(recording, error) : no_memory(error);
            status = status == OTO_OK ? recording_attach_restored(recording, error) : status;
        } else if (status == OTO_OK) {
            status = attach_start(recording, facts, path, oto_fnv1a64_more(OTO_FNV1A64_START, text, bytes), error);
        }
    }
    free(text);
    oto_document_close(document);
    return status;
}

/* A large world has more facts than samples of a short recording: only those of the recorded channels are attached. */
static bool is_large(const struct oto_client *client)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        nodes += i == 0 || strcmp(oto_client_channel(client, i)->node, oto_client_channel(client, i - 1)->node) != 0;
    }
    return nodes > NODES_MAX;
}

/* Attaches the field tables of all channels, so that the name and type of a topic that is not recorded are known, if the world is not large. */
static enum oto_status attach_schema(struct recording *recording, struct oto_error *error)
{
    const struct oto_segment_header *header = oto_client_header(recording->client);
    const bool large = is_large(recording->client);
    const uint32_t total = large ? recording->count : oto_client_channel_count(recording->client);
    struct oto_channel *channels = calloc((size_t)total + 1, sizeof *channels);
    struct oto_buffer frame = {0};
    enum oto_status status = channels != NULL ? OTO_OK : no_memory(error);
    for (uint32_t i = 0; i < total && status == OTO_OK; i++) {
        channels[i] = large ? *recording->rows[i].channel : *oto_client_channel(recording->client, i);
    }
    uint32_t share = total;
    for (uint32_t done = 0; done < total && status == OTO_OK;) {
        const uint32_t part = total - done < share ? total - done : share;
        status = oto_frame_encode_schema_part(&frame, header->world, header->epoch, channels + done, part, total);
        if (status == OTO_LIMIT && share > 1) {
            share = (share + 1) / 2;
            status = OTO_OK;
        } else if (status == OTO_OK) {
            status = recording_attach(recording, RECORDING_SCHEMA, "application/msgpack", frame.data, frame.bytes, error);
            done += part;
        } else {
            status = oto_fail(error, status, "the schema of the world cannot be recorded: %s", oto_status_text(status));
        }
    }
    oto_buffer_free(&frame);
    free(channels);
    return status;
}

static void put_parameter(void *context, const struct oto_param_info *info)
{
    FILE *to = context;
    (void)fprintf(to, "  %s: %s%s%s\n", info->key, info->value, info->unit[0] != '\0' ? "  # " : "", info->unit);
}

/* Attaches the parameters of all nodes; of a large world those of the first recorded nodes. The world file and the inputs have the others. */
static enum oto_status attach_parameters(struct recording *recording, struct oto_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    struct oto_error refused;
    const char *last = "";
    const bool large = is_large(recording->client);
    const uint32_t count = large ? recording->count : oto_client_channel_count(recording->client);
    for (uint32_t i = 0, nodes = 0; to != NULL && i < count && nodes < NODES_MAX; i++) {
        const struct oto_channel *channel = large ? recording->rows[i].channel : oto_client_channel(recording->client, i);
        if (strcmp(channel->node, last) != 0 && channel->node_index != UINT32_MAX) {
            nodes++;
            (void)fprintf(to, "%s:  # %s %s\n", channel->node, channel->plugin, channel->plugin_version);
            (void)oto_control_get(recording->client, channel->node, NULL, put_parameter, to, &refused);
        }
        last = channel->node;
    }
    const enum oto_status status = to != NULL && fclose(to) == 0
                                       ? recording_attach(recording, RECORDING_PARAMETERS, "application/yaml", text, bytes, error)
                                       : no_memory(error);
    free(text);
    return status;
}

enum oto_status recording_attach_origin(struct recording *recording, const struct recording_options *options,
                                        struct oto_error *error)
{
    const struct oto_segment_header *header = oto_client_header(recording->client);
    char epoch[24], lineage[24], seed[24], rate[48];
    (void)snprintf(epoch, sizeof epoch, "%016" PRIx64, header->epoch);
    (void)snprintf(lineage, sizeof lineage, "%016" PRIx64, header->lineage);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, header->seed);
    (void)snprintf(rate, sizeof rate, "%" PRIu64 "/%" PRIu64, header->rate_num, header->rate_den);
    const struct oto_mcap_pair pairs[] = {{"event", "start"},     {"version", OTO_VERSION_STRING}, {"world", header->world},
                                          {"epoch", epoch},       {"lineage", lineage},            {"base_rate_hz", rate},
                                          {"seed", seed}}; /* the wire has no seed */
    const size_t count = sizeof pairs / sizeof *pairs - (recording->over_wire ? 1 : 0);
    enum oto_status status =
        oto_mcap_add_metadata(recording->writer, RECORDING_METADATA, pairs, count, error);
    if (status == OTO_OK && !recording->over_wire) {
        status = attach_world(recording, options, error);
    }
    if (status == OTO_OK) {
        status = attach_schema(recording, error);
    }
    return status == OTO_OK && !recording->over_wire ? attach_parameters(recording, error) : status;
}

/* ---- inputs ---- */

/* Reads the next whole lines of the log; returns their bytes, 0 if there are none. */
static size_t read_lines(int fd, uint64_t offset, char *text, size_t room)
{
    const ssize_t got = pread(fd, text, room, (off_t)offset);
    size_t bytes = got > 0 ? (size_t)got : 0;
    while (bytes > 0 && text[bytes - 1] != '\n') {
        bytes--;
    }
    return bytes;
}

enum oto_status recording_attach_log(struct recording *recording, struct oto_error *error)
{
    const char *why = NULL;
    const int fd = recording->log_path != NULL ? srv_regular_open(recording->log_path, 0, &why) : -1;
    char *text = fd >= 0 ? malloc(LOG_PART_BYTES) : NULL;
    enum oto_status status = OTO_OK;
    size_t bytes = 0;
    while (text != NULL && status == OTO_OK &&
           (bytes = read_lines(fd, recording->log_offset, text, LOG_PART_BYTES)) > 0) {
        status = recording_attach(recording, RECORDING_INPUTS, "application/jsonl", text, bytes, error);
        recording->log_offset += bytes;
    }
    free(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

/* ---- the end ---- */

enum oto_status recording_put_diagnostics(struct recording *recording, const struct oto_clock *clock, struct oto_error *error)
{
    const enum oto_status status =
        oto_diagnostics_encode(recording->client, clock, recording_counts(recording).lost, &recording->message);
    if (status != OTO_OK) {
        return oto_fail(error, status, "the diagnostics of the world cannot be a ROS message: %s", oto_status_text(status));
    }
    const struct oto_mcap_message message = {.channel = recording->diagnostics_id,
                                             .log_time_ns = (uint64_t)clock->sim_time_ns,
                                             .publish_time_ns = (uint64_t)clock->sim_time_ns,
                                             .data = recording->message.data,
                                             .bytes = recording->message.bytes};
    return oto_mcap_write(recording->writer, &message, error);
}

/* Adds the metadata that `ros2 bag info` prints, so that no metadata.yaml is needed beside the file. */
static enum oto_status add_rosbag2(struct recording *recording, struct oto_error *error)
{
    const uint64_t start_ns = recording->start_ns > 0 ? (uint64_t)recording->start_ns : 0;
    const uint64_t end_ns = recording->last_ns > start_ns ? recording->last_ns : start_ns;
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (to == NULL) {
        return no_memory(error);
    }
    (void)fprintf(to,
                  "rosbag2_bagfile_information:\n  version: 8\n  storage_identifier: mcap\n  duration:\n    nanoseconds: %" PRIu64
                  "\n  starting_time:\n    nanoseconds_since_epoch: %" PRIu64 "\n  message_count: %" PRIu64
                  "\n  compression_format: \"\"\n  compression_mode: \"\"\n  relative_file_paths: []\n  files: []\n"
                  "  custom_data: ~\n  ros_distro: \"\"\n  topics_with_message_count:\n",
                  end_ns - start_ns, start_ns, oto_mcap_writer_messages(recording->writer, 0));
    for (uint32_t i = 0; i < recording->count; i++) {
        const struct recording_row *row = &recording->rows[i];
        (void)fprintf(to,
                      "    - topic_metadata:\n        name: %s\n        type: %s\n        serialization_format: cdr\n"
                      "        offered_qos_profiles: []\n        type_description_hash: \"\"\n      message_count: %" PRIu64 "\n",
                      row->topic, oto_ros_type_name(row->ros), oto_mcap_writer_messages(recording->writer, row->id));
    }
    const bool whole = fclose(to) == 0;
    const struct oto_mcap_pair pair = {"serialized_metadata", text};
    const enum oto_status status =
        whole ? oto_mcap_add_metadata(recording->writer, "rosbag2", &pair, 1, error) : no_memory(error);
    free(text);
    return status;
}

enum oto_status recording_add_end(struct recording *recording, struct oto_error *error)
{
    struct oto_clock clock = {0};
    char tick[24], chain[24], samples[24], lost[24];
    (void)oto_client_clock(recording->client, &clock);
    (void)snprintf(tick, sizeof tick, "%" PRIu64, clock.tick);
    (void)snprintf(chain, sizeof chain, "%016" PRIx64, clock.state_hash);
    (void)snprintf(samples, sizeof samples, "%" PRIu64, recording->samples);
    (void)snprintf(lost, sizeof lost, "%" PRIu64, recording_counts(recording).lost);
    const struct oto_mcap_pair pairs[] = {
        {"event", "end"}, {"samples", samples}, {"lost", lost}, {"tick", tick}, {"state_hash", chain}}; /* the wire has none of the last two */
    const enum oto_status status = oto_mcap_add_metadata(recording->writer, RECORDING_METADATA, pairs,
                                                         sizeof pairs / sizeof *pairs - (recording->over_wire ? 2 : 0), error);
    return status == OTO_OK ? add_rosbag2(recording, error) : status;
}
