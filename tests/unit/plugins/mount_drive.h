/*
 * Drives for the tests of the mount calibration: a car on a road with its springs, an IMU that is mounted wrongly, and
 * a speed. The truth is motion_script's own, so it is what a world would give. Noise is a function of seed and sample.
 */
#ifndef MOUNT_DRIVE_H
#define MOUNT_DRIVE_H

#include "calibrator.h"
#include "drive.h"
#include "oto_test.h"

enum mount_world { MOUNT_PERFECT, MOUNT_CITY, MOUNT_HARSH };

struct mount_drive_setup {
    enum mount_world world;
    int64_t style; /* enum generator_style; NONE: the segments */
    const struct script_segment *segments;
    uint32_t segment_count;
    uint64_t seed;
    double rate_hz;
    double rpy_deg[3];
    double position_m[3]; /* of the IMU, from the point that follows the path */
    bool level; /* the path stays level: grade and bank tilt the body alone, as in simple simulations */
};

struct mount_sample {
    int64_t t_ns;
    double specific_force_m_s2[3], angular_rate_rad_s[3], speed_m_s;
};

struct mount_drive {
    struct mount_drive_setup setup;
    struct drive drive;
    struct drive_state state;
    struct chassis_params chassis;
    oto_quat q_body_from_sensor;
    struct oto_rng_key key;
    double accel_bias_m_s2[3], gyro_bias_rad_s[3], speed_scale;
    uint64_t n;
    void *memory[8];
    int memories;
};

static inline void *mount_drive_alloc(void *context, size_t bytes)
{
    struct mount_drive *drive = (struct mount_drive *)context;
    assert_true(drive->memories < 8);
    return drive->memory[drive->memories++] = calloc(1, bytes);
}

static inline double mount_drive_normal(const struct mount_drive *drive, uint64_t n, uint64_t i)
{
    return oto_normal_at(drive->key, n, 1, OTO_RNG_DOMAIN_SAMPLE, i);
}

/* The worlds of configs/grades: harsh, and its milder sister, here without vertical vibration. */
static inline void mount_drive_world(struct mount_drive *drive)
{
    const bool harsh = drive->setup.world == MOUNT_HARSH;
    const double spread = harsh ? 0.3 : 0.2, vibration_deg = harsh ? 0.25 : 0.15;
    drive->chassis = (struct chassis_params){.correlation_length_m = 150,
                                             .traffic_side = 1,
                                             .angle_band_hz = {1, 3},
                                             .vertical_band_hz = {1, 15},
                                             .half_speed_m_s = 3};
    drive->speed_scale = 1;
    if (drive->setup.world == MOUNT_PERFECT) {
        return;
    }
    drive->chassis.grade_rms_deg = harsh ? 1.5 : 1.0;
    drive->chassis.bank_rms_deg = harsh ? 1.0 : 0.7;
    drive->chassis.crown_deg = harsh ? 0.8 : 0.5;
    drive->chassis.pitch_compliance_deg_s2_m = -0.30 * (1 + spread * mount_drive_normal(drive, 0, 0));
    drive->chassis.roll_compliance_deg_s2_m = 0.35 * (1 + spread * mount_drive_normal(drive, 0, 1));
    drive->chassis.pitch_vibration_deg = drive->chassis.roll_vibration_deg = vibration_deg;
    drive->chassis.vertical_vibration_m_s2 = harsh ? 0.6 : 0.0;
    for (uint64_t i = 0; i < 3; i++) {
        drive->accel_bias_m_s2[i] = 0.05 * mount_drive_normal(drive, 0, 2 + i);
        drive->gyro_bias_rad_s[i] = 0.3 * OTO_DEG * mount_drive_normal(drive, 0, 5 + i);
    }
    drive->speed_scale = 1 + 0.01 * mount_drive_normal(drive, 0, 8);
}

static inline void mount_drive_open(struct mount_drive *drive, const struct mount_drive_setup *setup)
{
    struct oto_error error;
    struct drive_plan plan;
    memset(drive, 0, sizeof *drive);
    drive->setup = *setup;
    drive->setup.rate_hz = setup->rate_hz > 0 ? setup->rate_hz : 100;
    drive->key = oto_rng_key_make(setup->seed, "imu");
    mount_drive_world(drive);
    plan = (struct drive_plan){.style = setup->style,
                               .key = oto_rng_key_make(setup->seed, "car"),
                               .repeat = false,
                               .segments = setup->segments,
                               .segment_count = setup->segment_count,
                               .chassis = &drive->chassis};
    assert_ok(drive_make(&plan, &drive->drive, mount_drive_alloc, drive, &error), error);
    drive_begin(&drive->drive, &drive->state);
    drive->q_body_from_sensor =
        oto_quat_from_rpy(setup->rpy_deg[0] * OTO_DEG, setup->rpy_deg[1] * OTO_DEG, setup->rpy_deg[2] * OTO_DEG);
}

static inline void mount_drive_close(struct mount_drive *drive)
{
    for (int i = 0; i < drive->memories; i++) {
        free(drive->memory[i]);
    }
}

