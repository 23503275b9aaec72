/*
 * Shared by the parts of `otolith grade calibration`. A grade is a world and the values that are drawn for each drive in it; a
 * drive is a quarter of an hour of one seed; a chunk is its first minutes, as calibrated by one method.
 */
#ifndef CLI_GRADE_H
#define CLI_GRADE_H

#include "cli.h"
#include "mount_calibration/calibration.h"
#include "document/document.h"
#include "plugin/host.h"

enum {
    GRADE_MOST_WORLDS = 8,
    GRADE_MOST_STYLES = 8,
    GRADE_MOST_METHODS = 2,
    GRADE_TIMES = 27 /* 2, 2.5, … 15 minutes */
};
#define GRADE_THRESHOLD_DEG 0.30
#define GRADE_ABSOLUTE_DEG 0.60 /* threshold of the absolute roll, which is relative to gravity */
#define GRADE_DRIVE_S 900.0

static inline double grade_minutes(int time)
{
    return 2.0 + 0.5 * time;
}

/* ---- world.c ---- */

struct grade_world {
    char name[48];
    char *path, *text; /* of the grade file */
    size_t length;
    char *world_path, *world_text;
    size_t world_length;
    struct oto_document *document; /* of the grade file */
    const struct oto_value *set, *draw; /* set: NULL if there is none */
    const struct oto_value *kinds;      /* by style of traffic: laws that replace those of `draw`; NULL: none */
};
enum oto_status grade_world_open(const char *path, struct grade_world *world, struct oto_error *error);
void grade_world_close(struct grade_world *world);
/* Finds the file of a grade by its name, in the installed folder or in the checkout. */
enum oto_status grade_world_find(const char *name, char *path, size_t bytes, struct oto_error *error);

/* ---- draw.c ---- */

/* The world of one drive: the world file with these overrides, as `otolith run --set` takes them. */
struct grade_draw {
    char **overrides; /* "path=value" */
    uint32_t count;
    char calibrations[GRADE_MOST_METHODS][128]; /* "vehicle/node" of the calibration by each method */
    double true_rpy_deg[3];                     /* of the IMU's mount */
    double road_roll_deg;                       /* roll of the mean road, to which the repeatable roll is relative */
};
/*
 * Draws the values of one seed. The world's mount_calibration runs the first method; a copy with the method's name is added for
 * the second. `histogram`: the nodes publish their votes. The caller calls grade_draw_finish also after an error.
 */
enum oto_status grade_draw_make(const struct grade_world *world, const char *style, uint64_t seed, const char *const *methods,
                                uint32_t method_count, bool histogram, struct grade_draw *draw, struct oto_error *error);
void grade_draw_finish(struct grade_draw *draw);

/* ---- drive.c ---- */

struct grade_point {
    uint32_t state, known; /* known: 1 if the drive lasted until this time */
    double percent, rpy_deg[3], bound_deg[3];
    uint32_t axes; /* the accepted axes, one bit for each enum oto_calibration_axis */
    double axis_error_deg[OTO_CALIBRATION_AXES], axis_bound_deg[OTO_CALIBRATION_AXES];
};

/* The results of one method for one drive. */
struct grade_chunk {
    uint32_t world, style, method;
    uint64_t seed;
    double true_rpy_deg[3], road_roll_deg;
    struct grade_point points[GRADE_TIMES];
    double first_accepted_s; /* negative: never */
    double worst_deg;        /* largest error of any angle at all times at which the calibration was accepted */
    double worst_axis_deg[OTO_CALIBRATION_AXES]; /* of each axis, while that axis was accepted */
};
extern const double grade_axis_threshold_deg[OTO_CALIBRATION_AXES];
extern const char *const grade_axis_names[OTO_CALIBRATION_AXES];
double grade_error_deg(const struct grade_chunk *chunk, int time, int angle);

/* ---- store.c ---- */

