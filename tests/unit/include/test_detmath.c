/* The elementary functions against correctly rounded values (tests/golden/detmath.csv, by MPFR) and C99 annex F. */
#include "oto_test.h"

#include "otolith/detmath.h"
#include "ulp.h"

struct function {
    const char *name;
    double (*one)(double);
    double (*two)(double, double);
};

static const struct function functions[] = {
    {"sin", oto_sin, NULL},   {"cos", oto_cos, NULL},     {"tan", oto_tan, NULL},     {"asin", oto_asin, NULL},
    {"acos", oto_acos, NULL}, {"atan", oto_atan, NULL},   {"exp", oto_exp, NULL},     {"expm1", oto_expm1, NULL},
    {"log", oto_log, NULL},   {"log1p", oto_log1p, NULL}, {"atan2", NULL, oto_atan2}, {"hypot", NULL, oto_hypot},
    {"pow", NULL, oto_pow},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

static const struct function *find_function(const char *name)
{
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return &functions[i];
        }
    }
    return NULL;
}

/* The exact value is within half an ulp of the rounded one, so an error below 1 ulp leaves at most the next double. */
static bool is_within_one_ulp(double got, double rounded)
{
    return is_same_double(got, rounded) || fabs(got - rounded) <= ulp_of(rounded);
}

static void every_golden_value_is_met_within_one_ulp(void **state)
{
    (void)state;
    char line[256], name[16], x_text[40], y_text[40], value_text[40];
    int rows = 0, worse = 0, off = 0;
    FILE *file = fopen(OTO_SOURCE_DIR "/tests/golden/detmath.csv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%15[^,],%39[^,],%39[^,],%39[^,\n]", name, x_text, y_text, value_text) != 4 ||
            strcmp(name, "function") == 0) {
            continue;
        }
        const struct function *f = find_function(name);
        assert_non_null(f);
        double x = strtod(x_text, NULL), y = strtod(y_text, NULL), value = strtod(value_text, NULL);
        double got = f->one != NULL ? f->one(x) : f->two(x, y);
        if (!is_within_one_ulp(got, value)) {
            print_error("%s(%a, %a) = %a, not %a\n", name, x, y, got, value);
            worse++;
        }
        off += got != value;
        rows++;
    }
    (void)fclose(file);
    print_message("%d rows, %d not correctly rounded\n", rows, off);
    assert_true(rows > 2000);
    assert_int_equal(worse, 0);
}

static void sincos_gives_the_bits_of_sin_and_cos(void **state)
{
    (void)state;
    for (int i = -2000; i < 2000; i++) {
        double x = (double)i * 0.7 + (double)i * (double)i * (double)i * 1.1e3, s, c;
        oto_sincos(x, &s, &c);
        assert_true(is_same_double(s, oto_sin(x)) && is_same_double(c, oto_cos(x)));
    }
}

