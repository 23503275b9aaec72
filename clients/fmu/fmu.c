/*
 * The binary of an exported sensor FMU (FMI 3.0, co-simulation): a world with one vehicle, whose truth the importer gives, and one
 * sensor. The declarations are those of the standard's sections 2.2 and 4.2, without its names for numbers.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu_model.h"
#include "otolith/mailbox.h"
#include "otolith/sim.h"
#include "unsupported.h"

#define PATH_BYTES 4096
#define STEP_TOLERANCE 1e-6 /* of a tick */

enum { OK = 0, ERROR = 3 };

typedef void log_message(void *environment, int status, const char *category, const char *message);

/* What a state has besides the world's checkpoint. */
struct values {
    double inputs[FMU_INPUT_COUNT];
    struct oto_sample_head head; /* of the newest sample */
    unsigned char record[OTO_RECORD_MAX_BYTES];
};

struct fmu {
    struct oto_sim *sim;
    struct oto_sim_channel sensor;
    char vehicle[64];
    double tick_s;
    struct values values;
    log_message *log;
    void *environment;
    char world[PATH_BYTES], plugin[PATH_BYTES];
};

struct state {
    struct values values;
    void *checkpoint;
    size_t bytes;
};

static const double input_starts[FMU_INPUT_COUNT] = {
#define START(name, unit, start, text) start,
    FMU_INPUT_TABLE(START)
#undef START
};

static int fail(const struct fmu *fmu, const char *sentence)
{
    if (fmu->log != NULL) {
        fmu->log(fmu->environment, ERROR, "logStatusError", sentence);
    }
    return ERROR;
}

/* ---- instance ---- */

/* The sensor is the first channel of the node that is not the vehicle's motion. */
static bool find_sensor(struct fmu *fmu)
{
    for (uint32_t i = 0; i < oto_sim_channel_count(fmu->sim); i++) {
        struct oto_sim_channel channel;
        if (oto_sim_channel_at(fmu->sim, i, &channel, NULL) != OTO_OK) {
            return false;
        }
        const char *vehicle = strchr(channel.node, '/');
        const char *node = vehicle != NULL ? strchr(vehicle + 1, '/') : NULL;
        if (node != NULL && strcmp(node, "/motion") != 0) {
            fmu->sensor = channel;
            (void)snprintf(fmu->vehicle, sizeof fmu->vehicle, "%.*s", (int)(node - vehicle - 1), vehicle + 1);
            return true;
        }
    }
    return false;
}

static bool open_world(struct fmu *fmu)
{
    struct oto_error error = {0};
    char plugin[PATH_BYTES + 64];
    const char *const overrides[] = {plugin};
    (void)snprintf(plugin, sizeof plugin, "vehicles.0.nodes.0.plugin=%s", fmu->plugin);
    const struct oto_sim_options options = {.size = sizeof options, .path = fmu->world, .overrides = overrides, .override_count = 1};
    if (oto_sim_open(&options, &fmu->sim, &error) != OTO_OK) {
        (void)fail(fmu, error.text);
        return false;
    }
    memset(&fmu->values, 0, sizeof fmu->values);
    memcpy(fmu->values.inputs, input_starts, sizeof input_starts);
    return find_sensor(fmu);
}

FMU_EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                         bool event_mode, bool early_return, const uint32_t *intermediate, size_t intermediate_count,
                                         void *environment, log_message *log, void *update);
FMU_EXPORT void fmi3FreeInstance(struct fmu *fmu);

/* The token is compared with the file resources/token, which the export wrote beside the world. */
static bool is_token(const char *resources, const char *token)
{
    char path[PATH_BYTES], text[128] = "";
    (void)snprintf(path, sizeof path, "%s/token", resources);
    FILE *file = fopen(path, "rbe");
    const bool read = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return read && token != NULL && strcmp(text, token) == 0;
}

