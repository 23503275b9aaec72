/*
 * The complete motion of a vehicle: a script or a generated drive, on a road, on its suspension, and continuing a
 * previous motion after a swap. `drive_make` may allocate and fail. The other functions are pure on the state, need
 * bounded time near the current instant, and run on any thread.
 */
#ifndef DRIVE_H
#define DRIVE_H

#include "chassis.h"
#include "generator.h"
#include "num_blend.h"
#include "script.h"

struct drive_plan {
    struct script_anchor start;
    double height_m;
    int64_t style; /* enum generator_style; GENERATOR_NONE: drive the segments */
    double duration_s;
    struct oto_rng_key key;
    bool repeat;
    const struct script_segment *segments;
    uint32_t segment_count;
    const struct chassis_params *chassis;
};

struct drive {
    double height_m;
    struct generator generator;
    struct script script; /* used if `generator` is not */
    struct chassis chassis;
};

/* Plain data. */
struct drive_state {
    struct num_blend blend;
    struct chassis_cache road;
    struct generator_state generator;
};

enum oto_status drive_make(const struct drive_plan *plan, struct drive *drive, script_alloc *alloc, void *alloc_context,
                           struct oto_error *error);
void drive_begin(const struct drive *drive, struct drive_state *state);
/* Updates the caches for instants up to t_ns. */
void drive_advance(const struct drive *drive, struct drive_state *state, int64_t t_ns);
void drive_truth(const struct drive *drive, const struct drive_state *state, struct oto_instant at,
                 struct oto_truth_record *truth);
/* Starts the drive at this instant with the position and motion of the vehicle. */
enum oto_status drive_adopt(const struct drive *drive, struct drive_state *state, const struct oto_truth_record *truth,
                            struct oto_instant at);

#endif
