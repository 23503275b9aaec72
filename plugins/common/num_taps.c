#include "num_taps.h"

static double sum_before(const double *record, int end)
{
    double sum = record[0];
    for (int tap = 1; tap < end; tap++) {
        sum += record[3 * tap];
    }
    return sum;
}

/*
 * If sum and output are within a factor of two, their difference is exact (Sterbenz) and so is the sum with it. An
 * output that is tiny compared to terms that cancelled may need more bits than a double has; the quantisation tap then
 * makes the sum zero.
 */
static void close_axis(double *record, double output)
{
    const double sum = sum_before(record, NUM_TAP_ROUNDING);
    double rest = output - sum;
    if (sum + rest != output) {
        record[3 * NUM_TAP_QUANTISATION] = -sum_before(record, NUM_TAP_QUANTISATION);
        rest = output;
    }
    record[3 * NUM_TAP_ROUNDING] = rest;
}

void num_taps_close(const num_tap_row *taps, uint32_t slot, double unit, oto_vec3 output, double *record)
{
    const double measured[3] = {output.x, output.y, output.z};
    for (uint32_t axis = 0; axis < 3; axis++) {
        for (uint32_t tap = 0; tap < NUM_TAP_ROUNDING; tap++) {
            record[3 * tap + axis] = unit * taps[tap][3 * slot + axis];
        }
        close_axis(&record[axis], measured[axis]);
    }
}
