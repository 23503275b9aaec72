/* otolith sense: a sensor plugin over a CSV of true sensor-frame inputs, without a server. */
#include "csv.h"
#include "json.h"
#include "output.h"
#include "sense_input.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli.h"
#include "parts/library.h"
#include "sim/instance.h"

/* The name of the sensor's node. The seed and this name are the key of the sensor's noise. */
#define NODE "sense/imu"

enum { MOST_SETS = 256, PATH_BYTES = 4096 };

struct options {
    const char *plugin, *part, *mode, *params, *rate, *in, *out;
    uint64_t seed, unit;
    char *sets[MOST_SETS]; /* KEY=VALUE */
    uint32_t set_count;
    bool json;
};

struct run {
    const struct options *options;
    struct srv_instance instance; /* the parameters are bound before the instance is made */
    char part_name[128]; /* selects the unit's random stream: name of the part, else of the plugin */
    struct oto_setup setup;
    struct sense_history history;
    struct cli_output out;
    uint64_t rows, seq, discarded, warned;
};

/* ---- the rate ---- */

static enum oto_status set_rate(struct oto_setup *setup, const char *text, struct oto_error *error)
{
    struct oto_document *document = NULL;
    enum oto_status status = oto_document_parse("--rate", text, strlen(text), NULL, &document, error);
    if (status == OTO_OK) {
        status = oto_value_rational(oto_document_root(document), &setup->rate_num, &setup->rate_den, error);
    }
    if (status == OTO_OK && setup->rate_num == 0) {
        status = oto_fail(error, OTO_RANGE, "--rate is 0; a rate above 0 Hz is accepted, as 200, 0.5 or 60000/1001");
    }
    if (status == OTO_OK) {
        setup->rate_hz = (double)setup->rate_num / (double)setup->rate_den;
        setup->base_rate_num = setup->rate_num;
        setup->base_rate_den = setup->rate_den;
    }
    oto_document_close(document);
    return status;
}

static enum oto_status choose_rate(struct run *run, struct oto_error *error)
{
    const char *source = "of --rate";
    double rate_hz = run->instance.params.rate_hz;
    char text[64];
    if (run->options->rate == NULL) {
        source = "of the parameters";
        if (rate_hz <= 0) {
            source = "from the median step of t_s";
            const enum oto_status status = sense_median_rate(run->options->in, &rate_hz, error);
            if (status != OTO_OK) {
                return status;
            }
            /* A rate from rounded decimal times is not exact: a rate within a millionth of a whole number is rounded to it. */
            rate_hz = fabs(rate_hz - round(rate_hz)) < 1e-6 * rate_hz ? round(rate_hz) : rate_hz;
        }
        (void)snprintf(text, sizeof text, "%.12g", rate_hz);
    }
    const enum oto_status status = set_rate(&run->setup, run->options->rate != NULL ? run->options->rate : text, error);
    if (status == OTO_OK) {
        (void)fprintf(stderr, "otolith: fs = %.12g Hz, %s\n", run->setup.rate_hz, source);
    }
    return status;
}

/* ---- the plugin ---- */

static void warn(void *context, const char *sentence)
{
    (void)context;
    (void)fprintf(stderr, "otolith: warning: %s\n", sentence);
}

static enum oto_status set_one(struct run *run, char *setting, struct oto_error *error)
{
    static const char section[] = "params.";
    char *equals = strchr(setting, '=');
    const char *key = strncmp(setting, section, strlen(section)) == 0 ? setting + strlen(section) : setting;
    *equals = '\0';
    return oto_params_set(run->instance.descriptor, key, equals + 1, false, &run->instance.params, error);
}

static enum oto_status apply_part(struct run *run, struct oto_error *error)
{
    const struct options *options = run->options;
    const struct oto_plugin_descriptor *descriptor = run->instance.descriptor;
    const struct oto_part_mode *mode;
    struct oto_part *part = NULL;
    (void)snprintf(run->part_name, sizeof run->part_name, "%s", descriptor->id);
    if (options->part == NULL) {
        return OTO_OK;
    }
    enum oto_status status = oto_part_open(options->part, NULL, &part, error);
    if (status == OTO_OK) {
        status = oto_part_mode_find(part, options->mode, &mode, error);
    }
    if (status == OTO_OK) {
        status = oto_part_apply(part, mode, descriptor, &run->instance.params, warn, NULL, error);
        (void)snprintf(run->part_name, sizeof run->part_name, "%s", part->name);
    }
    oto_part_close(part);
    return status;
}

static enum oto_status bind_params(struct run *run, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = run->instance.descriptor;
    enum oto_status status = oto_params_default(descriptor, &run->instance.params, error);
    if (status == OTO_OK) {
        status = apply_part(run, error);
    }
    if (status == OTO_OK && run->options->params != NULL) {
        struct oto_document *document = NULL;
        status = oto_document_read(run->options->params, NULL, &document, error);
        if (status == OTO_OK) {
            status = oto_params_apply(descriptor, oto_document_root(document), &run->instance.params, error);
        }
        oto_document_close(document);
    }
    for (uint32_t i = 0; status == OTO_OK && i < run->options->set_count; i++) {
        status = set_one(run, run->options->sets[i], error);
    }
    if (status == OTO_OK) {
        oto_params_check_plausible(descriptor, &run->instance.params, warn, NULL);
    }
    return status;
}