FMU_EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                         bool event_mode, bool early_return, const uint32_t *intermediate, size_t intermediate_count,
                                         void *environment, log_message *log, void *update)
{
    struct fmu *fmu = calloc(1, sizeof *fmu);
    (void)name, (void)visible, (void)logging, (void)event_mode, (void)early_return;
    (void)intermediate, (void)intermediate_count, (void)update;
    if (fmu == NULL || resources == NULL) {
        free(fmu);
        return NULL;
    }
    fmu->log = log;
    fmu->environment = environment;
    (void)snprintf(fmu->world, sizeof fmu->world, "%s/%s", resources, FMU_WORLD_FILE);
    (void)snprintf(fmu->plugin, sizeof fmu->plugin, "%s/%s", resources, FMU_PLUGIN_FILE);
    if (!is_token(resources, token)) {
        (void)fail(fmu, "the instantiationToken is not that of this FMU");
        fmi3FreeInstance(fmu);
        return NULL;
    }
    if (!open_world(fmu)) {
        fmi3FreeInstance(fmu);
        return NULL;
    }
    struct oto_sim_channel motion;
    char topic[80];
    (void)snprintf(topic, sizeof topic, "%s/motion", fmu->vehicle);
    if (oto_sim_channel(fmu->sim, topic, &motion, NULL) == OTO_OK && motion.rate_num > 0) {
        fmu->tick_s = (double)motion.rate_den / (double)motion.rate_num;
    }
    return fmu;
}

FMU_EXPORT void fmi3FreeInstance(struct fmu *fmu)
{
    if (fmu != NULL) {
        oto_sim_close(fmu->sim);
        free(fmu);
    }
}

FMU_EXPORT int fmi3Reset(struct fmu *fmu);
FMU_EXPORT int fmi3Reset(struct fmu *fmu)
{
    oto_sim_close(fmu->sim);
    fmu->sim = NULL;
    return open_world(fmu) ? OK : ERROR;
}

/* ---- variables ---- */

FMU_EXPORT int fmi3GetFloat64(struct fmu *fmu, const uint32_t *references, size_t count, double *values, size_t value_count);
FMU_EXPORT int fmi3SetFloat64(struct fmu *fmu, const uint32_t *references, size_t count, const double *values, size_t value_count);
FMU_EXPORT int fmi3GetInt64(struct fmu *fmu, const uint32_t *references, size_t count, int64_t *values, size_t value_count);

static bool get_float(const struct fmu *fmu, uint32_t reference, double *value)
{
    struct fmu_element element;
    float narrow;
    if (reference == FMU_TIME) {
        *value = (double)oto_sim_time_ns(fmu->sim) * 1e-9;
        return true;
    }
    if (reference >= FMU_INPUTS && reference < FMU_INPUTS + FMU_INPUT_COUNT) {
        *value = fmu->values.inputs[reference - FMU_INPUTS];
        return true;
    }
    if (reference < FMU_FIELDS || !fmu_element_at(fmu->sensor.type, reference - FMU_FIELDS, &element) || !fmu_is_float(element.field)) {
        return false;
    }
    if (element.field->type == OTO_FIELD_F64) {
        memcpy(value, fmu->values.record + element.offset, sizeof *value);
    } else {
        memcpy(&narrow, fmu->values.record + element.offset, sizeof narrow);
        *value = narrow;
    }
    return true;
}

static int64_t whole_at(const unsigned char *place, uint32_t type)
{
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    memcpy(&i8, place, sizeof i8);
    memcpy(&i16, place, fmu_field_bytes(type) >= 2 ? sizeof i16 : 1);
    memcpy(&i32, place, fmu_field_bytes(type) >= 4 ? sizeof i32 : 1);
    memcpy(&i64, place, fmu_field_bytes(type) >= 8 ? sizeof i64 : 1);
    switch (type) {
    case OTO_FIELD_U8:
        return (uint8_t)i8;
    case OTO_FIELD_I8:
        return i8;
    case OTO_FIELD_U16:
        return (uint16_t)i16;
    case OTO_FIELD_I16:
        return i16;
    case OTO_FIELD_U32:
        return (uint32_t)i32;
    case OTO_FIELD_I32:
        return i32;
    default:
        return i64;
    }
}

