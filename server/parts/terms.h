/* The terms that a part file may give for a triad: what each is measured in and what becomes of it. Pure. */
#ifndef PARTS_TERMS_H
#define PARTS_TERMS_H

#include "units.h"

enum part_use {
    PART_USE_INFORMATION, /* kept and printed, no parameter is made of it */
    PART_USE_VALUE,       /* a parameter with the value as it is */
    PART_USE_SPREAD,      /* a parameter that is one standard deviation: typical is 1 sigma, a maximum 3 sigma */
    PART_USE_WHITE,       /* one of the ways to say the white noise */
    PART_USE_INSTABILITY, /* one of the ways to say the bias instability */
    PART_USE_RANGE,
    PART_USE_BIAS,        /* one of the ways to say a unit's offset */
};

#define PART_MAY_BE_NEGATIVE (1u << 0)
#define PART_MUST_BE_POSITIVE (1u << 1)
#define PART_IS_TOTAL (1u << 2) /* over a temperature range, which `over_degc` must say */

struct part_term {
    const char *name;
    unsigned quantities; /* enum part_quantity */
    enum part_use use;
    unsigned flags;
    const char *key;    /* of the parameter after "triad.", with %s for the unit in keys; NULL: none */
    double scale;       /* from the converted value to the parameter */
    const char *text;
};

extern const struct part_term part_terms[];
extern const size_t part_term_count;

const struct part_term *part_term_find(const char *name);
/* The nearest name for a "did you mean", NULL when none is near. */
const char *part_term_nearest(const char *name);
/* "m_s2", "rad_s", "ut": the unit as it stands in keys. */
const char *part_triad_key(enum oto_part_triad triad);

#endif
