/* otolith grade calibration: simulated drives with known mounts, and how good the calibration of their IMUs is. */
#include "grade/grade.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world_plugins.h"

enum { MOST_JOBS = 256 };
#define MOST_SEEDS 1000000

struct options {
    const char *what, *out;
    const char *worlds[GRADE_MOST_WORLDS];
    uint32_t world_count;
    char *styles, *methods;
    uint64_t seeds, first_seed;
    double hours;
    uint32_t jobs;
    bool json;
};

/* ---- the plan ---- */

static uint32_t split(char *text, const char **words, uint32_t most)
{
    uint32_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        if (count < most) {
            words[count] = word;
        }
        count++;
    }
    return count;
}

static enum oto_status check_words(const char *option, const char *const *words, uint32_t count, uint32_t most,
                                   const char *accepted, struct oto_error *error)
{
    char word[64];
    for (uint32_t i = 0; i < count && i < most; i++) {
        (void)snprintf(word, sizeof word, " %.32s ", words[i]);
        if (strstr(accepted, word) == NULL) {
            return oto_fail(error, OTO_INVALID, "%s: '%.32s' is not known; accepted:%s", option, words[i], accepted);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(words[k], words[i]) == 0) {
                return oto_fail(error, OTO_INVALID, "%s names '%.32s' twice", option, words[i]);
            }
        }
    }
    return count > 0 && count <= most ? OTO_OK : oto_fail(error, OTO_INVALID, "%s takes 1 to %u of:%s", option, most, accepted);
}

static enum oto_status open_worlds(const struct options *options, struct grade_plan *plan, struct oto_error *error)
{
    static const char *const usual[] = {"city"};
    const char *const *names = options->world_count > 0 ? options->worlds : usual;
    const uint32_t count = options->world_count > 0 ? options->world_count : 1;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < count; i++) {
        char path[4096];
        const bool is_file = strpbrk(names[i], "/.") != NULL;
        (void)snprintf(path, sizeof path, "%.4000s", names[i]);
        status = is_file ? OTO_OK : grade_world_find(names[i], path, sizeof path, error);
        if (status == OTO_OK) {
            status = grade_world_open(path, &plan->worlds[plan->world_count++], error);
        }
        for (uint32_t k = 0; status == OTO_OK && k < i; k++) {
            if (strcmp(plan->worlds[k].name, plan->worlds[i].name) == 0) {
                status = oto_fail(error, OTO_CONFLICT, "two grades are called '%s'", plan->worlds[k].name);
            }
        }
    }
    return status;
}

static void hash_more(struct grade_plan *plan, const void *bytes, size_t length)
{
    plan->hash = oto_fnv1a64_more(plan->hash, bytes, length);
}

static enum oto_status hash_plan(struct grade_plan *plan, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    plan->hash = OTO_FNV1A64_START;
    for (uint32_t i = 0; status == OTO_OK && i < plan->world_count; i++) {
        const struct grade_world *world = &plan->worlds[i];
        status = cli_hash_plugins(world->world_path, world->world_text, world->world_length, &plan->hash, error);
    }
    for (uint32_t i = 0; i < plan->world_count; i++) {
        hash_more(plan, plan->worlds[i].text, plan->worlds[i].length);
        hash_more(plan, plan->worlds[i].world_text, plan->worlds[i].world_length);
    }
    for (uint32_t i = 0; i < plan->style_count; i++) {
        hash_more(plan, plan->styles[i], strlen(plan->styles[i]) + 1);
    }
    for (uint32_t i = 0; i < plan->method_count; i++) {
        hash_more(plan, plan->methods[i], strlen(plan->methods[i]) + 1);
    }
    return status;
}

