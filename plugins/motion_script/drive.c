#include "drive.h"

#include <string.h>

enum oto_status drive_make(const struct drive_plan *plan, struct drive *drive, script_alloc *alloc, void *alloc_context,
                           struct oto_error *error)
{
    enum oto_status status;
    memset(drive, 0, sizeof *drive);
    drive->height_m = plan->height_m;
    drive->generator = (struct generator){plan->style, plan->key, (int64_t)oto_round_half_away(plan->duration_s * 1e9),
                                          plan->start};
    status = chassis_make(plan->chassis, plan->key, &drive->chassis, error);
    if (status != OTO_OK || plan->style != GENERATOR_NONE)
        return status;
    return script_plan(&drive->script, &plan->start, plan->segments, plan->segment_count, plan->repeat, alloc,
                       alloc_context, error);
}

static void instant_at(const struct drive *drive, const struct drive_state *state, struct oto_instant at,
                       struct script_instant *now)
{
    if (drive->generator.style != GENERATOR_NONE)
        generator_instant_at(&drive->generator, &state->generator, at, now);
    else
        script_instant_at(&drive->script, at, now);
}

void drive_begin(const struct drive *drive, struct drive_state *state)
{
    memset(state, 0, sizeof *state);
    if (drive->generator.style != GENERATOR_NONE)
        generator_begin(&drive->generator, &state->generator);
    chassis_begin(&drive->chassis, &state->road);
}

void drive_advance(const struct drive *drive, struct drive_state *state, int64_t t_ns)
{
    struct script_instant now;
    const struct oto_instant end = {t_ns, 0.0}, own = num_blend_source_time(&state->blend, end);
    if (drive->generator.style != GENERATOR_NONE)
        generator_advance(&drive->generator, &state->generator, own.t_ns);
    if (drive->chassis.plain)
        return;
    instant_at(drive, state, own, &now);
    chassis_follow(&drive->chassis, now.distance_m, &state->road);
}

void drive_truth(const struct drive *drive, const struct drive_state *state, struct oto_instant at,
                 struct oto_truth_record *truth)
{
    struct script_instant now;
    const struct oto_instant own = num_blend_source_time(&state->blend, at);
    instant_at(drive, state, own, &now);
    chassis_truth(&drive->chassis, &state->road, &now, ((double)own.t_ns + own.sub_ns) * 1e-9, drive->height_m, truth);
    num_blend_apply(&state->blend, at, truth);
}

enum oto_status drive_adopt(const struct drive *drive, struct drive_state *state, const struct oto_truth_record *truth,
                            struct oto_instant at)
{
    struct oto_truth_record own;
    struct drive_state fresh;
    enum oto_status status;
    const struct oto_instant zero = {0, 0.0};
    drive_begin(drive, &fresh);
    drive_truth(drive, &fresh, zero, &own);
    status = num_blend_begin(&fresh.blend, &own, truth, at);
    if (status == OTO_OK)
        *state = fresh;
    return status;
}
