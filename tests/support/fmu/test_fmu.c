/*
 * An FMU for tests, of FMI 2.0 or 3.0 (FMI_VERSION): a point on a circle, and on demand everything that an importer must survive. The
 * parameter `mode` says what happens, `when_s` from which time on.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define TOKEN "{otolith-test-fmu}"
#define PART_S 0.0004 /* mode DISCARD: the longest step that succeeds */

enum { OK = 0, DISCARD = 2, ERROR = 3 };
enum mode { NORMAL = 0, DISCARDS = 1, CRASHES = 2, FAILS = 3, ENDS = 4, RETURNS_EARLY = 5, HANGS = 6, NOT_FINITE = 7 };
enum reference { X = 1, Y_KM, YAW_DEG, VX, VY, RADIUS, RATE, WHEN, MODE, MASS, PUSH, GEAR, VECTOR, OFFSETS };

struct model {
    double t_s, radius_m, rate_rad_s, when_s;
    double push_m;     /* an input that is added to x */
    double offsets[6]; /* FMI 3.0: two rows of three, an input array of which the second row is added to the vector */
    int32_t mode;
    int32_t gear;      /* a discrete input that is added to y, in metres */
    int32_t event_due; /* 1: the importer has to enter event mode before the next step */
    int32_t in_events; /* FMI 3.0: event mode */
    uint64_t events;
};

static struct model *make(const char *token)
{
    struct model *model = strcmp(token, TOKEN) == 0 ? calloc(1, sizeof *model) : NULL;
    if (model != NULL) {
        model->radius_m = 10.0;
        model->rate_rad_s = 0.5;
        model->when_s = 0.1;
    }
    return model;
}

static double get(const struct model *model, unsigned reference)
{
    const double angle = model->rate_rad_s * model->t_s;
    const double speed = model->radius_m * model->rate_rad_s;
    switch (reference) {
    case X:
        return model->mode == NOT_FINITE && model->t_s > model->when_s ? NAN : model->radius_m * cos(angle) + model->push_m;
    case Y_KM:
        return (model->radius_m * sin(angle) + model->gear) / 1000.0;
    case YAW_DEG:
        return 90.0 + angle * 57.295779513082323;
    case VX:
        return -speed * sin(angle);
    case VY:
        return speed * cos(angle);
    case RADIUS:
        return model->radius_m;
    default:
        return 0.0;
    }
}

static bool set(struct model *model, unsigned reference, double value)
{
    double *const places[] = {[RADIUS] = &model->radius_m, [RATE] = &model->rate_rad_s, [WHEN] = &model->when_s,
                              [PUSH] = &model->push_m};
    if ((reference < RADIUS || reference > WHEN) && reference != PUSH) {
        return false;
    }
    *places[reference] = value;
    return true;
}

static bool set_whole(struct model *model, unsigned reference, int32_t value)
{
    model->mode = reference == MODE ? value : model->mode;
    model->gear = reference == GEAR ? value : model->gear;
    return reference == MODE || reference == GEAR;
}

/* What happens in a step that ends after when_s, other than that it succeeds. */
static void misbehave(const struct model *model, double end_s)
{
    if (model->mode == CRASHES && end_s > model->when_s) {
        volatile int *volatile nowhere = NULL;
        *nowhere = 1;
    }
    while (model->mode == HANGS && end_s > model->when_s) {
    }
}

#if FMI_VERSION == 2
struct callbacks {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *step_finished, *environment;
};

EXPORT void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const struct callbacks *callbacks,
                             int visible, int logging);
EXPORT void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const struct callbacks *callbacks,
                             int visible, int logging)
{
    (void)type, (void)visible, (void)logging;
    struct model *model = strncmp(resources, "file:///", 8) == 0 ? make(guid) : NULL;
    if (model == NULL) {
        callbacks->logger(callbacks->environment, name, ERROR, "error", "wrong guid %s", guid);
    }
    return model;
}

#define MODE_FUNCTION(name) \
    EXPORT int name(void *model); \
    EXPORT int name(void *model) { return model != NULL ? OK : ERROR; }
