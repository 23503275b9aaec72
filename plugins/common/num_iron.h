/*
 * Disturbances of the magnetic field at a magnetometer: soft iron, hard iron, and the field of a motor's current. B' =
 * (I + S) B + h + m I. Pure; from any thread.
 */
#ifndef NUM_IRON_H
#define NUM_IRON_H

#include <stdbool.h>
#include <stdint.h>

#include "num_taps.h"

/* A member of a parameter block. All zero means no iron. */
struct num_iron_params {
    double hard_iron_ut[3];
    double soft_iron_percent[9]; /* row-major, added to the identity */
    double motor_field_ut_a[3];  /* for each ampere */
    double motor_current_a;
};

bool num_iron_is_there(const struct num_iron_params *iron);

/*
 * Adds the disturbances to a field in sensor axes. `taps`, if not NULL, receives each contribution, from lane `lane`
 * on.
 */
void num_iron_apply(const struct num_iron_params *iron, double field_ut[3], num_tap_row *taps, uint32_t lane);

#endif
