/* Conversion of an FMU's values to SI by the base units of its description (FMI 2.0.4 section 2.2.2, FMI 3.0 section 2.4.3). Pure. */
#ifndef MOTION_FMU_UNIT_H
#define MOTION_FMU_UNIT_H

#include "description.h"

/* SI value = factor * value + offset. */
struct unit_conversion {
    double factor, offset;
};

/* The dimension that a quantity has: powers of metre, second and radian; all 0: none. */
struct unit_dimension {
    int8_t m, s, rad;
    const char *si; /* "m/s" */
};

/*
 * How a variable becomes a quantity of this dimension. A unit without radians is accepted for an angle. A variable without a unit is
 * taken as SI; *is_assumed is then set.
 */
enum oto_status unit_convert(const struct fmu_variable *variable, struct unit_dimension wanted, struct unit_conversion *conversion,
                             bool *is_assumed, struct oto_error *error);

static inline double unit_apply(struct unit_conversion conversion, double value)
{
    return conversion.factor == 1.0 && conversion.offset == 0.0 ? value : conversion.factor * value + conversion.offset;
}

#endif
