/*
 * What an importer needs of modelDescription.xml (FMI 2.0.4 section 2.2, FMI 3.0 section 2.4): the identity of the FMU, its
 * capabilities, and the named variables with their units. Pure: bytes in, tables out. [loop]
 */
#ifndef MOTION_FMU_DESCRIPTION_H
#define MOTION_FMU_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"

#define FMU_NAME_BYTES 128
#define FMU_TEXT_BYTES 256
#define FMU_VARIABLES 80 /* most variables that one world asks for */
#define FMU_DIMENSIONS 8

enum fmu_type { FMU_OTHER = 0, FMU_FLOAT64, FMU_FLOAT32, FMU_INT32, FMU_BOOLEAN };

/* A unit as powers of kg, m, s, A, K, mol, cd and rad: base = factor * value + offset. */
struct fmu_unit {
    char name[64];
    int8_t powers[FMU_DIMENSIONS];
    double factor, offset;
    bool has_base; /* the FMU gives the base unit */
};

/* A variable: the caller fills in `name`, reading the description the rest. */
struct fmu_variable {
    char name[FMU_NAME_BYTES];
    bool is_found, is_array, is_settable;
    uint32_t reference;
    enum fmu_type type;
    char declared_type[FMU_NAME_BYTES];
    char unit_name[64]; /* "": none */
    struct fmu_unit unit;
    bool has_unit; /* `unit` is that of `unit_name` */
};

struct fmu_description {
    int version; /* 2 or 3 */
    bool is_co_simulation;
    char token[FMU_TEXT_BYTES];      /* guid or instantiationToken */
    char identifier[FMU_NAME_BYTES]; /* modelIdentifier: name of the binary */
    bool saves_state, has_event_mode;
    double fixed_step_s;             /* 0: any */
    uint32_t count;
    struct fmu_variable variables[FMU_VARIABLES];
};

/* Fills in identity, capabilities and the named variables. Errors name `path`, line and column. */
enum oto_status fmu_description_read(const char *path, const char *xml, size_t bytes, struct fmu_description *description,
                                     struct oto_error *error);

#endif
