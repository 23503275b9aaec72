#include "allan.h"

#include <math.h>
#include <stdlib.h>

/* One averaging time, computed by shifts of the decimated phase of its level. */
struct cell {
    uint64_t m;      /* in samples */
    uint32_t shift;  /* in phase points of its level */
    uint64_t terms;
    double sum, compensation; /* of squared second differences (Neumaier) */
};

/* A level holds the last phase points, decimated by 2^level. */
struct level {
    double *phase; /* ring */
    uint32_t capacity;
    uint64_t count;
    struct cell *cells;
    uint32_t cell_count;
};

struct allan {
    uint64_t samples;
    bool varies;
    double offset;       /* the first sample, subtracted to keep the phase small */
    double phase, phase_compensation;
    struct level levels[ALLAN_LEVELS];
    struct cell cells[ALLAN_MAX_POINTS];
};

/* The level of averaging factor m: its shift there lies in (ALLAN_DENSE/2, ALLAN_DENSE], at level 0 in [1, ALLAN_DENSE]. */
static uint32_t level_of(uint64_t m)
{
    uint32_t level = 0;
    while ((m >> level) > ALLAN_DENSE) {
        level++;
    }
    return level;
}

static uint32_t lay_out(struct allan *allan, uint32_t points_per_decade)
{
    uint32_t count = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; count < ALLAN_MAX_POINTS; i++) {
        const double wanted = pow(10.0, (double)i / points_per_decade);
        if (wanted > 1e13) {
            break;
        }
        const uint32_t level = level_of((uint64_t)llround(wanted));
        const uint64_t m = (uint64_t)llround(ldexp(wanted, -(int)level)) << level;
        if (m > last && level < ALLAN_LEVELS) {
            struct level *home = &allan->levels[level];
            home->cells = home->cell_count == 0 ? &allan->cells[count] : home->cells;
            home->cell_count++;
            allan->cells[count++] = (struct cell){.m = m, .shift = (uint32_t)(m >> level)};
            last = m;
        }
    }
    return count;
}

struct allan *allan_create(uint32_t points_per_decade)
{
    struct allan *allan = calloc(1, sizeof *allan);
    if (allan == NULL) {
        return NULL;
    }
    (void)lay_out(allan, points_per_decade > 0 ? points_per_decade : 10);
    return allan;
}

void allan_destroy(struct allan *allan)
{
    for (int i = 0; allan != NULL && i < ALLAN_LEVELS; i++) {
        free(allan->levels[i].phase);
    }
    free(allan);
}

static void add_compensated(double *sum, double *compensation, double value)
{
    const double next = *sum + value;
    *compensation += fabs(*sum) >= fabs(value) ? (*sum - next) + value : (value - next) + *sum;
    *sum = next;
}

/* Allocates the ring of a level at its first point: twice the longest shift plus one, rounded up to a power of two. */
static bool level_prepare(struct level *level)
{
    if (level->phase == NULL) {
        level->capacity = 4 * ALLAN_DENSE;
        level->phase = malloc(level->capacity * sizeof *level->phase);
    }
    return level->phase != NULL;
}

static void level_add(struct level *level, double phase)
{
    const uint32_t mask = level->capacity - 1;
    const uint64_t at = level->count++;
    level->phase[at & mask] = phase;
    for (uint32_t i = 0; i < level->cell_count; i++) {
        struct cell *cell = &level->cells[i];
        if (at < 2 * (uint64_t)cell->shift) {
            break; /* cells are in ascending order */
        }
        const double difference = phase - 2.0 * level->phase[(at - cell->shift) & mask] +
                                  level->phase[(at - 2 * (uint64_t)cell->shift) & mask];
        add_compensated(&cell->sum, &cell->compensation, difference * difference);
        cell->terms++;
    }
}

/* Phase point number `index` is added to every level whose decimation divides it. */
static enum oto_status add_phase(struct allan *allan, uint64_t index, double phase)
{
    for (uint32_t i = 0; i < ALLAN_LEVELS && (index & ((UINT64_C(1) << i) - 1)) == 0; i++) {
        if (!level_prepare(&allan->levels[i])) {
            return OTO_NO_MEMORY;
        }
        level_add(&allan->levels[i], phase);
    }
    return OTO_OK;
}

enum oto_status allan_add(struct allan *allan, const double *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (allan->samples == 0) {
            allan->offset = samples[i];
            const enum oto_status status = add_phase(allan, 0, 0.0);
            if (status != OTO_OK) {
                return status;
            }
        }
        allan->varies = allan->varies || samples[i] != allan->offset;
        add_compensated(&allan->phase, &allan->phase_compensation, samples[i] - allan->offset);
        allan->samples++;
        const enum oto_status status = add_phase(allan, allan->samples, allan->phase + allan->phase_compensation);
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

bool allan_is_constant(const struct allan *allan)
{
    return !allan->varies;
}

uint64_t allan_count(const struct allan *allan)
{
    return allan->samples;
}

size_t allan_points(const struct allan *allan, double rate_hz, struct allan_point *points, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < ALLAN_MAX_POINTS && count < capacity && allan->cells[i].m > 0; i++) {
        const struct cell *cell = &allan->cells[i];
        if (cell->terms == 0) {
            continue;
        }
        /* The phase is in units of sample times the sampling period, which cancels in the deviation. */
        const double m = (double)cell->m;
        const double sum = cell->sum + cell->compensation;
        points[count++] = (struct allan_point){.m = cell->m, .terms = cell->terms, .tau_s = m / rate_hz,
                                               .adev = sqrt(sum / (2.0 * m * m * (double)cell->terms))};
    }
    return count;
}
