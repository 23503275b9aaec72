/* Differences between the records of two plugins, number by number, over the samples that both published. Pure. */
#ifndef SRV_HOST_COMPARE_H
#define SRV_HOST_COMPARE_H

#include <stdint.h>

#include "otolith/channel.h"
#include "otolith/status.h"

struct srv_difference {
    double largest; /* largest |a - b| */
    double sum_sq;
};

/* The differences of each number of a record, in order; text fields are left out. */
struct srv_comparison {
    const struct oto_record_type *type;
    struct srv_difference *elements; /* heap */
    uint32_t element_count;
    uint64_t samples;
};

enum oto_status srv_comparison_init(const struct oto_record_type *type, struct srv_comparison *comparison,
                                    struct oto_error *error);
void srv_comparison_finish(struct srv_comparison *comparison); /* zeroed is allowed */

/* [tick] */
void srv_comparison_add(struct srv_comparison *comparison, const void *a, const void *b);

/*
 * The field of the number with the largest difference; *element is its index in the field. NULL: no number, or no sample.
 */
const struct oto_field *srv_comparison_worst(const struct srv_comparison *comparison, uint32_t *element,
                                             struct srv_difference *difference);
/* [loop] Writes "angular_velocity.x max 0.01 rms 0.002 rad/s; …" for the numbers that differ, as many as fit. */
void srv_comparison_text(const struct srv_comparison *comparison, char *text, size_t bytes);

#endif