static enum oto_status make_plan(const struct options *options, struct grade_plan *plan, struct oto_error *error)
{
    plan->directory = options->out;
    plan->first_seed = options->first_seed;
    plan->seeds = options->seeds > 0 ? options->seeds : (uint64_t)ceil(options->hours * 3600.0 / GRADE_DRIVE_S);
    plan->styles[0] = "";
    plan->style_count = options->styles != NULL ? split(options->styles, plan->styles, GRADE_MOST_STYLES) : 1;
    plan->method_count = split(options->methods, plan->methods, GRADE_MOST_METHODS);
    enum oto_status status = options->styles != NULL ? check_words("--drives", plan->styles, plan->style_count, GRADE_MOST_STYLES,
                                                                   " city rural hills highway parking ", error)
                                                     : OTO_OK;
    if (status == OTO_OK) {
        status = check_words("--method", plan->methods, plan->method_count, GRADE_MOST_METHODS, " joint histogram ", error);
    }
    if (status == OTO_OK) {
        status = open_worlds(options, plan, error);
    }
    return status == OTO_OK ? hash_plan(plan, error) : status;
}

/* ---- the run ---- */

static enum oto_status draw(const struct grade_plan *plan, const struct grade_store *store, struct oto_error *error)
{
    struct oto_mount_calibration_histogram_record record;
    double rpy_deg[3];
    enum oto_status status = OTO_OK;
    for (uint32_t w = 0; w < plan->world_count; w++) {
        for (uint32_t s = 0; status == OTO_OK && s < plan->style_count; s++) {
            status = grade_plot_curves(plan, store, w, s, error);
            if (status == OTO_OK) {
                status = grade_votes(plan, w, s, &record, rpy_deg, error);
            }
            if (status == OTO_OK) {
                status = grade_plot_histograms(plan, w, s, &record, rpy_deg, plan->first_seed, error);
            }
        }
    }
    return status;
}

static void print_tables(const struct grade_plan *plan, const struct grade_store *store)
{
    char title[256];
    struct grade_summary summary;
    for (uint32_t i = 0; i < plan->world_count * plan->style_count * plan->method_count; i++) {
        const uint32_t m = i % plan->method_count, s = i / plan->method_count % plan->style_count;
        const uint32_t w = i / plan->method_count / plan->style_count;
        grade_summarise(plan, store, w, s, m, &summary);
        (void)snprintf(title, sizeof title, "%s%s%s, %s", plan->worlds[w].name, plan->styles[s][0] != '\0' ? ", " : "",
                       plan->styles[s], plan->methods[m]);
        grade_print_summary(stdout, title, &summary);
    }
}

static void say(const struct grade_plan *plan, const struct grade_store *store, const struct grade_cost *cost)
{
    if (store->kept > 0) {
        (void)fprintf(stderr, "otolith: %" PRIu64 " drives were there already\n", store->kept);
    }
    if (cost->drives > 0) {
        const double each_s = (double)cost->cpu_ns * 1e-9 / (double)cost->drives;
        (void)fprintf(stderr, "otolith: a drive with its calibrations took %.2f s of a core, %.0f times real time\n", each_s,
                      GRADE_DRIVE_S / each_s);
    }
    (void)fprintf(stderr, "otolith: %s: chunks.csv, summary.csv, summary.json, kpi_*.svg, histograms_*.svg, grade.yaml and the worlds\n",
                  plan->directory);
}

static enum oto_status grade(const struct options *options, struct oto_error *error)
{
    struct grade_plan plan = {0};
    struct grade_store store = {0};
    struct grade_cost cost = {0};
    enum oto_status status = make_plan(options, &plan, error);
    if (status == OTO_OK) {
        status = grade_store_open(&plan, &store, error);
    }
    if (status == OTO_OK) {
        status = grade_run(&plan, &store, options->jobs, &cost, error);
    }
    if (status == OTO_OK) {
        status = grade_write_summaries(&plan, &store, error);
    }
    if (status == OTO_OK) {
        status = draw(&plan, &store, error);
    }
    if (status == OTO_OK && options->json) {
        status = grade_print_json(&plan, &store, error);
    } else if (status == OTO_OK) {
        print_tables(&plan, &store);
    }
    if (status == OTO_OK) {
        say(&plan, &store, &cost);
    }
    grade_store_close(&store);
    for (uint32_t i = 0; i < plan.world_count; i++) {
        grade_world_close(&plan.worlds[i]);
    }
    return status;
}

