/*
 * The example of an FMU that moves a vehicle (FMI 3.0, co-simulation): a kinematic bicycle with two inputs, and its
 * vectors as arrays. Written against the standard alone, as a tool's FMU would be: nothing of otolith's simulator is in
 * it.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unsupported.h"

#define TOKEN "{0f6f1a8e-6f0e-4c3c-9a52-8d0c5a1b7e11}" /* of modelDescription.xml */
#define LONGEST_STEP_S 0.001                           /* of the integration */
#define RAD_PER_DEG 0.017453292519943295

enum { OK = 0, ERROR = 3 };

/* The value references of modelDescription.xml. */
enum reference {
    TIME = 0,
    ACCELERATION,
    STEERING_DEG,
    WHEELBASE,
    START_SPEED,
    DRAG,
    POSITION,
    VELOCITY,
    HEADING_DEG,
    YAW_RATE,
    SPEED
};

typedef void log_message(void *environment, int status, const char *category, const char *message);

struct car {
    double t_s;
    double acceleration_m_s2, steering_deg;          /* inputs */
    double wheelbase_m, start_speed_m_s, drag_per_s; /* parameters */
    double x_m, y_m, heading_rad, speed_m_s;         /* state */
};

static const struct car at_start = {.wheelbase_m = 2.7, .start_speed_m_s = 8.0, .drag_per_s = 0.1};

/* ---- instance ---- */

FMU_EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                             bool logging, bool event_mode, bool early_return,
                                             const uint32_t *intermediate, size_t intermediate_count, void *environment,
                                             log_message *log, void *update);
FMU_EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                             bool logging, bool event_mode, bool early_return,
                                             const uint32_t *intermediate, size_t intermediate_count, void *environment,
                                             log_message *log, void *update)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)event_mode, (void)early_return;
    (void)intermediate, (void)intermediate_count, (void)update;
    struct car *car = token != NULL && strcmp(token, TOKEN) == 0 ? malloc(sizeof *car) : NULL;
    if (car != NULL) {
        *car = at_start;
    } else if (log != NULL) {
        log(environment, ERROR, "logStatusError", "the instantiationToken is not that of this FMU");
    }
    return car;
}

FMU_EXPORT void fmi3FreeInstance(struct car *car);
FMU_EXPORT void fmi3FreeInstance(struct car *car)
{
    free(car);
}

FMU_EXPORT int fmi3Reset(struct car *car);
FMU_EXPORT int fmi3Reset(struct car *car)
{
    *car = at_start;
    return OK;
}

FMU_EXPORT int fmi3ExitInitializationMode(struct car *car);
FMU_EXPORT int fmi3ExitInitializationMode(struct car *car)
{
    car->speed_m_s = car->start_speed_m_s;
    return OK;
}

/* ---- variables ---- */

static double yaw_rate_rad_s(const struct car *car)
{
    return car->speed_m_s * tan(car->steering_deg * RAD_PER_DEG) / car->wheelbase_m;
}

/* Writes the numbers of a variable to `values`. Returns their count; 0: no such variable. */
static size_t get(const struct car *car, uint32_t reference, double values[3])
{
    const double speed_m_s = car->speed_m_s, heading_rad = car->heading_rad;
    const double numbers[] = {[TIME] = car->t_s,
                              [ACCELERATION] = car->acceleration_m_s2,
                              [STEERING_DEG] = car->steering_deg,
                              [WHEELBASE] = car->wheelbase_m,
                              [START_SPEED] = car->start_speed_m_s,
                              [DRAG] = car->drag_per_s,
                              [HEADING_DEG] = heading_rad / RAD_PER_DEG,
                              [YAW_RATE] = yaw_rate_rad_s(car),
                              [SPEED] = speed_m_s};
    const double position_m[3] = {car->x_m, car->y_m, 0.0};
    const double velocity_m_s[3] = {speed_m_s * cos(heading_rad), speed_m_s * sin(heading_rad), 0.0};
    const bool is_vector = reference == POSITION || reference == VELOCITY;
    if (is_vector) {
        memcpy(values, reference == POSITION ? position_m : velocity_m_s, sizeof position_m);
    } else if (reference <= SPEED) {
        values[0] = numbers[reference];
    }
    return is_vector ? 3 : reference <= SPEED;
}

FMU_EXPORT int fmi3GetFloat64(struct car *car, const uint32_t *references, size_t count, double *values,
                              size_t value_count);
FMU_EXPORT int fmi3GetFloat64(struct car *car, const uint32_t *references, size_t count, double *values,
                              size_t value_count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        double numbers[3];
        const size_t got = get(car, references[i], numbers);
        if (got == 0 || used + got > value_count) {
            return ERROR;
        }
        memcpy(values + used, numbers, got * sizeof *numbers);
        used += got;
    }
    return used == value_count ? OK : ERROR;
}

FMU_EXPORT int fmi3SetFloat64(struct car *car, const uint32_t *references, size_t count, const double *values,
                              size_t value_count);
