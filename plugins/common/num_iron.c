#include "num_iron.h"

bool num_iron_is_there(const struct num_iron_params *iron)
{
    bool there = false;
    for (int i = 0; i < 3; i++) {
        there |= iron->hard_iron_ut[i] != 0.0 || iron->motor_field_ut_a[i] != 0.0;
    }
    for (int i = 0; i < 9; i++) {
        there |= iron->soft_iron_percent[i] != 0.0;
    }
    return there;
}

void num_iron_apply(const struct num_iron_params *iron, double field_ut[3], num_tap_row *taps, uint32_t lane)
{
    const double x = field_ut[0], y = field_ut[1], z = field_ut[2];
    for (uint32_t i = 0; i < 3; i++) {
        const double *row = &iron->soft_iron_percent[3 * i];
        const double soft_ut = (row[0] * x + row[1] * y + row[2] * z) / 100.0;
        const double motor_ut = iron->motor_field_ut_a[i] * iron->motor_current_a;
        field_ut[i] += soft_ut + iron->hard_iron_ut[i] + motor_ut;
        if (taps != NULL) {
            taps[NUM_TAP_SOFT_IRON][lane + i] = soft_ut;
            taps[NUM_TAP_HARD_IRON][lane + i] = iron->hard_iron_ut[i];
            taps[NUM_TAP_MOTOR_CURRENT][lane + i] = motor_ut;
        }
    }
}
