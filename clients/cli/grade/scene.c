/* A drive of a scene: the motion moves on tick by tick, sensors sample what it and their mounts expose them to. */
#include "grade/scene.h"

#include <stddef.h>
#include <string.h>

#include "document/document.h"
#include "otolith/rng.h"

#define NS_PER_S 1000000000

__extension__ typedef unsigned __int128 wide;

struct oto_instant scene_instant(uint64_t n, uint64_t rate_num, uint64_t rate_den)
{
    const wide instant = (wide)n * rate_den * NS_PER_S;
    return (struct oto_instant){(int64_t)(instant / rate_num),
                                (double)(uint64_t)(instant % rate_num) / (double)rate_num};
}

enum oto_status scene_advance(struct scene *scene, struct oto_instant at, struct oto_error *error)
{
    struct scene_node *motion = &scene->motion;
    struct oto_instant end = {scene->tick_end_ns, 0.0};
    while (oto_instant_is_before(end, at)) {
        scene->tick++;
        end = scene_instant(scene->tick, scene->clock_num, scene->clock_den);
        scene->tick_end_ns = end.t_ns;
        const struct oto_step step = {.size = sizeof step, .tick = scene->tick - 1, .n = scene->tick, .at = end};
        if (oto_plugin_ops(motion->plugin)->step(&motion->instance, &step) > OTO_STEP_DISCARD) {
            return oto_fail(error, OTO_PLUGIN, "the motion failed at %.3f s", (double)at.t_ns * 1e-9);
        }
    }
    return OTO_OK;
}

/* ---- exposure ---- */

struct exposure {
    struct scene *scene;
    const struct scene_node *node;
};

/* On a level path: gravity in body axes, and the motion in the plane as if the body were not tilted. */
static oto_vec3 force_on_level_path(const struct scene *scene, const struct scene_node *node,
                                    const struct oto_truth_record *truth)
{
    const oto_vec3 ahead = oto_quat_rotate(truth->q_enu_from_body, oto_vec3_make(1.0, 0.0, 0.0));
    const oto_vec3 along = oto_vec3_normalize(oto_vec3_make(ahead.x, ahead.y, 0.0)), a = truth->accel_enu_m_s2;
    const double now = oto_normal_at(node->setup.noise_key, node->n + 1, 0, OTO_RNG_DOMAIN_WORLD, 0);
    const double before = oto_normal_at(node->setup.noise_key, node->n, 0, OTO_RNG_DOMAIN_WORLD, 0);
    const double noise = scene->law.vertical_is_white ? now : (now - before) * 0.70710678118654752;
    const oto_vec3 motion = oto_vec3_make(a.x * along.x + a.y * along.y, a.y * along.x - a.x * along.y,
                                          scene->law.vertical_rms_m_s2 * noise);
    return oto_vec3_sub(motion, oto_quat_rotate_inv(truth->q_enu_from_body, node->setup.gravity_enu_m_s2));
}

/* What a server's world exposes a sensor to, where nothing but the vehicle moves. */
static void expose(const struct scene *scene, const struct scene_node *node, struct oto_sensor_input *input)
{
    const struct oto_setup *setup = &node->setup;
    const struct oto_truth_record *truth = &input->truth;
    const oto_vec3 r = setup->mount_position_body_m, w = truth->angular_rate_body_rad_s;
    const oto_vec3 alpha = truth->angular_accel_body_rad_s2, w_cross_r = oto_vec3_cross(w, r);
    const oto_vec3 lever = oto_vec3_add(oto_vec3_cross(alpha, r), oto_vec3_cross(w, w_cross_r));
    const oto_vec3 f_enu = oto_vec3_sub(truth->accel_enu_m_s2, setup->gravity_enu_m_s2);
    const oto_vec3 f_body = oto_vec3_add(scene->law.is_level ? force_on_level_path(scene, node, truth)
                                                             : oto_quat_rotate_inv(truth->q_enu_from_body, f_enu), lever);
    input->position_sensor_enu_m = oto_vec3_add(truth->position_enu_m, oto_quat_rotate(truth->q_enu_from_body, r));
    input->velocity_sensor_enu_m_s =
        oto_vec3_add(truth->velocity_enu_m_s, oto_quat_rotate(truth->q_enu_from_body, w_cross_r));
    input->specific_force_sensor_m_s2 = oto_quat_rotate_inv(setup->q_body_from_sensor, f_body);
    input->angular_rate_sensor_rad_s = oto_quat_rotate_inv(setup->q_body_from_sensor, w);
    input->angular_accel_sensor_rad_s2 = oto_quat_rotate_inv(setup->q_body_from_sensor, alpha);
    input->q_enu_from_sensor = oto_quat_mul(truth->q_enu_from_body, setup->q_body_from_sensor);
    input->temperature_degc = setup->temperature_degc;
    input->pressure_pa = setup->pressure_pa;
}

static enum oto_step_status input_at(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    const struct exposure *exposure = context;
    const struct scene_node *motion = &exposure->scene->motion;
    memset(input, 0, sizeof *input);
    const struct oto_instant zero = {0, 0.0};
    const enum oto_step_status status =
        oto_plugin_motion(motion->plugin)->evaluate(&motion->instance, at.t_ns > 0 ? at : zero, &input->truth);
    expose(exposure->scene, exposure->node, input);
    return status;
}

