/* otolith echo TOPIC: prints the samples of a topic as they arrive, as text, JSON or CSV. */
#include "csv.h"
#include "json.h"
#include "source.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/pattern.h"
#include "base/plain_text.h"

struct options {
    struct cli_source_options source;
    uint64_t count; /* 0: until interrupted */
    bool csv;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->source;
        return 0;
    case 'n':
        options->count = cli_option_count(state, "-n", argument, 1, UINT64_MAX);
        return 0;
    case 'C':
        options->csv = true;
        return 0;
    case ARGP_KEY_SUCCESS:
        if (options->csv && srv_is_pattern(options->source.topic)) {
            argp_error(state, "--csv has the columns of one topic, and '%s' is a pattern; use --json", options->source.topic);
        }
        return 0;
    case 'F':
        argp_error(state, "--csv-flags: --csv has the columns sensor_time_ns and flags; use --csv");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_text(const struct oto_wire_sample *sample)
{
    const struct oto_record_type *type = sample->type;
    (void)puts("---");
    cli_print_line(stdout, "topic: %s", sample->topic);
    (void)printf("t_ns: %" PRId64 "\nseq: %" PRIu64 "\n", sample->head.t_ns, sample->head.seq);
    if (sample->head.flags != 0) {
        (void)printf("flags: 0x%" PRIx32 "\n", sample->head.flags);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        const uint32_t elements = field->type == OTO_FIELD_TEXT ? 1 : field->count;
        oto_plain_text_put(stdout, field->name);
        (void)putchar(':');
        for (uint32_t element = 0; element < elements; element++) {
            char text[OTO_RECORD_MAX_BYTES + 1];
            (void)oto_field_format(field, sample->payload, element, text, sizeof text);
            (void)putchar(' ');
            oto_plain_text_put(stdout, text);
        }
        const char *unit = cli_shown_unit(field->unit);
        cli_print_line(stdout, "%s%s", unit[0] != '\0' ? " " : "", unit);
    }
}

static void print_sample(const struct options *options, const struct oto_wire_sample *sample)
{
    if (options->source.common.json) {
        json_sample(stdout, sample->type, sample->frame_id, &sample->head, sample->payload);
        (void)putchar('\n');
    } else if (options->csv) {
        csv_sample(stdout, sample->type, &sample->head, sample->payload);
    } else {
        print_text(sample);
    }
    (void)fflush(stdout);
}

static int report_end(const struct options *options, enum oto_status status, const struct oto_error *error)
{
    if (status != OTO_CLOSED) {
        return cli_say(error);
    }
    if (!cli_interrupted()) {
        (void)fprintf(stderr, "otolith: the world has ended\n");
    }
    return options->count == 0 ? CLI_OK : CLI_FAILED;
}

/* Prints until the count is reached, the command is interrupted, or the world has ended. */
static int print_all(const struct options *options, struct cli_source *source)
{
    struct oto_wire_sample sample;
    struct oto_error error = {0};
    uint64_t printed = 0;
    while (!cli_interrupted() && (options->count == 0 || printed < options->count)) {
        const enum oto_status status = cli_source_next(source, 200, &sample, &error);
        if (status == OTO_TIMEOUT || status == OTO_AGAIN) {
            continue;
        }
        if (status == OTO_CORRUPT) { /* one bad frame; the next may be good */
            (void)cli_say(&error);
            continue;
        }
        if (status != OTO_OK) {
            return report_end(options, status, &error);
        }
        if (sample.lost > 0) {
            cli_print_line(stderr, "otolith: %" PRIu64 " samples of %s were lost before seq %" PRIu64 ", t %.9g s", sample.lost,
                           sample.topic, sample.head.seq, (double)sample.head.t_ns * 1e-9);
        }
        if (options->csv && !options->source.common.json && printed == 0) {
            csv_header(stdout, sample.type);
        }
        print_sample(options, &sample);
        printed++;
        if (ferror(stdout)) { /* reported by main() */
            break;
        }
    }
    return CLI_OK;
}

int cli_echo(int argc, char **argv)
{
    static const struct argp_option rows[] = {{NULL, 'n', "N", 0, "stop after N samples", 1},
                                              {"csv", 'C', NULL, 0, "print CSV with a header line", 1},
                                              {"csv-flags", 'F', NULL, OPTION_HIDDEN, NULL, 1},
                                              {0}};
    static const struct argp_child children[] = {{&cli_source_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "TOPIC",
                                     .doc = "Print the samples of a topic as they arrive, or of the topics that match a pattern such as "
                                            "'car_00*/imu'.",
                                     .children = children};
    struct options options = {.source.many = true};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    struct cli_source *source = cli_source_open(&options.source);
    if (source == NULL) {
        return CLI_FAILED;
    }
    const int code = print_all(&options, source);
    cli_source_close(source);
    return code;
}
