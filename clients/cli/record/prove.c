#include "record/prove.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "recording/names.h"
#include "recording/recorded.h"
#include "record/rerun.h"

/* A recorded channel and the computed one of the same topic. */
struct pair {
    bool computed; /* the world that is run again has the channel with the same record type */
    uint32_t index; /* of the channel in that world */
    uint64_t first_seq, samples;
};

/* The first recorded sample that differs from the computed one. */
struct difference {
    bool found;
    const struct recorded_channel *channel;
    uint64_t seq;
    int64_t t_ns;
    char text[320];
};

struct proof {
    struct recorded *recorded;
    struct unpacked files;
    struct rerun *rerun;
    struct pair *pairs;
    struct oto_buffer message;
    uint64_t same, missing; /* numbers of samples; missing: absent from the file between two recorded samples */
    struct difference difference;
    bool over; /* the world has reached its end */
    bool out_of_order; /* the world had overwritten the computed sample before the recorded one was read */
    _Alignas(8) unsigned char payload[OTO_RECORD_MAX_BYTES];
};

/* ---- channels ---- */

static enum oto_status match_channels(struct proof *proof, struct oto_error *error)
{
    const struct recorded *recorded = proof->recorded;
    proof->pairs = calloc((size_t)recorded->count + 1, sizeof *proof->pairs);
    if (proof->pairs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < recorded->count; i++) {
        const struct oto_channel *channel = recorded->channels[i].channel;
        struct oto_sim_channel computed;
        struct oto_error ignored;
        if (strcmp(channel->type.name, "event") != 0 &&
            oto_sim_channel(rerun_sim(proof->rerun), channel->topic, &computed, &ignored) == OTO_OK &&
            strcmp(computed.topic, channel->topic) == 0 && oto_record_type_hash(computed.type) == channel->type_hash) {
            proof->pairs[i].computed = true;
            proof->pairs[i].index = computed.index;
        }
    }
    return OTO_OK;
}

/* ---- samples ---- */

static void describe_field(const struct oto_record_type *type, const void *recorded, const void *computed, char *text, size_t bytes)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        for (uint32_t k = 0; k < (field->type == OTO_FIELD_TEXT ? 1 : field->count); k++) {
            char column[64], was[64], is[64];
            (void)oto_field_column(field, k, column, sizeof column);
            (void)oto_field_format(field, recorded, k, was, sizeof was);
            (void)oto_field_format(field, computed, k, is, sizeof is);
            if (strcmp(was, is) != 0) {
                (void)snprintf(text, bytes, "%.60s: %.60s was recorded, %.60s is computed", column, was, is);
                return;
            }
        }
    }
    (void)snprintf(text, bytes, "its time, flags or sensor time");
}

static void note(struct proof *proof, const struct recorded_sample *sample, const char *text)
{
    proof->difference = (struct difference){.found = true,
                                            .channel = &proof->recorded->channels[sample->index],
                                            .seq = sample->head.seq,
                                            .t_ns = sample->head.t_ns};
    (void)snprintf(proof->difference.text, sizeof proof->difference.text, "%s", text);
}

static enum oto_status compare(struct proof *proof, const struct recorded_sample *sample, const struct oto_sample_head *head)
{
    const struct recorded_channel *channel = &proof->recorded->channels[sample->index];
    const bool encoded = oto_ros_encode(channel->ros, channel->channel->frame_id, head, proof->payload, &proof->message) == OTO_OK;
    if (encoded && proof->message.bytes == sample->bytes && memcmp(proof->message.data, sample->message, sample->bytes) == 0 &&
        head->flags == sample->head.flags && head->sensor_time_ns == sample->head.sensor_time_ns) {
        proof->same++;
        return OTO_OK;
    }
    char text[sizeof proof->difference.text];
    describe_field(&channel->channel->type, sample->payload, proof->payload, text, sizeof text);
    note(proof, sample, text);
    return OTO_OK;
}

