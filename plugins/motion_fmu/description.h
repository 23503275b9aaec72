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
#define FMU_VARIABLES 96 /* most variables that one world asks for */
#define FMU_RANK 4       /* most dimensions of an array */
#define FMU_ELEMENTS 4096u /* most elements of an array */
#define FMU_DIMENSIONS 8

/* The types of FMI 3.0; those of FMI 2.0 (Real, Integer, Boolean, Enumeration) are FLOAT64, INT32, BOOLEAN and INT32. */
enum fmu_type {
    FMU_OTHER = 0,
    FMU_FLOAT64,
    FMU_FLOAT32,
    FMU_INT8,
    FMU_UINT8,
    FMU_INT16,
    FMU_UINT16,
    FMU_INT32,
    FMU_UINT32,
    FMU_INT64,
    FMU_UINT64,
    FMU_BOOLEAN,
    FMU_TYPES
};

/* A unit as powers of kg, m, s, A, K, mol, cd and rad: base = factor * value + offset. */
struct fmu_unit {
    char name[64];
    int8_t powers[FMU_DIMENSIONS];
    double factor, offset;
    bool has_base; /* the FMU gives the base unit */
};

/*
 * A variable, or one element of an array as in "position[3]" or "inertia[1,2]", from 1: the caller fills in `name`, reading the
 * description the rest.
 */
struct fmu_variable {
    char name[FMU_NAME_BYTES];
    bool is_found, is_settable, is_input;
    bool is_discrete; /* FMI 3.0: an FMU with event mode accepts it in event mode only */
    uint32_t reference;
    uint32_t rank;    /* dimensions of the array; 0: none */
    uint32_t dimensions[FMU_RANK];
    bool is_element;  /* the name has indices behind the array's name */
    uint32_t elements, element; /* of the array, in all, and the one that is named: elements if there is no such one */
    double *values;   /* of all elements: the start values, then what was written; shared by the elements of one array */
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
    double *array_values; /* memory of variables[].values */
};

/* Fills in identity, capabilities and the named variables. Errors name `path`, line and column. In the end: fmu_description_free. */
enum oto_status fmu_description_read(const char *path, const char *xml, size_t bytes, struct fmu_description *description,
                                     struct oto_error *error);
void fmu_description_free(struct fmu_description *description); /* zeroed memory is allowed */

#endif
