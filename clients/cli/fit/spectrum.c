/* Narrow-band noise in a record: Welch's spectrum, and bands of constant relative width that exceed their neighbourhood. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/model.h"

#define PI 3.141592653589793

enum { LONGEST = 1 << 16, SHORTEST = 1 << 10, SEGMENTS = 8, BANDS = 1024, AROUND = 20 };

/* Ratio of the frequencies of neighbouring bands; a band has at least one line of the spectrum. */
#define BAND_STEP 1.02
#define PEAK 3.0 /* a peak is at least this multiple of the median of the bands around it */
#define FOOT 1.5 /* a peak ends where the bands are below this multiple */

static void transform(double complex *x, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; (j & bit) != 0; bit >>= 1) {
            j ^= bit;
        }
        j ^= bit;
        if (i < j) {
            const double complex swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
    }
    for (size_t length = 2; length <= n; length <<= 1) {
        for (size_t k = 0; k < length / 2; k++) {
            const double complex turn = cexp(-2.0 * PI * I * (double)k / (double)length);
            for (size_t i = k; i < n; i += length) {
                const double complex u = x[i], v = x[i + length / 2] * turn;
                x[i] = u + v;
                x[i + length / 2] = u - v;
            }
        }
    }
}

static bool welch(const double *samples, size_t count, size_t length, double rate_hz, double *psd)
{
    double complex *x = malloc(length * sizeof *x);
    size_t segments = 0;
    memset(psd, 0, length / 2 * sizeof *psd);
    for (size_t from = 0; x != NULL && from + length <= count; from += length / 2, segments++) {
        double mean = 0.0;
        for (size_t i = 0; i < length; i++) {
            mean += samples[from + i] / (double)length;
        }
        for (size_t i = 0; i < length; i++) {
            x[i] = (samples[from + i] - mean) * (0.5 - 0.5 * cos(2.0 * PI * (double)i / (double)length));
        }
        transform(x, length);
        for (size_t i = 0; i < length / 2; i++) {
            psd[i] += creal(x[i] * conj(x[i]));
        }
    }
    for (size_t i = 0; i < length / 2 && segments > 0; i++) {
        psd[i] *= 2.0 / (rate_hz * (double)length * 0.375 * (double)segments);
    }
    free(x);
    return segments > 0;
}

struct band {
    double hz, level; /* centre, mean density */
    size_t first, end;
};

static size_t make_bands(const double *psd, size_t lines, double line_hz, struct band *bands)
{
    size_t count = 0;
    double edge = 8.0;
    while ((size_t)edge + 1 < lines && count < BANDS) {
        struct band *band = &bands[count++];
        const double next = fmax(edge * BAND_STEP, edge + 1.0);
        *band = (struct band){.first = (size_t)edge, .end = (size_t)next < lines ? (size_t)next : lines};
        for (size_t i = band->first; i < band->end; i++) {
            band->level += psd[i] / (double)(band->end - band->first);
        }
        band->hz = 0.5 * (double)(band->first + band->end - 1) * line_hz;
        edge = (double)band->end;
    }
    return count;
}

static int ascending(const void *a, const void *b)
{
    double left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

static double median_around(const struct band *bands, size_t count, size_t at)
{
    double levels[2 * AROUND + 1];
    size_t used = 0;
    const size_t from = at > AROUND ? at - AROUND : 0, end = at + AROUND < count ? at + AROUND : count - 1;
    for (size_t i = from; i <= end; i++) {
        levels[used++] = bands[i].level;
    }
    qsort(levels, used, sizeof *levels, ascending);
    return levels[used / 2];
}

/* The power of a peak over its base, and the frequency of its centre. */
static double peak_power(const double *psd, const struct band *bands, size_t count, size_t at, double line_hz, double *hz)
{
    const double base = median_around(bands, count, at);
    size_t from = at, end = at;
    double power = 0.0, moment = 0.0;
    while (from > 0 && bands[from - 1].level > FOOT * base) {
        from--;
    }
    while (end + 1 < count && bands[end + 1].level > FOOT * base) {
        end++;
    }
    for (size_t i = bands[from].first; i < bands[end].end; i++) {
        const double excess = fmax(psd[i] - base, 0.0) * line_hz;
        power += excess;
        moment += excess * (double)i * line_hz;
    }
    *hz = power > 0.0 ? moment / power : bands[at].hz;
    return power;
}

static void keep(double at_hz, double at_power, double *hz, double *power, size_t *found, size_t most)
{
    size_t place = *found;
    while (place > 0 && power[place - 1] < at_power) {
        place--;
    }
    if (place == most) {
        return;
    }
    *found = *found < most ? *found + 1 : most;
    for (size_t i = *found - 1; i > place; i--) {
        hz[i] = hz[i - 1];
        power[i] = power[i - 1];
    }
    hz[place] = at_hz;
    power[place] = at_power;
}

size_t fit_lines(const double *samples, size_t count, double rate_hz, double *hz, double *power, size_t most)
{
    static const size_t guard = 2;
    size_t length = SHORTEST, found = 0;
    while (length < LONGEST && length * SEGMENTS <= count) {
        length <<= 1;
    }
    double *psd = malloc(length / 2 * sizeof *psd);
    struct band *bands = malloc(BANDS * sizeof *bands);
    const double line_hz = rate_hz / (double)length;
    if (psd != NULL && bands != NULL && welch(samples, count, length, rate_hz, psd)) {
        const size_t used = make_bands(psd, length / 2, line_hz, bands);
        for (size_t i = guard; i + guard < used; i++) {
            bool top = bands[i].level > PEAK * median_around(bands, used, i);
            for (size_t k = i - guard; k <= i + guard; k++) {
                top = top && bands[k].level <= bands[i].level;
            }
            if (top) {
                double at_hz;
                const double at_power = peak_power(psd, bands, used, i, line_hz, &at_hz);
                keep(at_hz, at_power, hz, power, &found, most);
            }
        }
    }
    free(bands);
    free(psd);
    return found;
}
