/* otolith fit LOG.csv: a part from a rest log, tested against the log. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "fit/calibrate.h"
#include "output.h"

struct options {
    const char *log, *sensor, *out, *name;
    const char *positions, *rate_table, *temperature;
    struct fit_log_options reading;
    char *names[OTO_PART_TRIADS]; /* the texts that reading.columns point into */
    double tau_max_s;
    uint64_t runs;
    bool json;
};

enum { KEY_TAU_MAX = 256, KEY_POSITIONS, KEY_RATE_TABLE, KEY_TEMPERATURE };
#define DEFAULT_RUNS 64

/* X,Y,Z[:UNIT] */
static bool split_columns(struct options *options, enum oto_part_triad triad, const char *argument)
{
    char *text = options->names[triad] = strdup(argument);
    char *unit = text != NULL ? strchr(text, ':') : NULL, *state = NULL;
    int count = 0;
    if (unit != NULL) {
        *unit = '\0';
        options->reading.units[triad] = unit + 1;
    }
    for (char *word = text != NULL ? strtok_r(text, ",", &state) : NULL; word != NULL; word = strtok_r(NULL, ",", &state)) {
        if (count < 3) {
            options->reading.columns[triad][count] = word;
        }
        count++;
    }
    return count == 3;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 's': options->sensor = argument; return 0;
    case 'o': options->out = argument; return 0;
    case 'n': options->name = argument; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->json; return 0;
    case 'g':
    case 'a':
    case 'm':
        if (!split_columns(options, key == 'g' ? OTO_PART_GYROSCOPE : key == 'a' ? OTO_PART_ACCELEROMETER : OTO_PART_MAGNETOMETER,
                           argument)) {
            argp_error(state, "'%s' is not X,Y,Z or X,Y,Z:UNIT, the names of three columns", argument);
        }
        return 0;
    case 'r': options->reading.rate_hz = cli_option_positive(state, "--rate", argument, INFINITY); return 0;
    case KEY_TAU_MAX: options->tau_max_s = cli_option_positive(state, "--tau-max", argument, INFINITY); return 0;
    case KEY_POSITIONS: options->positions = argument; return 0;
    case KEY_RATE_TABLE: options->rate_table = argument; return 0;
    case KEY_TEMPERATURE: options->temperature = argument; return 0;
    case 'R':
        options->runs = cli_option_count(state, "--runs", argument, 2, 1000);
        return 0;
    case ARGP_KEY_ARG: cli_take_argument(state, &options->log, argument); return 0;
    case ARGP_KEY_END:
        if (options->log == NULL || options->out == NULL) {
            argp_error(state, "a LOG and --out are needed");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The plugin reads the part from a file that exists while it is tested. */
static enum oto_status simulate(struct fit_log *log, const struct options *options, const char *text, size_t bytes,
                                struct oto_error *error)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%.4000s/otolith-fit-XXXXXX.yaml", folder != NULL ? folder : "/tmp");
    const int fd = mkstemps(path, (int)strlen(".yaml"));
    if (fd < 0) {
        return oto_fail(error, OTO_IO, "cannot make a file in '%.256s' for the test of the part", folder != NULL ? folder : "/tmp");
    }
    const bool written = write(fd, text, bytes) == (ssize_t)bytes;
    enum oto_status status = close(fd) == 0 && written ? OTO_OK : oto_fail(error, OTO_IO, "cannot write '%.256s'", path);
    if (status == OTO_OK) {
        status = fit_log_simulate(log, options->sensor, path, (uint32_t)options->runs, error);
    }
    (void)unlink(path);
    return status;
}

static enum oto_status write_part(const char *path, const char *text, size_t bytes, struct oto_error *error)
{
    struct cli_output output = {0};
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK && fwrite(text, 1, bytes, output.file) != bytes) {
        status = oto_fail(error, OTO_IO, "cannot write '%.256s'", path);
    }
    return cli_output_close(&output, status, error);
}

static enum oto_status calibrate(struct fit_calibration *calibration, const struct options *options, struct oto_error *error)
{
    struct fit_log_options reading = options->reading;
    enum oto_status status = OTO_OK;
    reading.is_calibration = true;
    if (options->positions != NULL) {
        status = fit_positions(calibration, options->positions, &reading, error);
    }
    if (status == OTO_OK && options->rate_table != NULL) {
        status = fit_rate_table(calibration, options->rate_table, &reading, error);
    }
    if (status == OTO_OK && options->temperature != NULL) {
        status = fit_temperature(calibration, options->temperature, &reading, error);
    }
    return status;
}

