/* What listener.c publishes. */
#ifndef TEST_LISTENER_H
#define TEST_LISTENER_H

#include <stdint.h>

struct listener_record {
    uint64_t step, samples; /* of this step */
    uint64_t steps, total, disorder, losses, hash;
    int64_t first_t_ns, last_t_ns;
    uint64_t given_flags;
    double sum;
    uint64_t revision;
    double rate_hz, mount_x_m; /* of all inputs */
};

#endif
