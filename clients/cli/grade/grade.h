/*
 * What the parts of `otolith grade calibration` share. A grade is a world and what is drawn anew for each drive in it; a
 * drive is a quarter of an hour of one seed; a chunk is its first minutes, as calibrated by one method.
 */
#ifndef CLI_GRADE_H
#define CLI_GRADE_H

#include "cli.h"
#include "mount_calibration/calibration.h"
#include "offline/estimate.h"

enum {
    GRADE_MOST_WORLDS = 8,
    GRADE_MOST_STYLES = 4,
    GRADE_MOST_METHODS = 2,
    GRADE_MOST_PLUGINS = 16,
    GRADE_TIMES = 27 /* 2, 2.5, … 15 minutes */
};
#define GRADE_THRESHOLD_DEG 0.30
#define GRADE_DRIVE_S 900.0

static inline double grade_minutes(int time)
{
    return 2.0 + 0.5 * time;
}

/* ---- world.c ---- */

/*
 * A vehicle follows its road: uphill it rises. The feasibility study's did not: grade and bank tilted its body on a path that
 * stayed level, f = Rᵀ g + (v', v ψ', vertical vibration) in body axes. `level_path` in a grade file is that.
 */
struct grade_path_law {
    bool is_level;
    bool vertical_is_white; /* it adds up in the velocity; else it is differenced, and does not */
    double vertical_rms_m_s2;
};

struct grade_world {
    char name[48];
    char *path, *text; /* of the grade file */
    size_t length;
    char *world_path, *world_text;
    size_t world_length;
    struct oto_document *document; /* of the grade file */
    const struct oto_value *draw;
    struct grade_path_law path_law;
};
enum oto_status grade_world_open(const char *path, struct grade_world *world, struct oto_error *error);
void grade_world_close(struct grade_world *world);
/* The world of one drive: with its seed, its style of traffic (NULL: the world's) and what was drawn. */
enum oto_status grade_world_draw(const struct grade_world *world, const char *style, uint64_t seed,
                                 struct oto_document **document, struct oto_error *error);
/* Where a grade of that name is, as the programs were built or installed. */
enum oto_status grade_world_find(const char *name, char *path, size_t bytes, struct oto_error *error);

/* ---- scene.c ---- */

/* Plugins, each opened once; filled by one thread before others look into it. */
struct grade_plugins {
    struct {
        char name[64];
        struct oto_plugin *plugin;
    } rows[GRADE_MOST_PLUGINS];
    uint32_t count;
    bool closed;   /* threads look into it: nothing is added any more */
    uint64_t hash; /* of all contents */
};
enum oto_status grade_plugin(struct grade_plugins *plugins, const char *name, struct oto_plugin **plugin,
                             struct oto_error *error);
void grade_plugins_close(struct grade_plugins *plugins);

/* What a drive's sensors reported, as `mount_calibration` would be given it in a world. */
struct grade_recording {
    struct oto_log *imu, *speed;
    double true_rpy_deg[3];
    uint64_t clock_num, clock_den;     /* ticks per second */
    uint64_t rate_num, rate_den;       /* of the calibration's results */
    const struct oto_value *params;    /* of the calibration; lives as long as the document */
};
/* Simulates the first `seconds` of a world: one vehicle, its motion, and the two sensors that its mount_calibration hears. */
enum oto_status grade_simulate(struct grade_plugins *plugins, const struct oto_document *document,
                               const struct grade_path_law *law, double seconds, struct grade_recording *recording, struct oto_error *error);
void grade_recording_finish(struct grade_recording *recording);

/* ---- chunk.c ---- */

struct grade_point {
    uint32_t state, known; /* known: the drive was that long */
    double percent, rpy_deg[3], bound_deg[3];
};

/* One drive by one method. */
struct grade_chunk {
    uint32_t world, style, method;
    uint64_t seed;
    double true_rpy_deg[3];
    struct grade_point points[GRADE_TIMES];
    double first_accepted_s; /* negative: never */
    double worst_deg;        /* largest error of any angle at any time at which it was accepted */
    int64_t cpu_ns;          /* spent in the calibration; 0: read from a file */
    uint64_t samples;        /* of the IMU, in that time */
};
/* One calibration by the plugin, with room for the votes of the end if `histogram` is not NULL. */
enum oto_status grade_calibrate(struct oto_estimate *estimate, const char *method, const struct grade_recording *recording,
                                struct grade_chunk *chunk, struct oto_mount_calibration_histogram_record *histogram,
                                struct oto_error *error);
