/* Checks that the numbers of a record are finite, fast enough to run on each sample. Pure. */
#ifndef OTOLITH_PLUGIN_FINITE_H
#define OTOLITH_PLUGIN_FINITE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/channel.h"

/* Adjacent floating-point numbers of a record. */
struct oto_float_run {
    uint32_t offset;
    uint32_t count;
    uint32_t bytes; /* size of one number: 4 or 8 */
};

/* Merges the floating-point fields of a type into runs and returns the number of runs, at most field_count. */
uint32_t oto_float_runs(const struct oto_record_type *type, struct oto_float_run *runs);
/* [tick] True if all numbers of a record are finite. */
bool oto_record_is_finite(const struct oto_float_run *runs, uint32_t run_count, const void *payload);

#endif
