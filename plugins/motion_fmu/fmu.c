#include "fmu.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive.h"
#include "fmi_types.h"
#include "otolith/detmath.h"

#define SHORTEST_STEP 1e-6 /* of the step that was asked for */
#define MOST_PARTS 100000u /* of one step */

#if defined(__x86_64__)
#define FMI2_PLATFORM "linux64"
#define FMI3_PLATFORM "x86_64-linux"
#else
#define FMI2_PLATFORM "aarch64-linux"
#define FMI3_PLATFORM "aarch64-linux"
#endif

/* The members of each struct are the functions of its table, in the same order. */
struct fmi2_functions {
    fmi2_instantiate *instantiate;
    fmi2_free_instance *free_instance;
    fmi2_setup_experiment *setup_experiment;
    fmi2_mode *enter_initialization, *exit_initialization;
    fmi2_get_real *get_real;
    fmi2_set_real *set_real;
    fmi2_set_integer *set_integer, *set_boolean;
    fmi2_do_step *do_step;
    fmi2_get_real_status *get_real_status;
    fmi2_get_boolean_status *get_boolean_status;
    fmi2_get_state *get_state;
    fmi2_set_state *set_state;
    fmi2_get_state *free_state; /* frees what the pointer points to */
    fmi2_state_size *state_size;
    fmi2_serialize *serialize;
    fmi2_deserialize *deserialize;
};

struct fmi3_functions {
    fmi3_instantiate *instantiate;
    fmi2_free_instance *free_instance;
    fmi3_enter_initialization *enter_initialization;
    fmi3_mode *exit_initialization, *enter_event_mode, *enter_step_mode;
    fmi3_update_discrete *update_discrete;
    fmi3_get_float64 *get_float64;
    fmi3_get_float32 *get_float32;
    fmi3_set *set[FMU_TYPES - 1]; /* without FMU_OTHER */
    fmi3_do_step *do_step;
    fmi3_get_state *get_state;
    fmi3_set_state *set_state;
    fmi3_get_state *free_state;
    fmi3_state_size *state_size;
    fmi3_serialize *serialize;
    fmi3_deserialize *deserialize;
};

struct fmu_functions {
    union {
        struct fmi2_functions two;
        struct fmi3_functions three;
        void *all[sizeof(struct fmi3_functions) / sizeof(void *)];
    };
    struct fmi2_callbacks callbacks; /* an FMU of version 2 keeps their address */
};

static const char *const fmi2_names[] = {
    "fmi2Instantiate", "fmi2FreeInstance", "fmi2SetupExperiment", "fmi2EnterInitializationMode", "fmi2ExitInitializationMode", "fmi2GetReal",
    "fmi2SetReal", "fmi2SetInteger", "fmi2SetBoolean", "fmi2DoStep", "fmi2GetRealStatus", "fmi2GetBooleanStatus",
    "fmi2GetFMUstate", "fmi2SetFMUstate", "fmi2FreeFMUstate", "fmi2SerializedFMUstateSize", "fmi2SerializeFMUstate",
    "fmi2DeSerializeFMUstate"};
static const char *const fmi3_names[] = {
    "fmi3InstantiateCoSimulation", "fmi3FreeInstance", "fmi3EnterInitializationMode", "fmi3ExitInitializationMode", "fmi3EnterEventMode",
    "fmi3EnterStepMode", "fmi3UpdateDiscreteStates", "fmi3GetFloat64", "fmi3GetFloat32", "fmi3SetFloat64", "fmi3SetFloat32",
    "fmi3SetInt8", "fmi3SetUInt8", "fmi3SetInt16", "fmi3SetUInt16", "fmi3SetInt32", "fmi3SetUInt32", "fmi3SetInt64",
    "fmi3SetUInt64", "fmi3SetBoolean", "fmi3DoStep", "fmi3GetFMUState", "fmi3SetFMUState", "fmi3FreeFMUState",
    "fmi3SerializedFMUStateSize", "fmi3SerializeFMUState", "fmi3DeserializeFMUState"};

