/* Writes tests/golden/detmath.csv: correctly rounded values of the elementary functions from MPFR, as hexadecimal
 * doubles. cc tools/gen_detmath_golden.c -o gen -lmpfr -lgmp -lm && ./gen > tests/golden/detmath.csv */
#include <math.h>
#include <mpfr.h>
#include <stdint.h>
#include <stdio.h>

enum { RANDOM_POINTS = 100 };

typedef int mpfr_one(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int mpfr_two(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

/* Arguments are sign * 2^(low + (high - low) u) + offset. */
struct row {
    const char *name;
    mpfr_one *one;
    mpfr_two *two;
    double low, high, offset;
    int both_signs;
};

static const struct row rows[] = {
    {"sin", mpfr_sin, NULL, -8, 6, 0, 1},       {"sin", mpfr_sin, NULL, 6, 1023, 0, 1},
    {"cos", mpfr_cos, NULL, -8, 6, 0, 1},       {"cos", mpfr_cos, NULL, 6, 1023, 0, 1},
    {"tan", mpfr_tan, NULL, -8, 6, 0, 1},       {"tan", mpfr_tan, NULL, 6, 1023, 0, 1},
    {"asin", mpfr_asin, NULL, -10, 0, 0, 1},    {"acos", mpfr_acos, NULL, -10, 0, 0, 1},
    {"acos", mpfr_acos, NULL, -50, -2, 1, 0},   {"atan", mpfr_atan, NULL, -10, 20, 0, 1},
    {"exp", mpfr_exp, NULL, -20, 9.4, 0, 1},    {"expm1", mpfr_expm1, NULL, -20, 9.4, 0, 1},
    {"log", mpfr_log, NULL, -1074, 1023, 0, 0}, {"log", mpfr_log, NULL, -40, -3, 1, 1},
    {"log1p", mpfr_log1p, NULL, -40, 0, 0, 1},  {"log1p", mpfr_log1p, NULL, 0, 500, 0, 0},
    {"atan2", NULL, mpfr_atan2, -30, 30, 0, 1}, {"hypot", NULL, mpfr_hypot, -1074, 1022, 0, 1},
    {"hypot", NULL, mpfr_hypot, -10, 10, 0, 1}, {"pow", NULL, mpfr_pow, -8, 6, 0, 0},
};

/* Arguments that are hard for reduction: near multiples of pi/2 (the first is the worst of all doubles), and where
 * intervals meet. */
static const double hard_trig[] = {0x1.6ac5b262ca1ffp+849,
                                   0x1.921fb54442d18p+0,
                                   0x1.921fb54442d18p+1,
                                   0x1.2d97c7f3321d2p+2,
                                   0x1.2eab7ec4fd0f6p+19,
                                   0x1p20,
                                   0x1.fffffffffffffp+19,
                                   0x1.0000000000001p+20,
                                   0x1p30,
                                   1e9,
                                   1e22,
                                   0x1.fffffffffffffp+1023,
                                   0x1p-1074,
                                   0x1p-1022,
                                   0x1p-27,
                                   0x1.921fb54442d18p-1,
                                   0x1.921fb54442d19p-1};

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double argument(const struct row *row)
{
    double x = exp2(row->low + (row->high - row->low) * uniform());
    if (uniform() < 0.5 && (row->both_signs || row->offset == 1))
        x = -x;
    if (row->offset == 1 && row->one == mpfr_acos)
        x = -fabs(x);
    return x + row->offset;
}

static void print_row(const struct row *row, double x, double y)
{
    mpfr_t mx, my, result;
    mpfr_inits2(53, mx, my, result, (mpfr_ptr)0);
    mpfr_set_d(mx, x, MPFR_RNDN);
    mpfr_set_d(my, y, MPFR_RNDN);
    int inexact = row->one ? row->one(result, mx, MPFR_RNDN) : row->two(result, mx, my, MPFR_RNDN);
    inexact = mpfr_check_range(result, inexact, MPFR_RNDN);
    (void)mpfr_subnormalize(result, inexact, MPFR_RNDN);
    printf("%s,%a,%a,%a\n", row->name, x, y, mpfr_get_d(result, MPFR_RNDN));
    mpfr_clears(mx, my, result, (mpfr_ptr)0);
}

int main(void)
{
    mpfr_set_emin(-1073);
    mpfr_set_emax(1024);
    puts("function,x,y,value");
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct row *row = &rows[r];
        for (int i = 0; i < RANDOM_POINTS; i++) {
            double x = argument(row), y = row->two ? argument(row) : 0.0;
            print_row(row, x, y);
        }
        for (size_t i = 0; i < sizeof hard_trig / sizeof hard_trig[0] && r < 6 && r % 2 == 0; i++)
            print_row(row, hard_trig[i], 0.0);
    }
    return 0;
}