static void clear_outputs(struct scene_node *node, int64_t t_ns)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    for (uint32_t i = 0; i < descriptor->output_count; i++) {
        const struct oto_port *port = &descriptor->outputs[i];
        int64_t enabled = 1;
        if (port->enable_offset != OTO_PORT_ALWAYS) {
            memcpy(&enabled, (const unsigned char *)node->params.block + port->enable_offset, sizeof enabled);
        }
        node->outputs[i] =
            (struct oto_output){node->payloads + (size_t)i * OTO_RECORD_MAX_BYTES, t_ns, t_ns, 0, enabled != 0};
        memset(node->outputs[i].payload, 0, port->type->bytes);
    }
}

enum oto_status scene_sample(struct scene *scene, struct scene_node *node, struct oto_instant at, const void **payload,
                             struct oto_error *error)
{
    struct exposure exposure = {scene, node};
    struct oto_sensor_input input;
    enum oto_step_status said = input_at(&exposure, at, &input);
    *payload = NULL;
    if (said <= OTO_STEP_WARN) {
        clear_outputs(node, at.t_ns);
        const struct oto_step step = {.size = sizeof step, .tick = scene->tick - 1, .n = ++node->n, .at = at,
                                      .outputs = node->outputs, .sensor = {&input, input_at, &exposure}};
        said = oto_plugin_ops(node->plugin)->step(&node->instance, &step);
    }
    if (said > OTO_STEP_DISCARD) {
        return oto_fail(error, OTO_PLUGIN, "%s failed at %.3f s", node->setup.node, (double)at.t_ns * 1e-9);
    }
    if (said != OTO_STEP_DISCARD && node->outputs[0].emit != 0) {
        *payload = node->outputs[0].payload;
    }
    return OTO_OK;
}

/* ---- a recording ---- */

/* As a log's CSV would give it. */
static const char *const imu_names[] = {"linear_acceleration.x", "linear_acceleration.y", "linear_acceleration.z",
                                        "angular_velocity.x",    "angular_velocity.y",    "angular_velocity.z"};
static const char *const speed_names[] = {"speed_m_s"};
enum { MOST_FIELDS = 6 };

struct track {
    struct scene_node *node;
    struct oto_log *log;
    const char *const *names;
    uint32_t count;
    const struct oto_field *fields[MOST_FIELDS]; /* of the node's record */
    struct oto_instant at;
};

static void place_next(struct track *track)
{
    track->at = scene_instant(track->node->n + 1, track->node->setup.rate_num, track->node->setup.rate_den);
}

static enum oto_status begin_track(struct scene_node *node, const char *name, const char *const *names, uint32_t count,
                                   struct track *track, struct oto_error *error)
{
    const struct oto_record_type *from = oto_plugin_descriptor(node->plugin)->outputs[0].type;
    struct oto_field fields[MOST_FIELDS];
    *track = (struct track){.node = node, .names = names, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        track->fields[i] = oto_record_field(from, names[i]);
        if (track->fields[i] == NULL) {
            return oto_fail(error, OTO_INVALID, "%s has no field %s, which a mount's calibration needs", node->setup.node, names[i]);
        }
        fields[i] = (struct oto_field){names[i], OTO_FIELD_F64, 1, 8 * i, "", "", ""};
    }
    const struct oto_record_type type = {name, 8 * count, count, fields};
    place_next(track);
    return oto_log_create(node->setup.node, &type, &track->log, error);
}

static enum oto_status take(struct scene *scene, struct track *track, struct oto_error *error)
{
    const void *payload;
    double numbers[MOST_FIELDS];
    enum oto_status status = scene_advance(scene, track->at, error);
    if (status == OTO_OK) {
        status = scene_sample(scene, track->node, track->at, &payload, error);
    }
    if (status == OTO_OK && payload != NULL) {
        const struct oto_output *output = &track->node->outputs[0];
        const struct oto_sample_head head = {output->t_ns, output->sensor_time_ns, 0, output->flags, 8 * track->count};
        for (uint32_t i = 0; i < track->count; i++) {
            numbers[i] = oto_input_number(track->fields[i], 0, payload);
        }
        status = oto_log_add(track->log, &head, numbers, error);
    }
    place_next(track);
    return status;
}

enum oto_status grade_simulate(struct grade_plugins *plugins, const struct oto_document *document,
                               const struct grade_path_law *law, double seconds, struct grade_recording *recording,
                               struct oto_error *error)
{
    const int64_t end_ns = (int64_t)(seconds * NS_PER_S);
    struct scene scene;
    struct track imu = {0}, speed = {0};
    *recording = (struct grade_recording){0};
    enum oto_status status = scene_bind(plugins, document, &scene, error);
    scene.law = *law;
    if (status == OTO_OK) {
        status = begin_track(&scene.imu, "imu", imu_names, 6, &imu, error);
    }
    if (status == OTO_OK) {
        status = begin_track(&scene.speed, "speed", speed_names, 1, &speed, error);
    }
    while (status == OTO_OK && (imu.at.t_ns <= end_ns || speed.at.t_ns <= end_ns)) {
        status = take(&scene, speed.at.t_ns < imu.at.t_ns ? &speed : &imu, error);
    }
    recording->imu = imu.log;
    recording->speed = speed.log;
    if (status == OTO_OK) {
        memcpy(recording->true_rpy_deg, scene.imu.rpy_deg, sizeof recording->true_rpy_deg);
        recording->clock_num = scene.clock_num;
        recording->clock_den = scene.clock_den;
        recording->rate_num = scene.calibration_rate_num;
        recording->rate_den = scene.calibration_rate_den;
        recording->params = oto_value_get(scene.calibration, "params");
    }
    scene_finish(&scene);
    return status;
}

void grade_recording_finish(struct grade_recording *recording)
{
    oto_log_close(recording->imu);
    oto_log_close(recording->speed);
    *recording = (struct grade_recording){0};
}
