#include <math.h>
#include <string.h>

#include "fit/model.h"

struct problem {
    double normal[FIT_COLUMNS][FIT_COLUMNS], right[FIT_COLUMNS], scale[FIT_COLUMNS];
    size_t columns;
};

/* Columns are scaled to unit length, so that terms of different units compare. */
static void prepare(struct problem *problem, const double *matrix, const double *right, size_t rows, size_t columns)
{
    memset(problem, 0, sizeof *problem);
    problem->columns = columns;
    for (size_t i = 0; i < columns; i++) {
        double sum = 0.0;
        for (size_t r = 0; r < rows; r++) {
            sum += matrix[r * columns + i] * matrix[r * columns + i];
        }
        problem->scale[i] = sum > 0.0 ? 1.0 / sqrt(sum) : 0.0;
    }
    for (size_t i = 0; i < columns; i++) {
        for (size_t r = 0; r < rows; r++) {
            problem->right[i] += matrix[r * columns + i] * problem->scale[i] * right[r];
        }
        for (size_t j = 0; j < columns; j++) {
            double sum = 0.0;
            for (size_t r = 0; r < rows; r++) {
                sum += matrix[r * columns + i] * matrix[r * columns + j];
            }
            problem->normal[i][j] = sum * problem->scale[i] * problem->scale[j];
        }
    }
}

/* The least squares of the columns in `set`, by Cholesky; the others are zero. Dependent columns are left out. */
static void solve(const struct problem *problem, unsigned set, double *x)
{
    size_t index[FIT_COLUMNS], size = 0;
    double lower[FIT_COLUMNS][FIT_COLUMNS], y[FIT_COLUMNS];
    memset(x, 0, problem->columns * sizeof *x);
    for (size_t i = 0; i < problem->columns; i++) {
        double sum = problem->normal[i][i];
        if ((set >> i & 1u) == 0) {
            continue;
        }
        index[size] = i;
        for (size_t k = 0; k < size; k++) {
            double part = problem->normal[i][index[k]];
            for (size_t j = 0; j < k; j++) {
                part -= lower[size][j] * lower[k][j];
            }
            lower[size][k] = part / lower[k][k];
            sum -= lower[size][k] * lower[size][k];
        }
        if (sum < 1e-11) {
            continue;
        }
        lower[size][size] = sqrt(sum);
        y[size] = problem->right[i];
        for (size_t j = 0; j < size; j++) {
            y[size] -= lower[size][j] * y[j];
        }
        y[size] /= lower[size][size];
        size++;
    }
    for (size_t i = size; i-- > 0;) {
        for (size_t k = i + 1; k < size; k++) {
            y[i] -= lower[k][i] * y[k];
        }
        y[i] /= lower[i][i];
        x[index[i]] = y[i];
    }
}

static size_t steepest(const struct problem *problem, unsigned set, const double *x)
{
    size_t best = problem->columns;
    double most = 1e-10;
    for (size_t i = 0; i < problem->columns; i++) {
        double slope = problem->right[i];
        for (size_t j = 0; j < problem->columns; j++) {
            slope -= problem->normal[i][j] * x[j];
        }
        if ((set >> i & 1u) == 0 && problem->scale[i] > 0.0 && slope > most) {
            most = slope;
            best = i;
        }
    }
    return best;
}

/* Moves x towards the unconstrained solution until an unknown reaches zero. Returns the set without that unknown. */
static unsigned step_back(const struct problem *problem, unsigned set, double *x, const double *wanted)
{
    double part = 1.0;
    for (size_t i = 0; i < problem->columns; i++) {
        if ((set >> i & 1u) != 0 && wanted[i] <= 0.0 && x[i] - wanted[i] > 0.0) {
            part = fmin(part, x[i] / (x[i] - wanted[i]));
        }
    }
    for (size_t i = 0; i < problem->columns; i++) {
        x[i] += part * (wanted[i] - x[i]);
        if ((set >> i & 1u) != 0 && x[i] <= 1e-14) {
            x[i] = 0.0;
            set &= ~(1u << i);
        }
    }
    return set;
}

void fit_nnls(const double *matrix, const double *right, size_t rows, size_t columns, double *solution)
{
    struct problem problem;
    double x[FIT_COLUMNS] = {0}, wanted[FIT_COLUMNS];
    unsigned set = 0;
    prepare(&problem, matrix, right, rows, columns);
    for (int round = 0; round < 10 * FIT_COLUMNS; round++) {
        const size_t next = steepest(&problem, set, x);
        if (next == columns) {
            break;
        }
        set |= 1u << next;
        for (int inner = 0; inner < 3 * FIT_COLUMNS; inner++) {
            bool inside = true;
            solve(&problem, set, wanted);
            for (size_t i = 0; i < columns; i++) {
                inside = inside && ((set >> i & 1u) == 0 || wanted[i] > 0.0);
            }
            if (inside) {
                memcpy(x, wanted, columns * sizeof *x);
                break;
            }
            set = step_back(&problem, set, x, wanted);
        }
    }
    for (size_t i = 0; i < columns; i++) {
        solution[i] = x[i] * problem.scale[i];
    }
}
