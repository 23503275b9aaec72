/* otolith estimate: an estimator plugin over recorded logs, without a server. */
#include "bar.h"
#include "csv.h"
#include "estimate/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_SETS = 256 };

struct options {
    const char *plugin, *params, *rate, *clock, *origin;
    const char *from, *settle, *seed;
    const char *ins[ESTIMATE_MOST], *mounts[ESTIMATE_MOST], *outs[OTO_PLUGIN_MAX_PORTS];
    char *sets[MOST_SETS]; /* KEY=VALUE */
    uint32_t in_count, mount_count, out_count, set_count;
    bool json;
};

struct estimation {
    const struct options *options;
    struct oto_estimate *estimate;
    struct estimate_logs logs;
    struct comparisons comparisons;
    struct own_rmse own;
    struct oto_estimate_run run;
    struct cli_output outputs[OTO_PLUGIN_MAX_PORTS]; /* of each port */
    struct cli_bar bar;
};

static void warn(void *context, const char *sentence)
{
    (void)context;
    (void)fprintf(stderr, "otolith: warning: %s\n", sentence);
}

/* ---- parameters and rates ---- */

static enum oto_status set_params(struct estimation *this, struct oto_error *error)
{
    static const char section[] = "params.";
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(oto_estimate_plugin(this->estimate));
    struct oto_params *params = oto_estimate_params(this->estimate);
    struct oto_document *document = NULL;
    enum oto_status status = OTO_OK;
    if (this->options->params != NULL) {
        status = oto_document_read(this->options->params, NULL, &document, error);
        if (status == OTO_OK) {
            status = oto_params_apply(descriptor, oto_document_root(document), params, error);
        }
        oto_document_close(document);
    }
    for (uint32_t i = 0; status == OTO_OK && i < this->options->set_count; i++) {
        char *key = this->options->sets[i], *equals = strchr(key, '=');
        *equals = '\0';
        key += strncmp(key, section, strlen(section)) == 0 ? strlen(section) : 0;
        status = oto_params_set(descriptor, key, equals + 1, false, params, error);
    }
    return status;
}

static enum oto_status rate_of(const char *option, const char *text, uint64_t *num, uint64_t *den,
                               struct oto_error *error)
{
    struct oto_document *document = NULL;
    if (text == NULL) {
        return OTO_OK;
    }
    enum oto_status status = oto_document_parse(option, text, strlen(text), NULL, &document, error);
    if (status == OTO_OK) {
        status = oto_value_rational(oto_document_root(document), num, den, error);
    }
    if (status == OTO_OK && (*num == 0 || (double)*num / (double)*den > 1e6 || (double)*num / (double)*den < 1e-6)) {
        status = oto_fail(error, OTO_RANGE, "%s is %s Hz; a rate from 1e-6 to 1e6 Hz is accepted, as 200, 0.5 or 60000/1001",
                          option, text);
    }
    oto_document_close(document);
    return status;
}

static enum oto_status set_times(struct estimation *this, struct oto_error *error)
{
    const struct options *options = this->options;
    struct oto_estimate_run *run = &this->run;
    enum oto_status status = rate_of("--rate", options->rate, &run->rate_num, &run->rate_den, error);
    if (status == OTO_OK) {
        status = rate_of("--clock", options->clock, &run->clock_num, &run->clock_den, error);
    }
    if (status == OTO_OK && options->from != NULL) {
        run->has_from = true;
        status = cli_duration(options->from, &run->from_ns, error);
    }
    if (status == OTO_OK && options->settle != NULL) {
        status = cli_duration(options->settle, &this->comparisons.settle_ns, error);
    }
    return status;
}

