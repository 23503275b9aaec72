/* The manoeuvres of streets. Every number is drawn from (key, street, draw), so a street is always the same. */
#include "generator.h"

#define TERM UINT64_C(0x67656e) /* "gen" */
#define RESTING_S 1e5

struct drawing {
    struct oto_rng_key key;
    uint64_t street, drawn;
    oto_philox_block block;
    struct script_segment *segments;
    uint32_t count;
    double speed_m_s; /* speed after the segments so far */
};

static double uniform(struct drawing *d, double from, double to)
{
    if (d->drawn % 4 == 0)
        d->block = oto_rng_block(d->key, d->street, d->drawn / 4, TERM, OTO_RNG_DOMAIN_SAMPLE);
    return from + (to - from) * oto_u01(d->block.v[d->drawn++ % 4]);
}

static bool chance(struct drawing *d, double probability)
{
    return uniform(d, 0.0, 1.0) < probability;
}

static double either_side(struct drawing *d, double from, double to)
{
    double size = uniform(d, from, to);
    return chance(d, 0.5) ? size : -size;
}

static struct script_segment *add(struct drawing *d, enum script_kind kind)
{
    struct script_segment *segment = &d->segments[d->count++];
    *segment = (struct script_segment){.kind = kind, .accel_m_s2 = 2.0, .ramp_s = 1.0};
    return segment;
}

static void cruise(struct drawing *d, double from_s, double to_s)
{
    add(d, SCRIPT_CRUISE)->duration_s = uniform(d, from_s, to_s);
}

/* Adds a change of speed, unless the speed differs by at most 0.1 m/s. */
static void change_speed(struct drawing *d, double to_speed_m_s, double accel_from_m_s2, double accel_to_m_s2)
{
    double accel_m_s2 = uniform(d, accel_from_m_s2, accel_to_m_s2), ramp_s = uniform(d, 0.7, 1.2);
    struct script_segment *segment;
    if (oto_fabs(to_speed_m_s - d->speed_m_s) < 0.1)
        return;
    segment = add(d, oto_fabs(to_speed_m_s) > oto_fabs(d->speed_m_s) ? SCRIPT_ACCELERATE : SCRIPT_BRAKE);
    segment->to_speed_m_s = to_speed_m_s;
    segment->accel_m_s2 = accel_m_s2;
    segment->ramp_s = ramp_s;
    d->speed_m_s = to_speed_m_s;
}

static void stop(struct drawing *d, double accel_from_m_s2, double accel_to_m_s2, double from_s, double to_s)
{
    struct script_segment *segment = add(d, SCRIPT_STOP);
    segment->accel_m_s2 = uniform(d, accel_from_m_s2, accel_to_m_s2);
    segment->ramp_s = uniform(d, 0.7, 1.2);
    segment->duration_s = uniform(d, from_s, to_s);
    d->speed_m_s = 0.0;
}

static void turn(struct drawing *d, double angle_deg, double radius_m, double ramp_s)
{
    struct script_segment *segment = add(d, SCRIPT_TURN);
    segment->angle_deg = angle_deg;
    segment->radius_m = radius_m;
    segment->ramp_s = ramp_s;
}

static void change_lane(struct drawing *d, double offset_m, double from_s, double to_s)
{
    struct script_segment *segment = add(d, SCRIPT_LANE_CHANGE);
    segment->offset_m = offset_m;
    segment->duration_s = uniform(d, from_s, to_s);
}

/* Adds a bend whose radius gives a lateral acceleration that drivers usually choose. */
static void curve(struct drawing *d, double least_m, double accel_from_m_s2, double accel_to_m_s2, double angle_deg,
                  double ramp_s)
{
    double radius_m = d->speed_m_s * d->speed_m_s / uniform(d, accel_from_m_s2, accel_to_m_s2);
    turn(d, angle_deg, radius_m < least_m ? least_m : radius_m, ramp_s);
}

/* ---- city -------------------------------------------------------------------------------------------------------- */

static void city_event(struct drawing *d)
{
    double which = uniform(d, 0.0, 1.0);
    cruise(d, 2.0, 6.0);
    if (which < 0.3 && d->speed_m_s > 6.0)
        change_lane(d, either_side(d, 2.8, 3.6), 4.0, 6.0);
    else if (which < 0.65)
        curve(d, 25.0, 0.6, 2.0, either_side(d, 10.0, 45.0), uniform(d, 0.8, 1.5));
    else if (which < 0.9)
        change_speed(d, uniform(d, 5.0, 16.0), 1.0, 2.5);
}

static void city_turn(struct drawing *d)
{
    double radius_m = uniform(d, 8.0, 20.0), speed_m_s = oto_sqrt(uniform(d, 1.5, 2.5) * radius_m);
    speed_m_s = speed_m_s < 4.0 ? 4.0 : speed_m_s;
    change_speed(d, speed_m_s, 1.0, 2.5);
    turn(d, either_side(d, 60.0, 100.0), radius_m, uniform(d, 0.8, 1.4));
}

static void city_street(struct drawing *d)
{
    uint32_t events = (uint32_t)uniform(d, 0.0, 3.0);
    change_speed(d, uniform(d, 6.0, 16.0), 1.0, 2.5);
    for (uint32_t i = 0; i < events; i++)
        city_event(d);
    cruise(d, 1.0, 4.0);
    if (chance(d, 0.6))
        stop(d, 1.0, 2.5, 3.0, 20.0);
    if (chance(d, 0.6))
        city_turn(d);
}

