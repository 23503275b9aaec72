/* Durations as people write them. Pure. [any] */
#ifndef SRV_BASE_DURATION_H
#define SRV_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#define SRV_DURATION_FORM "a number with s, ms, us, ns, min or h, for example 10s or 1.5min"

/* A decimal number from 0 with a unit; without one, seconds. Exact, rounded to a nanosecond. False: another form, or too long. */
bool srv_duration_parse(const char *text, int64_t *ns);

#endif
