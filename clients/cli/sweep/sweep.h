/*
 * Shared by the parts of `otolith sweep`. A sweep is a world, the values that are set, listed and drawn in it, seeds, a duration
 * and metrics. A combination is one choice of every list. Run r is combination r / seeds with seed r % seeds; a row is the
 * result of one run.
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cli.h"
#include "base/json.h"
#include "document/document.h"

enum {
    SWEEP_MOST_METRICS = 256,   /* fields */
    SWEEP_MOST_COMPUTES = 24,   /* columns of one field */
    SWEEP_MOST_COLUMNS = 4096,  /* of a row */
    SWEEP_MOST_FUNCTIONS = 16,
    SWEEP_MOST_CHANNELS = 32,   /* of one Python function */
    SWEEP_MOST_JOBS = 256,
    SWEEP_NAME_BYTES = 256
};
#define SWEEP_MOST_RUNS UINT64_C(4000000000)

/* ---- spec.c, spec_metrics.c ---- */

enum sweep_statistic {
    SWEEP_COUNT, SWEEP_MEAN, SWEEP_STD, SWEEP_RMS, SWEEP_MIN, SWEEP_MAX, SWEEP_LAST, SWEEP_PERCENTILE,
    SWEEP_ALLAN_N, SWEEP_ALLAN_B, SWEEP_ALLAN_K
};

struct sweep_compute {
    enum sweep_statistic statistic;
    double percent; /* of SWEEP_PERCENTILE */
    const char *name;
};

enum sweep_reference_kind { SWEEP_NO_REFERENCE, SWEEP_NUMBER, SWEEP_WORLD_VALUE, SWEEP_FIELD };

/* The reference that is subtracted from every sample before the statistics are computed. */
struct sweep_reference {
    enum sweep_reference_kind kind;
    const struct oto_value *place;
    double number;             /* NUMBER */
    const char *path;          /* WORLD_VALUE: path in the world file */
    char channel[OTO_TOPIC_BYTES], field[OTO_FIELD_NAME_BYTES + 8]; /* FIELD: interpolated to the times of the samples */
};

/* One field of one channel. */
struct sweep_metric {
    const struct oto_value *channel_place, *field_place;
    const char *channel, *field;
    char name[SWEEP_NAME_BYTES]; /* first part of the names of its columns, before the statistic */
    struct sweep_reference reference;
    int64_t from_ns;
    struct sweep_compute computes[SWEEP_MOST_COMPUTES];
    uint32_t compute_count;
};

/* A Python function over the records of a run. */
struct sweep_function {
    const struct oto_value *place;
    char *file; /* path with the folder of the spec */
    const char *name;
    const struct oto_value *channels, *columns; /* lists of names */
};

/* A picture of summary.csv; y NULL: none. */
struct sweep_plot {
    const char *x, *x_name, *y_name, *title;
    double x_factor;
    const struct oto_value *y, *labels; /* columns, and their names in the picture; labels may be NULL */
};

struct sweep_spec {
    const char *path, *name;
    char *text, *world_path, *world_text;
    size_t length, world_length;
    struct oto_document *document;
    const struct oto_value *set, *vary, *draw, *metrics_place; /* the first three: NULL or maps */
    int64_t duration_ns;
    uint64_t *seeds; /* NULL: first_seed and the numbers that follow it */
    uint64_t first_seed, seed_count, combinations, runs;
    struct sweep_metric *metrics;
    uint32_t metric_count;
    struct sweep_function functions[SWEEP_MOST_FUNCTIONS];
    uint32_t function_count;
    struct sweep_plot plot;
    char **columns; /* names of the columns of the metrics, in the order of a row */
    uint32_t column_count;
};

