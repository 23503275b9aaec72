/* otolith sweep SPEC.yaml: many runs of a world with other values and seeds, and a table of what came out. */
#include "sweep/sweep.h"

#include "json.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- results ---- */

static void print_json(const struct sweep_spec *spec, const struct sweep_rows *rows, const struct sweep_summary *summary,
                       const char *directory)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "directory", directory);
    oto_json_u64(&json, "runs", rows->shard.end - rows->shard.first);
    oto_json_u64(&json, "failed", rows->failed);
    if (summary != NULL) {
        sweep_summary_json(&json, "combinations", spec, summary);
    }
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static enum oto_status write_outputs(const struct sweep_spec *spec, const struct sweep_rows *rows, const struct sweep_options *options,
                                     struct oto_error *error)
{
    const char *directory = options->directory;
    enum oto_status status = sweep_write_result(spec, rows, directory, error);
    struct sweep_summary *summary = status == OTO_OK ? sweep_summary_create(spec, rows, error) : NULL;
    if (status == OTO_OK) {
        status = summary != NULL ? sweep_write_summary(spec, summary, directory, error) : OTO_NO_MEMORY;
    }
    if (status == OTO_OK && spec->plot.y != NULL) {
        status = sweep_write_picture(spec, summary, directory, error);
    }
    if (status == OTO_OK && options->json) {
        print_json(spec, rows, summary, directory);
    }
    sweep_summary_destroy(summary);
    return status;
}

