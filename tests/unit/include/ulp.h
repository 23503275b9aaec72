/* Distance of a double from an exact value, in units of the last place of the exact value. */
#ifndef TEST_ULP_H
#define TEST_ULP_H

#include <math.h>
#include <stdbool.h>

/* One ulp at x: 2^(exponent - 52), subnormals included. */
static inline double ulp_of(double x)
{
    int exponent;
    if (x == 0.0) {
        return 0x1p-1074;
    }
    (void)frexp(x, &exponent);
    return ldexp(1.0, exponent - 53 < -1074 ? -1074 : exponent - 53);
}

/* NaN equals NaN, and -0 is not 0. */
static inline bool is_same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

#endif