/* ---- highway ----------------------------------------------------------------------------------------------------- */

static void highway_event(struct drawing *d)
{
    double which = uniform(d, 0.0, 1.0);
    cruise(d, 8.0, 40.0);
    if (which < 0.35)
        change_lane(d, either_side(d, 3.4, 3.8), 5.0, 8.0);
    else if (which < 0.75)
        curve(d, 400.0, 0.3, 1.5, either_side(d, 3.0, 30.0), uniform(d, 2.5, 5.0));
    else
        change_speed(d, uniform(d, 22.0, 36.0), 0.4, 1.2);
}

/* A street of a highway; the traffic sometimes slows down or stops. */
static void highway_street(struct drawing *d)
{
    change_speed(d, uniform(d, 24.0, 36.0), 0.8, 1.8);
    for (uint32_t i = 0; i < 4; i++)
        highway_event(d);
    if (chance(d, 0.1))
        change_speed(d, uniform(d, 5.0, 12.0), 1.0, 2.5);
    else if (chance(d, 0.05))
        stop(d, 1.0, 2.5, 3.0, 20.0);
}

/* ---- parking ----------------------------------------------------------------------------------------------------- */

static void parking_forward(struct drawing *d)
{
    change_speed(d, uniform(d, 1.5, 3.0), 0.5, 1.5);
    cruise(d, 1.0, 6.0);
    if (chance(d, 0.8))
        turn(d, either_side(d, 60.0, 180.0), uniform(d, 5.0, 6.5), uniform(d, 0.8, 1.2));
    cruise(d, 0.5, 4.0);
    stop(d, 0.5, 1.5, 1.0, 6.0);
}

static void parking_reverse(struct drawing *d)
{
    change_speed(d, -uniform(d, 0.8, 1.8), 0.4, 1.0);
    cruise(d, 0.5, 2.0);
    if (chance(d, 0.7))
        turn(d, either_side(d, 45.0, 95.0), uniform(d, 5.0, 6.5), uniform(d, 0.8, 1.2));
    cruise(d, 0.5, 2.0);
    stop(d, 0.4, 1.0, 1.0, 4.0);
}

static void parking_street(struct drawing *d)
{
    if (chance(d, 0.6))
        parking_forward(d);
    else
        parking_reverse(d);
}

/* ---- rural ------------------------------------------------------------------------------------------------------- */

static void rural_event(struct drawing *d)
{
    double which = uniform(d, 0.0, 1.0);
    cruise(d, 3.0, 15.0);
    if (which < 0.6)
        curve(d, 60.0, 0.8, 2.2, either_side(d, 10.0, 60.0), uniform(d, 1.0, 2.5));
    else if (which < 0.9)
        change_speed(d, uniform(d, 12.0, 27.0), 0.6, 2.0);
}

/* A street of a rural road; it sometimes ends with a stop, or with a turn into another road. */
static void rural_street(struct drawing *d)
{
    change_speed(d, uniform(d, 14.0, 27.0), 0.6, 2.0);
    for (uint32_t i = 0; i < 4; i++)
        rural_event(d);
    if (chance(d, 0.3))
        stop(d, 1.0, 2.5, 3.0, 15.0);
    if (chance(d, 0.5))
        city_turn(d);
}

/* ---- hills ------------------------------------------------------------------------------------------------------- */

static void hills_event(struct drawing *d)
{
    double which = uniform(d, 0.0, 1.0);
    cruise(d, 1.5, 6.0);
    if (which < 0.6) {
        curve(d, 20.0, 1.0, 2.5, either_side(d, 15.0, 100.0), uniform(d, 0.8, 1.6));
    } else if (which < 0.8) { /* a hairpin bend */
        double radius_m = uniform(d, 9.0, 15.0);
        change_speed(d, oto_sqrt(uniform(d, 1.5, 2.5) * radius_m), 1.0, 2.5);
        turn(d, either_side(d, 130.0, 175.0), radius_m, uniform(d, 0.8, 1.4));
    } else {
        change_speed(d, uniform(d, 8.0, 18.0), 0.8, 2.2);
    }
}

static void hills_street(struct drawing *d)
{
    change_speed(d, uniform(d, 8.0, 18.0), 0.8, 2.2);
    for (uint32_t i = 0; i < 4; i++)
        hills_event(d);
    if (chance(d, 0.2))
        stop(d, 1.0, 2.5, 3.0, 10.0);
}

uint32_t generator_street(const struct generator *generator, const struct generator_place *place,
                          struct script_segment segments[GENERATOR_SEGMENTS])
{
    static void (*const style[GENERATOR_STYLE_COUNT])(struct drawing *) = {
        [GENERATOR_CITY] = city_street, [GENERATOR_HIGHWAY] = highway_street, [GENERATOR_PARKING] = parking_street,
        [GENERATOR_RURAL] = rural_street, [GENERATOR_HILLS] = hills_street};
    struct drawing d = {generator->key, place->street, 0, {{0}}, segments, 0, place->at.speed_m_s};
    if (generator->duration_ns > 0 && place->at.t_ns >= generator->duration_ns) {
        stop(&d, 1.0, 2.0, RESTING_S, RESTING_S);
        return d.count;
    }
    if (place->street == 0) /* the drive starts with a rest: passengers get in, the engine starts */
        stop(&d, 1.0, 2.0, 3.0, 8.0);
    style[generator->style](&d);
    return d.count;
}
