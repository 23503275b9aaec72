/* otolith calibrate mount: how an IMU is mounted, from logs of a drive. Runs a calibration plugin over recorded samples. */
#include "calibrate/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bar.h"
#include "offline/estimate.h"
#include "output.h"

enum { MOST_SETS = 64 };

struct options {
    const char *what, *imu, *speed, *method, *trace, *write, *write_to, *node;
    char *sets[MOST_SETS]; /* KEY=VALUE */
    uint32_t set_count;
    double nominal_rpy_deg[3];
    double tolerance_deg[2], confidence_percent[2]; /* [0]: of pitch, yaw and repeatable roll; [1]: of the absolute roll */
    uint32_t tolerances, confidences;
    bool has_nominal, garage, opposite, json;
};

struct calibration {
    const struct options *options;
    struct calibrate_rig rig;
    struct oto_log *imu, *speed;
    struct oto_estimate *estimate;
    struct cli_output trace;
    struct cli_bar bar;
    struct oto_mount_calibration_record result;
    uint32_t seen; /* bits of the monitors that were raised at any time */
};

static void warn(void *context, const char *sentence)
{
    (void)context;
    (void)fprintf(stderr, "otolith: warning: %s\n", sentence);
}

/* ---- parameters ---- */

static enum oto_status set(struct calibration *this, const char *key, const char *yaml, struct oto_error *error)
{
    return oto_params_set(oto_plugin_descriptor(oto_estimate_plugin(this->estimate)), key, yaml, false,
                          oto_estimate_params(this->estimate), error);
}

static enum oto_status set_nominal(struct calibration *this, const double *rpy_deg, struct oto_error *error)
{
    char text[128];
    (void)snprintf(text, sizeof text, "[%.17g, %.17g, %.17g]", rpy_deg[0], rpy_deg[1], rpy_deg[2]);
    return set(this, "nominal_rpy_deg", text, error);
}

static enum oto_status set_number(struct calibration *this, const char *key, double value, struct oto_error *error)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.17g", value);
    return set(this, key, text, error);
}