/* Reads a spec and its world file. Errors name file, line and column. The caller closes the spec also after an error. */
enum oto_status sweep_spec_open(const char *path, struct sweep_spec *spec, struct oto_error *error);
void sweep_spec_close(struct sweep_spec *spec);
/* Reads metrics and functions, and makes the names of their columns. */
enum oto_status sweep_spec_metrics(struct sweep_spec *spec, const struct oto_value *list, struct oto_error *error);
/* The path of a file that the spec names: relative names are in the folder of the spec. NULL: no memory. */
char *sweep_spec_beside(const struct sweep_spec *spec, const char *name);
/* Refuses keys of a map that are not among `keys`, with a suggestion. */
enum oto_status sweep_spec_keys(const struct oto_value *map, const char *what, const char *const *keys, size_t count,
                                struct oto_error *error);
/*
 * The hash of everything on which the rows depend: set, vary, draw, seeds, duration, metrics, world file, Python files, and
 * the plugins that the world names. Loads the plugins.
 */
enum oto_status sweep_spec_hash(const struct sweep_spec *spec, uint64_t *hash, struct oto_error *error);

/* ---- runs.c ---- */

/* The number, combination, seed and overrides of one run. */
struct sweep_case {
    uint64_t run, combination, seed;
    char **overrides; /* "path=value", for oto_sim_open: set, vary, draw in this order */
    uint32_t count;
};
uint64_t sweep_run_seed(const struct sweep_spec *spec, uint64_t run);
/* The index that a combination has in list `item` of `vary`; the index of the first list changes slowest. */
uint32_t sweep_choice(const struct sweep_spec *spec, uint64_t combination, uint32_t item);
enum oto_status sweep_case_make(const struct sweep_spec *spec, uint64_t run, struct sweep_case *made, struct oto_error *error);
void sweep_case_finish(struct sweep_case *made);
/* The value of override `index` of a case, which is the text after "path=". */
const char *sweep_case_value(const struct sweep_case *made, uint32_t index);
/* The number at a path of the world file after the overrides of a case. */
enum oto_status sweep_world_number(const struct sweep_spec *spec, const struct sweep_case *made, const struct sweep_reference *at,
                                   double *number, struct oto_error *error);
/* Puts file, line and column of a value of the spec before the message of a failed open, if the message is about one value. */
void sweep_place_error(const struct sweep_spec *spec, uint64_t run, struct oto_error *error);

/* ---- metric.c: pure ---- */

struct allan;

/* Statistics of a stream of numbers. */
struct sweep_sum {
    const struct sweep_metric *metric;
    bool keeps_values, has_allan;
    uint64_t count;
    double mean, m2, squares, least, most, last;
    double *values; /* for percentiles */
    size_t capacity;
    struct allan *allan;
};
/* sweep_sum_reset keeps the memory; sweep_sum_finish frees it. */
void sweep_sum_init(struct sweep_sum *sum, const struct sweep_metric *metric);
enum oto_status sweep_sum_reset(struct sweep_sum *sum, struct oto_error *error);
enum oto_status sweep_sum_add(struct sweep_sum *sum, double value, struct oto_error *error);
/* Computes each statistic of the metric; NaN if the samples do not define it. Percentiles reorder the values. */
void sweep_sum_results(struct sweep_sum *sum, double rate_hz, double *results);
void sweep_sum_finish(struct sweep_sum *sum);
/* The p-th percentile, linear between the two nearest ranks as NumPy has it; reorders the values. */
double sweep_percentile(double *values, size_t count, double percent);

/* ---- run.c ---- */

/* An open world with its gauges and Python process. Each worker has one. */
struct sweep_runner;
struct sweep_runner *sweep_runner_create(const struct sweep_spec *spec, const char *python, struct oto_error *error);
void sweep_runner_destroy(struct sweep_runner *runner);
/*
 * Makes one run; `results` gets one number for each column. Returns the status and sentence of a failed run. After a
 * signal (cli_interrupted()) it returns OTO_CLOSED and the run is abandoned.
 */
enum oto_status sweep_runner_run(struct sweep_runner *runner, uint64_t run, double *results, struct oto_error *error);
/* Opens the world of a run and finds every channel and field; errors name places in the spec. */
enum oto_status sweep_runner_open(struct sweep_runner *runner, uint64_t run, struct oto_error *error);
/* Bytes of memory that the samples of a run need in this process and in its Python process. */
uint64_t sweep_runner_bytes(const struct sweep_runner *runner);