static enum oto_status set_surroundings(struct estimation *this, struct oto_error *error)
{
    struct oto_setup *setup = oto_estimate_setup(this->estimate);
    enum oto_status status = OTO_OK;
    if (this->options->seed != NULL) {
        status = cli_count(this->options->seed, &setup->noise_key.seed, error);
    }
    if (status == OTO_OK && this->options->origin != NULL) {
        status = estimate_origin(setup, this->options->origin, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < this->options->mount_count; i++) {
        status = estimate_mount(this->estimate, this->options->mounts[i], error);
    }
    return status;
}

/* ---- outputs ---- */

/* "[CHANNEL=]FILE" */
static enum oto_status open_output(struct estimation *this, const char *argument, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(oto_estimate_plugin(this->estimate));
    const char *path = argument;
    uint32_t port = 0;
    for (uint32_t i = 1; i < descriptor->output_count; i++) {
        const char *name = descriptor->outputs[i].name;
        if (strncmp(argument, name, strlen(name)) == 0 && argument[strlen(name)] == '=') {
            port = i;
            path = argument + strlen(name) + 1;
        }
    }
    if (this->outputs[port].file != NULL) {
        return oto_fail(error, OTO_INVALID, "--out names two files for the %s channel%s%s", port == 0 ? "first" : "same",
                        port == 0 ? "" : " ", descriptor->outputs[port].name);
    }
    for (uint32_t i = 0; i < descriptor->output_count; i++) {
        if (this->outputs[i].file != NULL && cli_output_is_same(this->outputs[i].path, path)) {
            return oto_fail(error, OTO_INVALID, "--out: two channels would both write '%s': give each a file of its own", path);
        }
    }
    const enum oto_status status = cli_output_open(&this->outputs[port], path, error);
    if (status == OTO_OK) {
        csv_header(this->outputs[port].file, descriptor->outputs[port].type);
    }
    return status;
}

static enum oto_status close_outputs(struct estimation *this, enum oto_status status, struct oto_error *error)
{
    for (uint32_t i = 0; i < OTO_PLUGIN_MAX_PORTS; i++) {
        status = cli_output_close(&this->outputs[i], status, error);
    }
    return status;
}

/* ---- the run ---- */

static enum oto_status emit(void *context, uint32_t port, const struct oto_sample_head *head, const void *payload,
                            struct oto_error *error)
{
    struct estimation *this = context;
    FILE *to = this->outputs[port].file;
    own_rmse_take(&this->own, port, payload);
    comparisons_take(&this->comparisons, port, head, payload);
    if (to == NULL) {
        return OTO_OK;
    }
    csv_sample(to, oto_plugin_descriptor(oto_estimate_plugin(this->estimate))->outputs[port].type, head, payload);
    return ferror(to) == 0 ? OTO_OK : oto_fail(error, OTO_IO, "cannot write '%.256s'", this->outputs[port].path);
}

static enum oto_status progress(void *context, uint64_t done, uint64_t total, struct oto_error *error)
{
    struct estimation *this = context;
    if (cli_interrupted()) {
        return oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " of %" PRIu64 " samples; nothing was written", done,
                        total);
    }
    char text[64];
    (void)snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " samples", done, total);
    cli_bar_show(&this->bar, done, total, text);
    return OTO_OK;
}