struct grade_plan {
    struct grade_world worlds[GRADE_MOST_WORLDS];
    uint32_t world_count;
    const char *styles[GRADE_MOST_STYLES]; /* "": the style in the world file */
    uint32_t style_count;
    const char *methods[GRADE_MOST_METHODS];
    uint32_t method_count;
    uint64_t first_seed, seeds;
    const char *directory;
    uint64_t hash; /* of worlds, styles, methods and plugins; chunks with another hash are not mixed */
};

/* Runs one drive: chunks[m] gets the results of method m. */
enum oto_status grade_drive(const struct grade_plan *plan, uint32_t world, uint32_t style, uint64_t seed,
                            struct grade_chunk *chunks, struct oto_error *error);
/* The votes of the histogram method after the whole drive of the first seed. */
enum oto_status grade_votes(const struct grade_plan *plan, uint32_t world, uint32_t style,
                            struct oto_mount_calibration_histogram_record *record, double *true_rpy_deg,
                            struct oto_error *error);

/* All chunks of a plan, in the order world, style, seed, method; done[drive]: all methods of the drive have results. */
struct grade_store {
    struct grade_chunk *chunks;
    unsigned char *done;
    uint64_t drives, kept; /* kept: drives that were read from the file */
    FILE *file;
};
uint64_t grade_drive_index(const struct grade_plan *plan, uint32_t world, uint32_t style, uint64_t seed_offset);
/* Makes the directory, reads the chunks that an earlier call finished, and opens the file to append to it. */
enum oto_status grade_store_open(const struct grade_plan *plan, struct grade_store *store, struct oto_error *error);
/* Writes the chunks of a finished drive to the file and flushes it. */
enum oto_status grade_store_put(const struct grade_plan *plan, struct grade_store *store, uint64_t drive,
                                struct oto_error *error);
void grade_store_close(struct grade_store *store);

/* ---- workers.c ---- */

struct grade_cost {
    uint64_t drives; /* of this call */
    int64_t cpu_ns;  /* CPU time of these drives */
};
/* Simulates and calibrates every drive that is not done, in `jobs` threads; stops at the first error or a signal. */
enum oto_status grade_run(const struct grade_plan *plan, struct grade_store *store, uint32_t jobs, struct grade_cost *cost,
                          struct oto_error *error);

/* ---- summary.c ---- */

struct grade_score {
    uint64_t chunks, accepted, wrong; /* wrong: accepted with an angle beyond the threshold */
    uint64_t within;                  /* all three angles within the threshold, accepted or not */
    double recall, precision;         /* precision NaN where nothing was accepted */
    double mean_error_deg[3], mean_all_deg[3]; /* of the accepted chunks; of all chunks */
    double coverage[3];               /* share of the accepted chunks whose error is within its 3-sigma bound */
    double coverage_all[3];
    struct grade_axis_score {
        uint64_t accepted, wrong, covered; /* covered: the error is inside the bound, accepted or not */
        double mean_deg;                   /* of the absolute error, accepted or not */
    } axes[OTO_CALIBRATION_AXES];
};
struct grade_summary {
    struct grade_score scores[GRADE_TIMES];
    uint64_t chunks, false_drives; /* drives whose calibration was at any time accepted and wrong */
    uint64_t false_axis_drives[OTO_CALIBRATION_AXES];
    double worst_deg;
    double recall_50_min, recall_75_min; /* NaN: not reached */
};
/* Upper 95 % limit of a share of which `count` of `all` were seen (Clopper and Pearson, one-sided). */
double grade_share_below(uint64_t count, uint64_t all);
void grade_summarise(const struct grade_plan *plan, const struct grade_store *store, uint32_t world, uint32_t style,
                     uint32_t method, struct grade_summary *summary);
enum oto_status grade_write_summaries(const struct grade_plan *plan, const struct grade_store *store,
                                      struct oto_error *error);
/* Prints the contents of summary.json as one line on standard output. */
void grade_print_json(const struct grade_plan *plan, const struct grade_store *store);
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
/* Makes the path "DIR/<what>_<world>[_<style>].<end>". */
void grade_path(const struct grade_plan *plan, const char *what, uint32_t world, uint32_t style, const char *end,
                char *path, size_t bytes);

#endif