/* ---- python.c ---- */

/* A Python process that calls the functions of a spec. The records are in memory that it shares with the worker. */
struct sweep_python;
struct oto_sim;
struct sweep_python *sweep_python_create(const struct sweep_spec *spec, const char *program, struct oto_error *error);
void sweep_python_destroy(struct sweep_python *python);
/* Finds the channels of the functions; to be called after the world was opened. */
enum oto_status sweep_python_bind(struct sweep_python *python, const struct oto_sim *sim, struct oto_error *error);
void sweep_python_begin(struct sweep_python *python);
bool sweep_python_reads(const struct sweep_python *python, uint32_t channel);
/* Takes records of one channel, oldest first. */
enum oto_status sweep_python_take(struct sweep_python *python, uint32_t channel, const struct oto_sample_head *heads,
                                  const unsigned char *payloads, size_t count, struct oto_error *error);
/* Calls every function; `results` gets one number for each column of the functions. */
enum oto_status sweep_python_call(struct sweep_python *python, const struct sweep_case *made, double *results,
                                  struct oto_error *error);
uint64_t sweep_python_bytes(const struct sweep_python *python);

/* ---- row.c: pure ---- */

/* Writes the names of the columns, "run,seed,…,error", without a line break. */
void sweep_row_header(const struct sweep_spec *spec, FILE *to);
/* Writes a row. `failure`: the sentence of a failed run; NULL: success. */
void sweep_row_write(const struct sweep_spec *spec, const struct sweep_case *made, const double *results, const char *failure,
                     FILE *to);
/* Splits a row in place into at most `most` cells; returns how many there are. */
uint32_t sweep_row_split(char *row, char **cells, uint32_t most);
/* The number of columns before those of the metrics, and the number of all columns. */
uint32_t sweep_row_lead(const struct sweep_spec *spec);
uint32_t sweep_row_columns(const struct sweep_spec *spec);

/* ---- journal.c ---- */

/* A part of the runs: the runs with the numbers [first, end). */
struct sweep_shard {
    uint64_t number, of; /* 1 of 1: all runs */
    uint64_t first, end;
};
struct sweep_shard sweep_shard_make(const struct sweep_spec *spec, uint64_t number, uint64_t of);

/* A file to which one process adds complete rows, each with a checksum. */
struct sweep_journal {
    int file;
    char path[4096];
    int64_t synced_ns;
    bool is_dirty;
};
enum oto_status sweep_journal_create(struct sweep_journal *journal, const char *directory, const struct sweep_shard *shard,
                                     struct oto_error *error);
/* Adds a row; synchronises with the disk at least once a second while rows are added. */
enum oto_status sweep_journal_add(struct sweep_journal *journal, const char *row, size_t length, struct oto_error *error);
enum oto_status sweep_journal_close(struct sweep_journal *journal, struct oto_error *error);

/* The rows of all journals below a directory, indexed by run. */
struct sweep_rows {
    struct sweep_row_at {
        const char *text; /* NULL: no row */
        uint32_t length;
        uint32_t file;
    } *rows; /* one for each run of the shard */
    struct sweep_shard shard;
    uint64_t known, failed;
    struct sweep_map {
        char *path;
        void *bytes;
        size_t length;
    } *maps;
    uint32_t map_count;
};
enum oto_status sweep_rows_open(struct sweep_rows *rows, const struct sweep_shard *shard, struct oto_error *error);
/* Adds the journals of a directory; `retry_failed`: rows of failed runs are left out. Two different results of a run are an error. */
enum oto_status sweep_rows_read(struct sweep_rows *rows, const char *directory, bool retry_failed, struct oto_error *error);
void sweep_rows_close(struct sweep_rows *rows);

/* ---- directory.c ---- */