static enum oto_status prepare(struct estimation *this, struct oto_error *error)
{
    const struct options *options = this->options;
    enum oto_status status = oto_estimate_open(options->plugin, &this->estimate, error);
    if (status == OTO_OK) {
        status = set_params(this, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < options->in_count; i++) {
        status = estimate_bind(this->estimate, options->ins[i], &this->logs, error);
    }
    if (status == OTO_OK) {
        status = set_times(this, error);
    }
    if (status == OTO_OK) {
        status = set_surroundings(this, error);
    }
    if (status == OTO_OK) {
        const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(oto_estimate_plugin(this->estimate));
        own_rmse_find(&this->own, descriptor);
        status = comparisons_open(&this->comparisons, descriptor, error);
    }
    return status;
}

static enum oto_status execute(struct estimation *this, struct oto_error *error)
{
    enum oto_status status = prepare(this, error);
    for (uint32_t i = 0; status == OTO_OK && i < this->options->out_count; i++) {
        status = open_output(this, this->options->outs[i], error);
    }
    if (status == OTO_OK) {
        this->run.size = sizeof this->run;
        this->run.emit = emit;
        this->run.progress = progress;
        this->run.context = this;
        this->run.warn = warn;
        cli_bar_begin(&this->bar);
        status = oto_estimate_execute(this->estimate, &this->run, error);
        cli_bar_end(&this->bar);
    }
    return close_outputs(this, status, error);
}

static bool writes_to_stdout(const struct options *options)
{
    for (uint32_t i = 0; i < options->out_count; i++) {
        const size_t bytes = strlen(options->outs[i]);
        if (strcmp(options->outs[i], "-") == 0 || (bytes > 2 && strcmp(options->outs[i] + bytes - 2, "=-") == 0)) {
            return true;
        }
    }
    return false;
}

static void say(const struct estimation *this)
{
    const struct oto_estimate_run *run = &this->run;
    const struct account account = {this->estimate, run, &this->comparisons, &this->own};
    FILE *to = writes_to_stdout(this->options) ? stderr : stdout;
    if (this->options->json) {
        account_print_json(to, &account);
        return;
    }
    (void)fprintf(stderr, "otolith: %" PRIu64 " samples, %" PRIu64 " steps, %" PRIu64 " records, %" PRIu64 " steps discarded, %"
                  PRIu64 " with a warning, %" PRIu64 " records not finite\n", run->samples, run->steps, run->records,
                  run->discarded, run->warned, run->not_finite);
    account_print(to, &account);
}

/* ---- the command line ---- */

enum { OPTION_CLOCK = 1000, OPTION_FROM, OPTION_REFERENCE, OPTION_COMPARE, OPTION_COMPARE_ANGLE, OPTION_SETTLE, OPTION_ORIGIN };

static const struct argp_option option_table[] = {
    {"plugin", 'p', "P", 0, "estimator plugin: a name or a file", 0},
    {"params", 'P', "FILE", 0, "its parameters, YAML or JSON", 0},
    {"set", 's', "KEY=VALUE", 0, "one parameter, after the file; the value is YAML; may be repeated", 0},
    {"in", 'i', "[NAME=]LOG", 0, "an input and its log; may be repeated", 0},
    {"out", 'o', "[CHANNEL=]FILE", 0, "CSV of what it publishes, of its first channel or the one named; - is stdout", 0},
    {"mount", 'm', "NAME=X,Y,Z,R,P,Y", 0, "pose of an input's sensor on the vehicle, m and degrees", 0},
    {"rate", 'r', "HZ", 0, "steps per second (default: the parameters', else one at each distinct time of the logs)", 0},
    {"clock", OPTION_CLOCK, "HZ", 0, "rate of the world that the logs are of: with --from 0 the steps are that world's", 0},
    {"from", OPTION_FROM, "TIME", 0, "with a rate: steps begin after this time of the logs (default: at their first sample)", 0},
    {"origin", OPTION_ORIGIN, "LAT,LON[,ALT]", 0, "place of the world's origin, degrees and m; gravity follows", 0},
    {"seed", 'S', "N", 0, "seed of the estimator's random numbers, if it draws any (default 0)", 0},
    {"reference", OPTION_REFERENCE, "FILE", 0, "what the estimate is compared with, linear between its rows", 1},
    {"compare", OPTION_COMPARE, "[CHANNEL:]COL=COL", 0, "a column of the estimate and one of the reference; may be repeated", 1},
    {"compare-angle", OPTION_COMPARE_ANGLE, "[CHANNEL:]COL=COL", 0, "the same, of angles in rad", 1},
    {"settle", OPTION_SETTLE, "TIME", 0, "leave this much of the estimate's beginning out of the comparison", 1},
    {0},
};

static const char doc[] =
    "Runs an estimator plugin over recorded logs, without a server: the same code, and from the same samples the same bits, as in "
    "a world.\v"
    "LOG is a CSV with a header: t_ns, t_us, t_ms or t_s; optionally seq, flags and sensor_time_ns; every other column of numbers "
    "is a field. ax ay az, gx gy gz and v_m_s stand for linear_acceleration.x …, angular_velocity.x … and speed_m_s. What "
    "`otolith run --csv` and `otolith echo --csv` write is such a log. A file of tagged lines (L px py time truth…, R rho phi "
    "rho_dot time truth…, time in µs) is the inputs lidar, radar and truth. NAME may be left out where the file is called after "
    "the input, or the estimator has but one.\n\n"
    "An estimator that is given the truth and says how far off it was has its RMSE printed; --reference and --compare do so for "
    "any.";

struct parsing {
    struct options *options;
    struct comparisons *comparisons;
};

static void add_text(const struct argp_state *state, const char **list, uint32_t *count, uint32_t most, const char *text)
{
    if (*count == most) {
        argp_error(state, "'%s' is one too many: at most %u", text, most);
    }
    list[(*count)++] = text;
}

static void add_comparison(const struct argp_state *state, struct comparisons *comparisons, const char *text, bool angle)
{
    if (comparisons->count == ESTIMATE_MOST_COMPARED) {
        argp_error(state, "'%s' is one too many: at most %d", text, ESTIMATE_MOST_COMPARED);
    }
    comparisons->rows[comparisons->count++] = (struct comparison){.argument = text, .angle = angle};
}

static void require(const struct argp_state *state, const struct parsing *parsing)
{
    const struct options *options = parsing->options;
    if (options->plugin == NULL || options->in_count == 0) {
        argp_error(state, "--plugin and --in are needed");
    }
    if ((parsing->comparisons->path == NULL) != (parsing->comparisons->count == 0)) {
        argp_error(state, "--reference and --compare belong together");
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    struct options *options = parsing->options;
    switch (key) {
    case 'p': options->plugin = argument; return 0;
    case 'P': options->params = argument; return 0;
    case 'r': options->rate = argument; return 0;
    case 'S': options->seed = argument; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->json; return 0;
    case OPTION_CLOCK: options->clock = argument; return 0;
    case OPTION_FROM: options->from = argument; return 0;
    case OPTION_ORIGIN: options->origin = argument; return 0;
    case OPTION_SETTLE: options->settle = argument; return 0;
    case OPTION_REFERENCE: parsing->comparisons->path = argument; return 0;
    case OPTION_COMPARE: add_comparison(state, parsing->comparisons, argument, false); return 0;
    case OPTION_COMPARE_ANGLE: add_comparison(state, parsing->comparisons, argument, true); return 0;
    case 'i': add_text(state, options->ins, &options->in_count, ESTIMATE_MOST, argument); return 0;
    case 'm': add_text(state, options->mounts, &options->mount_count, ESTIMATE_MOST, argument); return 0;
    case 'o': add_text(state, options->outs, &options->out_count, OTO_PLUGIN_MAX_PORTS, argument); return 0;
    case 's': cli_add_set(state, options->sets, &options->set_count, MOST_SETS, argument); return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", argument); return 0;
    case ARGP_KEY_END: require(state, parsing); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cli_estimate(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = option_table, .parser = parse, .doc = doc, .children = children};
    struct estimation this = {0};
    struct options options = {0};
    struct parsing parsing = {&options, &this.comparisons};
    struct oto_error error = {0};
    this.options = &options;
    cli_parse(&argp, argc, argv, &parsing);
    cli_catch_signals();
    const enum oto_status status = execute(&this, &error);
    if (status == OTO_OK) {
        say(&this);
    }
    comparisons_finish(&this.comparisons);
    oto_estimate_close(this.estimate);
    estimate_logs_finish(&this.logs);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