/* ISO C, annex F. */
static const struct special {
    const char *name;
    double x, y, value;
} specials[] = {
    {"sin", 0.0, 0, 0.0},
    {"sin", -0.0, 0, -0.0},
    {"sin", INFINITY, 0, NAN},
    {"sin", NAN, 0, NAN},
    {"cos", 0.0, 0, 1.0},
    {"cos", -0.0, 0, 1.0},
    {"cos", -INFINITY, 0, NAN},
    {"tan", -0.0, 0, -0.0},
    {"tan", INFINITY, 0, NAN},
    {"asin", -0.0, 0, -0.0},
    {"asin", 1.0, 0, OTO_HALF_PI},
    {"asin", -1.0, 0, -OTO_HALF_PI},
    {"asin", 1.5, 0, NAN},
    {"acos", 1.0, 0, 0.0},
    {"acos", -1.0, 0, OTO_PI},
    {"acos", -1.5, 0, NAN},
    {"atan", -0.0, 0, -0.0},
    {"atan", INFINITY, 0, OTO_HALF_PI},
    {"atan", -INFINITY, 0, -OTO_HALF_PI},
    {"atan", NAN, 0, NAN},
    {"exp", 0.0, 0, 1.0},
    {"exp", INFINITY, 0, INFINITY},
    {"exp", -INFINITY, 0, 0.0},
    {"exp", 710.0, 0, INFINITY},
    {"exp", -746.0, 0, 0.0},
    {"exp", NAN, 0, NAN},
    {"expm1", -0.0, 0, -0.0},
    {"expm1", INFINITY, 0, INFINITY},
    {"expm1", -INFINITY, 0, -1.0},
    {"expm1", -100.0, 0, -1.0},
    {"log", 1.0, 0, 0.0},
    {"log", 0.0, 0, -INFINITY},
    {"log", -0.0, 0, -INFINITY},
    {"log", INFINITY, 0, INFINITY},
    {"log", -1.0, 0, NAN},
    {"log", -INFINITY, 0, NAN},
    {"log1p", -0.0, 0, -0.0},
    {"log1p", -1.0, 0, -INFINITY},
    {"log1p", -1.5, 0, NAN},
    {"log1p", INFINITY, 0, INFINITY},
    {"atan2", 0.0, 0.0, 0.0},
    {"atan2", -0.0, 0.0, -0.0},
    {"atan2", 0.0, -0.0, OTO_PI},
    {"atan2", -0.0, -0.0, -OTO_PI},
    {"atan2", 0.0, -1.0, OTO_PI},
    {"atan2", -0.0, -1.0, -OTO_PI},
    {"atan2", 1.0, 0.0, OTO_HALF_PI},
    {"atan2", -1.0, -0.0, -OTO_HALF_PI},
    {"atan2", 1.0, INFINITY, 0.0},
    {"atan2", -1.0, INFINITY, -0.0},
    {"atan2", 1.0, -INFINITY, OTO_PI},
    {"atan2", INFINITY, 1.0, OTO_HALF_PI},
    {"atan2", INFINITY, INFINITY, OTO_PI / 4},
    {"atan2", -INFINITY, -INFINITY, -3 * (OTO_PI / 4)},
    {"atan2", NAN, 1.0, NAN},
    {"hypot", 0.0, -0.0, 0.0},
    {"hypot", -3.0, 4.0, 5.0},
    {"hypot", -INFINITY, NAN, INFINITY},
    {"hypot", NAN, 1.0, NAN},
    {"pow", NAN, 0.0, 1.0},
    {"pow", 1.0, NAN, 1.0},
    {"pow", 2.0, 10.0, 1024.0},
    {"pow", -2.0, 3.0, -8.0},
    {"pow", -2.0, 2.0, 4.0},
    {"pow", -2.0, 0.5, NAN},
    {"pow", 0.0, 2.0, 0.0},
    {"pow", -0.0, 3.0, -0.0},
    {"pow", 0.0, -1.0, INFINITY},
    {"pow", -0.0, -1.0, -INFINITY},
    {"pow", 2.0, INFINITY, INFINITY},
    {"pow", 2.0, -INFINITY, 0.0},
    {"pow", 0.5, INFINITY, 0.0},
    {"pow", -1.0, INFINITY, 1.0},
    {"pow", INFINITY, -1.0, 0.0},
    {"pow", -INFINITY, 3.0, -INFINITY},
    {"pow", 2.0, 1024.0, INFINITY},
    {"pow", 2.0, -1074.0, 0x1p-1074},
    {"pow", 4.0, 0.5, 2.0},
};

static void special_arguments_follow_annex_f(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        const struct special *at = &specials[i];
        const struct function *f = find_function(at->name);
        double got = f->one != NULL ? f->one(at->x) : f->two(at->x, at->y);
        if (!is_same_double(got, at->value)) {
            fail_msg("%s(%g, %g) = %g, not %g", at->name, at->x, at->y, got, at->value);
        }
    }
}

static void halves_round_away_from_zero(void **state)
{
    (void)state;
    const double below_half = 0x1.fffffffffffffp-2;
    const double cases[][2] = {{0.5, 1},
                               {-0.5, -1},
                               {1.5, 2},
                               {2.5, 3},
                               {-2.5, -3},
                               {0.4, 0},
                               {-0.4, -0.0},
                               {0.0, 0},
                               {-0.0, -0.0},
                               {below_half, 0},
                               {0x1p52, 0x1p52},
                               {-0x1.8p53, -0x1.8p53},
                               {0x1.fffffffffffffp51, 0x1p52},
                               {INFINITY, INFINITY},
                               {NAN, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(is_same_double(oto_round_half_away(cases[i][0]), cases[i][1]));
        assert_true(is_same_double(oto_round_half_away(cases[i][0]), round(cases[i][0])));
    }
}

static void wrapped_angles_lie_within_pi_and_keep_their_sine(void **state)
{
    (void)state;
    assert_true(oto_wrap_pi(OTO_PI) == OTO_PI);
    assert_true(oto_wrap_pi(-1.0) == -1.0);
    assert_true(isnan(oto_wrap_pi(INFINITY)));
    for (int i = -3000; i < 3000; i++) {
        double x = (double)i * 1.37 + (double)i * (double)i * (double)i, wrapped = oto_wrap_pi(x);
        assert_true(fabs(wrapped) <= OTO_PI);
        /* rounding of a result below 4: 2^-52; the sine carries it, and its own ulp */
        assert_near(oto_sin(wrapped), oto_sin(x), 0x1p-51);
        assert_near(oto_cos(wrapped), oto_cos(x), 0x1p-51);
    }
}

static void constants_are_the_nearest_doubles(void **state)
{
    (void)state;
    assert_true(OTO_PI == 3.14159265358979323846 && OTO_TWO_PI == 6.28318530717958647693);
    assert_true(OTO_HALF_PI == 1.57079632679489661923 && OTO_DEG == 0.0174532925199432957692);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_value_is_met_within_one_ulp),
        cmocka_unit_test(sincos_gives_the_bits_of_sin_and_cos),
        cmocka_unit_test(special_arguments_follow_annex_f),
        cmocka_unit_test(halves_round_away_from_zero),
        cmocka_unit_test(wrapped_angles_lie_within_pi_and_keep_their_sine),
        cmocka_unit_test(constants_are_the_nearest_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
