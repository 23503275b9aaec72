/* The elementary functions against MPFR at random points, dense where they are hard. Built only where MPFR is found. */
#include "oto_test.h"

#include "otolith/detmath.h"

#include <mpfr.h>

enum { POINTS = 20000, PRECISION = 160 };

typedef int mpfr_one(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int mpfr_two(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

/* An argument is ±(offset + 2^u), u uniform in [low, high); linear: u itself, uniform in ±[low, high). */
struct range {
    double low, high, offset;
    enum { LOGARITHMIC, LINEAR, HALF_PIS, ONLY_POSITIVE, ONLY_NEGATIVE } kind;
};

struct function {
    const char *name;
    double (*one)(double);
    mpfr_one *mpfr_value;
    struct range range;
};

#define TRIGONOMETRIC(f)                                                                                               \
    {#f, oto_##f, mpfr_##f, {0, 0.7854, 0, LINEAR}}, {#f, oto_##f, mpfr_##f, {0.6, 0.7854, 0, LINEAR}},                \
        {#f, oto_##f, mpfr_##f, {0, 100, 0, LINEAR}}, {#f, oto_##f, mpfr_##f, {0, 0x1p20, 0, LINEAR}},                 \
        {#f, oto_##f, mpfr_##f, {0, 1e9, 0, LINEAR}}, {#f, oto_##f, mpfr_##f, {-1074, 1024, 0, LOGARITHMIC}},          \
        {#f, oto_##f, mpfr_##f, {0, 1e6, 0, HALF_PIS}},                                                                \
    {                                                                                                                  \
#f, oto_##f, mpfr_##f,                                                                                         \
        {                                                                                                              \
            0, 1e9, 0, HALF_PIS                                                                                        \
        }                                                                                                              \
    }

static const struct function functions[] = {
    TRIGONOMETRIC(sin),
    TRIGONOMETRIC(cos),
    TRIGONOMETRIC(tan),
    {"asin", oto_asin, mpfr_asin, {0, 1, 0, LINEAR}},
    {"asin", oto_asin, mpfr_asin, {-1074, 0, 0, LOGARITHMIC}},
    {"acos", oto_acos, mpfr_acos, {0, 1, 0, LINEAR}},
    {"acos", oto_acos, mpfr_acos, {-53, -1, -1, LOGARITHMIC}},
    {"atan", oto_atan, mpfr_atan, {0, 2, 0, LINEAR}},
    {"atan", oto_atan, mpfr_atan, {-1074, 1024, 0, LOGARITHMIC}},
    {"exp", oto_exp, mpfr_exp, {0, 746, 0, LINEAR}},
    {"exp", oto_exp, mpfr_exp, {-80, 9, 0, LOGARITHMIC}},
    {"expm1", oto_expm1, mpfr_expm1, {0, 1, 0, LINEAR}},
    {"expm1", oto_expm1, mpfr_expm1, {-1074, 9.5, 0, LOGARITHMIC}},
    {"log", oto_log, mpfr_log, {-1074, 1024, 0, ONLY_POSITIVE}},
    {"log", oto_log, mpfr_log, {-52, -2, 1, ONLY_POSITIVE}},
    {"log", oto_log, mpfr_log, {-52, -2, -1, ONLY_NEGATIVE}},
    {"log1p", oto_log1p, mpfr_log1p, {-1074, 1024, 0, ONLY_POSITIVE}},
    {"log1p", oto_log1p, mpfr_log1p, {-1074, 0, 0, ONLY_NEGATIVE}},
};

struct function_of_two {
    const char *name;
    double (*two)(double, double);
    mpfr_two *mpfr_value;
    struct range range_x, range_y;
};

static const struct function_of_two functions_of_two[] = {
    {"atan2", oto_atan2, mpfr_atan2, {0, 1, 0, LINEAR}, {0, 1, 0, LINEAR}},
    {"atan2", oto_atan2, mpfr_atan2, {-70, 70, 0, LOGARITHMIC}, {-70, 70, 0, LOGARITHMIC}},
    {"atan2", oto_atan2, mpfr_atan2, {-1074, 1024, 0, LOGARITHMIC}, {-1074, 1024, 0, LOGARITHMIC}},
    {"atan2", oto_atan2, mpfr_atan2, {-1074, -1000, 0, LOGARITHMIC}, {-1074, -1000, 0, LOGARITHMIC}},
    {"hypot", oto_hypot, mpfr_hypot, {0, 1, 0, LINEAR}, {0, 1, 0, LINEAR}},
    {"hypot", oto_hypot, mpfr_hypot, {-30, 30, 0, LOGARITHMIC}, {-30, 30, 0, LOGARITHMIC}},
    {"hypot", oto_hypot, mpfr_hypot, {-1074, -1000, 0, LOGARITHMIC}, {-1074, -1000, 0, LOGARITHMIC}},
    {"hypot", oto_hypot, mpfr_hypot, {970, 1024, 0, LOGARITHMIC}, {970, 1024, 0, LOGARITHMIC}},
    {"pow", oto_pow, mpfr_pow, {-3, 3, 0, ONLY_POSITIVE}, {0, 200, 0, LINEAR}},
    {"pow", oto_pow, mpfr_pow, {-30, -3, 1, ONLY_POSITIVE}, {0, 36, 0, LOGARITHMIC}},
    {"pow", oto_pow, mpfr_pow, {-1074, 1024, 0, ONLY_POSITIVE}, {-12, 3, 0, LOGARITHMIC}},
};

struct reference {
    uint64_t random;
    mpfr_t x, y, value, difference;
};

static int reference_setup(void **state)
{
    struct reference *r = calloc(1, sizeof *r);
    r->random = 88172645463325252u;
    mpfr_inits2(53, r->x, r->y, (mpfr_ptr)0);
    mpfr_inits2(PRECISION, r->value, r->difference, (mpfr_ptr)0);
    *state = r;
    return 0;
}

static int reference_finish(void **state)
{
    struct reference *r = *state;
    mpfr_clears(r->x, r->y, r->value, r->difference, (mpfr_ptr)0);
    mpfr_free_cache();
    free(r);
    return 0;
}

static double uniform(struct reference *r)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return (double)(r->random >> 11) * 0x1p-53;
}

static double argument(struct reference *r, const struct range *range)
{
    double u = range->low + (range->high - range->low) * uniform(r), sign = uniform(r) < 0.5 ? 1.0 : -1.0;
    switch (range->kind) {
    case LINEAR:
        return sign * u;
    case HALF_PIS:
        return sign * floor(u) * OTO_HALF_PI;
    case ONLY_POSITIVE:
        return range->offset + exp2(u);
    case ONLY_NEGATIVE:
        return -(range->offset + exp2(u));
    default:
        return sign * (range->offset + exp2(u));
    }
}

/* |got - value| in ulp of the value. */
static double error_in_ulp(struct reference *r, double got)
{
    double rounded = mpfr_get_d(r->value, MPFR_RNDN);
    if (!isfinite(rounded) || !isfinite(got) || mpfr_zero_p(r->value)) {
        return got == rounded || (isnan(got) && isnan(rounded)) ? 0.0 : INFINITY;
    }
    long exponent = mpfr_get_exp(r->value) - 53;
    mpfr_sub_d(r->difference, r->value, got, MPFR_RNDN);
    mpfr_div_2si(r->difference, r->difference, exponent < -1074 ? -1074 : exponent, MPFR_RNDN);
    return fabs(mpfr_get_d(r->difference, MPFR_RNDN));
}

static void functions_of_one_argument_are_within_one_ulp_of_mpfr(void **state)
{
    struct reference *r = *state;
    int bad = 0;
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        double worst = 0.0, where = 0.0;
        for (int i = 0; i < POINTS; i++) {
            double x = argument(r, &functions[f].range), error;
            (void)mpfr_set_d(r->x, x, MPFR_RNDN);
            (void)functions[f].mpfr_value(r->value, r->x, MPFR_RNDN);
            error = error_in_ulp(r, functions[f].one(x));
            where = error > worst ? x : where;
            worst = error > worst ? error : worst;
        }
        print_message("%-6s %.3f ulp at %a\n", functions[f].name, worst, where);
        bad += worst > 1.0;
    }
    assert_int_equal(bad, 0);
}

static void functions_of_two_arguments_are_within_one_ulp_of_mpfr(void **state)
{
    struct reference *r = *state;
    int bad = 0;
    for (size_t f = 0; f < sizeof functions_of_two / sizeof functions_of_two[0]; f++) {
        const struct function_of_two *function = &functions_of_two[f];
        double worst = 0.0, where_x = 0.0, where_y = 0.0;
        for (int i = 0; i < POINTS; i++) {
            double x = argument(r, &function->range_x), y = argument(r, &function->range_y), error;
            (void)mpfr_set_d(r->x, x, MPFR_RNDN);
            (void)mpfr_set_d(r->y, y, MPFR_RNDN);
            (void)function->mpfr_value(r->value, r->x, r->y, MPFR_RNDN);
            error = error_in_ulp(r, function->two(x, y));
            where_x = error > worst ? x : where_x;
            where_y = error > worst ? y : where_y;
            worst = error > worst ? error : worst;
        }
        print_message("%-6s %.3f ulp at %a, %a\n", function->name, worst, where_x, where_y);
        bad += worst > 1.0;
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_of_one_argument_are_within_one_ulp_of_mpfr, reference_setup,
                                        reference_finish),
        cmocka_unit_test_setup_teardown(functions_of_two_arguments_are_within_one_ulp_of_mpfr, reference_setup,
                                        reference_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