FMU_EXPORT int fmi3SetFloat64(struct car *car, const uint32_t *references, size_t count, const double *values,
                              size_t value_count)
{
    double *const places[] = {[ACCELERATION] = &car->acceleration_m_s2,
                              [STEERING_DEG] = &car->steering_deg,
                              [WHEELBASE] = &car->wheelbase_m,
                              [START_SPEED] = &car->start_speed_m_s,
                              [DRAG] = &car->drag_per_s};
    for (size_t i = 0; i < count; i++) {
        const bool is_known = references[i] >= ACCELERATION && references[i] <= DRAG && count == value_count;
        if (!is_known || (references[i] == WHEELBASE && !(values[i] > 0.0)) ||
            (references[i] == STEERING_DEG && !(fabs(values[i]) < 80.0))) {
            return ERROR;
        }
        *places[references[i]] = values[i];
    }
    return OK;
}

/* ---- steps ---- */

/* One step of the midpoint method. */
static void advance(struct car *car, double step_s)
{
    struct car middle = *car;
    middle.speed_m_s += 0.5 * step_s * (car->acceleration_m_s2 - car->drag_per_s * car->speed_m_s);
    middle.heading_rad += 0.5 * step_s * yaw_rate_rad_s(car);
    car->speed_m_s += step_s * (car->acceleration_m_s2 - car->drag_per_s * middle.speed_m_s);
    car->heading_rad += step_s * yaw_rate_rad_s(&middle);
    car->x_m += step_s * middle.speed_m_s * cos(middle.heading_rad);
    car->y_m += step_s * middle.speed_m_s * sin(middle.heading_rad);
}

FMU_EXPORT int fmi3DoStep(struct car *car, double at, double step, bool no_set_state_prior, bool *event,
                          bool *terminate, bool *early, double *last);
FMU_EXPORT int fmi3DoStep(struct car *car, double at, double step, bool no_set_state_prior, bool *event,
                          bool *terminate, bool *early, double *last)
{
    (void)no_set_state_prior;
    *event = *terminate = *early = false;
    *last = at;
    if (!(step > 0.0) || fabs(at - car->t_s) > 1e-9 * (1.0 + fabs(at))) {
        return ERROR;
    }
    const double parts = ceil(step / LONGEST_STEP_S - 1e-9);
    for (double part = 0.0; part < parts; part++) {
        advance(car, step / parts);
    }
    *last = car->t_s = at + step;
    return OK;
}

/* ---- state ---- */

FMU_EXPORT int fmi3GetFMUState(const struct car *car, struct car **state);
FMU_EXPORT int fmi3GetFMUState(const struct car *car, struct car **state)
{
    *state = *state != NULL ? *state : malloc(sizeof **state);
    if (*state != NULL) {
        **state = *car;
    }
    return *state != NULL ? OK : ERROR;
}

FMU_EXPORT int fmi3SetFMUState(struct car *car, const struct car *state);
FMU_EXPORT int fmi3SetFMUState(struct car *car, const struct car *state)
{
    *car = *state;
    return OK;
}

FMU_EXPORT int fmi3FreeFMUState(struct car *car, struct car **state);
FMU_EXPORT int fmi3FreeFMUState(struct car *car, struct car **state)
{
    (void)car;
    free(*state);
    *state = NULL;
    return OK;
}

FMU_EXPORT int fmi3SerializedFMUStateSize(struct car *car, const struct car *state, size_t *bytes);
FMU_EXPORT int fmi3SerializedFMUStateSize(struct car *car, const struct car *state, size_t *bytes)
{
    (void)car;
    *bytes = sizeof *state;
    return OK;
}

FMU_EXPORT int fmi3SerializeFMUState(struct car *car, const struct car *state, unsigned char *bytes, size_t count);
FMU_EXPORT int fmi3SerializeFMUState(struct car *car, const struct car *state, unsigned char *bytes, size_t count)
{
    (void)car;
    if (count < sizeof *state) {
        return ERROR;
    }
    memcpy(bytes, state, sizeof *state);
    return OK;
}

FMU_EXPORT int fmi3DeserializeFMUState(struct car *car, const unsigned char *bytes, size_t count, struct car **state);
FMU_EXPORT int fmi3DeserializeFMUState(struct car *car, const unsigned char *bytes, size_t count, struct car **state)
{
    if (count != sizeof **state || fmi3GetFMUState(car, state) != OK) {
        return ERROR;
    }
    memcpy(*state, bytes, count);
    return OK;
}

/* ---- the rest of the standard ---- */

FMU_FUNCTION(const char *, fmi3GetVersion, "3.0")
FMU_FUNCTION(int, fmi3SetDebugLogging, OK)
FMU_FUNCTION(int, fmi3EnterInitializationMode, OK)
FMU_FUNCTION(int, fmi3Terminate, OK)
FMU_UNSUPPORTED(fmi3GetInt64)