/* Creates the directory of a sweep, or checks an existing one. */
enum oto_status sweep_directory_open(const char *directory, uint64_t hash, struct oto_error *error);
/* Refuses a directory that holds another sweep; OTO_NOT_FOUND: it holds none. */
enum oto_status sweep_directory_check(const char *directory, uint64_t hash, struct oto_error *error);

/* ---- result.c, summary.c, picture.c ---- */

enum oto_status sweep_write_result(const struct sweep_spec *spec, const struct sweep_rows *rows, const char *directory,
                                   struct oto_error *error);

struct sweep_summary; /* of every combination: the statistics of each column over the seeds */
struct sweep_summary *sweep_summary_create(const struct sweep_spec *spec, const struct sweep_rows *rows, struct oto_error *error);
void sweep_summary_destroy(struct sweep_summary *summary);
enum oto_status sweep_write_summary(const struct sweep_spec *spec, const struct sweep_summary *summary, const char *directory,
                                    struct oto_error *error);
/* Prints the numbers of summary.csv as a JSON list. */
void sweep_summary_json(struct oto_json *json, const char *key, const struct sweep_spec *spec, const struct sweep_summary *summary);
/* The number of a column of summary.csv ("yaw.last.p95"); false: there is no such column. */
bool sweep_summary_number(const struct sweep_spec *spec, const struct sweep_summary *summary, uint64_t combination,
                          const char *column, double *number);
enum oto_status sweep_write_picture(const struct sweep_spec *spec, const struct sweep_summary *summary, const char *directory,
                                    struct oto_error *error);
/* Checks the columns that the plot names, before anything runs. */
enum oto_status sweep_check_plot(const struct sweep_spec *spec, struct oto_error *error);

/* ---- probe.c ---- */

/* The results of the process that opened the world of the first run and made this run. */
struct sweep_probe {
    enum oto_status status;
    struct oto_error error;
    uint64_t hash;
    uint64_t worker_bytes; /* of memory that a worker needs */
    double run_s;          /* CPU time of a run; 0: not measured */
};
struct sweep_options;
/*
 * Opens the world of the first run of a shard. If the shard is the whole sweep, opens also the worlds of each value of each
 * list. If scripts are emitted, makes the first run too, to measure its time.
 */
enum oto_status sweep_probe_make(const struct sweep_spec *spec, const struct sweep_options *options, const struct sweep_shard *shard,
                                 struct sweep_probe *probe, struct oto_error *error);
/* Refuse a sweep if memory or disk is too small. `runs`: runs whose rows are indexed; for the disk the runs still to be made. */
enum oto_status sweep_check_memory(const struct sweep_spec *spec, const struct sweep_probe *probe, uint32_t jobs, uint64_t runs,
                                   struct oto_error *error);
enum oto_status sweep_check_disk(const struct sweep_spec *spec, const char *directory, uint64_t runs, struct oto_error *error);
/* The bytes that `runs` runs need on the disk, and in the memory of the process that starts the workers. */
uint64_t sweep_disk_bytes(const struct sweep_spec *spec, uint64_t runs);
uint64_t sweep_index_bytes(const struct sweep_spec *spec, uint64_t runs);

/* ---- workers.c ---- */

struct sweep_options {
    const char *spec, *directory, *python, *emit;
    const char *merge[64];
    uint32_t merge_count;
    uint64_t shard_number, shard_of, tasks;
    uint32_t jobs;
    bool retry_failed, merges, quiet, json;
};

struct sweep_tally {
    uint64_t done, failed;
    double seconds;
};
/* Makes the runs that have no row yet, in `jobs` processes. */
enum oto_status sweep_run_workers(const struct sweep_spec *spec, const struct sweep_options *options,
                                  const struct sweep_rows *rows, struct sweep_tally *tally, struct oto_error *error);

/* ---- emit.c ---- */

/* The number of tasks: each takes at least ten seconds, and there are at most 500. */
uint64_t sweep_task_count(uint64_t runs, double run_s);
enum oto_status sweep_emit(const struct sweep_spec *spec, const struct sweep_options *options, double run_s, FILE *to,
                           struct oto_error *error);

#endif