_Static_assert(sizeof fmi2_names / sizeof *fmi2_names == sizeof(struct fmi2_functions) / sizeof(void *), "a name for each function");
_Static_assert(sizeof fmi3_names / sizeof *fmi3_names == sizeof(struct fmi3_functions) / sizeof(void *), "a name for each function");

static bool is_good(int status)
{
    return status == FMI_OK || status == FMI_WARNING;
}

/* ---- opening ---- */

static enum oto_status find_functions(struct fmu *fmu, struct oto_error *error)
{
    const bool two = fmu->description.version == 2;
    const char *const *names = two ? fmi2_names : fmi3_names;
    const size_t count = two ? sizeof fmi2_names / sizeof *fmi2_names : sizeof fmi3_names / sizeof *fmi3_names;
    fmu->functions = calloc(1, sizeof *fmu->functions);
    if (fmu->functions == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the functions of '%.200s'", fmu->path);
    }
    void **functions = fmu->functions->all;
    for (size_t i = 0; i < count; i++) {
        functions[i] = dlsym(fmu->library, names[i]);
        if (functions[i] == NULL) {
            return oto_fail(error, OTO_INVALID, "%.200s: its binary does not export %s, which FMI requires", fmu->path, names[i]);
        }
    }
    return OTO_OK;
}

static enum oto_status load_binary(struct fmu *fmu, const char *binary, struct oto_error *error)
{
    char path[2 * FMU_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", fmu->directory, binary);
    fmu->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fmu->library == NULL) {
        const char *text = dlerror();
        const char *reason = text != NULL ? strstr(text, ": ") : NULL;
        return oto_fail(error, OTO_INVALID, "%.200s: its binary cannot be loaded: %.250s", fmu->path,
                        reason != NULL ? reason + 2 : "no reason given");
    }
    return find_functions(fmu, error);
}

static enum oto_status read_archive(struct fmu *fmu, struct zip *archive, char *binary, size_t binary_bytes, struct oto_error *error)
{
    char *xml = NULL;
    size_t bytes = 0;
    enum oto_status status = fmu_archive_description(archive, fmu->path, &xml, &bytes, error);
    if (status == OTO_OK) {
        status = fmu_description_read(fmu->path, xml, bytes, &fmu->description, error);
    }
    free(xml);
    if (status != OTO_OK) {
        return status;
    }
    if (strchr(fmu->description.identifier, '/') != NULL) {
        return oto_fail(error, OTO_INVALID, "%.200s: the modelIdentifier '%.100s' is no name of a C function's prefix", fmu->path,
                        fmu->description.identifier);
    }
    const char *platform = fmu->description.version == 2 ? FMI2_PLATFORM : FMI3_PLATFORM;
    (void)snprintf(binary, binary_bytes, "binaries/%s/%s.so", platform, fmu->description.identifier);
    return fmu_archive_unpack(archive, fmu->path, platform, binary, fmu->directory, error);
}

enum oto_status fmu_open(struct fmu *fmu, const char *path, const char *directory, struct oto_error *error)
{
    struct zip *archive = NULL;
    char binary[FMU_NAME_BYTES + 64], resources[FMU_PATH_BYTES + 16];
    if ((size_t)snprintf(fmu->path, sizeof fmu->path, "%s", path) >= sizeof fmu->path ||
        (size_t)snprintf(fmu->directory, sizeof fmu->directory, "%s", directory) >= sizeof fmu->directory) {
        return oto_fail(error, OTO_LIMIT, "the path '%.200s…' is too long", path);
    }
    enum oto_status status = fmu_archive_open(path, &archive, error);
    if (status == OTO_OK) {
        status = read_archive(fmu, archive, binary, sizeof binary, error);
    }
    fmu_archive_close(archive);
    (void)snprintf(resources, sizeof resources, "%s/resources", fmu->directory);
    (void)mkdir(resources, 0700); /* it may be there already; an FMU without resources gets an empty directory */
    return status == OTO_OK ? load_binary(fmu, binary, error) : status;
}

