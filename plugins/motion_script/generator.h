/*
 * Endless drives that resemble traffic. A street is a few manoeuvres that are drawn from the number of the street only, and
 * planned from the end of the previous street. The state is plain and small: two places from which to plan, and the current
 * pieces. Any instant can be evaluated; for an instant far from the state all streets between are planned. Allocates
 * nothing.
 */
#ifndef GENERATOR_H
#define GENERATOR_H

#include "otolith/rng.h"
#include "script.h"

enum generator_style { GENERATOR_NONE = 0, GENERATOR_CITY = 1, GENERATOR_HIGHWAY = 2, GENERATOR_PARKING = 3,
                       GENERATOR_RURAL = 4, GENERATOR_HILLS = 5, GENERATOR_STYLE_COUNT = 6 };

struct generator {
    int64_t style; /* enum generator_style */
    struct oto_rng_key key;
    int64_t duration_ns; /* from this time on the vehicle stops at the end of its street; 0: it drives for ever */
    struct script_anchor start;
};

#define GENERATOR_SEGMENTS 16 /* limit of the segments of a street */
#define GENERATOR_PIECES 64
#define GENERATOR_CACHED 3

struct generator_place {
    uint64_t street;
    struct script_anchor at;
};

struct generator_state {
    struct generator_place now, before; /* beginning of the current street and of the previous one */
    uint64_t piece_count;
    struct script_piece pieces[GENERATOR_CACHED]; /* the last one is the current piece */
};

/* Draws the manoeuvres of a street that begins at `place`; returns their number. */
uint32_t generator_street(const struct generator *generator, const struct generator_place *place,
                          struct script_segment segments[GENERATOR_SEGMENTS]);

void generator_begin(const struct generator *generator, struct generator_state *state);

/* Updates the state for instants about t_ns. */
void generator_advance(const struct generator *generator, struct generator_state *state, int64_t t_ns);

void generator_instant_at(const struct generator *generator, const struct generator_state *state,
                          struct oto_instant at, struct script_instant *now);

#endif