/* ---- the command line ---- */

enum { OPTION_FIRST_SEED = 1000, OPTION_HOURS, OPTION_DRIVES };

static const struct argp_option option_table[] = {
    {"world", 'w', "GRADE", 0, "city (default), harsh, city_road, harsh_road, parts, or a file like configs/grades/calibration_city.yaml; may be repeated", 0},
    {"drives", OPTION_DRIVES, "STYLE,…", 0, "traffic in place of the world's: city, rural, hills, highway, parking", 0},
    {"seeds", 'n', "N", 0, "drives of 15 min in each world and traffic (default 100)", 0},
    {"hours", OPTION_HOURS, "H", 0, "the same in hours of driving", 0},
    {"first-seed", OPTION_FIRST_SEED, "S", 0, "seed of the first drive (default 1000000); the next ones follow", 0},
    {"method", 'm', "M,…", 0, "joint, histogram (default: both)", 0},
    {"jobs", 'j', "J", 0, "drives at once (default: as many as there are processors)", 0},
    {"out", 'o', "DIR", 0, "where tables, figures and finished drives go; the same command goes on with what is there", 0},
    {0},
};

static const char doc[] =
    "Simulates drives whose mounts are known and grades mount_calibration on them: precision and recall at 0.30 degrees against the "
    "length of a chunk, 2 to 15 minutes, mean errors, and whether the 3-sigma bounds hold.\v"
    "A drive is 15 minutes of one seed; a chunk of T minutes is its first T. Recall is the share of chunks that are accepted at their "
    "end, precision the share of those whose three angles are within 0.30 degrees. A grade file says which world, and what is drawn "
    "anew for each drive: the mount over the whole box, compliance, scale of the speed; the IMU's biases, traffic, road and "
    "vibration follow the seed.";

static void parse_hours(const struct argp_state *state, const char *text, struct options *options)
{
    options->hours = cli_option_positive(state, "--hours", text, MOST_SEEDS / 4.0);
    options->seeds = 0;
}

static void require(const struct argp_state *state, const struct options *options)
{
    if (options->what == NULL || strcmp(options->what, "calibration") != 0) {
        argp_error(state, "'%s' cannot be graded; `grade calibration` is what there is", options->what != NULL ? options->what : "");
    }
    if (options->out == NULL) {
        argp_error(state, "--out is needed");
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->json; return 0;
    case 'w':
        if (options->world_count == GRADE_MOST_WORLDS) {
            argp_error(state, "--world at most %d times", GRADE_MOST_WORLDS);
        }
        options->worlds[options->world_count++] = argument;
        return 0;
    case 'n': options->seeds = cli_option_count(state, "--seeds", argument, 1, MOST_SEEDS); return 0;
    case 'm': options->methods = argument; return 0;
    case 'j': options->jobs = (uint32_t)cli_option_count(state, "--jobs", argument, 1, MOST_JOBS); return 0;
    case 'o': options->out = argument; return 0;
    case OPTION_DRIVES: options->styles = argument; return 0;
    case OPTION_HOURS: parse_hours(state, argument, options); return 0;
    case OPTION_FIRST_SEED: options->first_seed = cli_option_count(state, "--first-seed", argument, 0, UINT64_C(1) << 62); return 0;
    case ARGP_KEY_ARG: cli_take_argument(state, &options->what, argument); return 0;
    case ARGP_KEY_END: require(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cli_grade(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "calibration", .doc = doc, .children = children};
    char methods[] = "joint,histogram";
    struct options options = {.seeds = 100, .first_seed = 1000000, .methods = methods,
                              .jobs = cli_processors(MOST_JOBS)};
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    return grade(&options, &error) == OTO_OK ? CLI_OK : cli_say(&error);
}