/* The half width, in standard deviations, of the interval that contains this share of a normal distribution. */
static double sigmas_of(double percent)
{
    double low = 0.0, high = 10.0;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        if (100.0 * erf(middle / sqrt(2.0)) < percent) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

static enum oto_status set_acceptance(struct calibration *this, struct oto_error *error)
{
    static const char *const angles[] = {"accept.roll_deg", "accept.pitch_deg", "accept.yaw_deg"};
    const struct options *options = this->options;
    enum oto_status status = OTO_OK;
    for (int i = 0; status == OTO_OK && options->tolerances > 0 && i < 3; i++) {
        status = set_number(this, angles[i], options->tolerance_deg[0], error);
    }
    if (status == OTO_OK && options->tolerances > 1) {
        status = set_number(this, "accept.absolute_roll_deg", options->tolerance_deg[1], error);
    }
    if (status == OTO_OK && options->confidences > 0) {
        status = set_number(this, "accept.sigmas", sigmas_of(options->confidence_percent[0]), error);
    }
    if (status == OTO_OK && options->confidences > 1) {
        status = set_number(this, "accept.absolute_roll_sigmas", sigmas_of(options->confidence_percent[1]), error);
    }
    return status;
}

static enum oto_status set_params(struct calibration *this, struct oto_error *error)
{
    const struct options *options = this->options;
    enum oto_status status = set(this, "histogram_channel", "false", error);
    if (status == OTO_OK && options->method != NULL) {
        status = set(this, "method", options->method, error);
    }
    if (status == OTO_OK && options->garage) {
        status = set(this, "garage", "true", error);
    }
    if (status == OTO_OK && options->opposite) {
        status = set(this, "opposite", "true", error);
    }
    if (status == OTO_OK) {
        status = set_acceptance(this, error);
    }
    if (status == OTO_OK && (options->has_nominal || this->rig.has_mount)) {
        status = set_nominal(this, options->has_nominal ? options->nominal_rpy_deg : this->rig.rpy_deg, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < options->set_count; i++) {
        char *equals = strchr(options->sets[i], '=');
        *equals = '\0';
        status = set(this, options->sets[i], equals + 1, error);
    }
    return status;
}

/* ---- the run ---- */

static enum oto_status emit(void *context, uint32_t port, const struct oto_sample_head *head, const void *payload,
                            struct oto_error *error)
{
    struct calibration *this = context;
    if (port != 0) {
        return OTO_OK;
    }
    memcpy(&this->result, payload, sizeof this->result);
    this->seen |= this->result.monitors;
    if (this->trace.file == NULL) {
        return OTO_OK;
    }
    calibrate_trace_row(this->trace.file, (double)head->t_ns * 1e-9, &this->result);
    return ferror(this->trace.file) == 0 ? OTO_OK : oto_fail(error, OTO_IO, "cannot write '%.256s'", this->options->trace);
}

static enum oto_status progress(void *context, uint64_t done, uint64_t total, struct oto_error *error)
{
    struct calibration *this = context;
    char text[96];
    (void)snprintf(text, sizeof text, "%s, %.0f %%", calibrate_state_name(this->result.state), this->result.percent);
    cli_bar_show(&this->bar, done, total, text);
    return !cli_interrupted() ? OTO_OK
                              : oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " of %" PRIu64 " samples; nothing was "
                                         "written", done, total);
}

static enum oto_status prepare(struct calibration *this, struct oto_error *error)
{
    const struct options *options = this->options;
    enum oto_status status =
        options->write != NULL ? calibrate_rig_open(options->write, options->node, &this->rig, error) : OTO_OK;
    if (status == OTO_OK) {
        status = oto_estimate_open("mount_calibration", &this->estimate, error);
    }
    if (status == OTO_OK) {
        status = set_params(this, error);
    }
    if (status == OTO_OK) {
        status = oto_log_read(options->imu, &this->imu, error);
    }
    if (status == OTO_OK) {
        status = oto_log_read(options->speed, &this->speed, error);
    }
    if (status == OTO_OK) {
        status = oto_estimate_bind(this->estimate, "imu", this->imu, error);
    }
    if (status == OTO_OK) {
        status = oto_estimate_bind(this->estimate, "speed", this->speed, error);
    }
    if (status == OTO_OK && options->trace != NULL) {
        status = cli_output_open(&this->trace, options->trace, error);
    }
    return status;
}

static enum oto_status execute(struct calibration *this, struct oto_error *error)
{
    struct oto_estimate_run run = {.size = sizeof run, .emit = emit, .progress = progress, .context = this, .warn = warn};
    enum oto_status status = prepare(this, error);
    if (status == OTO_OK && this->trace.file != NULL) {
        calibrate_trace_header(this->trace.file);
    }
    if (status == OTO_OK) {
        cli_bar_begin(&this->bar);
        status = oto_estimate_execute(this->estimate, &run, error);
        cli_bar_end(&this->bar);
    }
    if (status == OTO_OK && run.not_finite > 0) {
        status = oto_fail(error, OTO_PLUGIN, "the calibration gave %" PRIu64 " results that are not finite", run.not_finite);
    }
    status = cli_output_close(&this->trace, status, error);
    if (status == OTO_OK && this->options->write != NULL && this->result.state == OTO_CALIBRATION_ACCEPTED) {
        status = calibrate_rig_write(&this->rig, this->options->write_to, &this->result, error);
    }
    return status;
}

static void say(const struct calibration *this)
{
    const struct options *options = this->options;
    const char *written = options->write_to != NULL ? options->write_to : options->write;
    const bool traced_to_stdout = options->trace != NULL && strcmp(options->trace, "-") == 0;
    FILE *to = traced_to_stdout ? stderr : stdout;
    if (options->json) {
        calibrate_print_json(to, &this->result);
        calibrate_print_monitors(this->seen, this->result.reason);
    } else {
        calibrate_print(to, &this->result, this->seen);
    }
    if (written != NULL && this->result.state == OTO_CALIBRATION_ACCEPTED) {
        (void)fprintf(stderr, "otolith: %s: written%s%s\n", written, this->rig.exists ? ", mount of " : "", this->rig.node);
    } else if (written != NULL) {
        (void)fprintf(stderr, "otolith: %s: nothing is written, since nothing was accepted\n", written);
    }
}

/* ---- the command line ---- */

enum { OPTION_STATIC = 1000, OPTION_OPPOSITE, OPTION_TOLERANCE, OPTION_CONFIDENCE, OPTION_WRITE_TO, OPTION_NODE };

static const struct argp_option option_table[] = {
    {"imu", 'i', "FILE", 0, "CSV of the IMU: t_s, ax, ay, az in m/s², gx, gy, gz in rad/s", 0},
    {"speed", 'v', "FILE", 0, "CSV of the vehicle's speed: t_s, v_m_s", 0},
    {"nominal", 'n', "R,P,Y", 0, "mount as planned, degrees (default: that of --write's file, else 0,0,0)", 0},
    {"method", 'm', "M", 0, "joint (default) or histogram, the published voting scheme", 0},
    {"static", OPTION_STATIC, NULL, 0, "a level garage: five seconds at rest, then starts and stops, for a result to two degrees", 0},
    {"opposite", OPTION_OPPOSITE, NULL, 0, "with --static: five seconds at rest, turn round, five seconds on the same spot; any floor", 0},
    {"tolerance", OPTION_TOLERANCE, "DEG[,DEG]", 0, "bound at which pitch, yaw and the roll to the mean road are accepted (0.3); that of the roll to gravity (0.6)", 0},
    {"confidence", OPTION_CONFIDENCE, "%[,%]", 0, "share of results that are within their bound (99.73); of the roll to gravity (95)", 0},
    {"set", 's', "KEY=VALUE", 0, "a parameter of mount_calibration, as road.crown_deg=0; may be repeated", 0},
    {"json", 'j', NULL, 0, "print {state, percent, rpy_deg, bound_3sigma_deg, seconds, axes}", 1},
    {"trace", 't', "FILE", 0, "CSV of the same over time; - is stdout", 1},
    {"write", 'w', "FILE", 0, "a world: the mount of its IMU is replaced. No such file: one with the mount is made", 1},
    {"write-to", OPTION_WRITE_TO, "FILE", 0, "write there, and leave --write's file as it is", 1},
    {"node", OPTION_NODE, "VEHICLE/NODE", 0, "the IMU in --write's file, where there are several", 1},
    {0},
};

static const char doc[] = "Finds how an IMU is mounted on its vehicle, roll, pitch and yaw, from logs of a drive.\v"
                          "The angles are those of a world's mount.rpy_deg: they take sensor vectors to the vehicle's "
                          "frame, x forward, y left, z up. Logs are as "
                          "for `otolith estimate`. The code is that of the plugin mount_calibration in a world.\n\n"
                          "The exit code is 0 also if nothing was accepted: the state in the output reports it, and "
                          "--write then writes nothing. It is 1 if "
                          "the logs cannot be used, and 2 if the command line is wrong.";

static void require(const struct argp_state *state, const struct options *options)
{
    if (options->what == NULL || strcmp(options->what, "mount") != 0) {
        argp_error(state, "'%s' cannot be calibrated; `calibrate mount` is accepted",
                   options->what != NULL ? options->what : "");
    }
    if (options->imu == NULL || options->speed == NULL) {
        argp_error(state, "--imu and --speed are needed");
    }
    if (options->opposite && !options->garage) {
        argp_error(state, "--opposite belongs to --static");
    }
    if (options->write == NULL && (options->write_to != NULL || options->node != NULL)) {
        argp_error(state, "--write-to and --node belong to --write");
    }
}

static void parse_nominal(const struct argp_state *state, const char *argument, struct options *options)
{
    options->has_nominal = true;
    if (cli_numbers(argument, options->nominal_rpy_deg, 3, 3) == 0) {
        argp_error(state, "--nominal takes ROLL,PITCH,YAW in degrees, not '%s'", argument);
    }
}

/* Reads one number, or two with a comma; returns how many. */
static uint32_t parse_pair(const struct argp_state *state, const char *name, const char *argument, double most, double pair[2])
{
    const uint32_t count = (uint32_t)cli_numbers(argument, pair, 1, 2);
    for (uint32_t i = 0; i < count; i++) {
        if (!(pair[i] > 0.0 && pair[i] < most)) {
            argp_error(state, "%s takes numbers above 0 and below %g, not '%s'", name, most, argument);
        }
    }
    if (count == 0) {
        argp_error(state, "%s takes one number or two, not '%s'", name, argument);
    }
    return count;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'i': options->imu = argument; return 0;
    case 'v': options->speed = argument; return 0;
    case 'n': parse_nominal(state, argument, options); return 0;
    case 'm': options->method = argument; return 0;
    case 'j': options->json = true; return 0;
    case 't': options->trace = argument; return 0;
    case 'w': options->write = argument; return 0;
    case OPTION_STATIC: options->garage = true; return 0;
    case OPTION_OPPOSITE: options->opposite = true; return 0;
    case OPTION_TOLERANCE:
        options->tolerances = parse_pair(state, "--tolerance", argument, 10.0, options->tolerance_deg);
        return 0;
    case OPTION_CONFIDENCE:
        options->confidences = parse_pair(state, "--confidence", argument, 100.0, options->confidence_percent);
        return 0;
    case OPTION_WRITE_TO: options->write_to = argument; return 0;
    case OPTION_NODE: options->node = argument; return 0;
    case 's': cli_add_set(state, options->sets, &options->set_count, MOST_SETS, argument); return 0;
    case ARGP_KEY_ARG: cli_take_argument(state, &options->what, argument); return 0;
    case ARGP_KEY_END: require(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cli_calibrate(int argc, char **argv)
{
    static const struct argp argp = {.options = option_table, .parser = parse, .args_doc = "mount", .doc = doc};
    struct options options = {0};
    struct calibration this = {.options = &options};
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    const enum oto_status status = execute(&this, &error);
    if (status == OTO_OK) {
        say(&this);
    }
    oto_estimate_close(this.estimate);
    oto_log_close(this.imu);
    oto_log_close(this.speed);
    calibrate_rig_close(&this.rig);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
