/* What every test includes: cmocka in the order it wants, and comparisons of doubles (cmocka 1.1.5 casts to float). */
#ifndef OTO_TEST_H
#define OTO_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* |a - b| <= tolerance, NaN never; prints both. */
#define assert_near(a, b, tolerance) oto_assert_near_((a), (b), (tolerance), #a, #b, __FILE__, __LINE__)

static inline void oto_assert_near_(double a, double b, double tolerance, const char *a_text, const char *b_text,
                                    const char *file, int line)
{
    if (!(fabs(a - b) <= tolerance)) {
        print_error("%s = %.17g, %s = %.17g: they differ by %.3g, allowed %.3g\n", a_text, a, b_text, b, fabs(a - b),
                    tolerance);
        _fail(file, line);
    }
}

/* OTO_OK, else the error's text is shown. */
#define assert_ok(status, error)                                                                                       \
    do {                                                                                                               \
        if ((status) != 0) {                                                                                           \
            print_error("%s\n", (error).text);                                                                         \
            _fail(__FILE__, __LINE__);                                                                                 \
        }                                                                                                              \
    } while (0)

/* A file of the reference data beside the checkout; skips the test, saying so, where it is absent. */
static inline const char *oto_shared_file(char *path, size_t bytes, const char *name)
{
    (void)snprintf(path, bytes, "%s/%s", OTO_SHARED_DIR, name);
    if (access(path, R_OK) != 0) {
        print_message("skipped: there is no %s\n", path);
        skip();
    }
    return path;
}

#endif
