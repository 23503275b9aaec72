/* otolith parts: lists and shows the part library, imports and exports parts. */
#include "cli.h"
#include "json.h"
#include "parts/parts.h"

#include <math.h>
#include <string.h>

struct options {
    const char *words[2]; /* [NAME], or import FILE, or export NAME */
    int word_count;
    const char *mode, *entry, *name, *format;
    enum parts_format parts_format; /* valid if format is not NULL */
    double rate_hz;
    bool json, check;
};

static void warn(void *context, const char *sentence)
{
    (void)context;
    cli_print_line(stderr, "otolith: warning: %s", sentence);
}

/* ---- list ---- */

struct listing {
    bool json;
    uint32_t count;
};

static enum oto_status list_one(void *context, const char *name, struct oto_error *error)
{
    struct listing *listing = context;
    struct oto_part *part;
    const enum oto_status status = oto_part_open(name, NULL, &part, error);
    if (status != OTO_OK) {
        return status;
    }
    if (listing->json) {
        (void)fputs(listing->count > 0 ? ",\n  " : "  ", stdout);
        parts_show_json(stdout, part, &part->modes[part->default_mode]);
    } else {
        cli_print_line(stdout, "%-22s %-13s %u modes  %s", part->name, part->kind_name, part->mode_count,
                       part->title);
    }
    listing->count++;
    oto_part_close(part);
    return OTO_OK;
}

static enum oto_status list(const struct options *options, struct oto_error *error)
{
    struct listing listing = {.json = options->json};
    (void)fputs(options->json ? "[\n" : "", stdout);
    const enum oto_status status = oto_parts_each(list_one, &listing, error);
    (void)fputs(options->json ? "]\n" : "", stdout);
    return status;
}

/* ---- check ---- */

static enum oto_status check_one(void *context, const char *name, struct oto_error *error)
{
    uint32_t *beyond = context;
    struct oto_part *part;
    enum oto_status status = oto_part_open(name, NULL, &part, error);
    if (status == OTO_OK) {
        status = parts_check(stdout, part, &part->modes[part->default_mode], beyond, error);
        oto_part_close(part);
    }
    return status;
}

/* ---- one ---- */

static enum oto_status open_part(const struct options *options, const char *name, struct oto_part **part,
                                 const struct oto_part_mode **mode, struct oto_error *error)
{
    enum oto_status status = oto_part_open(name, NULL, part, error);
    return status == OTO_OK ? oto_part_mode_find(*part, options->mode, mode, error) : status;
}

static enum oto_status show(const struct options *options, struct oto_error *error)
{
    struct oto_part *part = NULL;
    const struct oto_part_mode *mode;
    const enum oto_status status = open_part(options, options->words[0], &part, &mode, error);
    if (status == OTO_OK) {
        (options->json ? parts_show_json : parts_show)(stdout, part, mode);
    }
    oto_part_close(part);
    return status;
}

static enum oto_status export_part(const struct options *options, struct oto_error *error)
{
    struct oto_part *part = NULL;
    const struct oto_part_mode *mode;
    enum oto_status status = open_part(options, options->words[1], &part, &mode, error);
    if (status == OTO_OK) {
        status = parts_export(stdout, options->parts_format, part, mode,
                              options->rate_hz, error);
    }
    oto_part_close(part);
    return status;
}

static enum oto_status check_parts(const struct options *options, struct oto_error *error)
{
    struct oto_part *part = NULL;
    const struct oto_part_mode *mode;
    uint32_t beyond = 0;
    enum oto_status status = OTO_OK;
    parts_check_head(stdout);
    if (options->word_count == 0) {
        status = oto_parts_each(check_one, &beyond, error);
    } else {
        status = open_part(options, options->words[0], &part, &mode, error);
        if (status == OTO_OK) {
            status = parts_check(stdout, part, mode, &beyond, error);
        }
        oto_part_close(part);
    }
    if (status == OTO_OK && beyond > 0) {
        status = oto_fail(error, OTO_RANGE, "%u rows differ from their documents by more than 5 %%", beyond);
    }
    return status;
}

/* ---- the command line ---- */