static bool get_whole(const struct fmu *fmu, uint32_t reference, int64_t *value)
{
    struct fmu_element element;
    switch (reference) {
    case FMU_SEQ:
        *value = (int64_t)fmu->values.head.seq;
        return true;
    case FMU_SAMPLE_NS:
        *value = fmu->values.head.t_ns;
        return true;
    case FMU_SENSOR_NS:
        *value = fmu->values.head.sensor_time_ns;
        return true;
    case FMU_FLAGS:
        *value = fmu->values.head.flags;
        return true;
    default:
        if (reference < FMU_FIELDS || !fmu_element_at(fmu->sensor.type, reference - FMU_FIELDS, &element) || fmu_is_float(element.field)) {
            return false;
        }
        *value = whole_at(fmu->values.record + element.offset, element.field->type);
        return true;
    }
}

FMU_EXPORT int fmi3GetFloat64(struct fmu *fmu, const uint32_t *references, size_t count, double *values, size_t value_count)
{
    bool known = count == value_count;
    for (size_t i = 0; known && i < count; i++) {
        known = get_float(fmu, references[i], &values[i]);
    }
    return known ? OK : fail(fmu, "fmi3GetFloat64: a value reference is unknown, or of another type");
}

FMU_EXPORT int fmi3GetInt64(struct fmu *fmu, const uint32_t *references, size_t count, int64_t *values, size_t value_count)
{
    bool known = count == value_count;
    for (size_t i = 0; known && i < count; i++) {
        known = get_whole(fmu, references[i], &values[i]);
    }
    return known ? OK : fail(fmu, "fmi3GetInt64: a value reference is unknown, or of another type");
}

FMU_EXPORT int fmi3SetFloat64(struct fmu *fmu, const uint32_t *references, size_t count, const double *values, size_t value_count)
{
    for (size_t i = 0; i < count; i++) {
        if (count != value_count || references[i] < FMU_INPUTS || references[i] >= FMU_INPUTS + FMU_INPUT_COUNT) {
            return fail(fmu, "fmi3SetFloat64: a value reference is not an input");
        }
        fmu->values.inputs[references[i] - FMU_INPUTS] = values[i];
    }
    return OK;
}

/* ---- steps ---- */

static void make_truth(const double *in, struct oto_truth_record *truth)
{
    *truth = (struct oto_truth_record){.position_enu_m = oto_vec3_make(in[0], in[1], in[2]),
                                       .velocity_enu_m_s = oto_vec3_make(in[3], in[4], in[5]),
                                       .accel_enu_m_s2 = oto_vec3_make(in[6], in[7], in[8]),
                                       .q_enu_from_body = oto_quat_make(in[9], in[10], in[11], in[12]),
                                       .angular_rate_body_rad_s = oto_vec3_make(in[13], in[14], in[15]),
                                       .angular_accel_body_rad_s2 = oto_vec3_make(in[16], in[17], in[18])};
}

FMU_EXPORT int fmi3DoStep(struct fmu *fmu, double at, double step, bool no_set_state_prior, bool *event, bool *terminate, bool *early,
                      double *last);
FMU_EXPORT int fmi3DoStep(struct fmu *fmu, double at, double step, bool no_set_state_prior, bool *event, bool *terminate, bool *early,
                      double *last)
{
    struct oto_truth_record truth;
    struct oto_error error = {0};
    const double ticks = floor(step / fmu->tick_s + 0.5);
    const uint32_t flags = OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL | (oto_sim_tick(fmu->sim) > 0 ? OTO_TRUTH_CONTINUES : 0);
    (void)at, (void)no_set_state_prior;
    *event = *terminate = *early = false;
    *last = (double)oto_sim_time_ns(fmu->sim) * 1e-9;
    if (!(ticks >= 1.0 && ticks < 1e9) || fabs(step / fmu->tick_s - ticks) > STEP_TOLERANCE) {
        return fail(fmu, "fmi3DoStep: the step is no multiple of fixedInternalStepSize");
    }
    make_truth(fmu->values.inputs, &truth);
    if (oto_sim_drive(fmu->sim, fmu->vehicle, &truth, flags, (uint64_t)ticks, &error) != OTO_OK ||
        oto_sim_step(fmu->sim, (uint64_t)ticks, &error) != OTO_OK) {
        return fail(fmu, error.text);
    }
    (void)oto_sim_latest(fmu->sim, fmu->sensor.index, &fmu->values.head, fmu->values.record, NULL);
    *last = (double)oto_sim_time_ns(fmu->sim) * 1e-9;
    return OK;
}

