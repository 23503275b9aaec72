/*
 * Noise models of one axis, fitted to the Allan deviation of a rest log: white noise, a flicker floor or Gauss-Markov
 * processes, rate random walk, and sines (the terms of IEEE Std 952-1997, annex C). Pure.
 *
 * The variance of each term is that of samples, not of their continuous limit, so that the first averaging times fit too.
 */
#ifndef CLI_FIT_MODEL_H
#define CLI_FIT_MODEL_H

#include "allan/allan.h"

enum { FIT_MARKOVS = 8, FIT_SINES = 4 };

enum fit_kind { FIT_WALK, FIT_FLOOR, FIT_MARKOV, FIT_KINDS };

struct fit_model {
    enum fit_kind kind;
    double white_u;  /* standard deviation of a sample; N is white_u / √rate */
    double walk_u;   /* K, u/√s */
    double floor_u;  /* bias instability B of FIT_FLOOR, whose Allan deviation is flat */
    double floor_s[2];
    double markov_s[FIT_MARKOVS], markov_u[FIT_MARKOVS]; /* a standard deviation of 0: not used */
    double sine_hz[FIT_SINES], sine_u[FIT_SINES];        /* amplitudes */
    uint32_t terms;  /* number of coefficients that were fitted */
    double chi2;     /* of the weighted fit */
    double bic;      /* chi2 + terms ln(points) */
    double worst;    /* largest relative deviation within the range, with its sign; at worst_s */
    double worst_s;
};

struct fit_setup {
    double rate_hz;
    double tau_max_s;              /* longest averaging time that is fitted */
    double markov_s[FIT_MARKOVS];  /* correlation times to choose from; the same for all axes of a triad */
    double sine_hz[FIT_SINES];     /* frequencies to choose from; 0: none */
};

/* Correlation times from a sample period to a third of the longest averaging time, in geometric steps. */
void fit_setup_times(struct fit_setup *setup);

/*
 * N of the model in u·√s: white noise, and the processes of up to FIT_FAST_S, which are white for longer averages. This is
 * what the deviation at 1 s shows, and what a data sheet calls the random walk.
 */
#define FIT_FAST_S 0.3
double fit_model_n(const struct fit_model *model, double rate_hz);
/* The deviation of the model at m samples. */
double fit_model_deviation(const struct fit_model *model, double rate_hz, uint64_t m);

/* Standard error of the mean of so many samples, as an estimate of the bias at the start. */
double fit_model_mean_error(const struct fit_model *model, double rate_hz, uint64_t samples);

/*
 * Fits every kind and stores the models; returns the kind with the lowest information criterion. allan_fit must have set
 * the degrees of freedom of the points.
 */
enum fit_kind fit_models(const struct allan_point *points, size_t count, const struct fit_setup *setup,
                         struct fit_model models[FIT_KINDS]);
/* One kind alone. */
void fit_model_of(const struct allan_point *points, size_t count, const struct fit_setup *setup, enum fit_kind kind,
                  struct fit_model *model);
const char *fit_kind_name(enum fit_kind kind);

/* Non-negative least squares of `rows` equations in `columns` unknowns, at most FIT_COLUMNS; row-major (Lawson and Hanson
 * 1974, algorithm NNLS). */
enum { FIT_COLUMNS = 2 + FIT_MARKOVS + FIT_SINES };
void fit_nnls(const double *matrix, const double *right, size_t rows, size_t columns, double *solution);

/*
 * Frequencies of narrow-band noise in a record: bands that exceed the median of their neighbourhood. Strongest first;
 * returns their number.
 */
size_t fit_lines(const double *samples, size_t count, double rate_hz, double *hz, double *power, size_t most);

#endif