void fmu_close(struct fmu *fmu)
{
    if (fmu->instance != NULL) {
        (fmu->description.version == 2 ? fmu->functions->two.free_instance : fmu->functions->three.free_instance)(fmu->instance);
    }
    fmu->instance = NULL;
    if (fmu->library != NULL) {
        (void)dlclose(fmu->library);
    }
    free(fmu->functions);
    fmu_description_free(&fmu->description);
    fmu->library = NULL;
    fmu->functions = NULL;
}

/* ---- messages of the FMU ---- */

static void keep_message(struct fmu *fmu, int status, const char *message)
{
    if (fmu != NULL && message != NULL && !is_good(status)) {
        (void)snprintf(fmu->said, sizeof fmu->said, "%s", message);
    }
}

static void log_two(void *environment, const char *instance, int status, const char *category, const char *message, ...)
{
    char text[200] = "";
    va_list arguments;
    (void)instance;
    (void)category;
    va_start(arguments, message);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format is the FMU's, as the standard has it */
    (void)vsnprintf(text, sizeof text, message != NULL ? message : "", arguments);
#pragma GCC diagnostic pop
    va_end(arguments);
    keep_message(environment, status, text);
}

static void log_three(void *environment, int status, const char *category, const char *message)
{
    (void)category;
    keep_message(environment, status, message);
}

static enum oto_status fail_as_said(const struct fmu *fmu, const char *what, struct oto_error *error)
{
    return oto_fail(error, OTO_INVALID, "%.150s: %s%s%.150s", fmu->path, what, fmu->said[0] != '\0' ? ": " : "", fmu->said);
}

/* ---- start ---- */

static void *instantiate2(struct fmu *fmu, const char *name)
{
    char resources[FMU_PATH_BYTES + 32];
    fmu->functions->callbacks = (struct fmi2_callbacks){log_two, calloc, free, NULL, fmu};
    (void)snprintf(resources, sizeof resources, "file://%s/resources", fmu->directory);
    return fmu->functions->two.instantiate(name, FMI2_CO_SIMULATION, fmu->description.token, resources,
                                           &fmu->functions->callbacks, 0, 0);
}

static void *instantiate3(struct fmu *fmu, const char *name)
{
    char resources[FMU_PATH_BYTES + 32];
    (void)snprintf(resources, sizeof resources, "%s/resources/", fmu->directory);
    return fmu->functions->three.instantiate(name, fmu->description.token, resources, false, false, fmu->description.has_event_mode,
                                             true, NULL, 0, fmu, log_three, NULL);
}

enum oto_status fmu_instantiate(struct fmu *fmu, const char *name, struct oto_error *error)
{
    fmu->instance = fmu->description.version == 2 ? instantiate2(fmu, name) : instantiate3(fmu, name);
    return fmu->instance != NULL
               ? OTO_OK
               : fail_as_said(fmu, "the FMU refuses to start with the guid (instantiationToken) of its own description", error);
}

static bool initialize2(struct fmu *fmu)
{
    const struct fmi2_functions *call = &fmu->functions->two;
    return is_good(call->setup_experiment(fmu->instance, 0, 0.0, 0.0, 0, 0.0)) &&
           is_good(call->enter_initialization(fmu->instance)) && is_good(call->exit_initialization(fmu->instance));
}

/* In event mode: updates the discrete states until they are stable, then returns to step mode. */
static bool handle_events(struct fmu *fmu, bool *ended)
{
    const struct fmi3_functions *call = &fmu->functions->three;
    bool again = true, nominals, values, defined;
    double next;
    for (uint32_t i = 0; again && !*ended; i++) {
        again = false;
        if (i == MOST_PARTS ||
            !is_good(call->update_discrete(fmu->instance, &again, ended, &nominals, &values, &defined, &next))) {
            return false;
        }
    }
    return *ended || is_good(call->enter_step_mode(fmu->instance));
}