static enum oto_status open_plugin(struct run *run, struct oto_error *error)
{
    char path[PATH_BYTES];
    enum oto_status status = oto_plugin_find(run->options->plugin, path, sizeof path, error);
    struct oto_plugin *plugin = NULL;
    if (status == OTO_OK) {
        status = oto_plugin_open(path, NULL, &plugin, error);
    }
    if (status == OTO_OK) {
        srv_instance_bind(&run->instance, plugin);
    }
    if (status == OTO_OK && strcmp(run->instance.descriptor->kind, OTO_KIND_SENSOR) != 0) {
        status = oto_fail(error, OTO_INVALID, "plugin '%s' is of the kind '%s'; sense runs sensors",
                          run->instance.descriptor->id, run->instance.descriptor->kind);
    }
    return status == OTO_OK ? bind_params(run, error) : status;
}

static void fill_setup(struct run *run)
{
    char unit[160];
    struct oto_setup *setup = &run->setup;
    (void)snprintf(unit, sizeof unit, "%s/%" PRIu64, run->part_name, run->options->unit);
    setup->size = sizeof *setup;
    (void)snprintf(setup->node, sizeof setup->node, NODE);
    setup->noise_key = (struct oto_rng_key){run->options->seed, oto_fnv1a64_text(OTO_FNV1A64_START, NODE)};
    if (run->options->part != NULL || run->options->unit != 0) {
        /* Two units of one part must not have the same noise. */
        setup->noise_key.stream = oto_fnv1a64_text(oto_fnv1a64_text(setup->noise_key.stream, "/"), unit);
    }
    setup->unit_key = (struct oto_rng_key){0, oto_fnv1a64_text(OTO_FNV1A64_START, unit)};
    setup->q_body_from_sensor = (oto_quat){1, 0, 0, 0};
    setup->gravity_enu_m_s2 = (oto_vec3){0, 0, -sense_defaults[2]};
    setup->mag_field_enu_ut = (oto_vec3){sense_defaults[6], sense_defaults[7], sense_defaults[8]};
    setup->temperature_degc = sense_defaults[9];
    setup->pressure_pa = SENSE_PRESSURE_PA;
}

/* ---- rows ---- */

static enum oto_step_status step(struct run *run, const struct sense_row *row)
{
    const struct oto_sensor_input input = sense_input(row->values);
    const struct oto_sensor_step sensor = {&input, sense_input_at, &run->history};
    return srv_instance_step(&run->instance, run->rows, run->rows + 1, (struct oto_instant){row->t_ns, 0.0}, &sensor, NULL);
}

static enum oto_status write_sample(struct run *run, const struct oto_row *row, enum oto_step_status result,
                                    struct oto_error *error)
{
    const struct oto_record_type *type = run->instance.descriptor->outputs[0].type;
    const struct oto_output *output = &run->instance.outputs[0];
    if (result == OTO_STEP_ERROR || result == OTO_STEP_FATAL) {
        return sense_fail(row, error, OTO_PLUGIN, "the plugin's step failed");
    }
    if (result == OTO_STEP_DISCARD || output->emit == 0) {
        csv_empty(run->out.file, type, output->t_ns); /* keeps the rows of output and input in step */
        run->discarded++;
    } else {
        const struct oto_sample_head head = {output->t_ns, output->sensor_time_ns, ++run->seq, output->flags, type->bytes};
        csv_sample(run->out.file, type, &head, output->payload);
        run->warned += result == OTO_STEP_WARN;
    }
    run->rows++;
    return ferror(run->out.file) == 0 ? OTO_OK : oto_fail(error, OTO_IO, "cannot write '%.256s'", run->options->out);
}

/* Warns about columns of the input that are unused because a parameter gives the value instead. */
static void warn_ignored(const struct run *run, const double *values)
{
    static const struct {
        const char *param, *columns, *word;
        size_t first; /* index of the first of the columns in sense_columns */
    } rows[] = {{"temperature_degc", "temperature_degc", "world", SENSE_COLUMNS - 1},
                {"magnetic_field_enu_ut", "mag_field_{x,y,z}_ut", "world", SENSE_COLUMNS - 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[160], sentence[320];
        struct oto_error ignored;
        if (isnan(values[rows[i].first]) || oto_params_get(run->instance.descriptor, rows[i].param, &run->instance.params,
                                                           text, sizeof text, &ignored) != OTO_OK ||
            strstr(text, rows[i].word) != NULL) {
            continue;
        }
        (void)snprintf(sentence, sizeof sentence,
                       "the column %s of the input has no effect, because the parameter %s is %.100s; --set %s=%s uses it",
                       rows[i].columns, rows[i].param, text, rows[i].param, rows[i].word);
        warn(NULL, sentence);
    }
}

static enum oto_status each_row(void *context, const struct oto_row *row, struct oto_error *error)
{
    struct run *run = context;
    if (row->number == 0) {
        warn_ignored(run, row->values);
    }
    if (cli_interrupted()) {
        return oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " rows; nothing was written", run->rows);
    }
    const enum oto_status status = sense_history_push(&run->history, row, error);
    if (status != OTO_OK) {
        return status;
    }
    return write_sample(run, row, step(run, sense_history_newest(&run->history)), error);
}

