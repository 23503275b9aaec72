/*
 * Estimators: plugins of kind "estimator", whose step gets samples of channels instead of an exposure. The same
 * instance runs as a node of a world and over recorded logs (`otolith estimate`), without a difference.
 *
 * A node names a channel for each input (`inputs: {imu: car/imu, speed: car/odometer}`). In `prepare` an estimator
 * looks up fields by name in the bound channel's record type, so it accepts any plugin's record that has the fields.
 *
 * A step gets every sample that its inputs published since the previous step: in a world those of the ticks up to and
 * including this one, after fault injection, ordered by measurement time, then input, then seq. The work of a step is
 * limited: spread heavy work over steps. All memory of an estimator is in its state, so swap and checkpoint copy it as
 * for sensors.
 */
#ifndef OTOLITH_ESTIMATOR_H
#define OTOLITH_ESTIMATOR_H

#include <string.h>

#include "otolith/motion_model.h"
#include "otolith/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OTO_EXTENSION_ESTIMATOR "otolith.estimator/1"

#define OTO_ESTIMATOR_MAX_INPUTS 32

#define OTO_INPUT_OPTIONAL (1u << 0) /* the world file may omit it */

/* An input of an estimator. */
struct oto_input_port {
    const char *name; /* 1 to 31 characters of [A-Za-z0-9_-] */
    const char *text; /* one line */
    const char *const *fields; /* fields that the channel's record must have ("angular_velocity.x"), NULL-ended; or
                                * NULL */
    uint32_t flags;            /* OTO_INPUT_… */
    uint32_t reserved;
};

#define OTO_ESTIMATOR_OPEN_INPUTS (1u << 0) /* accepts inputs with further names, which its parameters refer to */

struct oto_estimator_extension {
    uint32_t size;
    uint32_t flags; /* OTO_ESTIMATOR_… */
    const struct oto_input_port *inputs;
    uint32_t input_count; /* at most OTO_ESTIMATOR_MAX_INPUTS, including the open inputs that are bound */
    uint32_t reserved;
    /*
     * [loop] Names, units and axes of the filter's states, in the order of its channels (fields `state`, `sigma`,
     * `error`, `rmse`); *count is their number. `data` is the prepared data. May be NULL: states are numbered.
     */
    const struct oto_model_quantity *(*states)(const void *data, uint32_t *count);
};

/*
 * A channel that is bound to an input: setup->estimator.inputs, in the order of the plugin's table, then the open
 * inputs
 */
struct oto_input_binding {
    const char *name; /* name of the input */
    const struct oto_record_type *type;
    const char *topic;    /* topic, or the file of a log */
    const char *frame_id; /* of the channel */
    double rate_hz;       /* nominal; 0: unknown */
    /* The mount of the sensor that publishes the channel; without a sensor, the identity. */
    oto_vec3 mount_position_body_m;
    oto_quat q_body_from_sensor;
};

/* One record of an input. */
struct oto_input_sample {
    uint32_t input; /* index into setup->estimator.inputs */
    uint32_t flags; /* OTO_SAMPLE_… */
    uint64_t seq;
    int64_t t_ns; /* measurement time */
    int64_t sensor_time_ns;
    const void *payload; /* record of the binding's type; valid during the step */
};

/* Finds the binding of an input by name. NULL: no such input is bound. [any] */
static inline const struct oto_input_binding *oto_input_find(const struct oto_setup *setup, const char *name,
                                                             uint32_t *index)
{
    for (uint32_t i = 0; i < setup->estimator.input_count; i++) {
        if (strcmp(setup->estimator.inputs[i].name, name) == 0) {
            *index = i;
            return &setup->estimator.inputs[i];
        }
    }
    return NULL;
}

/* Finds a field of a record by name. NULL: the record has no such field. [any] */
static inline const struct oto_field *oto_record_field(const struct oto_record_type *type, const char *name)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (strcmp(type->fields[i].name, name) == 0) {
            return &type->fields[i];
        }
    }
    return NULL;
}

/* Element `index` of a numeric field as a double; 0 for text. [any] */
static inline double oto_input_number(const struct oto_field *field, uint32_t index, const void *payload)
{
    const unsigned char *at =
        (const unsigned char *)payload + field->offset + (size_t)index * oto_field_type_bytes(field->type);
    union {
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32;
        double f64;
    } number;
    switch (field->type) {
    case OTO_FIELD_U8: return (double)at[0];
    case OTO_FIELD_I8: memcpy(&number.i8, at, sizeof number.i8); return (double)number.i8;
    case OTO_FIELD_U16: memcpy(&number.u16, at, sizeof number.u16); return (double)number.u16;
    case OTO_FIELD_I16: memcpy(&number.i16, at, sizeof number.i16); return (double)number.i16;
    case OTO_FIELD_U32: memcpy(&number.u32, at, sizeof number.u32); return (double)number.u32;
    case OTO_FIELD_I32: memcpy(&number.i32, at, sizeof number.i32); return (double)number.i32;
    case OTO_FIELD_U64: memcpy(&number.u64, at, sizeof number.u64); return (double)number.u64;
    case OTO_FIELD_I64: memcpy(&number.i64, at, sizeof number.i64); return (double)number.i64;
    case OTO_FIELD_F32: memcpy(&number.f32, at, sizeof number.f32); return (double)number.f32;
    case OTO_FIELD_F64: memcpy(&number.f64, at, sizeof number.f64); return (double)number.f64;
    default: return 0.0;
    }
}

#ifdef __cplusplus
}
#endif

#endif
