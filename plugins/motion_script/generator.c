#include "generator.h"

#include <string.h>

/* A planned street, and the place where the next one begins. */
struct street {
    struct script_piece pieces[GENERATOR_PIECES];
    uint32_t count;
    struct generator_place next;
};

/*
 * Replaces a street that could not be planned by one minute of rest, so that no tick fails. The styles do not produce
 * such streets.
 */
static void rest_instead(const struct generator_place *place, struct street *street)
{
    street->next.at = place->at;
    street->next.at.t_ns += INT64_C(60000000000);
    street->next.at.speed_m_s = 0.0;
    street->pieces[0] = (struct script_piece){place->at.t_ns, INT64_C(60000000000), NUM_PROFILE_NONE, NUM_PROFILE_NONE,
                                              0.0, 0.0, place->at.heading_rad, 0.0, place->at.distance_m,
                                              {{place->at.x_m, place->at.y_m}}};
    street->count = 1;
}

static void plan_street(const struct generator *generator, const struct generator_place *place, struct street *street)
{
    struct script_segment segments[GENERATOR_SEGMENTS];
    struct script_sink sink = {street->pieces, GENERATOR_PIECES, 0};
    uint32_t count = generator_street(generator, place, segments);
    street->next = (struct generator_place){place->street + 1, place->at};
    if (script_plan_segments(&sink, &street->next.at, segments, count, NULL) != OTO_OK || sink.count == 0)
        rest_instead(place, street);
    else
        street->count = sink.count;
}

/* The latest known place whose time is not after t_ns. */
static struct generator_place place_before(const struct generator *generator, const struct generator_state *state,
                                           int64_t t_ns)
{
    if (state->now.at.t_ns <= t_ns)
        return state->now;
    if (state->before.at.t_ns <= t_ns)
        return state->before;
    return (struct generator_place){0, generator->start};
}

/*
 * Plans street after street until one contains t_ns. `place` becomes the beginning of that street, `before` the beginning
 * of the previous street.
 */
static void find_street(const struct generator *generator, int64_t t_ns, struct generator_place *place,
                        struct generator_place *before, struct street *street)
{
    for (;;) {
        plan_street(generator, place, street);
        if (t_ns < street->next.at.t_ns)
            return;
        *before = *place;
        *place = street->next;
    }
}

static bool is_cached(const struct generator_state *state, int64_t t_ns)
{
    const struct script_piece *last = &state->pieces[state->piece_count - 1];
    return t_ns >= state->pieces[0].start_ns && t_ns < last->start_ns + last->duration_ns;
}

void generator_begin(const struct generator *generator, struct generator_state *state)
{
    struct street street;
    memset(state, 0, sizeof *state);
    state->now = state->before = (struct generator_place){0, generator->start};
    plan_street(generator, &state->now, &street);
    state->pieces[0] = street.pieces[0];
    state->piece_count = 1;
}

/*
 * Caches the current piece and the pieces before it. At the beginning of a street, the last pieces of the previous one
 * are included.
 */
static void cache_pieces(struct generator_state *state, const struct street *street, int64_t t_ns)
{
    uint32_t last = (uint32_t)(script_piece_at(street->pieces, street->count, t_ns) - street->pieces);
    uint32_t take = last + 1 < GENERATOR_CACHED ? last + 1 : GENERATOR_CACHED, keep = 0;
    struct script_piece kept[GENERATOR_CACHED];
    uint64_t older = 0;
    while (older < state->piece_count && state->pieces[older].start_ns < street->pieces[0].start_ns)
        older++;
    for (uint64_t i = older + take > GENERATOR_CACHED ? older + take - GENERATOR_CACHED : 0; i < older; i++)
        kept[keep++] = state->pieces[i];
    if (keep > 0 && kept[keep - 1].start_ns + kept[keep - 1].duration_ns != street->pieces[0].start_ns)
        keep = 0;
    memcpy(state->pieces, kept, keep * sizeof *kept);
    memcpy(state->pieces + keep, street->pieces + last + 1 - take, take * sizeof *kept);
    state->piece_count = keep + take;
}

void generator_advance(const struct generator *generator, struct generator_state *state, int64_t t_ns)
{
    struct street street;
    if (is_cached(state, t_ns))
        return;
    if (state->now.at.t_ns > t_ns)
        state->now = state->before = place_before(generator, state, t_ns);
    find_street(generator, t_ns, &state->now, &state->before, &street);
    cache_pieces(state, &street, t_ns);
}

void generator_instant_at(const struct generator *generator, const struct generator_state *state,
                          struct oto_instant at, struct script_instant *now)
{
    struct street street;
    const struct script_piece *piece;
    if (is_cached(state, at.t_ns)) {
        piece = script_piece_at(state->pieces, (uint32_t)state->piece_count, at.t_ns);
    } else {
        struct generator_place place = place_before(generator, state, at.t_ns), before = place;
        find_street(generator, at.t_ns, &place, &before, &street);
        piece = script_piece_at(street.pieces, street.count, at.t_ns);
    }
    script_instant_in(piece, ((double)(at.t_ns - piece->start_ns) + at.sub_ns) * 1e-9, now);
}
