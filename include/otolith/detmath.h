/* Elementary functions. */
#ifndef OTOLITH_DETMATH_H
#define OTOLITH_DETMATH_H
#include <math.h>
#include <stdint.h>
#define OTO_PI 0x1.921fb54442d18p+1
#define OTO_TWO_PI 0x1.921fb54442d18p+2
#define OTO_HALF_PI 0x1.921fb54442d18p+0
#define OTO_DEG 0x1.1df46a2529d39p-6
static inline double oto_sqrt(double x) { return __builtin_sqrt(x); }
static inline double oto_fabs(double x) { return __builtin_fabs(x); }
static inline double oto_sin(double x) { return sin(x); }
static inline double oto_cos(double x) { return cos(x); }
static inline void oto_sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
static inline double oto_tan(double x) { return tan(x); }
static inline double oto_asin(double x) { return asin(x); }
static inline double oto_acos(double x) { return acos(x); }
static inline double oto_atan(double x) { return atan(x); }
static inline double oto_atan2(double y, double x) { return atan2(y, x); }
static inline double oto_exp(double x) { return exp(x); }
static inline double oto_expm1(double x) { return expm1(x); }
static inline double oto_log(double x) { return log(x); }
static inline double oto_log1p(double x) { return log1p(x); }
static inline double oto_pow(double x, double y) { return pow(x, y); }
static inline double oto_hypot(double x, double y) { return hypot(x, y); }
static inline double oto_round_half_away(double x) { return round(x); }
static inline double oto_wrap_pi(double x) { return remainder(x, OTO_TWO_PI); }
#endif