static enum oto_status sense(struct run *run, struct oto_error *error)
{
    enum oto_status status = open_plugin(run, error);
    if (status == OTO_OK) {
        fill_setup(run);
        status = choose_rate(run, error);
    }
    if (status == OTO_OK) {
        const struct srv_instance_place place = {.setup = &run->setup, .warn = warn};
        status = srv_instance_make(&run->instance, &place, error);
    }
    if (status == OTO_OK) {
        status = cli_output_open(&run->out, run->options->out, error);
    }
    if (status == OTO_OK) {
        csv_header(run->out.file, run->instance.descriptor->outputs[0].type);
        status = oto_table_each(run->options->in, sense_columns, SENSE_COLUMNS, each_row, run, error);
    }
    return cli_output_close(&run->out, status, error);
}

static void run_finish(struct run *run)
{
    sense_history_finish(&run->history);
    (void)srv_instance_finish(&run->instance);
}

/* ---- the command line ---- */

static const struct argp_option option_table[] = {
    {"plugin", 'p', "P", 0, "sensor plugin: a name or a file", 0},
    {"part", 'a', "NAME", 0, "a real sensor, as tdk/icm-42688-p: its parameters come first (otolith parts lists them)", 0},
    {"mode", 'm', "MODE", 0, "operating mode of the part", 0},
    {"unit", 'u', "N", 0, "serial number: offsets and scale errors of that unit (default 0)", 0},
    {"params", 'P', "FILE", 0, "its parameters, YAML or JSON", 0},
    {"set", 's', "KEY=VALUE", 0, "one parameter, after the file; the value is YAML; may be repeated", 0},
    {"rate", 'r', "HZ", 0, "sample rate fs (default: the parameters', else of the median step of t_s)", 0},
    {"seed", 'S', "N", 0, "seed of the noise, 64 bits (default 0)", 0},
    {"in", 'i', "FILE", 0, "CSV of true inputs", 0},
    {"out", 'o', "FILE", 0, "CSV of samples; - is stdout", 0},
    {0},
};

static const char doc[] =
    "Runs a sensor plugin over a CSV of true sensor-frame inputs, without a server: one output row for each input row.\v"
    "Input columns: t_s, which grows from row to row, and, where present, specific_force_{x,y,z}_m_s2 (default 0, 0, "
    "9.80665), angular_rate_{x,y,z}_rad_s (0), mag_field_{x,y,z}_ut (-2.4169, 27.5550, 16.0849) and temperature_degc (25). "
    "Output columns: t_ns, seq, the fields of the plugin's first channel, sensor_time_ns and flags; a discarded sample leaves "
    "them empty. Row n is sample n of the node \"" NODE "\" in a world of that seed; each part and each unit has noise of "
    "its own.";

static void require(const struct argp_state *state, const struct options *options)
{
    if (options->plugin == NULL || options->in == NULL || options->out == NULL) {
        argp_error(state, "--plugin, --in and --out are needed");
    }
    if (options->mode != NULL && options->part == NULL) {
        argp_error(state, "--mode is of a part: give --part too");
    }
    cli_json_check(state, options->json, "--out", options->out);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->json; return 0;
    case 'p': options->plugin = argument; return 0;
    case 'P': options->params = argument; return 0;
    case 'a': options->part = argument; return 0;
    case 'm': options->mode = argument; return 0;
    case 'u':
        options->unit = cli_option_count(state, "--unit", argument, 0, UINT32_MAX);
        return 0;
    case 'r': options->rate = argument; return 0;
    case 'i': options->in = argument; return 0;
    case 'o': options->out = argument; return 0;
    case 'S':
        options->seed = cli_option_count(state, "--seed", argument, 0, UINT64_MAX);
        return 0;
    case 's': cli_add_set(state, options->sets, &options->set_count, MOST_SETS, argument); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", argument); return 0;
    case ARGP_KEY_END: require(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void print_json(const struct run *run)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "out", run->options->out);
    oto_json_number(&json, "rate_hz", run->setup.rate_hz);
    oto_json_u64(&json, "rows", run->rows);
    oto_json_u64(&json, "samples", run->seq);
    oto_json_u64(&json, "discarded", run->discarded);
    oto_json_u64(&json, "warned", run->warned);
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

int cli_sense(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = option_table, .parser = parse, .doc = doc, .children = children};
    struct options options = {0};
    struct run run = {.options = &options};
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    const enum oto_status status = sense(&run, &error);
    if (status == OTO_OK) {
        (void)fprintf(stderr, "otolith: %" PRIu64 " rows, %" PRIu64 " discarded, %" PRIu64 " with a warning\n", run.rows,
                      run.discarded, run.warned);
    }
    if (status == OTO_OK && options.json) {
        print_json(&run);
    }
    run_finish(&run);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
