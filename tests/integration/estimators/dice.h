/* Seeded standard normal numbers, one after the other, and the bounds of what is averaged over them. */
#ifndef DICE_H
#define DICE_H

#include "num_kalman.h"
#include "otolith/rng.h"

struct dice {
    struct oto_rng_key key;
    uint64_t n;
};

static inline double dice_normal(struct dice *dice)
{
    return oto_normal_at(dice->key, ++dice->n, 0, 0, 0);
}

/*
 * A sum of `count` chi-square numbers of `degrees` each is chi-square with count × degrees; its mean is within
 * [quantile(2.5 %), quantile(97.5 %)] / count in 95 % of all cases (Bar-Shalom, Li & Kirubarajan 2001, §5.4).
 */
struct band {
    double low, high;
};

static inline struct band band_of(uint32_t count, uint32_t degrees)
{
    const struct band band = {num_chi2_quantile(0.025, count * degrees) / count,
                              num_chi2_quantile(0.975, count * degrees) / count};
    return band;
}

#endif