/* Runs the world until it has computed the sample, at most two seconds past its time. */
static enum oto_status prove_sample(struct proof *proof, const struct recorded_sample *sample, struct oto_error *error)
{
    const struct pair *pair = &proof->pairs[sample->index];
    const int64_t last_ns = sample->head.t_ns + 2000000000;
    struct oto_sample_head head;
    enum oto_status status;
    while ((status = rerun_record(proof->rerun, pair->index, sample->head.seq, &head, proof->payload)) == OTO_AGAIN &&
           !proof->over && oto_sim_time_ns(rerun_sim(proof->rerun)) < last_ns) {
        status = rerun_tick(proof->rerun, error);
        proof->over = status == OTO_CLOSED;
        if (status != OTO_OK && status != OTO_CLOSED) {
            return status;
        }
    }
    if (status == OTO_OK) {
        return compare(proof, sample, &head);
    }
    proof->out_of_order = status == OTO_LAPPED;
    note(proof, sample, proof->out_of_order ? "it is not in the order in which the world computes it" : "the world does not compute it");
    return OTO_OK;
}

static void count(struct pair *pair, uint64_t seq)
{
    pair->first_seq = pair->samples == 0 || seq < pair->first_seq ? seq : pair->first_seq;
    pair->samples++;
}

static enum oto_status prove(struct proof *proof, struct oto_error *error)
{
    struct recorded_sample sample;
    enum oto_status status = OTO_OK;
    while (!proof->difference.found && (status = recorded_next(proof->recorded, &sample, error)) == OTO_OK) {
        struct pair *pair = &proof->pairs[sample.index];
        if (!pair->computed) {
            continue;
        }
        count(pair, sample.head.seq);
        status = prove_sample(proof, &sample, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < proof->recorded->count; i++) {
        const struct pair *pair = &proof->pairs[i];
        const uint64_t last = proof->recorded->channels[i].last_seq;
        proof->missing += pair->computed && pair->samples > 0 && last >= pair->first_seq
                              ? last - pair->first_seq + 1 - pair->samples
                              : 0;
    }
    return status == OTO_CLOSED ? OTO_OK : status;
}

/* Runs the world to the end of the log and compares the hashes of the ticks after the last sample. */
static enum oto_status finish(struct proof *proof, struct oto_error *error)
{
    const struct rerun_facts *facts = rerun_facts(proof->rerun);
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && !proof->difference.found && !proof->over && oto_sim_tick(rerun_sim(proof->rerun)) <= facts->last_tick) {
        status = rerun_tick(proof->rerun, error);
    }
    return status == OTO_CLOSED ? OTO_OK : status;
}

/* ---- the result ---- */

static bool is_proven(const struct proof *proof)
{
    return !proof->difference.found && !rerun_facts(proof->rerun)->differs && proof->same > 0;
}

