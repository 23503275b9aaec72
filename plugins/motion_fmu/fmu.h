/*
 * One running FMU for co-simulation, FMI 2.0 or 3.0: opened from its zip file, initialised, stepped, read, saved and restored.
 * The FMU is code of others: it belongs in a plugin host. One thread at a time.
 */
#ifndef MOTION_FMU_FMU_H
#define MOTION_FMU_FMU_H

#include "description.h"

#define FMU_PATH_BYTES 1024

/* The FMU's functions in one of the two versions of the standard. */
struct fmu_functions;

struct fmu {
    char path[FMU_PATH_BYTES];      /* of the zip file, for messages */
    char directory[FMU_PATH_BYTES]; /* where it is unpacked */
    struct fmu_description description;
    void *library;
    struct fmu_functions *functions;
    void *instance;
    char said[200]; /* the newest warning or error of the FMU */
};

struct fmu_input {
    const struct fmu_variable *variable;
    double value;
};

/* Where a step ended. */
enum fmu_result {
    FMU_DONE = 0,
    FMU_FAILED, /* error, or no progress after the step was made shorter */
    FMU_ENDED   /* the FMU asked to end the simulation */
};

/*
 * Opens the FMU at `path`, reads the variables that fmu->description names, unpacks it into `directory` and loads its binary.
 * On failure and in the end: fmu_close.
 */
enum oto_status fmu_open(struct fmu *fmu, const char *path, const char *directory, struct oto_error *error);
/* Makes the instance; start values may then be set. */
enum oto_status fmu_instantiate(struct fmu *fmu, const char *name, struct oto_error *error);
/* The nearest value that the variable's type holds. */
double fmu_nearest(const struct fmu_variable *variable, double value);
/* Sets one variable, in the variable's own unit and rounded to its type. False: the FMU refuses it, or the type does not hold it. */
bool fmu_write(struct fmu *fmu, const struct fmu_variable *variable, double value);
/* Initialises at time zero. */
enum oto_status fmu_initialize(struct fmu *fmu, struct oto_error *error);
/* Advances from at_s by step_s, in as many steps as the FMU needs. */
enum fmu_result fmu_step(struct fmu *fmu, double at_s, double step_s);
/* Sets inputs between two steps, each to the nearest value that its type holds; discrete ones in event mode where the FMU has it. */
enum fmu_result fmu_write_inputs(struct fmu *fmu, const struct fmu_input *inputs, uint32_t count);
/* Reads one variable of a floating-point type, in the variable's own unit. */
bool fmu_read(struct fmu *fmu, const struct fmu_variable *variable, double *value);
/* Writes the FMU's state into `bytes`. Returns its size, also if that is more than `capacity`; 0: it cannot be saved. */
size_t fmu_save(struct fmu *fmu, void *bytes, size_t capacity);
bool fmu_restore(struct fmu *fmu, const void *bytes, size_t count);
/* Frees the instance, unloads the binary and frees what was allocated; the directory is left. Zeroed memory is allowed. */
void fmu_close(struct fmu *fmu);

#endif