static enum oto_status fit(struct fit_log *log, struct fit_calibration *calibration, const struct options *options,
                           struct oto_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    enum oto_status status = calibrate(calibration, options, error);
    if (status == OTO_OK) {
        status = fit_log_read(log, options->log, &options->reading, error);
    }
    if (status == OTO_OK) {
        log->tau_max_s = options->tau_max_s;
        status = fit_log_fit(log, error);
    }
    FILE *memory = status == OTO_OK ? open_memstream(&text, &bytes) : NULL;
    if (status == OTO_OK && memory == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    if (memory != NULL) {
        fit_part_write(memory, log, options->name, calibration);
        status = fclose(memory) == 0 ? status : oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    if (status == OTO_OK) {
        status = simulate(log, options, text, bytes, error);
    }
    if (status == OTO_OK) {
        status = write_part(options->out, text, bytes, error);
    }
    free(text);
    return status;
}

int cli_fit(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"sensor", 's', "PLUGIN", 0, "the sensor plugin that simulates the part (default mems_imu)", 0},
        {"out", 'o', "FILE", 0, "the part file", 0},
        {"name", 'n', "VENDOR/PART", 0, "its name (default fitted/part)", 0},
        {"gyroscope", 'g', "X,Y,Z[:UNIT]", 0, "columns and unit, rad/s or deg/s (default: by the names that otolith knows)", 0},
        {"accelerometer", 'a', "X,Y,Z[:UNIT]", 0, "columns and unit, m/s2 or g", 0},
        {"magnetometer", 'm', "X,Y,Z[:UNIT]", 0, "columns and unit, uT, T or gauss", 0},
        {"rate", 'r', "HZ", 0, "samples per second (default: from the column t_ns or t_s)", 0},
        {"tau-max", KEY_TAU_MAX, "S", 0, "longest averaging time of the fit (default: a tenth of the log)", 0},
        {"positions", KEY_POSITIONS, "FILE", 0, "CSV of six positions at rest, each axis up and down: scale, misalignment and bias "
         "of the accelerometer, g-sensitivity of the gyroscope", 0},
        {"rate-table", KEY_RATE_TABLE, "FILE", 0, "CSV with columns reference_{x,y,z}_rad_s: scale and misalignment of the gyroscope", 0},
        {"temperature", KEY_TEMPERATURE, "FILE", 0, "CSV of a rest with a column temperature_degc: thermal polynomials", 0},
        {"runs", 'R', "N", 0, "simulated runs as long as the log, for the test and the standard errors (default 64)", 0},
        {0}};
    static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = rows, .parser = parse, .children = children, .args_doc = "LOG.csv",
        .doc = "Fits the noise of a sensor that was at rest and writes it as a part: N, K, and a flicker floor B or Gauss-Markov "
               "processes, periodic noise and resolution. Bayes' information criterion chooses the model. The part is then "
               "simulated and its Allan deviation compared with that of the log.\v"
               "The part is written also where an averaging time does not fit: the report names it, and the exit code is 3. Use the part as "
               "`part: my_part.yaml` in a world, or with `otolith sense --part`."};
    struct options options = {.sensor = "mems_imu", .name = "fitted/part", .runs = DEFAULT_RUNS};
    struct fit_log *log = calloc(1, sizeof *log);
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    if (log == NULL) {
        return cli_no_memory();
    }
    struct fit_calibration calibration = {.thermal = {{.is_there = false}}};
    const enum oto_status status = fit(log, &calibration, &options, &error);
    if (status == OTO_OK && options.json) {
        fit_report_json(stdout, log, &calibration);
    } else if (status == OTO_OK) {
        fit_report(stdout, log);
        fit_calibration_report(stdout, &calibration);
    }
    const int code = status != OTO_OK ? cli_say(&error) : fit_agrees(log) ? CLI_OK : CLI_NO_FIT;
    fit_log_free(log);
    free(log);
    for (int i = 0; i < OTO_PART_TRIADS; i++) {
        free(options.names[i]);
    }
    return code;
}
