/* Units as printed in data sheets, and the quantities that the terms of a part accept. Pure. */
#ifndef PARTS_UNITS_H
#define PARTS_UNITS_H

#include <stddef.h>

#include "parts/library.h"

/* Kinds of numbers. One bit each, so that a term can accept several. */
enum part_quantity {
    PART_PLAIN = 1 << 0,         /* in the triad's unit */
    PART_DENSITY = 1 << 1,       /* unit/√Hz */
    PART_INTEGRATED = 1 << 2,    /* °/√h or m/s/√h, Allan's N */
    PART_RMS = 1 << 3,           /* standard deviation of one sample */
    PART_SLOPE = 1 << 4,         /* unit/°C */
    PART_PERCENT = 1 << 5,
    PART_PERCENT_SLOPE = 1 << 6, /* %/°C */
    PART_G_SENSITIVITY = 1 << 7, /* unit/(m/s²) */
    PART_WALK = 1 << 8,          /* unit/√s */
    PART_DIGIT = 1 << 9,         /* unit/LSB */
    PART_PER_UNIT = 1 << 10,     /* LSB/unit, the inverse of PART_DIGIT */
    PART_COUNTS = 1 << 11,       /* LSB, as multiples of the mode's resolution */
    PART_FREQUENCY = 1 << 12,    /* Hz */
};

struct part_unit {
    const char *names; /* alternative names, separated by '|' */
    unsigned triads;   /* bits 1 << OTO_PART_… */
    enum part_quantity quantity;
    double factor; /* factor to the triad's SI unit; for PER_UNIT the result is factor / value */
};

/* The unit with that name, for a triad and one of `quantities`; NULL if there is none. */
const struct part_unit *part_unit_find(const char *name, enum oto_part_triad triad, unsigned quantities);
/* Writes "a, b, c": one name for each accepted unit. */
void part_unit_list(enum oto_part_triad triad, unsigned quantities, char *text, size_t bytes);
double part_unit_convert(const struct part_unit *unit, double printed);

#endif