double grade_error_deg(const struct grade_chunk *chunk, int time, int angle);

/* ---- store.c ---- */

struct grade_plan {
    struct grade_world worlds[GRADE_MOST_WORLDS];
    uint32_t world_count;
    const char *styles[GRADE_MOST_STYLES]; /* "" : the world's own */
    uint32_t style_count;
    const char *methods[GRADE_MOST_METHODS];
    uint32_t method_count;
    uint64_t first_seed, seeds;
    const char *directory;
    uint64_t hash; /* of worlds, styles, methods and plugins: what chunks must have in common */
};

/* All chunks of a plan, in the order world, style, seed, method; done[drive] once all methods of a drive are there. */
struct grade_store {
    struct grade_chunk *chunks;
    unsigned char *done;
    uint64_t drives, kept; /* kept: read back */
    FILE *file;
};
uint64_t grade_drive_index(const struct grade_plan *plan, uint32_t world, uint32_t style, uint64_t seed_offset);
/* Makes the directory, reads back what an earlier call finished, and opens the file to go on. */
enum oto_status grade_store_open(const struct grade_plan *plan, struct grade_store *store, struct oto_error *error);
/* Writes a finished drive through to the file. */
enum oto_status grade_store_put(const struct grade_plan *plan, struct grade_store *store, uint64_t drive,
                                struct oto_error *error);
void grade_store_close(struct grade_store *store);

/* ---- workers.c ---- */

/* What was spent, of the drives of this call. */
struct grade_cost {
    uint64_t samples; /* of IMUs, each method counted */
    int64_t cpu_ns;   /* in the calibrations */
};
/* Simulates and calibrates every drive that is not done, `jobs` at once; stops at the first error or a signal. */
enum oto_status grade_run(const struct grade_plan *plan, struct grade_plugins *plugins, struct grade_store *store,
                          uint32_t jobs, struct grade_cost *cost, struct oto_error *error);
/* The first seed's votes after its whole drive. */
enum oto_status grade_votes(const struct grade_plan *plan, struct grade_plugins *plugins, uint32_t world, uint32_t style,
                            struct oto_mount_calibration_histogram_record *record, double *true_rpy_deg,
                            struct oto_error *error);

/* ---- summary.c ---- */

struct grade_score {
    uint64_t chunks, accepted, wrong; /* wrong: accepted, and beyond the threshold in an angle */
    uint64_t within;                  /* all three angles within the threshold, accepted or not */
    double recall, precision;         /* precision NaN where nothing was accepted */
    double mean_error_deg[3], mean_all_deg[3]; /* of the accepted, of all */
    double coverage[3];               /* share of accepted whose error is within its 3-sigma bound */
    double coverage_all[3];
};
struct grade_summary {
    struct grade_score scores[GRADE_TIMES];
    uint64_t chunks, false_drives; /* drives that were accepted and wrong at any time */
    double worst_deg;
    double recall_50_min, recall_75_min; /* NaN: not reached */
};
void grade_summarise(const struct grade_plan *plan, const struct grade_store *store, uint32_t world, uint32_t style,
                     uint32_t method, struct grade_summary *summary);
enum oto_status grade_write_summaries(const struct grade_plan *plan, const struct grade_store *store,
                                      struct oto_error *error);
void grade_print_summary(FILE *to, const char *title, const struct grade_summary *summary);

/* ---- plot.c ---- */

struct grade_reference {
    double minutes, recall, error_deg[3]; /* NaN: not read */
};
extern const struct grade_reference grade_driveworks[];
extern const int grade_driveworks_count;

enum oto_status grade_plot_curves(const struct grade_plan *plan, const struct grade_store *store, uint32_t world,
                                  uint32_t style, struct oto_error *error);
enum oto_status grade_plot_histograms(const struct grade_plan *plan, uint32_t world, uint32_t style,
                                      const struct oto_mount_calibration_histogram_record *record,
                                      const double *true_rpy_deg, uint64_t seed, struct oto_error *error);
/* "DIR/<what>_<world>[_<style>].<end>" */
void grade_path(const struct grade_plan *plan, const char *what, uint32_t world, uint32_t style, const char *end,
                char *path, size_t bytes);

#endif
