/* How far two plugins' records are apart, element by element, over the samples that both made. Pure. */
#ifndef SRV_HOST_COMPARE_H
#define SRV_HOST_COMPARE_H

#include <stdint.h>

#include "otolith/channel.h"
#include "otolith/status.h"

struct srv_difference {
    double largest; /* of |a - b| */
    double sum_sq;
};

/* Numbers of a record one after the other; text has none. */
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

/* The element of the largest difference: its field, and which element of that. NULL: no element, or no sample. */
const struct oto_field *srv_comparison_worst(const struct srv_comparison *comparison, uint32_t *element,
                                             struct srv_difference *difference);
/* "angular_velocity.x max 0.01 rms 0.002 rad/s; …" of the elements that differ, as many as there is room for. [loop] */
void srv_comparison_text(const struct srv_comparison *comparison, char *text, size_t bytes);

#endif