MODE_FUNCTION(fmi2EnterInitializationMode)
MODE_FUNCTION(fmi2ExitInitializationMode)

EXPORT int fmi2SetupExperiment(void *model, int tolerance_defined, double tolerance, double start, int stop_defined, double stop);
EXPORT int fmi2SetupExperiment(void *model, int tolerance_defined, double tolerance, double start, int stop_defined, double stop)
{
    (void)model, (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    return start == 0.0 ? OK : ERROR;
}

EXPORT int fmi2GetReal(void *model, const unsigned *references, size_t count, double *values);
EXPORT int fmi2GetReal(void *model, const unsigned *references, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = get(model, references[i]);
    }
    return OK;
}

EXPORT int fmi2SetReal(void *model, const unsigned *references, size_t count, const double *values);
EXPORT int fmi2SetReal(void *model, const unsigned *references, size_t count, const double *values)
{
    return count == 1 && set(model, references[0], values[0]) ? OK : ERROR;
}

EXPORT int fmi2SetInteger(void *model, const unsigned *references, size_t count, const int *values);
EXPORT int fmi2SetInteger(void *model, const unsigned *references, size_t count, const int *values)
{
    return count == 1 && set_whole(model, references[0], values[0]) ? OK : ERROR;
}

EXPORT int fmi2SetBoolean(void *model, const unsigned *references, size_t count, const int *values);
EXPORT int fmi2SetBoolean(void *model, const unsigned *references, size_t count, const int *values)
{
    (void)model, (void)references, (void)count, (void)values;
    return ERROR;
}

EXPORT int fmi2DoStep(void *instance, double at, double step, int no_set_state_prior);
EXPORT int fmi2DoStep(void *instance, double at, double step, int no_set_state_prior)
{
    struct model *model = instance;
    (void)no_set_state_prior;
    misbehave(model, at + step);
    if (fabs(at - model->t_s) > 1e-9 || (model->mode == FAILS && at + step > model->when_s)) {
        return ERROR;
    }
    const bool discards = (model->mode == DISCARDS && step > PART_S) || (model->mode == ENDS && at + step > model->when_s);
    model->t_s = !discards ? at + step : model->mode == DISCARDS ? at + PART_S : model->t_s;
    return discards ? DISCARD : OK;
}

EXPORT int fmi2GetRealStatus(void *instance, int kind, double *value);
EXPORT int fmi2GetRealStatus(void *instance, int kind, double *value)
{
    *value = ((struct model *)instance)->t_s;
    return kind == 2 ? OK : ERROR;
}

EXPORT int fmi2GetBooleanStatus(void *instance, int kind, int *value);
EXPORT int fmi2GetBooleanStatus(void *instance, int kind, int *value)
{
    *value = ((struct model *)instance)->mode == ENDS;
    return kind == 3 ? OK : ERROR;
}
#define FREE_INSTANCE fmi2FreeInstance
#define GET_STATE fmi2GetFMUstate
#define SET_STATE fmi2SetFMUstate
#define FREE_STATE fmi2FreeFMUstate
#define STATE_SIZE fmi2SerializedFMUstateSize
#define SERIALIZE fmi2SerializeFMUstate
#define DESERIALIZE fmi2DeSerializeFMUstate
#else
EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                         bool event_mode, bool early_return, const uint32_t *intermediate, size_t intermediate_count,
                                         void *environment, void (*log)(void *, int, const char *, const char *), void *update);
EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                         bool event_mode, bool early_return, const uint32_t *intermediate, size_t intermediate_count,
                                         void *environment, void (*log)(void *, int, const char *, const char *), void *update)
{
    (void)name, (void)visible, (void)logging, (void)intermediate, (void)intermediate_count, (void)update;
    struct model *model = event_mode && early_return && resources[0] == '/' ? make(token) : NULL;
    if (model == NULL) {
        log(environment, ERROR, "error", "wrong instantiation token");
    }
    return model;
}

