/*
 * The live view of `otolith run` and `otolith top`: a row per topic with rate, samples, lost samples, last value and a
 * sparkline of the sensor above one of the truth; tick lateness, tick work and real-time factor in the head lines.
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdio.h>

#include "cli.h"

enum { VIEW_POINTS = 32 };

struct view_row {
    const struct oto_channel *channel;
    const struct oto_channel *truth; /* of the same vehicle, or NULL */
    const struct oto_field *field;   /* the one shown; NULL for events */
    struct oto_reader reader;
    uint64_t samples; /* newest seq */
    uint64_t samples_before;
    double rate_hz; /* per simulated second, over the last update */
    double last;
    double sensor[VIEW_POINTS], reference[VIEW_POINTS];
    uint32_t points;
    char event[160]; /* text of the newest event */
    bool is_mount;   /* a mount calibration: it has lines of its own */
    char mount_state[48], mount_found[160], mount_truth[160];
};

struct view {
    struct oto_client *client;
    struct view_row *rows;
    uint32_t row_count;
    struct oto_clock clock;
    int64_t sim_before_ns;
    int drawn_lines; /* of the previous drawing, which the next one overwrites */
    unsigned char *payload;
};

enum oto_status view_init(struct view *view, struct oto_client *client, struct oto_error *error);
void view_finish(struct view *view);
/* Reads new samples; to be called up to ten times a second. */
void view_update(struct view *view);
/* Draws over the previous drawing, cut to the terminal's width. */
void view_draw(struct view *view, FILE *to);
/* One line for logs: time, factor, lateness, and topic=rate for each. */
void view_line(struct view *view, FILE *to);

/* The quantile p in (0, 1) of a histogram, in us. */
double view_quantile_us(const struct oto_histogram *histogram, double p);

#endif
