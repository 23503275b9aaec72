/*
 * The live view of `otolith run` and `otolith top`: two head lines with the clock, the lateness and the work of ticks, then
 * a row per topic with rate, last value and unit, and a sparkline; below a sensor, the same of the truth. On a terminal it
 * fits the window, in pages, and takes keys.
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdio.h>

#include "cli.h"

enum { VIEW_POINTS = 32, VIEW_FIND_BYTES = 64 };

struct view_row {
    const struct oto_channel *channel;
    const struct oto_channel *truth; /* of the same vehicle, or NULL */
    const struct oto_field *field;   /* the field that is shown; NULL for events */
    struct oto_reader reader;
    uint64_t samples; /* newest seq */
    uint64_t samples_before;
    double rate_hz; /* per simulated second, over the last second */
    double last;
    double sensor[VIEW_POINTS], reference[VIEW_POINTS];
    uint32_t points;
    bool is_found;   /* the topic matches view->find */
    char event[160]; /* text of the newest event */
    bool is_mount;   /* the node is a mount calibration, which has additional lines */
    char mount_state[48], mount_found[160], mount_truth[160];
};

struct view {
    struct oto_client *client;
    struct view_row *rows;
    uint32_t row_count;
    struct view_row **shown; /* rows that match `find` and have samples or an enabled port, as of view_update() */
    uint32_t shown_count;
    struct oto_clock clock;
    int64_t sim_before_ns;
    int64_t end_ns; /* simulated time at which the run ends; 0: it is not known */
    bool is_mirror, has_begun; /* over the wire; the first sample has arrived, from which its rates count */
    unsigned char *payload;
    uint32_t first, selected; /* topmost row and selected row, of those that are shown */
    uint32_t shown_last;      /* last row of the page */
    int drawn_lines;          /* lines of the previous drawing, which the next drawing overwrites */
    bool has_keys;            /* the terminal was switched to single keys */
    char typed[64]; /* bytes of keys; those from `typed_used` to `typed_length` are not applied yet */
    size_t typed_used, typed_length;
    bool takes_find;          /* keys are added to `find` until Enter or Escape */
    char find[VIEW_FIND_BYTES]; /* only topics that contain this text, or match it as a pattern, are shown; "": all */
};

/* `pattern`: the topics that are shown (base/pattern.h); NULL: all. */
enum oto_status view_init(struct view *view, struct oto_client *client, const char *pattern, struct oto_error *error);
void view_finish(struct view *view);
/* Reads new samples; to be called up to ten times a second. */
void view_update(struct view *view);
/* To be called after view->find has changed: selects the first of the topics that match it. */
void view_apply_find(struct view *view);
/* Makes the row show the next (step > 0) or the previous number of its record. */
void view_row_next_field(struct view_row *row, int step);

/* Draws a page that fits the terminal, over the previous drawing. Without a terminal: all rows, 100 columns wide. */
void view_draw(struct view *view, FILE *to);
/* Switches the terminal to single keys. Does nothing without a terminal or in the background. */
void view_keys_open(struct view *view);
/* Switches the terminal back to lines. */
void view_keys_close(struct view *view);
/* Waits up to `timeout_ms` for a key and applies it; true when `view` must be drawn again or `quit` was set. */
bool view_keys_take(struct view *view, int timeout_ms, bool *quit);
/* Writes one JSON object with the head lines and each topic. */
void view_json(struct view *view, FILE *to);
/* Writes one line for logs: time, real-time factor, lateness, and the rates of the first topics. */
void view_line(struct view *view, FILE *to);

#endif