static bool initialize3(struct fmu *fmu)
{
    const struct fmi3_functions *call = &fmu->functions->three;
    bool ended = false;
    return is_good(call->enter_initialization(fmu->instance, false, 0.0, 0.0, false, 0.0)) &&
           is_good(call->exit_initialization(fmu->instance)) &&
           (!fmu->description.has_event_mode || (handle_events(fmu, &ended) && !ended));
}

enum oto_status fmu_initialize(struct fmu *fmu, struct oto_error *error)
{
    const bool done = fmu->description.version == 2 ? initialize2(fmu) : initialize3(fmu);
    return done ? OTO_OK : fail_as_said(fmu, "the FMU fails in its initialization", error);
}

/* ---- steps ---- */

/* One call of doStep. *last: where it ended. *refused: it ended there or did nothing, and a shorter step may be tried. */
static enum fmu_result step2(struct fmu *fmu, double at_s, double step_s, double *last_s, bool *refused)
{
    const struct fmi2_functions *call = &fmu->functions->two;
    int ended = 0;
    const int status = call->do_step(fmu->instance, at_s, step_s, 1);
    *refused = status == FMI_DISCARD;
    *last_s = at_s + step_s;
    if (status == FMI_DISCARD) {
        if (!is_good(call->get_real_status(fmu->instance, FMI2_LAST_SUCCESSFUL_TIME, last_s))) {
            *last_s = at_s;
        }
        (void)call->get_boolean_status(fmu->instance, FMI2_TERMINATED, &ended);
    }
    return ended != 0 ? FMU_ENDED : is_good(status) || *refused ? FMU_DONE : FMU_FAILED;
}

static enum fmu_result step3(struct fmu *fmu, double at_s, double step_s, double *last_s, bool *refused)
{
    const struct fmi3_functions *call = &fmu->functions->three;
    bool event = false, ended = false, early = false;
    *last_s = at_s;
    const int status = call->do_step(fmu->instance, at_s, step_s, true, &event, &ended, &early, last_s);
    *refused = status == FMI_DISCARD;
    if (*refused) {
        *last_s = at_s; /* FMI 3.0 section 2.2.3: as if the function had not been called */
        return FMU_DONE;
    }
    if (!is_good(status)) {
        return FMU_FAILED;
    }
    *last_s = early ? *last_s : at_s + step_s;
    if (!ended && event && fmu->description.has_event_mode &&
        (!is_good(call->enter_event_mode(fmu->instance)) || !handle_events(fmu, &ended))) {
        return FMU_FAILED;
    }
    return ended ? FMU_ENDED : FMU_DONE;
}

enum fmu_result fmu_step(struct fmu *fmu, double at_s, double step_s)
{
    const double end_s = at_s + step_s;
    double part_s = step_s;
    for (uint32_t parts = 0; parts < MOST_PARTS && end_s - at_s > SHORTEST_STEP * step_s && part_s > SHORTEST_STEP * step_s; parts++) {
        bool refused = false;
        double last_s = at_s;
        const double left_s = end_s - at_s;
        const double now_s = part_s < left_s ? part_s : left_s;
        const enum fmu_result result = fmu->description.version == 2 ? step2(fmu, at_s, now_s, &last_s, &refused)
                                                                     : step3(fmu, at_s, now_s, &last_s, &refused);
        if (result != FMU_DONE) {
            return result;
        }
        part_s = refused && !(last_s > at_s) ? now_s / 2.0 : part_s;
        at_s = last_s > at_s ? last_s : at_s;
    }
    return end_s - at_s <= SHORTEST_STEP * step_s ? FMU_DONE : FMU_FAILED;
}

/* ---- variables ---- */

