/*
 * The functions of the Functional Mock-up Interface that a co-simulation importer calls, as the standards define them: FMI 2.0.4
 * (sections 2.1 and 4.2) and FMI 3.0 (sections 2.2 and 4.2). Interface facts only. Pure data: any thread.
 */
#ifndef MOTION_FMU_FMI_TYPES_H
#define MOTION_FMU_FMI_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* FMI 2.0.4 section 2.1.3, FMI 3.0 section 2.2.3; the numbers 0 to 4 are the same. */
enum fmi_status { FMI_OK = 0, FMI_WARNING = 1, FMI_DISCARD = 2, FMI_ERROR = 3, FMI_FATAL = 4 };

/* ---- FMI 2.0 ---- */

/* FMI 2.0.4 section 4.2.3. */
enum fmi2_status_kind { FMI2_LAST_SUCCESSFUL_TIME = 2, FMI2_TERMINATED = 3 };
enum { FMI2_CO_SIMULATION = 1 };

/* FMI 2.0.4 section 2.1.5. The importer's functions, and how the FMU allocates. */
typedef void fmi2_logger(void *environment, const char *instance, int status, const char *category, const char *message, ...);
struct fmi2_callbacks {
    fmi2_logger *logger;
    void *(*allocate)(size_t count, size_t bytes);
    void (*release)(void *memory);
    void (*step_finished)(void *environment, int status);
    void *environment;
};

typedef void *fmi2_instantiate(const char *name, int type, const char *guid, const char *resources,
                               const struct fmi2_callbacks *callbacks, int visible, int logging);
typedef void fmi2_free_instance(void *fmu); /* and fmi3FreeInstance */
typedef int fmi2_setup_experiment(void *fmu, int tolerance_defined, double tolerance, double start, int stop_defined, double stop);
typedef int fmi2_mode(void *fmu); /* fmi2EnterInitializationMode, fmi2ExitInitializationMode */
typedef int fmi2_get_real(void *fmu, const unsigned *references, size_t count, double *values);
typedef int fmi2_set_real(void *fmu, const unsigned *references, size_t count, const double *values);
typedef int fmi2_set_integer(void *fmu, const unsigned *references, size_t count, const int *values); /* and fmi2SetBoolean */
typedef int fmi2_do_step(void *fmu, double at, double step, int no_set_state_prior);
typedef int fmi2_get_real_status(void *fmu, int kind, double *value);
typedef int fmi2_get_boolean_status(void *fmu, int kind, int *value);
/* FMI 2.0.4 section 2.1.8. */
typedef int fmi2_get_state(void *fmu, void **state);
typedef int fmi2_set_state(void *fmu, void *state);
typedef int fmi2_state_size(void *fmu, void *state, size_t *bytes);
typedef int fmi2_serialize(void *fmu, void *state, char *bytes, size_t count);
typedef int fmi2_deserialize(void *fmu, const char *bytes, size_t count, void **state);

/* ---- FMI 3.0 ---- */

typedef void fmi3_log(void *environment, int status, const char *category, const char *message);
/* FMI 3.0 section 4.2.1. The last argument, the callback of intermediate updates, is NULL here. */
typedef void *fmi3_instantiate(const char *name, const char *token, const char *resources, bool visible, bool logging,
                               bool event_mode, bool early_return, const uint32_t *intermediate, size_t intermediate_count,
                               void *environment, fmi3_log *log, void *intermediate_update);
typedef int fmi3_enter_initialization(void *fmu, bool tolerance_defined, double tolerance, double start, bool stop_defined,
                                      double stop);
typedef int fmi3_mode(void *fmu); /* exit of the initialization mode, event mode, step mode */
typedef int fmi3_update_discrete(void *fmu, bool *again, bool *terminate, bool *nominals, bool *values, bool *next_defined,
                                 double *next);
typedef int fmi3_get_float64(void *fmu, const uint32_t *references, size_t count, double *values, size_t value_count);
typedef int fmi3_get_float32(void *fmu, const uint32_t *references, size_t count, float *values, size_t value_count);
/* fmi3SetFloat64, fmi3SetFloat32, fmi3SetInt8 … fmi3SetBoolean: `values` points to numbers of that type. */
typedef int fmi3_set(void *fmu, const uint32_t *references, size_t count, const void *values, size_t value_count);
typedef int fmi3_do_step(void *fmu, double at, double step, bool no_set_state_prior, bool *event, bool *terminate, bool *early,
                         double *last);
/* FMI 3.0 section 2.2.6. */
typedef int fmi3_get_state(void *fmu, void **state);
typedef int fmi3_set_state(void *fmu, void *state);
typedef int fmi3_state_size(void *fmu, void *state, size_t *bytes);
typedef int fmi3_serialize(void *fmu, void *state, uint8_t *bytes, size_t count);
typedef int fmi3_deserialize(void *fmu, const uint8_t *bytes, size_t count, void **state);

#endif
