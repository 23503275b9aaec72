/*
 * The numbers of an exported sensor FMU: its value references and what they mean. `otolith export fmu` writes them into
 * modelDescription.xml, and the FMU's binary answers to them. Pure data: any thread.
 */
#ifndef CLIENTS_FMU_MODEL_H
#define CLIENTS_FMU_MODEL_H

#include <stdint.h>

#include "otolith/channel.h"

#define FMU_WORLD_FILE "world.yaml" /* in resources/ */
#define FMU_PLUGIN_FILE "sensor.so" /* in resources/ */
#define FMU_PARTICIPANT "fmu"       /* gives the truth of the world's vehicle */

enum fmu_reference {
    FMU_TIME = 0,
    FMU_INPUTS = 1,  /* the inputs, in the order of FMU_INPUT_TABLE */
    FMU_SEQ = 100,   /* of the newest sample; 0: there is none yet */
    FMU_SAMPLE_NS,   /* its time */
    FMU_SENSOR_NS,   /* the sensor's own clock */
    FMU_FLAGS,       /* its flags */
    FMU_FIELDS = 200 /* the elements of its record's fields, in order */
};

/* X(name, unit, start, text): truth of the vehicle, in the order of the first members of struct oto_truth_record. */
/* clang-format off */
#define FMU_INPUT_TABLE(X) \
    X("position_x", "m", 0, "east, at the end of the step") X("position_y", "m", 0, "north") X("position_z", "m", 0, "up") \
    X("velocity_x", "m/s", 0, "east") X("velocity_y", "m/s", 0, "north") X("velocity_z", "m/s", 0, "up") \
    X("accel_x", "m/s^2", 0, "coordinate acceleration east") X("accel_y", "m/s^2", 0, "north") X("accel_z", "m/s^2", 0, "up") \
    X("q_w", "1", 1, "attitude: takes body axes (forward, left, up) to ENU") X("q_x", "1", 0, "attitude") X("q_y", "1", 0, "attitude") \
    X("q_z", "1", 0, "attitude") \
    X("angular_rate_x", "rad/s", 0, "about body x") X("angular_rate_y", "rad/s", 0, "about body y") \
    X("angular_rate_z", "rad/s", 0, "about body z") \
    X("angular_accel_x", "rad/s^2", 0, "about body x") X("angular_accel_y", "rad/s^2", 0, "about body y") \
    X("angular_accel_z", "rad/s^2", 0, "about body z")
/* clang-format on */
enum { FMU_INPUT_COUNT = 19 };

/* One element of a record's field. */
struct fmu_element {
    const struct oto_field *field;
    uint32_t index;  /* in the field */
    uint32_t offset; /* in the record */
};

static inline uint32_t fmu_field_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {[OTO_FIELD_U8] = 1,  [OTO_FIELD_I8] = 1,  [OTO_FIELD_U16] = 2, [OTO_FIELD_I16] = 2,
                                    [OTO_FIELD_U32] = 4, [OTO_FIELD_I32] = 4, [OTO_FIELD_U64] = 8, [OTO_FIELD_I64] = 8,
                                    [OTO_FIELD_F32] = 4, [OTO_FIELD_F64] = 8, [OTO_FIELD_TEXT] = 0};
    return type < sizeof bytes ? bytes[type] : 0;
}

/* Element `number` of a record, texts left out. Returns 0 beyond the last. */
static inline int fmu_element_at(const struct oto_record_type *type, uint32_t number, struct fmu_element *element)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        const uint32_t bytes = fmu_field_bytes(field->type);
        if (bytes != 0 && number < field->count) {
            element->field = field;
            element->index = number;
            element->offset = field->offset + number * bytes;
            return 1;
        }
        number -= bytes != 0 ? field->count : 0;
    }
    return 0;
}

static inline int fmu_is_float(const struct oto_field *field)
{
    return field->type == OTO_FIELD_F64 || field->type == OTO_FIELD_F32;
}

#endif
