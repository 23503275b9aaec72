/*
 * Traffic-like drives without an end: street after street, each a few manoeuvres drawn by the street's number alone and
 * planned from where the one before it ended. The state is plain and small: two places to plan from and the pieces in
 * use. Any instant can be asked for; one far from the state costs the streets that lie between. Allocates nothing.
 */
#ifndef GENERATOR_H
#define GENERATOR_H

#include "otolith/rng.h"
#include "script.h"

enum generator_style { GENERATOR_NONE = 0, GENERATOR_CITY = 1, GENERATOR_HIGHWAY = 2, GENERATOR_PARKING = 3,
                       GENERATOR_STYLE_COUNT = 4 };

struct generator {
    int64_t style; /* enum generator_style */
    struct oto_rng_key key;
    int64_t duration_ns; /* the first street that begins at or after it is a stop; 0: there is none */
    struct script_anchor start;
};

#define GENERATOR_SEGMENTS 16 /* of a street, at most */
#define GENERATOR_PIECES 64
#define GENERATOR_CACHED 3

struct generator_place {
    uint64_t street;
    struct script_anchor at;
};

struct generator_state {
    struct generator_place now, before; /* the street in use and the one before it */
    uint64_t piece_count;
    struct script_piece pieces[GENERATOR_CACHED]; /* the one in use is the last */
};

/* The manoeuvres of a street that begins at `place`; returns how many. */
uint32_t generator_street(const struct generator *generator, const struct generator_place *place,
                          struct script_segment segments[GENERATOR_SEGMENTS]);

void generator_begin(const struct generator *generator, struct generator_state *state);

/* Makes instants about t_ns cheap. */
void generator_advance(const struct generator *generator, struct generator_state *state, int64_t t_ns);

void generator_instant_at(const struct generator *generator, const struct generator_state *state,
                          struct oto_instant at, struct script_instant *now);

#endif
