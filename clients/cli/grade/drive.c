/* One drive: the world of a grade with the values of one seed, and what its calibrations publish. */
#include "grade/grade.h"

#include <math.h>
#include <string.h>

#include "otolith/sim.h"

enum { TICKS_AT_ONCE = 100, RECORDS_AT_ONCE = 64 };

struct watch {
    struct grade_chunk *chunk;
    uint32_t channel;
    int next; /* index of the next time of the chunk */
};

double grade_error_deg(const struct grade_chunk *chunk, int time, int angle)
{
    return remainder(chunk->points[time].rpy_deg[angle] - chunk->true_rpy_deg[angle], 360.0);
}

/* Rounds an angle as chunks.csv stores it, so that a continued grade has the same results as an uninterrupted one. */
static double as_kept(double deg)
{
    return round(deg * 1e6) / 1e6;
}

const double grade_axis_threshold_deg[OTO_CALIBRATION_AXES] = {GRADE_THRESHOLD_DEG, GRADE_THRESHOLD_DEG, GRADE_THRESHOLD_DEG,
                                                               GRADE_ABSOLUTE_DEG};
const char *const grade_axis_names[OTO_CALIBRATION_AXES] = {"pitch", "yaw", "roll_repeatable", "roll_absolute"};

/* The errors of the axes: pitch and yaw as rotations about the vehicle's axes, both rolls as differences of angles. */
static void axis_errors(const struct grade_chunk *chunk, const struct oto_mount_calibration_record *record, double *errors_deg)
{
    const double *t = chunk->true_rpy_deg, *value = record->axis_value_deg;
    const oto_quat q_true = oto_quat_from_rpy(t[0] * OTO_DEG, t[1] * OTO_DEG, t[2] * OTO_DEG);
    const oto_vec3 error = oto_quat_to_rotvec(oto_quat_mul(record->q_body_from_sensor, oto_quat_conj(q_true)));
    errors_deg[OTO_CALIBRATION_PITCH] = error.y / OTO_DEG;
    errors_deg[OTO_CALIBRATION_YAW] = error.z / OTO_DEG;
    errors_deg[OTO_CALIBRATION_ROLL_ABSOLUTE] = remainder(value[OTO_CALIBRATION_ROLL_ABSOLUTE] - t[0], 360.0);
    errors_deg[OTO_CALIBRATION_ROLL_REPEATABLE] =
        remainder(value[OTO_CALIBRATION_ROLL_REPEATABLE] - t[0] - chunk->road_roll_deg, 360.0);
}

static void keep(struct grade_point *point, const double *errors_deg, const struct oto_mount_calibration_record *record)
{
    *point = (struct grade_point){.state = record->state, .known = 1, .percent = record->percent};
    for (uint32_t i = 0; i < OTO_CALIBRATION_AXES; i++) {
        point->axes |= record->axis_accepted[i] != 0 ? 1u << i : 0;
        point->axis_error_deg[i] = as_kept(errors_deg[i]);
        point->axis_bound_deg[i] = as_kept(record->axis_bound_deg[i]);
    }
    for (int i = 0; i < 3; i++) {
        point->rpy_deg[i] = as_kept(record->rpy_deg[i]);
        point->bound_deg[i] = as_kept(record->bound_3sigma_deg[i]);
    }
}

static void look(struct watch *watch, double t_s, const struct oto_mount_calibration_record *record)
{
    struct grade_chunk *chunk = watch->chunk;
    double errors_deg[OTO_CALIBRATION_AXES];
    axis_errors(chunk, record, errors_deg);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        if (record->axis_accepted[i] != 0) {
            chunk->worst_axis_deg[i] = fmax(chunk->worst_axis_deg[i], fabs(errors_deg[i]));
        }
    }
    if (record->state == OTO_CALIBRATION_ACCEPTED) {
        chunk->first_accepted_s = chunk->first_accepted_s < 0.0 ? t_s : chunk->first_accepted_s;
        for (int i = 0; i < 3; i++) {
            chunk->worst_deg = fmax(chunk->worst_deg, fabs(remainder(record->rpy_deg[i] - chunk->true_rpy_deg[i], 360.0)));
        }
    }
    if (watch->next < GRADE_TIMES && t_s > 60.0 * grade_minutes(watch->next) - 1e-6) {
        keep(&chunk->points[watch->next++], errors_deg, record);
    }
}

static void read_results(struct oto_sim *sim, struct watch *watch)
{
    struct oto_sample_head heads[RECORDS_AT_ONCE];
    struct oto_mount_calibration_record records[RECORDS_AT_ONCE];
    size_t count = RECORDS_AT_ONCE;
    while (count == RECORDS_AT_ONCE) {
        count = oto_sim_read(sim, watch->channel, heads, records, RECORDS_AT_ONCE, NULL);
        for (size_t i = 0; i < count && heads[i].t_ns <= (int64_t)(GRADE_DRIVE_S * 1e9); i++) {
            look(watch, (double)heads[i].t_ns * 1e-9, &records[i]);
        }
    }
}