/* ---- state ---- */

FMU_EXPORT int fmi3FreeFMUState(struct fmu *fmu, struct state **state);
FMU_EXPORT int fmi3FreeFMUState(struct fmu *fmu, struct state **state)
{
    (void)fmu;
    if (state != NULL && *state != NULL) {
        free((*state)->checkpoint);
        free(*state);
        *state = NULL;
    }
    return OK;
}

FMU_EXPORT int fmi3GetFMUState(struct fmu *fmu, struct state **state);
FMU_EXPORT int fmi3GetFMUState(struct fmu *fmu, struct state **state)
{
    struct oto_error error = {0};
    struct state *made = calloc(1, sizeof *made);
    if (made == NULL || oto_sim_save(fmu->sim, &made->checkpoint, &made->bytes, &error) != OTO_OK) {
        free(made);
        return fail(fmu, error.text);
    }
    made->values = fmu->values;
    (void)fmi3FreeFMUState(fmu, state);
    *state = made;
    return OK;
}

FMU_EXPORT int fmi3SetFMUState(struct fmu *fmu, const struct state *state);
FMU_EXPORT int fmi3SetFMUState(struct fmu *fmu, const struct state *state)
{
    struct oto_error error = {0};
    if (oto_sim_restore(fmu->sim, state->checkpoint, state->bytes, &error) != OTO_OK) {
        return fail(fmu, error.text);
    }
    fmu->values = state->values;
    return OK;
}

FMU_EXPORT int fmi3SerializedFMUStateSize(struct fmu *fmu, const struct state *state, size_t *bytes);
FMU_EXPORT int fmi3SerializedFMUStateSize(struct fmu *fmu, const struct state *state, size_t *bytes)
{
    (void)fmu;
    *bytes = sizeof state->values + state->bytes;
    return OK;
}

FMU_EXPORT int fmi3SerializeFMUState(struct fmu *fmu, const struct state *state, unsigned char *bytes, size_t count);
FMU_EXPORT int fmi3SerializeFMUState(struct fmu *fmu, const struct state *state, unsigned char *bytes, size_t count)
{
    if (count < sizeof state->values + state->bytes) {
        return fail(fmu, "fmi3SerializeFMUState: fewer bytes than fmi3SerializedFMUStateSize");
    }
    memcpy(bytes, &state->values, sizeof state->values);
    memcpy(bytes + sizeof state->values, state->checkpoint, state->bytes);
    return OK;
}

FMU_EXPORT int fmi3DeserializeFMUState(struct fmu *fmu, const unsigned char *bytes, size_t count, struct state **state);
FMU_EXPORT int fmi3DeserializeFMUState(struct fmu *fmu, const unsigned char *bytes, size_t count, struct state **state)
{
    struct state *made = calloc(1, sizeof *made);
    if (made == NULL || count <= sizeof made->values || (made->checkpoint = malloc(count - sizeof made->values)) == NULL) {
        free(made);
        return fail(fmu, "fmi3DeserializeFMUState: the bytes are not those of a state of this FMU");
    }
    made->bytes = count - sizeof made->values;
    memcpy(&made->values, bytes, sizeof made->values);
    memcpy(made->checkpoint, bytes + sizeof made->values, made->bytes);
    (void)fmi3FreeFMUState(fmu, state);
    *state = made;
    return OK;
}

/* ---- the rest of the standard ---- */

FMU_EXPORT const char *fmi3GetVersion(void);
FMU_EXPORT const char *fmi3GetVersion(void)
{
    return "3.0";
}

/* The FMU does the same in every mode, so these functions do nothing. */
FMU_FUNCTION(int, fmi3SetDebugLogging, OK)
FMU_FUNCTION(int, fmi3EnterInitializationMode, OK)
FMU_FUNCTION(int, fmi3ExitInitializationMode, OK)
FMU_FUNCTION(int, fmi3Terminate, OK)
