/* What an estimator listens to in the suite: each that it needs is bound to the first standard record that has its
 * fields. */
#ifndef ESTIMATOR_INPUTS_H
#define ESTIMATOR_INPUTS_H

#include "otolith/estimator.h"
#include "oto_test.h"

union estimator_payload {
    struct oto_imu_record imu;
    struct oto_odometry_record odometry;
    struct oto_mag_record mag;
};

struct estimator_inputs {
    struct oto_input_binding bindings[OTO_ESTIMATOR_MAX_INPUTS];
    union estimator_payload payloads[OTO_ESTIMATOR_MAX_INPUTS];
    struct oto_input_sample samples[OTO_ESTIMATOR_MAX_INPUTS];
    uint32_t count;
};

static inline const struct oto_record_type *estimator_type_with(const char *const *fields)
{
    const struct oto_record_type *const types[] = {&oto_imu_type, &oto_odometry_type, &oto_mag_type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bool all = true;
        for (uint32_t f = 0; fields != NULL && fields[f] != NULL; f++) {
            all = all && oto_record_field(types[i], fields[f]) != NULL;
        }
        if (all) {
            return types[i];
        }
    }
    return NULL;
}

static inline void estimator_bind(const struct oto_estimator_extension *extension, struct estimator_inputs *inputs,
                                  struct oto_setup *setup)
{
    for (uint32_t i = 0; i < extension->input_count; i++) {
        const struct oto_input_port *port = &extension->inputs[i];
        const struct oto_record_type *type = estimator_type_with(port->fields);
        if ((port->flags & OTO_INPUT_OPTIONAL) != 0) {
            continue;
        }
        assert_non_null(type);
        inputs->bindings[inputs->count++] = (struct oto_input_binding){.name = port->name,
                                                                       .type = type,
                                                                       .topic = "world/car/sensor",
                                                                       .frame_id = "sensor",
                                                                       .rate_hz = setup->rate_hz,
                                                                       .q_body_from_sensor = {1, 0, 0, 0}};
    }
    setup->estimator.inputs = inputs->bindings;
    setup->estimator.input_count = inputs->count;
}

/* One sample of each input, of what a sensor is exposed to. */
static inline void estimator_feed(struct estimator_inputs *inputs, const struct oto_sensor_input *input, uint64_t n,
                                  struct oto_instant at, struct oto_estimator_step *step)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        union estimator_payload *payload = &inputs->payloads[i];
        memset(payload, 0, sizeof *payload);
        if (inputs->bindings[i].type == &oto_imu_type) {
            payload->imu.linear_acceleration_m_s2 = input->specific_force_sensor_m_s2;
            payload->imu.angular_velocity_rad_s = input->angular_rate_sensor_rad_s;
        } else if (inputs->bindings[i].type == &oto_odometry_type) {
            payload->odometry.speed_m_s = input->truth.longitudinal_speed_m_s;
        }
        inputs->samples[i] = (struct oto_input_sample){
            .input = i, .seq = n, .t_ns = at.t_ns, .sensor_time_ns = at.t_ns, .payload = payload};
    }
    step->samples = inputs->samples;
    step->sample_count = inputs->count;
}

#endif