static inline void mount_drive_noise(struct mount_drive *drive, struct mount_sample *sample)
{
    double z[8];
    oto_normals(drive->key, drive->n, 0, OTO_RNG_DOMAIN_SAMPLE, z, 8);
    for (int i = 0; i < 3; i++) {
        sample->specific_force_m_s2[i] += drive->accel_bias_m_s2[i] + 0.02 * z[i];
        sample->angular_rate_rad_s[i] += drive->gyro_bias_rad_s[i] + 0.05 * OTO_DEG * z[3 + i];
    }
    sample->speed_m_s = oto_round_half_away((sample->speed_m_s * drive->speed_scale + 0.02 * z[6]) * 100) / 100;
}

/* Gravity in the body's axes, and the path's acceleration in its own plane, tilted by the springs alone. */
static inline oto_vec3 mount_drive_level_force(const struct mount_drive *drive, const struct oto_truth_record *truth)
{
    const double vx = truth->velocity_enu_m_s.x, vy = truth->velocity_enu_m_s.y, speed = hypot(vx, vy);
    const oto_vec3 a = truth->accel_enu_m_s2, up = oto_vec3_make(0, 0, 9.80665);
    const double cosine = speed > 0.01 ? vx / speed : 1, sine = speed > 0.01 ? vy / speed : 0;
    const double ahead = a.x * cosine + a.y * sine, left = a.y * cosine - a.x * sine;
    oto_quat q_springs = oto_quat_from_rpy(drive->chassis.roll_compliance_deg_s2_m * OTO_DEG * left,
                                           drive->chassis.pitch_compliance_deg_s2_m * OTO_DEG * ahead, 0);
    return oto_vec3_add(oto_quat_rotate_inv(truth->q_enu_from_body, up),
                        oto_quat_rotate_inv(q_springs, oto_vec3_make(ahead, left, 0)));
}

/* What the lever arm adds: angular acceleration and centripetal acceleration. */
static inline oto_vec3 mount_drive_lever_force(const struct mount_drive *drive, const struct oto_truth_record *truth)
{
    const oto_vec3 p = oto_vec3_from_array(drive->setup.position_m), w = truth->angular_rate_body_rad_s;
    return oto_vec3_add(oto_vec3_cross(truth->angular_accel_body_rad_s2, p), oto_vec3_cross(w, oto_vec3_cross(w, p)));
}

static inline void mount_drive_next(struct mount_drive *drive, struct mount_sample *sample)
{
    struct oto_truth_record truth;
    oto_vec3 force, rate;
    sample->t_ns = (int64_t)((double)++drive->n * 1e9 / drive->setup.rate_hz);
    drive_advance(&drive->drive, &drive->state, sample->t_ns);
    drive_truth(&drive->drive, &drive->state, (struct oto_instant){sample->t_ns, 0.0}, &truth);
    force = oto_vec3_add(truth.accel_enu_m_s2, oto_vec3_make(0, 0, 9.80665));
    force =
        drive->setup.level ? mount_drive_level_force(drive, &truth) : oto_quat_rotate_inv(truth.q_enu_from_body, force);
    force = oto_vec3_add(force, mount_drive_lever_force(drive, &truth));
    force = oto_quat_rotate_inv(drive->q_body_from_sensor, force);
    rate = oto_quat_rotate_inv(drive->q_body_from_sensor, truth.angular_rate_body_rad_s);
    oto_vec3_to_array(force, sample->specific_force_m_s2);
    oto_vec3_to_array(rate, sample->angular_rate_rad_s);
    sample->speed_m_s = truth.longitudinal_speed_m_s;
    if (drive->setup.world != MOUNT_PERFECT) {
        mount_drive_noise(drive, sample);
    }
}

/* ---- a calibrator on it ------------------------------------------------------------------------------------------ */

struct mount_rig {
    struct mount_drive drive;
    struct mountcal_params params;
    struct mountcal_plan plan;
    struct mountcal_state *state;
    struct oto_mount_calibration_record record;
    /* What is done to a sample on its way; may be NULL. Speed is left out where it is a NaN that `drop` marks. */
    void (*spoil)(struct mount_rig *rig, struct mount_sample *sample);
    bool without_speed;
    double error_deg[3];
    double turned_deg[3];    /* the same, as a rotation about the vehicle's axes */
    uint32_t accepted_wrong; /* samples at which it was accepted and more than 0.30 deg off */
};

/* Either roll, at three sigma. */
static inline void mount_rig_accept_roll(struct mount_rig *rig, double roll_deg)
{
    rig->params.accept_bound_deg[0] = rig->params.accept_absolute_roll_deg = roll_deg;
    rig->params.accept_absolute_roll_sigmas = 3;
}