static const struct argp_option option_table[] = {
    {"mode", 'm', "MODE", 0, "operating mode (default: the part's)", 0},
    {"json", 'j', NULL, 0, "print JSON", 0},
    {"check", 'c', NULL, 0, "simulate the part, or every part, at rest and compare its noise with the document", 0},
    {"format", 'f', "FORMAT", 0, "export: kalibr (imu.yaml), sdf (noise elements), matlab or mavs (JSON)", 0},
    {"rate", 'r', "HZ", 0, "export: sample rate (default: the mode's)", 0},
    {"entry", 'e', "NAME", 0, "import: the name of the part in a MATLAB file with several parts", 0},
    {"name", 'n', "VENDOR/PART", 0, "import: the name of the part (default: imported/part)", 0},
    {0},
};

static const char doc[] =
    "Without arguments lists the parts that are known. With a NAME prints a part: every number with its document, page "
    "and "
    "whether it is typical or a maximum, and its noise in every convention. `import` prints a part file from the JSON "
    "of "
    "MATLAB's imuSensor or of MAVS, or from the imu.yaml of Kalibr or allan_variance_ros. `export` prints Kalibr's imu.yaml, the "
    "noise of an SDF sensor, or the JSON of MATLAB or MAVS.\v"
    "Parts are looked for in OTOLITH_PARTS_PATH and in configs/parts. In a world: `part: tdk/icm-42688-p`, with "
    "`mode:` "
    "and `unit:` (a serial number).";

static bool find_format(const char *word, enum parts_format *format)
{
    static const char *const words[] = {[PARTS_KALIBR] = "kalibr", [PARTS_SDF] = "sdf", [PARTS_MATLAB] = "matlab",
                                        [PARTS_MAVS] = "mavs"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i], word) == 0) {
            *format = (enum parts_format)i;
            return true;
        }
    }
    return false;
}

static bool is_word(const struct options *options, const char *word)
{
    return options->word_count > 0 && strcmp(options->words[0], word) == 0;
}

static void check(const struct argp_state *state, const struct options *options)
{
    const bool importing = is_word(options, "import"), exporting = is_word(options, "export");
    if (options->word_count == 2 && !importing && !exporting) {
        argp_error(state, "unexpected argument '%s'", options->words[1]);
    }
    if ((importing || exporting) && options->word_count != 2) {
        argp_error(state, importing ? "import needs a FILE" : "export needs the NAME of a part");
    }
    if (exporting && options->format == NULL) {
        argp_error(state, "export needs --format kalibr, sdf, matlab or mavs");
    }
    if (!exporting && (options->format != NULL || options->rate_hz > 0)) {
        argp_error(state, "--format and --rate belong to export");
    }
    if (options->check && (importing || exporting || options->json)) {
        argp_error(state, "--check takes the NAME of a part, or none for all");
    }
    if (!importing && (options->entry != NULL || options->name != NULL)) {
        argp_error(state, "--entry and --name belong to import");
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'm':
        options->mode = argument;
        return 0;
    case 'j':
        options->json = true;
        return 0;
    case 'c':
        options->check = true;
        return 0;
    case 'e':
        options->entry = argument;
        return 0;
    case 'n':
        options->name = argument;
        return 0;
    case 'f':
        if (!find_format(argument, &options->parts_format)) {
            argp_error(state, "--format is kalibr, sdf, matlab or mavs, not '%s'", argument);
        }
        options->format = argument;
        return 0;
    case 'r':
        options->rate_hz = cli_option_positive(state, "--rate", argument, INFINITY);
        return 0;
    case ARGP_KEY_ARG:
        if (options->word_count == 2) {
            argp_error(state, "unexpected argument '%s'", argument);
        }
        options->words[options->word_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        check(state, options);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_parts(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse, .doc = doc, .args_doc = "[NAME]\nimport FILE\nexport NAME"};
    struct options options = {0};
    struct oto_error error = {0};
    enum oto_status status;
    cli_parse(&argp, argc, argv, &options);
    if (options.check) {
        status = check_parts(&options, &error);
    } else if (options.word_count == 0) {
        status = list(&options, &error);
    } else if (is_word(&options, "import")) {
        status = parts_import(stdout, options.words[1], options.entry,
                              options.name != NULL ? options.name : "imported/part", warn, NULL, &error);
    } else {
        status = is_word(&options, "export") ? export_part(&options, &error) : show(&options, &error);
    }
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