static void print_json(const struct proof *proof)
{
    const struct rerun_facts *facts = rerun_facts(proof->rerun);
    const struct oto_mcap_facts *file = oto_mcap_reader_facts(proof->recorded->reader);
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_flag(&json, "same", is_proven(proof));
    oto_json_u64(&json, "samples", proof->same);
    oto_json_u64(&json, "missing", proof->missing);
    oto_json_u64(&json, "inputs", facts->inputs);
    oto_json_u64(&json, "hashes", facts->hashes);
    oto_json_flag(&json, "complete", file->has_summary);
    oto_json_u64(&json, "damaged_chunks", file->damaged_chunks);
    if (proof->difference.found) {
        oto_json_open(&json, "first_difference", '{');
        oto_json_text(&json, "topic", proof->difference.channel->channel->topic);
        oto_json_u64(&json, "seq", proof->difference.seq);
        oto_json_i64(&json, "t_ns", proof->difference.t_ns);
        oto_json_text(&json, "text", proof->difference.text);
        oto_json_close(&json, '}');
    } else {
        oto_json_text(&json, "first_difference", NULL);
    }
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static void print_remarks(const struct proof *proof, const char *path)
{
    const struct rerun_facts *facts = rerun_facts(proof->rerun);
    const struct oto_mcap_facts *file = oto_mcap_reader_facts(proof->recorded->reader);
    if (!file->has_summary) {
        cli_print_line(stderr, "otolith: '%s' was not finished: %" PRIu64 " of its %" PRIu64 " bytes are complete, and were read", path,
                       file->complete_bytes, file->file_bytes);
    }
    if (file->damaged_chunks > 0) {
        cli_print_line(stderr, "otolith: %u of %u chunks of '%s' are damaged, and were left out", file->damaged_chunks,
                       file->chunk_count, path);
    }
    if (facts->world_changed) {
        cli_print_line(stderr, "otolith: the world file has changed since; the copy in the recording was run");
    }
    if (facts->other_plugin[0] != '\0') {
        cli_print_line(stderr, "otolith: the plugin of '%s' is another build than the recorded one", facts->other_plugin);
    }
    if (!is_proven(proof) && facts->inputs_unknown) {
        cli_print_line(stderr, "otolith: the world wrote no log of its inputs (--log), so changes while it ran are not in the recording");
    }
}

static void print_text(const struct proof *proof, const char *path)
{
    const struct rerun_facts *facts = rerun_facts(proof->rerun);
    if (proof->difference.found) {
        cli_print_line(stdout, "differs: sample %" PRIu64 " of %s at %.9g s; %s; %" PRIu64 " samples before it are the same",
                       proof->difference.seq, proof->difference.channel->channel->topic, (double)proof->difference.t_ns * 1e-9,
                       proof->difference.text, proof->same);
    } else if (facts->differs) {
        cli_print_line(stdout, "differs: the hash chain at tick %" PRIu64 "; all %" PRIu64 " recorded samples are the same",
                       facts->differs_tick, proof->same);
    } else {
        cli_print_line(stdout, "verified: %" PRIu64 " samples of '%s' are the same, bit for bit; %" PRIu64 " hashes of the state too; %" PRIu64
                       " inputs were applied; %" PRIu64 " samples are missing in the file",
                       proof->same, path, facts->hashes, facts->inputs, proof->missing);
    }
}

/* ---- opening ---- */

static enum oto_status open_proof(struct proof *proof, const char *path, bool as_written, struct oto_error *error)
{
    char *inputs = NULL, *world = NULL;
    size_t inputs_bytes = 0, world_bytes = 0;
    enum oto_status status = recorded_open(path, &proof->recorded, error);
    if (status != OTO_OK) {
        return status;
    }
    if (as_written) {
        oto_mcap_reader_as_written(proof->recorded->reader);
    }
    status = recorded_attachments(proof->recorded, RECORDING_INPUTS, &inputs, &inputs_bytes, error);
    if (status == OTO_OK) {
        status = recorded_attachments(proof->recorded, RECORDING_WORLD, &world, &world_bytes, error);
    }
    if (status == OTO_OK && inputs == NULL) {
        status = oto_fail(error, OTO_UNSUPPORTED, "'%.256s' does not name its world: the attachment '" RECORDING_INPUTS "' is missing", path);
    }
    if (status == OTO_OK) {
        status = unpacked_open(&proof->files, proof->recorded, error);
    }
    if (status == OTO_OK) {
        const struct rerun_source source = {inputs, inputs_bytes, world, world_bytes, &proof->files};
        status = rerun_open(&source, &proof->rerun, error);
    }
    free(inputs);
    free(world);
    return status == OTO_OK ? match_channels(proof, error) : status;
}

static void close_proof(struct proof *proof)
{
    recorded_close(proof->recorded);
    rerun_close(proof->rerun);
    unpacked_close(&proof->files);
    oto_buffer_free(&proof->message);
    free(proof->pairs);
    free(proof);
}

static enum oto_status run_proof(struct proof *proof, const char *path, bool as_written, struct oto_error *error)
{
    enum oto_status status = open_proof(proof, path, as_written, error);
    if (status == OTO_OK) {
        status = prove(proof, error);
    }
    if (status == OTO_OK) {
        status = finish(proof, error);
    }
    return status == OTO_OK && !proof->difference.found && proof->same == 0
               ? oto_fail(error, OTO_INVALID, "'%.256s' has no sample of a channel that its world computes", path)
               : status;
}

static int report(const struct proof *proof, const char *path, bool json)
{
    if (json) {
        print_json(proof);
    } else {
        print_text(proof, path);
    }
    print_remarks(proof, path);
    return is_proven(proof) ? CLI_OK : CLI_FAILED;
}

/*
 * Compares the samples in the order of their times. If a fault has moved the time stamps of a sensor, that is not the order in
 * which the samples were computed; then they are compared again in the order in which they were written.
 */
int prove_recording(const char *path, bool json)
{
    bool again = false;
    for (int as_written = 0;; as_written++) {
        struct proof *proof = calloc(1, sizeof *proof);
        struct oto_error error = {0};
        if (proof == NULL) {
            return cli_no_memory();
        }
        const enum oto_status status = run_proof(proof, path, as_written != 0, &error);
        again = status == OTO_OK && proof->out_of_order && as_written == 0;
        const int code = again ? CLI_FAILED : status == OTO_OK ? report(proof, path, json) : cli_say(&error);
        close_proof(proof);
        if (!again) {
            return code;
        }
    }
}