static enum oto_status read_rows(const struct sweep_options *options, const struct sweep_shard *shard, uint64_t hash,
                                 struct sweep_rows *rows, struct oto_error *error)
{
    sweep_rows_close(rows);
    enum oto_status status = sweep_directory_check(options->directory, hash, error);
    if (status != OTO_OK && status != OTO_NOT_FOUND) {
        return status;
    }
    status = sweep_rows_open(rows, shard, error);
    if (status == OTO_OK) {
        status = sweep_rows_read(rows, options->directory, options->retry_failed, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < options->merge_count; i++) {
        status = sweep_directory_check(options->merge[i], hash, error);
        if (status == OTO_OK) {
            status = sweep_rows_read(rows, options->merge[i], options->retry_failed, error);
        }
    }
    return status;
}

/* Checks after the runs that every row exists. The outputs are written by a process that has the rows of all shards. */
static enum oto_status finish(const struct sweep_spec *spec, const struct sweep_options *options, const struct sweep_rows *rows,
                              struct oto_error *error)
{
    const uint64_t runs = rows->shard.end - rows->shard.first;
    if (rows->known < runs) {
        return oto_fail(error, OTO_NOT_FOUND, "%" PRIu64 " of %" PRIu64 " runs have no row in '%.200s'; the same command without --merge "
                        "makes them", runs - rows->known, runs, options->directory);
    }
    if (rows->shard.of > 1) {
        if (options->json) {
            print_json(spec, rows, NULL, options->directory);
        }
        return OTO_OK;
    }
    const enum oto_status status = write_outputs(spec, rows, options, error);
    if (status == OTO_OK && !options->quiet) {
        (void)fprintf(stderr, "otolith: %s: result.csv with %" PRIu64 " runs, summary.csv%s\n", options->directory, runs,
                      spec->plot.y != NULL ? ", plot.svg" : "");
    }
    if (status == OTO_OK && rows->failed > 0) {
        (void)fprintf(stderr, "otolith: %" PRIu64 " of %" PRIu64 " runs failed; the column `error` has their sentences\n", rows->failed, runs);
    }
    return status;
}

static void report(const struct sweep_options *options, uint64_t kept, const struct sweep_tally *tally)
{
    if (!options->quiet && kept > 0) {
        (void)fprintf(stderr, "otolith: %" PRIu64 " runs were finished before\n", kept);
    }
    if (!options->quiet && tally->done > 0) {
        (void)fprintf(stderr, "otolith: %" PRIu64 " runs in %.1f s, %.1f runs/s\n", tally->done, tally->seconds,
                      (double)tally->done / tally->seconds);
    }
}

/* Makes the runs that have no row, then reads all rows again. */
static enum oto_status make_runs(const struct sweep_spec *spec, const struct sweep_options *options, const struct sweep_probe *probe,
                                 struct sweep_rows *rows, struct oto_error *error)
{
    struct sweep_tally tally = {0};
    struct sweep_options all = *options;
    const struct sweep_shard shard = rows->shard;
    const uint64_t kept = rows->known;
    enum oto_status status = sweep_check_disk(spec, options->directory, shard.end - shard.first - kept, error);
    if (status == OTO_OK) {
        status = sweep_directory_open(options->directory, probe->hash, error);
    }
    if (status == OTO_OK) {
        status = sweep_run_workers(spec, options, rows, &tally, error);
    }
    all.retry_failed = false; /* a run that failed again counts as failed */
    report(options, kept, &tally);
    return status == OTO_OK ? read_rows(&all, &shard, probe->hash, rows, error) : status;
}

static enum oto_status run_sweep(const struct sweep_spec *spec, const struct sweep_options *options, const struct sweep_shard *shard,
                                 const struct sweep_probe *probe, struct oto_error *error)
{
    struct sweep_rows rows = {0};
    const uint64_t runs = shard->end - shard->first;
    enum oto_status status = sweep_check_memory(spec, probe, options->merges ? 0 : options->jobs, runs, error);
    if (status == OTO_OK) {
        status = read_rows(options, shard, probe->hash, &rows, error);
    }
    if (status == OTO_OK && !options->merges && rows.known < runs) {
        status = make_runs(spec, options, probe, &rows, error);
    }
    if (status == OTO_OK) {
        status = sweep_directory_open(options->directory, probe->hash, error); /* of a merge from other machines */
    }
    if (status == OTO_OK) {
        status = finish(spec, options, &rows, error);
    }
    sweep_rows_close(&rows);
    return status;
}

static enum oto_status emit(const struct sweep_spec *spec, const struct sweep_options *options, const struct sweep_probe *probe,
                            struct oto_error *error)
{
    const enum oto_status status = sweep_directory_open(options->directory, probe->hash, error);
    return status == OTO_OK ? sweep_emit(spec, options, probe->run_s, stdout, error) : status;
}

static enum oto_status sweep(struct sweep_options *options, struct oto_error *error)
{
    struct sweep_spec spec;
    struct sweep_probe probe = {0};
    struct sweep_shard shard = {0};
    enum oto_status status = sweep_spec_open(options->spec, &spec, error);
    if (status == OTO_OK) {
        status = sweep_check_plot(&spec, error);
    }
    if (status == OTO_OK && options->shard_of > spec.runs) {
        status = oto_fail(error, OTO_RANGE, "--shard %" PRIu64 "/%" PRIu64 ": the sweep has only %" PRIu64 " runs", options->shard_number,
                          options->shard_of, spec.runs);
    }
    if (status == OTO_OK) {
        shard = sweep_shard_make(&spec, options->shard_number, options->shard_of);
        status = sweep_probe_make(&spec, options, &shard, &probe, error);
    }
    if (status == OTO_OK) {
        status = options->emit != NULL ? emit(&spec, options, &probe, error) : run_sweep(&spec, options, &shard, &probe, error);
    }
    sweep_spec_close(&spec);
    return status;
}

/* ---- the command line ---- */

enum { OPTION_SHARD = 1000, OPTION_MERGE, OPTION_EMIT, OPTION_TASKS, OPTION_RETRY, OPTION_PYTHON };

static const struct argp_option option_table[] = {
    {"out", 'o', "DIR", 0, "where journals and results go; the same command continues with what is there", 0},
    {"jobs", 'j', "J", 0, "worker processes (default: as many as there are processors)", 0},
    {"shard", OPTION_SHARD, "K/N", 0, "make only part K of N, 1 to N, of the runs", 0},
    {"merge", OPTION_MERGE, "DIR", OPTION_ARG_OPTIONAL, "make no runs: write the results from the rows in --out, and in DIR of another machine (may be repeated)", 0},
    {"emit", OPTION_EMIT, "WHAT", 0, "slurm or parallel: make no runs, print a script that makes them on a cluster", 0},
    {"tasks", OPTION_TASKS, "N", 0, "tasks of the script (default: of at least 10 s each, at most 500)", 0},
    {"retry-failed", OPTION_RETRY, NULL, 0, "make the runs again that failed", 0},
    {"python", OPTION_PYTHON, "PROGRAM", 0, "Python with NumPy, for metrics in Python (default: /usr/bin/python3)", 0},
    {"quiet", 'q', NULL, 0, "no progress", 0},
    {0},
};

static const char doc[] =
    "Runs a world many times, with lists and distributions of values and with seeds, and writes a table of metrics.\v"
    "SPEC.yaml has `sweep: NAME`, `world: FILE`, `duration_s`, `seeds` (a number, a list, or {first: S, count: N}), `set` (path: value), "
    "`vary` (path: list; every combination), `draw` (path: {uniform: [low, high]}, {log_uniform: [low, high]}, {normal: [mean, sigma]} "
    "or {choose: [word, ...]}; the same for the same seed), `metrics` and perhaps `plot`. A metric is {channel: C, field: F, compute: "
    "[count, mean, std, rms, min, max, last, p95, allan_n, allan_b, allan_k], from_s: T, against: truth | NUMBER | {path: P} | {channel: "
    "C, field: F}, name: N} or {python: FILE, function: F, channels: [...], columns: [...]}.\n\n"
    "Results in DIR: result.csv, a row for each run in their order, whose last column has the sentence of a run that failed; "
    "summary.csv, a row for each combination; plot.svg. They are the same for every number of workers, shards and restarts.\n\n"
    "Exit codes: 0 all runs have a row, 1 an error or an interrupt, 2 an error in the command line.";

static void parse_shard(const struct argp_state *state, const char *text, struct sweep_options *options)
{
    char number[24];
    const char *slash = strchr(text, '/');
    if (slash == NULL || slash - text >= (ptrdiff_t)sizeof number) {
        argp_error(state, "--shard: '%s' is not K/N, for example 3/10", text);
        return;
    }
    (void)snprintf(number, sizeof number, "%.*s", (int)(slash - text), text);
    options->shard_of = cli_option_count(state, "--shard", slash + 1, 1, SWEEP_MOST_RUNS);
    options->shard_number = cli_option_count(state, "--shard", number, 1, options->shard_of);
}

static void add_merge(const struct argp_state *state, const char *directory, struct sweep_options *options)
{
    options->merges = true;
    if (directory != NULL && options->merge_count == sizeof options->merge / sizeof *options->merge) {
        argp_error(state, "--merge: at most %zu directories", sizeof options->merge / sizeof *options->merge);
    }
    if (directory != NULL) {
        options->merge[options->merge_count++] = directory;
    }
}

static void require(const struct argp_state *state, const struct sweep_options *options)
{
    if (options->spec == NULL || options->directory == NULL) {
        argp_error(state, "a SPEC.yaml and --out are needed");
    }
    if (options->emit != NULL && strcmp(options->emit, "slurm") != 0 && strcmp(options->emit, "parallel") != 0) {
        argp_error(state, "--emit takes slurm or parallel, not '%s'", options->emit);
    }
    if (options->emit != NULL && options->json) {
        argp_error(state, "--emit prints a script, not JSON");
    }
    if ((options->shard_of > 1) + options->merges + (options->emit != NULL) > 1) {
        argp_error(state, "--shard, --merge and --emit exclude each other");
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct sweep_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->json; return 0;
    case 'o': options->directory = argument; return 0;
    case 'j': options->jobs = (uint32_t)cli_option_count(state, "--jobs", argument, 1, SWEEP_MOST_JOBS); return 0;
    case 'q': options->quiet = true; return 0;
    case OPTION_SHARD: parse_shard(state, argument, options); return 0;
    case OPTION_MERGE: add_merge(state, argument, options); return 0;
    case OPTION_EMIT: options->emit = argument; return 0;
    case OPTION_TASKS: options->tasks = cli_option_count(state, "--tasks", argument, 1, SWEEP_MOST_RUNS); return 0;
    case OPTION_RETRY: options->retry_failed = true; return 0;
    case OPTION_PYTHON: options->python = argument; return 0;
    case ARGP_KEY_ARG: cli_take_argument(state, &options->spec, argument); return 0;
    case ARGP_KEY_END: require(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cli_sweep(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "SPEC.yaml", .doc = doc, .children = children};
    struct sweep_options options = {.python = "/usr/bin/python3", .shard_number = 1, .shard_of = 1,
                                    .jobs = cli_processors(SWEEP_MOST_JOBS)};
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    if (sweep(&options, &error) == OTO_OK) {
        return CLI_OK;
    }
    (void)cli_say(&error);
    return cli_interrupted() ? cli_signal_exit_code() : CLI_FAILED;
}