/* The defaults of the plugin's parameters. */
static inline void mountcal_params_default(struct mountcal_params *params)
{
    static const struct mountcal_params usual = {
        .method = OTO_CALIBRATION_JOINT,
        .running = 1,
        .box_deg = {10.0, 5.0, 5.0},
        .compliance_deg_s2_m = {-0.3, 0.35},
        .compliance_sigma_deg_s2_m = {0.15, 0.15},
        .roll = OTO_CALIBRATION_ROLL_ABSOLUTE,
        .position_sigma_m = {1.2, 0.4, 0.7},
        .crown_deg = 0.9,
        .crown_sigma_deg = 0.4,
        .bank_deg = 0.8,
        .road_length_m = 150.0,
        .vibration_deg = 0.2,
        .speed_pitch_deg = -0.04,
        .speed_pitch_sigma_deg = 0.04,
        .gyro_bias_range_rad_s = 0.2,
        .accel_bias_sigma_m_s2 = 0.1,
        .gyro_noise_rad_s_rthz = 0.01 * OTO_DEG,
        .accel_noise_m_s2_rthz = 0.003,
        .axes_sigma = 0.001,
        .scale_sigma = 0.003,
        .speed_noise_m_s = 0.03,
        .speed_scale_sigma = 0.02,
        .accept_bound_deg = {0.30, 0.30, 0.30},
        .accept_sigmas = 3.0,
        .accept_absolute_roll_deg = 0.60,
        .accept_absolute_roll_sigmas = 1.96,
        .histogram_range_deg = {12.0, 7.0, 7.0, 7.0},
        .histogram_min_votes = 60.0,
        .histogram_noise_votes = 2.0,
        .histogram_sigma_deg = 0.7,
        .histogram_decay = 0.9995,
        .histogram_short_scale = 0.1,
    };
    *params = usual;
}

static inline void mount_rig_open(struct mount_rig *rig, const struct mount_drive_setup *setup)
{
    memset(rig, 0, sizeof *rig);
    mount_drive_open(&rig->drive, setup);
    mountcal_params_default(&rig->params);
    if (setup->world != MOUNT_PERFECT) { /* what its owner knows of the roads */
        rig->params.traffic_side = 1;
        rig->params.crown_deg = setup->world == MOUNT_HARSH ? 0.8 : 0.5;
        rig->params.crown_sigma_deg = 0.15;
    }
    if (setup->world == MOUNT_PERFECT) { /* it has no springs */
        rig->params.compliance_deg_s2_m[0] = rig->params.compliance_deg_s2_m[1] = 0;
    }
    rig->params.path = setup->level ? JOINT_STAYS_LEVEL : JOINT_FOLLOWS;
    mount_rig_accept_roll(rig, 0.3);
    rig->state = (struct mountcal_state *)calloc(1, sizeof *rig->state);
}

static inline void mount_rig_start(struct mount_rig *rig)
{
    struct oto_error error;
    assert_ok(mountcal_prepare(&rig->params, &rig->plan, &error), error);
    mountcal_init(&rig->plan, rig->state);
}

static inline void mount_rig_close(struct mount_rig *rig)
{
    mount_drive_close(&rig->drive);
    free(rig->state);
}

static inline void mount_rig_look(struct mount_rig *rig)
{
    mountcal_result(&rig->plan, rig->state, &rig->record);
    for (int i = 0; i < 3; i++) {
        rig->error_deg[i] = oto_wrap_pi((rig->record.rpy_deg[i] - rig->drive.setup.rpy_deg[i]) * OTO_DEG) / OTO_DEG;
    }
    const oto_quat q = oto_quat_mul(rig->record.q_body_from_sensor, oto_quat_conj(rig->drive.q_body_from_sensor));
    oto_vec3_to_array(oto_vec3_scale(oto_quat_to_rotvec(q), 1 / OTO_DEG), rig->turned_deg);
    if (rig->record.state == OTO_CALIBRATION_ACCEPTED &&
        (fabs(rig->error_deg[0]) > 0.30 || fabs(rig->error_deg[1]) > 0.30 || fabs(rig->error_deg[2]) > 0.30)) {
        rig->accepted_wrong++;
    }
}

static inline void mount_rig_push(struct mount_rig *rig, const struct mount_sample *sample)
{
    if (!rig->without_speed) {
        mountcal_push_speed(rig->state, sample->t_ns, sample->speed_m_s);
    }
    mountcal_push_imu(&rig->plan, rig->state, sample->t_ns, sample->specific_force_m_s2, sample->angular_rate_rad_s);
}

/* Drives on until `until_s`, looking once a second. */
static inline void mount_rig_run(struct mount_rig *rig, double until_s)
{
    const uint64_t last = (uint64_t)(until_s * rig->drive.setup.rate_hz), each = (uint64_t)rig->drive.setup.rate_hz;
    struct mount_sample sample;
    while (rig->drive.n < last) {
        mount_drive_next(&rig->drive, &sample);
        if (rig->spoil != NULL) {
            rig->spoil(rig, &sample);
        }
        mount_rig_push(rig, &sample);
        if (rig->drive.n % each == 0) {
            mount_rig_look(rig);
        }
    }
}

static inline void assert_mount(const struct mount_rig *rig, double roll_deg, double pitch_deg, double yaw_deg)
{
    assert_near(rig->error_deg[0], 0, roll_deg);
    assert_near(rig->error_deg[1], 0, pitch_deg);
    assert_near(rig->error_deg[2], 0, yaw_deg);
}

#endif