double fmu_nearest(const struct fmu_variable *variable, double value)
{
    static const double most = 9007199254740992.0; /* 2^53: of larger numbers a double holds not every one */
    static const struct {
        double low, high;
    } ranges[FMU_TYPES] = {[FMU_INT8] = {INT8_MIN, INT8_MAX},     [FMU_UINT8] = {0.0, UINT8_MAX},   [FMU_INT16] = {INT16_MIN, INT16_MAX},
                           [FMU_UINT16] = {0.0, UINT16_MAX},      [FMU_INT32] = {INT32_MIN, INT32_MAX}, [FMU_UINT32] = {0.0, UINT32_MAX},
                           [FMU_INT64] = {-most, most},           [FMU_UINT64] = {0.0, most}};
    if (variable->type == FMU_FLOAT64 || variable->type == FMU_FLOAT32) {
        return value;
    }
    if (variable->type == FMU_BOOLEAN) {
        return value != 0.0;
    }
    const double low = ranges[variable->type].low, high = ranges[variable->type].high;
    return value < low ? low : value > high ? high : oto_round_half_away(value);
}

static bool write2(struct fmu *fmu, const struct fmu_variable *variable, double value)
{
    const struct fmi2_functions *call = &fmu->functions->two;
    const int whole = variable->type == FMU_FLOAT64 ? 0 : (int)value;
    switch (variable->type) {
    case FMU_FLOAT64:
        return is_good(call->set_real(fmu->instance, &variable->reference, 1, &value));
    case FMU_INT32:
        return is_good(call->set_integer(fmu->instance, &variable->reference, 1, &whole));
    case FMU_BOOLEAN:
        return is_good(call->set_boolean(fmu->instance, &variable->reference, 1, &whole));
    default:
        return false;
    }
}

static bool write3(struct fmu *fmu, const struct fmu_variable *variable, double value)
{
    fmi3_set *set = variable->type != FMU_OTHER ? fmu->functions->three.set[variable->type - 1] : NULL;
    union {
        double float64;
        float float32;
        int8_t int8;
        uint8_t uint8;
        int16_t int16;
        uint16_t uint16;
        int32_t int32;
        uint32_t uint32;
        int64_t int64;
        uint64_t uint64;
        bool boolean;
    } number = {.float64 = value};
    switch (variable->type) {
    case FMU_FLOAT32: number.float32 = (float)value; break;
    case FMU_INT8: number.int8 = (int8_t)value; break;
    case FMU_UINT8: number.uint8 = (uint8_t)value; break;
    case FMU_INT16: number.int16 = (int16_t)value; break;
    case FMU_UINT16: number.uint16 = (uint16_t)value; break;
    case FMU_INT32: number.int32 = (int32_t)value; break;
    case FMU_UINT32: number.uint32 = (uint32_t)value; break;
    case FMU_INT64: number.int64 = (int64_t)value; break;
    case FMU_UINT64: number.uint64 = (uint64_t)value; break;
    case FMU_BOOLEAN: number.boolean = value != 0.0; break;
    default: break;
    }
    return set != NULL && is_good(set(fmu->instance, &variable->reference, 1, &number, 1));
}

static void narrow(const double *from, float *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = (float)from[i];
    }
}

/* FMI sets an array as a whole. */
static bool write_array(struct fmu *fmu, const struct fmu_variable *variable)
{
    float narrowed[FMU_ELEMENTS];
    const bool is_narrow = variable->type == FMU_FLOAT32;
    if (is_narrow) {
        narrow(variable->values, narrowed, variable->elements);
    }
    return is_good(fmu->functions->three.set[variable->type - 1](fmu->instance, &variable->reference, 1,
                                                                 is_narrow ? (const void *)narrowed : variable->values, variable->elements));
}

bool fmu_write(struct fmu *fmu, const struct fmu_variable *variable, double value)
{
    if (variable->rank > 0) {
        variable->values[variable->element] = value;
        return write_array(fmu, variable);
    }
    const double nearest = fmu_nearest(variable, value);
    if (oto_fabs(value - nearest) > 0.5) {
        return false;
    }
    return fmu->description.version == 2 ? write2(fmu, variable, nearest) : write3(fmu, variable, nearest);
}

