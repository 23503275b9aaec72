/* Whether the numbers of a record are finite, fast enough for each sample. Pure. */
#ifndef OTOLITH_PLUGIN_FINITE_H
#define OTOLITH_PLUGIN_FINITE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/channel.h"

/* Neighbouring floating-point numbers of a record: looked at for NaN and infinities. */
struct oto_float_run {
    uint32_t offset;
    uint32_t count;
    uint32_t bytes; /* of one: 4 or 8 */
};

/* Merges a type's floating-point fields into runs; returns how many. At most field_count. */
uint32_t oto_float_runs(const struct oto_record_type *type, struct oto_float_run *runs);
/* [tick] Whether all numbers of a record are finite. */
bool oto_record_is_finite(const struct oto_float_run *runs, uint32_t run_count, const void *payload);

#endif
