/*
 * Computes one sample of all triads of a suite, on the tick. There are two kernels with the same bits from one source
 * (num_kernel_body.h): one for any machine, two lanes at a time, and one for AVX2, four lanes at a time. The kernel is
 * chosen when a suite is prepared.
 */
#ifndef NUM_MEASURE_H
#define NUM_MEASURE_H

#include "num_band.h"
#include "num_suite.h"
#include "num_taps.h"

/* The inputs of one sample, the states of its processes, and its results. */
struct num_suite_job {
    const struct num_suite_plan *plan;
    uint64_t n;
    double temperature_degc;
    const double *truth_u[NUM_TRIAD_IDS]; /* three numbers for each active slot */
    const double *specific_force_m_s2;    /* for g-sensitivity */
    double *walk_u;                       /* an even number of lanes */
    double (*instability)[NUM_INSTABILITY_POLES]; /* one row a lane */
    double *measured_u;   /* NUM_LANES values; those of lanes without an axis are unspecified */
    const struct num_colour *colour;      /* extended path only: the band limit of white noise; NULL: none */
    double (*colour_state)[NUM_LANES];
    num_tap_row *taps;    /* extended path only: every tap from the scale factor on, zeroed; NULL: taps are not
                           * wanted */
    uint32_t saturated;   /* bit `lane` for each saturated axis */
};

/* The band limit of white noise and its two states of each lane. */
struct num_coloured {
    const struct num_colour *colour;
    double (*state)[NUM_LANES];
};

/* Sets the band limit of the white noise of a job; `coloured` NULL: no band limit. */
static inline void num_job_colour(struct num_suite_job *job, const struct num_coloured *coloured)
{
    job->colour = coloured != NULL ? coloured->colour : NULL;
    job->colour_state = coloured != NULL ? coloured->state : NULL;
}

struct num_kernel {
    const char *name;
    /* One sample of each job, without the extended terms. The jobs share no memory. */
    void (*measure)(struct num_suite_job *jobs, uint32_t count);
    /* One sample of a job with all terms; if the extended terms are zero, the same bits as `measure`. */
    void (*measure_extended)(struct num_suite_job *job);
};

/*
 * Reads three numbers of measured_u one by one (hence volatile). A load of two of them would not match the kernel's
 * stores and would wait until they have left the store buffer.
 */
static inline oto_vec3 num_measured(const double *measured_u)
{
    const volatile double *three = measured_u;
    return oto_vec3_make(three[0], three[1], three[2]);
}

extern const struct num_kernel num_kernel_plain;
/* The kernel for AVX2; NULL if the machine has none or otolith was built without it. */
const struct num_kernel *num_kernel_wide(void);
const struct num_kernel *num_kernel_best(void);

#endif