enum fmu_result fmu_write_inputs(struct fmu *fmu, const struct fmu_input *inputs, uint32_t count)
{
    const struct fmi3_functions *call = &fmu->functions->three;
    bool is_event = false, ended = false, written = true;
    for (uint32_t i = 0; i < count; i++) {
        is_event = is_event || (fmu->description.has_event_mode && inputs[i].variable->is_discrete);
    }
    if (is_event && !is_good(call->enter_event_mode(fmu->instance))) {
        return FMU_FAILED;
    }
    for (uint32_t i = 0; written && i < count; i++) {
        written = fmu_write(fmu, inputs[i].variable, fmu_nearest(inputs[i].variable, inputs[i].value));
    }
    if (!written || (is_event && !handle_events(fmu, &ended))) {
        return FMU_FAILED;
    }
    return ended ? FMU_ENDED : FMU_DONE;
}

static bool read_array(struct fmu *fmu, const struct fmu_variable *variable, double *value)
{
    const struct fmi3_functions *call = &fmu->functions->three;
    double wide[FMU_ELEMENTS];
    float narrowed[FMU_ELEMENTS];
    if (variable->type == FMU_FLOAT64) {
        const bool read = is_good(call->get_float64(fmu->instance, &variable->reference, 1, wide, variable->elements));
        *value = read ? wide[variable->element] : 0.0;
        return read;
    }
    const bool read = is_good(call->get_float32(fmu->instance, &variable->reference, 1, narrowed, variable->elements));
    *value = read ? narrowed[variable->element] : 0.0;
    return read;
}

bool fmu_read(struct fmu *fmu, const struct fmu_variable *variable, double *value)
{
    float single = 0.0f;
    if (fmu->description.version == 2) {
        return is_good(fmu->functions->two.get_real(fmu->instance, &variable->reference, 1, value));
    }
    if (variable->rank > 0) {
        return read_array(fmu, variable, value);
    }
    if (variable->type == FMU_FLOAT64) {
        return is_good(fmu->functions->three.get_float64(fmu->instance, &variable->reference, 1, value, 1));
    }
    const bool read = is_good(fmu->functions->three.get_float32(fmu->instance, &variable->reference, 1, &single, 1));
    *value = single;
    return read;
}

/* ---- state ---- */

static size_t save2(struct fmu *fmu, char *bytes, size_t capacity)
{
    const struct fmi2_functions *call = &fmu->functions->two;
    void *state = NULL;
    size_t count = 0;
    if (!is_good(call->get_state(fmu->instance, &state))) {
        return 0;
    }
    const bool known = is_good(call->state_size(fmu->instance, state, &count));
    const bool saved = known && (count > capacity || is_good(call->serialize(fmu->instance, state, bytes, count)));
    (void)call->free_state(fmu->instance, &state);
    return saved ? count : 0;
}

static size_t save3(struct fmu *fmu, uint8_t *bytes, size_t capacity)
{
    const struct fmi3_functions *call = &fmu->functions->three;
    void *state = NULL;
    size_t count = 0;
    if (!is_good(call->get_state(fmu->instance, &state))) {
        return 0;
    }
    const bool known = is_good(call->state_size(fmu->instance, state, &count));
    const bool saved = known && (count > capacity || is_good(call->serialize(fmu->instance, state, bytes, count)));
    (void)call->free_state(fmu->instance, &state);
    return saved ? count : 0;
}

size_t fmu_save(struct fmu *fmu, void *bytes, size_t capacity)
{
    if (!fmu->description.saves_state) {
        return 0;
    }
    return fmu->description.version == 2 ? save2(fmu, bytes, capacity) : save3(fmu, bytes, capacity);
}

bool fmu_restore(struct fmu *fmu, const void *bytes, size_t count)
{
    const struct fmi2_functions *two = &fmu->functions->two;
    const struct fmi3_functions *three = &fmu->functions->three;
    void *state = NULL;
    bool done;
    if (fmu->description.version == 2) {
        done = is_good(two->deserialize(fmu->instance, bytes, count, &state)) && is_good(two->set_state(fmu->instance, state));
        (void)two->free_state(fmu->instance, &state);
    } else {
        done = is_good(three->deserialize(fmu->instance, bytes, count, &state)) && is_good(three->set_state(fmu->instance, state));
        (void)three->free_state(fmu->instance, &state);
    }
    return done;
}