static enum oto_status open_drive(const struct grade_world *world, const struct grade_draw *draw, uint64_t seed,
                                  struct oto_sim **sim, struct oto_error *error)
{
    const struct oto_sim_options options = {.size = sizeof options,
                                            .path = world->world_path,
                                            .overrides = (const char *const *)draw->overrides,
                                            .override_count = draw->count,
                                            .has_seed = true,
                                            .no_state_hash = true,
                                            .seed = seed};
    return oto_sim_open(&options, sim, error);
}

static enum oto_status watch_methods(const struct oto_sim *sim, const struct grade_draw *draw, uint32_t count,
                                     struct watch *watches, struct grade_chunk *chunks, struct oto_error *error)
{
    struct oto_sim_channel channel;
    enum oto_status status = OTO_OK;
    for (uint32_t m = 0; status == OTO_OK && m < count; m++) {
        status = oto_sim_channel(sim, draw->calibrations[m], &channel, error);
        watches[m] = (struct watch){.chunk = &chunks[m], .channel = channel.index};
        chunks[m].first_accepted_s = -1.0;
        chunks[m].road_roll_deg = draw->road_roll_deg;
        for (int i = 0; i < 3; i++) {
            chunks[m].true_rpy_deg[i] = as_kept(draw->true_rpy_deg[i]);
        }
    }
    return status;
}

static enum oto_status run_drive(struct oto_sim *sim, struct watch *watches, uint32_t count, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && oto_sim_time_ns(sim) < (int64_t)(GRADE_DRIVE_S * 1e9)) {
        status = oto_sim_step(sim, TICKS_AT_ONCE, error);
        for (uint32_t m = 0; status == OTO_OK && m < count; m++) {
            read_results(sim, &watches[m]);
        }
    }
    for (uint32_t m = 0; m < count; m++) {
        watches[m].chunk->worst_deg = as_kept(watches[m].chunk->worst_deg);
        for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
            watches[m].chunk->worst_axis_deg[i] = as_kept(watches[m].chunk->worst_axis_deg[i]);
        }
    }
    return status;
}

enum oto_status grade_drive(const struct grade_plan *plan, uint32_t world, uint32_t style, uint64_t seed,
                            struct grade_chunk *chunks, struct oto_error *error)
{
    const struct grade_world *graded = &plan->worlds[world];
    struct watch watches[GRADE_MOST_METHODS];
    struct grade_draw draw;
    struct oto_sim *sim = NULL;
    for (uint32_t m = 0; m < plan->method_count; m++) {
        chunks[m] = (struct grade_chunk){.world = world, .style = style, .method = m, .seed = seed};
    }
    enum oto_status status =
        grade_draw_make(graded, plan->styles[style], seed, plan->methods, plan->method_count, false, &draw, error);
    if (status == OTO_OK) {
        status = open_drive(graded, &draw, seed, &sim, error);
    }
    if (status == OTO_OK) {
        status = watch_methods(sim, &draw, plan->method_count, watches, chunks, error);
    }
    if (status == OTO_OK) {
        status = run_drive(sim, watches, plan->method_count, error);
    }
    oto_sim_close(sim);
    grade_draw_finish(&draw);
    return status;
}

enum oto_status grade_votes(const struct grade_plan *plan, uint32_t world, uint32_t style,
                            struct oto_mount_calibration_histogram_record *record, double *true_rpy_deg,
                            struct oto_error *error)
{
    static const char *const methods[] = {"histogram"};
    const struct grade_world *graded = &plan->worlds[world];
    struct grade_draw draw;
    struct oto_sim *sim = NULL;
    struct oto_sim_channel channel;
    struct oto_sample_head head;
    char topic[160];
    enum oto_status status = grade_draw_make(graded, plan->styles[style], plan->first_seed, methods, 1, true, &draw, error);
    if (status == OTO_OK) {
        status = open_drive(graded, &draw, plan->first_seed, &sim, error);
    }
    (void)snprintf(topic, sizeof topic, "%s.histogram", draw.calibrations[0]);
    if (status == OTO_OK) {
        status = oto_sim_channel(sim, topic, &channel, error);
    }
    if (status == OTO_OK) {
        status = run_drive(sim, NULL, 0, error);
    }
    if (status == OTO_OK) {
        memcpy(true_rpy_deg, draw.true_rpy_deg, sizeof draw.true_rpy_deg);
        status = oto_sim_latest(sim, channel.index, &head, record, error);
    }
    oto_sim_close(sim);
    grade_draw_finish(&draw);
    return status;
}
