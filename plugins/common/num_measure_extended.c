/* The extended path, once for all sensors and in a file of its own, so that the plain one stays as small as it was. */
#include "num_measure.h"

uint32_t num_suite_measure_extended(const struct num_suite_plan *plan, uint32_t slots, uint32_t active,
                                    const struct num_suite_input *input, double *walk_u,
                                    double (*instability)[NUM_INSTABILITY_POLES], double measured_u[NUM_LANES],
                                    num_tap_row *taps)
{
    if (slots == 1) {
        return num_suite_measure_with(plan, 1, 1, input, walk_u, instability, measured_u, true, taps);
    }
    return active == 2 ? num_suite_measure_with(plan, 3, 2, input, walk_u, instability, measured_u, true, taps)
                       : num_suite_measure_with(plan, 3, 3, input, walk_u, instability, measured_u, true, taps);
}
