/* Statistics of a stream of numbers, in one pass; percentiles and Allan deviation at the end. */
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>

#include "allan/allan.h"

enum { POINTS_PER_DECADE = 10, FIRST_CAPACITY = 4096 };

void sweep_sum_init(struct sweep_sum *sum, const struct sweep_metric *metric)
{
    *sum = (struct sweep_sum){.metric = metric};
    for (uint32_t i = 0; i < metric->compute_count; i++) {
        const enum sweep_statistic statistic = metric->computes[i].statistic;
        sum->keeps_values = sum->keeps_values || statistic == SWEEP_PERCENTILE;
        sum->has_allan = sum->has_allan || statistic >= SWEEP_ALLAN_N;
    }
}

void sweep_sum_finish(struct sweep_sum *sum)
{
    allan_destroy(sum->allan);
    free(sum->values);
    *sum = (struct sweep_sum){0};
}

enum oto_status sweep_sum_reset(struct sweep_sum *sum, struct oto_error *error)
{
    sum->count = 0;
    sum->mean = sum->m2 = sum->squares = 0.0;
    sum->last = NAN;
    sum->least = INFINITY;
    sum->most = -INFINITY;
    allan_destroy(sum->allan);
    sum->allan = sum->has_allan ? allan_create(POINTS_PER_DECADE) : NULL;
    return sum->has_allan && sum->allan == NULL ? oto_fail(error, OTO_NO_MEMORY, "no memory for an Allan deviation") : OTO_OK;
}

static enum oto_status keep_value(struct sweep_sum *sum, double value, struct oto_error *error)
{
    if (sum->count == sum->capacity) {
        const size_t capacity = sum->capacity > 0 ? 2 * sum->capacity : FIRST_CAPACITY;
        double *values = realloc(sum->values, capacity * sizeof *values);
        if (values == NULL) {
            return oto_fail(error, OTO_NO_MEMORY, "no memory for the percentiles of %zu samples", sum->capacity);
        }
        sum->values = values;
        sum->capacity = capacity;
    }
    sum->values[sum->count] = value;
    return OTO_OK;
}

/* Mean and variance by Welford's recurrence. */
enum oto_status sweep_sum_add(struct sweep_sum *sum, double value, struct oto_error *error)
{
    enum oto_status status = sum->keeps_values ? keep_value(sum, value, error) : OTO_OK;
    if (status == OTO_OK && sum->allan != NULL && allan_add(sum->allan, &value, 1) != OTO_OK) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for an Allan deviation");
    }
    const double delta = value - sum->mean;
    sum->count++;
    sum->mean += delta / (double)sum->count;
    sum->m2 += delta * (value - sum->mean);
    sum->squares += value * value;
    sum->least = value < sum->least ? value : sum->least;
    sum->most = value > sum->most ? value : sum->most;
    sum->last = value;
    return status;
}

/* ---- percentiles ---- */

/* Moves the value of rank `rank` to index `rank`: no value before it is greater, no value after it is smaller (Hoare). */
static void select_rank(double *values, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot) {
                i++;
            }
            while (values[j] > pivot) {
                j--;
            }
            if (i >= j) {
                break;
            }
            const double kept = values[i];
            values[i++] = values[j];
            values[j--] = kept;
        }
        if (rank <= j) {
            high = j;
        } else {
            low = j + 1;
        }
    }
}

double sweep_percentile(double *values, size_t count, double percent)
{
    if (count == 0) {
        return NAN;
    }
    const double place = percent / 100.0 * (double)(count - 1);
    const size_t rank = (size_t)place;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) {
            return NAN;
        }
    }
    select_rank(values, count, rank);
    double next = values[rank];
    for (size_t i = rank + 1; i < count; i++) {
        next = i == rank + 1 || values[i] < next ? values[i] : next;
    }
    return values[rank] + (place - (double)rank) * (next - values[rank]);
}

/* ---- results ---- */

static void fit_allan(const struct sweep_sum *sum, double rate_hz, struct allan_fit *fit)
{
    struct allan_point points[ALLAN_MAX_POINTS];
    const size_t count = sum->allan != NULL ? allan_points(sum->allan, rate_hz, points, ALLAN_MAX_POINTS) : 0;
    *fit = (struct allan_fit){.n = NAN, .b = NAN, .k = NAN};
    if (count > 0) {
        allan_fit(points, count, allan_count(sum->allan), NULL, fit);
    }
}

static double result_of(struct sweep_sum *sum, const struct sweep_compute *compute, const struct allan_fit *fit)
{
    const double count = (double)sum->count;
    switch (compute->statistic) {
    case SWEEP_COUNT: return count;
    case SWEEP_MEAN: return sum->count > 0 ? sum->mean : NAN;
    case SWEEP_STD: return sum->count > 1 ? sqrt(sum->m2 / (count - 1.0)) : NAN;
    case SWEEP_RMS: return sum->count > 0 ? sqrt(sum->squares / count) : NAN;
    case SWEEP_MIN: return sum->count > 0 ? sum->least : NAN;
    case SWEEP_MAX: return sum->count > 0 ? sum->most : NAN;
    case SWEEP_LAST: return sum->last;
    case SWEEP_PERCENTILE: return sweep_percentile(sum->values, sum->count, compute->percent);
    case SWEEP_ALLAN_N: return fit->n;
    case SWEEP_ALLAN_B: return fit->b;
    case SWEEP_ALLAN_K: return fit->k;
    }
    return NAN;
}

void sweep_sum_results(struct sweep_sum *sum, double rate_hz, double *results)
{
    struct allan_fit fit;
    fit_allan(sum, rate_hz, &fit);
    for (uint32_t i = 0; i < sum->metric->compute_count; i++) {
        results[i] = result_of(sum, &sum->metric->computes[i], &fit);
    }
}