#define MODE_FUNCTION(name) \
    EXPORT int name(void *model); \
    EXPORT int name(void *model) { return model != NULL ? OK : ERROR; }
MODE_FUNCTION(fmi3ExitInitializationMode)

EXPORT int fmi3EnterEventMode(struct model *model);
EXPORT int fmi3EnterEventMode(struct model *model)
{
    model->in_events = 1;
    return OK;
}

EXPORT int fmi3EnterStepMode(struct model *model);
EXPORT int fmi3EnterStepMode(struct model *model)
{
    model->in_events = 0;
    return OK;
}

EXPORT int fmi3EnterInitializationMode(void *model, bool tolerance_defined, double tolerance, double start, bool stop_defined, double stop);
EXPORT int fmi3EnterInitializationMode(void *model, bool tolerance_defined, double tolerance, double start, bool stop_defined, double stop)
{
    (void)model, (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    return start == 0.0 ? OK : ERROR;
}

/* An event needs two updates. */
EXPORT int fmi3UpdateDiscreteStates(void *instance, bool *again, bool *terminate, bool *nominals, bool *values, bool *next_defined,
                                    double *next);
EXPORT int fmi3UpdateDiscreteStates(void *instance, bool *again, bool *terminate, bool *nominals, bool *values, bool *next_defined,
                                    double *next)
{
    struct model *model = instance;
    *terminate = *nominals = *values = *next_defined = false;
    *next = 0.0;
    *again = ++model->events % 2 == 1;
    model->event_due = 0;
    return OK;
}

static void get_vector(const struct model *model, double values[3])
{
    for (size_t i = 0; i < 3; i++) {
        values[i] = (double)(i + 1) + model->offsets[3 + i];
    }
}

EXPORT int fmi3GetFloat64(void *model, const uint32_t *references, size_t count, double *values, size_t value_count);
EXPORT int fmi3GetFloat64(void *model, const uint32_t *references, size_t count, double *values, size_t value_count)
{
    if (count == 1 && references[0] == VECTOR) {
        return value_count == 3 ? (get_vector(model, values), OK) : ERROR;
    }
    for (size_t i = 0; i < count && i < value_count; i++) {
        values[i] = get(model, references[i]);
    }
    return count == value_count ? OK : ERROR;
}

EXPORT int fmi3GetFloat32(void *model, const uint32_t *references, size_t count, float *values, size_t value_count);
EXPORT int fmi3GetFloat32(void *model, const uint32_t *references, size_t count, float *values, size_t value_count)
{
    for (size_t i = 0; i < count && i < value_count; i++) {
        values[i] = (float)get(model, references[i]);
    }
    return OK;
}

EXPORT int fmi3SetFloat64(void *model, const uint32_t *references, size_t count, const double *values, size_t value_count);
EXPORT int fmi3SetFloat64(void *model, const uint32_t *references, size_t count, const double *values, size_t value_count)
{
    if (count == 1 && value_count == 6 && references[0] == OFFSETS) {
        memcpy(((struct model *)model)->offsets, values, 6 * sizeof *values);
        return OK;
    }
    return count == 1 && value_count == 1 && set(model, references[0], values[0]) ? OK : ERROR;
}

EXPORT int fmi3SetFloat32(void *model, const uint32_t *references, size_t count, const float *values, size_t value_count);
EXPORT int fmi3SetFloat32(void *model, const uint32_t *references, size_t count, const float *values, size_t value_count)
{
    (void)model, (void)references, (void)count, (void)values, (void)value_count;
    return ERROR;
}

EXPORT int fmi3SetInt32(void *model, const uint32_t *references, size_t count, const int32_t *values, size_t value_count);
EXPORT int fmi3SetInt32(void *model, const uint32_t *references, size_t count, const int32_t *values, size_t value_count)
{
    struct model *car = model;
    const bool is_allowed = references[0] != GEAR || car->t_s == 0.0 || car->in_events != 0; /* discrete: in event mode only */
    return is_allowed && count == 1 && value_count == 1 && set_whole(car, references[0], values[0]) ? OK : ERROR;
}

#define NO_SUCH_VARIABLE(name) \
    EXPORT int name(void); \
    EXPORT int name(void) { return ERROR; }
NO_SUCH_VARIABLE(fmi3SetInt8)
NO_SUCH_VARIABLE(fmi3SetUInt8)
NO_SUCH_VARIABLE(fmi3SetInt16)
NO_SUCH_VARIABLE(fmi3SetUInt16)
NO_SUCH_VARIABLE(fmi3SetUInt32)
NO_SUCH_VARIABLE(fmi3SetInt64)
NO_SUCH_VARIABLE(fmi3SetUInt64)

EXPORT int fmi3SetBoolean(void *model, const uint32_t *references, size_t count, const bool *values, size_t value_count);
EXPORT int fmi3SetBoolean(void *model, const uint32_t *references, size_t count, const bool *values, size_t value_count)
{
    (void)model, (void)references, (void)count, (void)values, (void)value_count;
    return ERROR;
}

EXPORT int fmi3DoStep(void *instance, double at, double step, bool no_set_state_prior, bool *event, bool *terminate, bool *early,
                      double *last);
EXPORT int fmi3DoStep(void *instance, double at, double step, bool no_set_state_prior, bool *event, bool *terminate, bool *early,
                      double *last)
{
    struct model *model = instance;
    (void)no_set_state_prior;
    misbehave(model, at + step);
    *terminate = model->mode == ENDS && at + step > model->when_s;
    if (fabs(at - model->t_s) > 1e-9 || (model->mode == FAILS && at + step > model->when_s) || model->event_due != 0) {
        return ERROR;
    }
    if (model->mode == DISCARDS && step > PART_S) {
        return DISCARD;
    }
    *early = model->mode == RETURNS_EARLY && step > PART_S;
    model->event_due = *early;
    *event = *early;
    *last = model->t_s = *early ? at + step / 2.0 : at + step;
    return OK;
}
#define FREE_INSTANCE fmi3FreeInstance
#define GET_STATE fmi3GetFMUState
#define SET_STATE fmi3SetFMUState
#define FREE_STATE fmi3FreeFMUState
#define STATE_SIZE fmi3SerializedFMUStateSize
#define SERIALIZE fmi3SerializeFMUState
#define DESERIALIZE fmi3DeserializeFMUState
#endif

EXPORT void FREE_INSTANCE(void *model);
EXPORT void FREE_INSTANCE(void *model)
{
    free(model);
}

/* ---- state ---- */

EXPORT int GET_STATE(void *model, void **state);
EXPORT int GET_STATE(void *model, void **state)
{
    *state = malloc(sizeof(struct model));
    return *state != NULL ? memcpy(*state, model, sizeof(struct model)), OK : ERROR;
}

EXPORT int SET_STATE(void *model, void *state);
EXPORT int SET_STATE(void *model, void *state)
{
    memcpy(model, state, sizeof(struct model));
    return OK;
}

EXPORT int FREE_STATE(void *model, void **state);
EXPORT int FREE_STATE(void *model, void **state)
{
    (void)model;
    free(*state);
    *state = NULL;
    return OK;
}

EXPORT int STATE_SIZE(void *model, void *state, size_t *bytes);
EXPORT int STATE_SIZE(void *model, void *state, size_t *bytes)
{
    (void)model, (void)state;
    *bytes = sizeof(struct model);
    return OK;
}

EXPORT int SERIALIZE(void *model, void *state, unsigned char *bytes, size_t count);
EXPORT int SERIALIZE(void *model, void *state, unsigned char *bytes, size_t count)
{
    (void)model;
    memcpy(bytes, state, count);
    return OK;
}

EXPORT int DESERIALIZE(void *model, const unsigned char *bytes, size_t count, void **state);
EXPORT int DESERIALIZE(void *model, const unsigned char *bytes, size_t count, void **state)
{
    const int status = GET_STATE(model, state);
    if (status == OK && count == sizeof(struct model)) {
        memcpy(*state, bytes, count);
    }
    return status;
}
