/* The terms that a part file may give for a triad: the quantities of each, and the parameter that it sets. Pure. */
#ifndef PARTS_TERMS_H
#define PARTS_TERMS_H

#include "units.h"

enum part_use {
    PART_USE_INFORMATION, /* kept and printed; sets no parameter */
    PART_USE_VALUE,       /* the parameter is the value */
    PART_USE_SPREAD,      /* the parameter is one standard deviation: a typical value is 1 sigma, a maximum is 3
                           * sigma */
    PART_USE_WHITE,       /* one of the conventions for white noise */
    PART_USE_INSTABILITY, /* one of the conventions for bias instability */
    PART_USE_RANGE,
    PART_USE_BIAS,        /* one of the conventions for the offset of a unit */
};

#define PART_MAY_BE_NEGATIVE (1u << 0)
#define PART_MUST_BE_POSITIVE (1u << 1)
#define PART_IS_TOTAL (1u << 2) /* total over a temperature range, which `over_degc` must give */

struct part_term {
    const char *name;
    unsigned quantities; /* bits of enum part_quantity */
    enum part_use use;
    unsigned flags;
    const char *key;    /* key of the parameter after "triad.", with %s for the unit; NULL: no parameter */
    double scale;       /* factor from the converted value to the parameter */
    const char *text;
};

extern const struct part_term part_terms[];
extern const size_t part_term_count;

const struct part_term *part_term_find(const char *name);
/* The term whose name is nearest to a word, for "did you mean"; NULL if none is near. */
const char *part_term_nearest(const char *name);
/* The unit as it is written in keys: "m_s2", "rad_s", "ut". */
const char *part_triad_key(enum oto_part_triad triad);

#endif
