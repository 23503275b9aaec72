/* One metric of an open world: the records that it reads, the reference that it subtracts, and its statistics. One thread each. */
#ifndef CLI_SWEEP_GAUGE_H
#define CLI_SWEEP_GAUGE_H

#include "otolith/sim.h"
#include "sweep/sweep.h"

/* One number in the records of a channel: an element of a field. */
struct sweep_source {
    struct oto_sim_channel channel;
    const struct oto_field *field;
    uint32_t element;
};

/* Points over time; the points before index `at` are no longer needed. */
struct sweep_track {
    int64_t *t_ns;
    double *values;
    size_t count, capacity, at;
};

struct sweep_gauge {
    struct sweep_source source, reference;
    struct sweep_sum sum;
    struct sweep_track points;  /* of the reference */
    struct sweep_track waiting; /* samples that wait until the reference at their time is read */
    double number;  /* subtracted from each sample */
    double turn;    /* period by which differences of angles are reduced; 0: not an angle */
    bool only_last; /* the newest record at the end is enough */
};

/* Finds the channels and fields of a metric, and its reference for the values of a case. */
enum oto_status sweep_gauge_bind(struct sweep_gauge *gauge, const struct sweep_spec *spec, const struct oto_sim *sim,
                                 const struct sweep_case *made, struct oto_error *error);
bool sweep_gauge_reads(const struct sweep_gauge *gauge, uint32_t channel);
/* To be called before the first record of a run. */
enum oto_status sweep_gauge_begin(struct sweep_gauge *gauge, struct oto_error *error);
/* Takes records of one channel, oldest first. */
enum oto_status sweep_gauge_take(struct sweep_gauge *gauge, const struct oto_sim_channel *channel,
                                 const struct oto_sample_head *heads, const unsigned char *payloads, size_t count,
                                 struct oto_error *error);
/* To be called after all channels were read up to the same tick. */
enum oto_status sweep_gauge_settle(struct sweep_gauge *gauge, struct oto_error *error);
/* Computes the numbers of the run, one for each entry of `compute` in the spec. */
enum oto_status sweep_gauge_results(struct sweep_gauge *gauge, const struct oto_sim *sim, double *results, struct oto_error *error);
void sweep_gauge_finish(struct sweep_gauge *gauge);

static inline double sweep_rate_hz(const struct oto_sim_channel *channel)
{
    return (double)channel->rate_num / (double)channel->rate_den;
}

#endif
