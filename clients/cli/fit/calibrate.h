/*
 * Deterministic errors from calibration records: scale factor, misalignment and bias of the accelerometer from six positions,
 * with the g-sensitivity of the gyroscope; scale factor and misalignment of the gyroscope from a rate table; thermal
 * polynomials from a temperature run. Least squares with standard errors.
 */
#ifndef CLI_FIT_CALIBRATE_H
#define CLI_FIT_CALIBRATE_H

#include "base/json.h"
#include "fit/fit.h"

/* y = matrix x + bias, in the unit of the triad, with the standard errors. */
struct fit_affine {
    bool is_there;
    double matrix[3][3], matrix_se[3][3];
    double bias[3], bias_se[3];
    double rms[3]; /* of the residuals */
};

/* bias(T) = c0 + c1 d + c2 d² + c3 d³, d = T - 25 °C. Terms that Bayes' criterion leaves out are 0. */
struct fit_thermal {
    bool is_there;
    double c[3][4], se[3][4];
    double from_degc, to_degc;
};

struct fit_calibration {
    struct fit_affine accelerometer, gyroscope; /* found from six positions at rest, and from a rate table */
    struct fit_affine g_sensitivity;            /* error of the gyroscope as a function of the specific force */
    struct fit_thermal thermal[OTO_PART_TRIADS];
};

/* Reads a log in which the sensor rests with each axis up and down, in any order. Samples between the rests are left out. */
enum oto_status fit_positions(struct fit_calibration *calibration, const char *path, const struct fit_log_options *options,
                              struct oto_error *error);
/* The log has the columns reference_{x,y,z}_rad_s beside those of the gyroscope. */
enum oto_status fit_rate_table(struct fit_calibration *calibration, const char *path, const struct fit_log_options *options,
                               struct oto_error *error);
/* The log has a column temperature_degc beside those of a sensor at rest. */
enum oto_status fit_temperature(struct fit_calibration *calibration, const char *path, const struct fit_log_options *options,
                                struct oto_error *error);

/* Writes the results as `parameters:` of a mode of a part file; writes nothing if there are none. */
void fit_calibration_write(FILE *to, const struct fit_calibration *calibration);
void fit_calibration_report(FILE *to, const struct fit_calibration *calibration);
/* Writes an object with a member for each result that exists. */
void fit_calibration_json(struct oto_json *json, const char *key, const struct fit_calibration *calibration);

#endif
