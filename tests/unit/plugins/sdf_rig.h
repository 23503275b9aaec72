/* sdf_imu in a small host: a clock of physics ticks, samples as the server takes them, a motion as a function of time.
 */
#ifndef SDF_RIG_H
#define SDF_RIG_H

#include "base/schedule.h"
#include "mini_host.h"
#include "sdf_imu_model.h"

typedef void (*sdf_motion)(double t_s, struct oto_sensor_input *input);

struct sdf_rig {
    struct mini_host host;
    struct oto_imu_record imu;
    struct oto_output output;
    sdf_motion motion;
    struct srv_schedule schedule;
    struct srv_due due;
    oto_quat q_body_from_sensor;
    unsigned published, discarded;
};

static inline void sdf_rest(double t_s, struct oto_sensor_input *input)
{
    (void)t_s;
    input->q_enu_from_sensor = oto_quat_identity();
}

static inline void sdf_input_when(const struct sdf_rig *rig, double t_s, struct oto_sensor_input *input)
{
    memset(input, 0, sizeof *input);
    rig->motion(t_s, input);
    input->angular_rate_sensor_rad_s = oto_quat_rotate_inv(rig->q_body_from_sensor, input->angular_rate_sensor_rad_s);
    input->q_enu_from_sensor = oto_quat_mul(input->q_enu_from_sensor, rig->q_body_from_sensor);
}

static inline enum oto_step_status sdf_input_at(void *context, struct oto_instant at,
                                                struct oto_sensor_input *input)
{
    const struct sdf_rig *rig = (const struct sdf_rig *)context;
    assert_true(at.t_ns <= rig->schedule.t_ns && at.t_ns >= 0);
    sdf_input_when(rig, ((double)at.t_ns + at.sub_ns) * 1e-9, input);
    return OTO_STEP_OK;
}

/* Parameters may be set between open and start. */
static inline void sdf_open(struct sdf_rig *rig, uint64_t rate_hz, uint64_t base_hz, uint64_t seed)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, (double)rate_hz, seed);
    rig->host.setup.rate_num = rate_hz;
    rig->host.setup.rate_den = 1;
    rig->host.setup.base_rate_num = base_hz;
    rig->host.setup.base_rate_den = 1;
    rig->output.payload = &rig->imu;
    rig->motion = sdf_rest;
    rig->q_body_from_sensor = oto_quat_identity();
    srv_schedule_init(&rig->schedule, rate_hz, 1);
    srv_schedule_advance(&rig->schedule);
    assert_ok(srv_due_init(&rig->due, rate_hz, 1, base_hz, 1, &rig->host.error), rig->host.error);
}

/* The next sample: OK and WARN are published. */
static inline enum oto_step_status sdf_next(struct sdf_rig *rig)
{
    struct oto_sensor_input input;
    const struct oto_step step = {.size = sizeof step,
                                  .tick = srv_due_tick(&rig->due),
                                  .n = rig->schedule.n,
                                  .at = srv_schedule_at(&rig->schedule),
                                  .outputs = &rig->output,
                                  .sensor = {&input, sdf_input_at, rig}};
    sdf_input_when(rig, ((double)step.at.t_ns + step.at.sub_ns) * 1e-9, &input);
    memset(&rig->imu, 0, sizeof rig->imu);
    rig->output = (struct oto_output){&rig->imu, step.at.t_ns, step.at.t_ns, 0, 1};
    const enum oto_step_status status = otolith_plugin.ops->step(&rig->host.instance, &step);
    assert_true(status != OTO_STEP_ERROR && status != OTO_STEP_FATAL);
    rig->published += status != OTO_STEP_DISCARD;
    rig->discarded += status == OTO_STEP_DISCARD;
    srv_schedule_advance(&rig->schedule);
    srv_due_advance(&rig->due);
    return status;
}

static inline void sdf_take(struct sdf_rig *rig, unsigned samples)
{
    for (unsigned i = 0; i < samples; i++) {
        (void)sdf_next(rig);
    }
}

/* New parameters as the server applies them: prepare beside the old ones, then set_params. */
static inline void sdf_change(struct sdf_rig *rig, const char *key, double value)
{
    struct sdf_imu_params before;
    memcpy(&before, rig->host.params, sizeof before);
    mini_set(&rig->host, key, value);
    assert_ok(mini_prepare(&rig->host), rig->host.error);
    otolith_plugin.ops->set_params(&rig->host.instance, &before);
}

static inline void sdf_close(struct sdf_rig *rig)
{
    mini_close(&rig->host);
}

static inline void assert_vec_near(oto_vec3 v, double x, double y, double z, double tolerance)
{
    assert_near(v.x, x, tolerance);
    assert_near(v.y, y, tolerance);
    assert_near(v.z, z, tolerance);
}

static inline void assert_orientation(const struct oto_imu_record *imu, double x, double y, double z, double w)
{
    assert_near(imu->orientation_x, x, 1e-15);
    assert_near(imu->orientation_y, y, 1e-15);
    assert_near(imu->orientation_z, z, 1e-15);
    assert_near(imu->orientation_w, w, 1e-15);
}

#endif
