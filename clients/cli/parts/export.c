/* Export of a part: Kalibr's imu.yaml and the <noise> elements of an SDF sensor. */
#include <math.h>

#include "parts.h"

#define RT2 1.41421356237309504880

/* A random walk has no correlation time, but SDF needs one. This is the value in SDF's documentation. */
#define SDF_CORRELATION_S 3600.0

/* Kalibr takes one number for all axes: that of the axis with the most noise. */
static double largest(const double *axes)
{
    return fmax(axes[0], fmax(axes[1], axes[2]));
}

static void kalibr_line(FILE *to, const char *key, bool known, double value, const char *unit)
{
    (void)fprintf(to, "%s: %.9g  # %s%s\n", key, known ? value : 0.0, unit,
                  known ? "" : "; the part has no source for it");
}

/* Allan's N of the noisiest axis. If the part has an rms, it is that of a sample at any rate. */
static double two_sided(const struct oto_part_noise *noise, double rate_hz)
{
    return noise->has_rms ? largest(noise->rms_u) / sqrt(rate_hz) : largest(noise->white_u_rthz) / RT2;
}

static void kalibr(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, double rate_hz)
{
    struct oto_part_noise accelerometer, gyroscope;
    oto_part_noise(mode, OTO_PART_ACCELEROMETER, &accelerometer);
    oto_part_noise(mode, OTO_PART_GYROSCOPE, &gyroscope);
    (void)fprintf(to, "# %s, mode %s. Densities are two-sided, as Kalibr's: data sheet / √2.\n", part->name,
                  mode->name);
    kalibr_line(to, "accelerometer_noise_density", accelerometer.has_white || accelerometer.has_rms,
                two_sided(&accelerometer, rate_hz),
                "m/s^2/sqrt(Hz)");
    kalibr_line(to, "accelerometer_random_walk", accelerometer.has_walk, largest(accelerometer.walk_u_rts),
                "m/s^3/sqrt(Hz)");
    kalibr_line(to, "gyroscope_noise_density", gyroscope.has_white || gyroscope.has_rms, two_sided(&gyroscope, rate_hz),
                "rad/s/sqrt(Hz)");
    kalibr_line(to, "gyroscope_random_walk", gyroscope.has_walk, largest(gyroscope.walk_u_rts), "rad/s^2/sqrt(Hz)");
    (void)fprintf(to, "rostopic: /imu\nupdate_rate: %.10g\n", rate_hz);
}

static double axis_of(const struct oto_part_number *number, int axis)
{
    return number != NULL ? number->value_u[axis] : 0.0;
}

static void sdf_axis(FILE *to, const struct oto_part_mode *mode, enum oto_part_triad triad, int axis, double rate_hz)
{
    struct oto_part_noise noise;
    const struct oto_part_number *digit = oto_part_number(mode, triad, "resolution");
    const struct oto_part_number *offset = oto_part_number(mode, triad, "zero_offset");
    const struct oto_part_number *bias = oto_part_number(mode, triad, "constant_bias");
    /* SDF has the magnetic field in tesla. */
    const double unit = triad == OTO_PART_MAGNETOMETER ? 1e-6 : 1.0;
    oto_part_noise(mode, triad, &noise);
    (void)fprintf(to, "    <%c>\n      <noise type=\"%s\">\n", "xyz"[axis],
                  digit != NULL ? "gaussian_quantized" : "gaussian");
    (void)fprintf(to, "        <mean>0</mean>\n        <stddev>%.9g</stddev>\n",
                  (noise.has_rms ? noise.rms_u[axis] : noise.white_u_rthz[axis] * sqrt(rate_hz / 2)) * unit);
    (void)fprintf(to, "        <bias_mean>%.9g</bias_mean>\n        <bias_stddev>%.9g</bias_stddev>\n",
                  axis_of(bias, axis) * unit,
                  axis_of(offset, axis) * unit / (offset != NULL && offset->is_max ? 3 : 1));
    if (noise.has_walk) {
        (void)fprintf(to,
                      "        <dynamic_bias_stddev>%.9g</dynamic_bias_stddev>\n"
                      "        <dynamic_bias_correlation_time>%g</dynamic_bias_correlation_time>\n",
                      noise.walk_u_rts[axis] * unit, SDF_CORRELATION_S);
    }
    if (digit != NULL) {
        (void)fprintf(to, "        <precision>%.9g</precision>\n", digit->value_u[axis] * unit);
    }
    (void)fprintf(to, "      </noise>\n    </%c>\n", "xyz"[axis]);
}

static void sdf_triad(FILE *to, const struct oto_part_mode *mode, enum oto_part_triad triad, const char *element,
                      double rate_hz)
{
    (void)fprintf(to, "  <%s>\n", element);
    for (int axis = 0; axis < 3; axis++) {
        sdf_axis(to, mode, triad, axis, rate_hz);
    }
    (void)fprintf(to, "  </%s>\n", element);
}

static void sdf(FILE *to, const struct oto_part *part, const struct oto_part_mode *mode, double rate_hz)
{
    const char *element = part->is_imu ? "imu" : "magnetometer";
    (void)fprintf(to,
                  "<!-- %s, mode %s, %.10g Hz: stddev = density sqrt(rate / 2); what is 0 has no source -->\n<%s>\n",
                  part->name, mode->name, rate_hz, element);
    if (part->is_imu) {
        sdf_triad(to, mode, OTO_PART_ACCELEROMETER, "linear_acceleration", rate_hz);
        sdf_triad(to, mode, OTO_PART_GYROSCOPE, "angular_velocity", rate_hz);
    } else {
        for (int axis = 0; axis < 3; axis++) {
            sdf_axis(to, mode, OTO_PART_MAGNETOMETER, axis, rate_hz);
        }
    }
    (void)fprintf(to, "</%s>\n", element);
}

enum oto_status parts_export(FILE *to, enum parts_format format, const struct oto_part *part,
                             const struct oto_part_mode *mode, double rate_hz, struct oto_error *error)
{
    const double rate = rate_hz > 0 ? rate_hz : mode->output_rate_hz;
    if (part->kind == OTO_PART_KIND_SETTINGS) {
        return oto_fail(error, OTO_INVALID, "part '%s' is of kind %s; Kalibr and SDF describe IMUs and magnetometers", part->name,
                        part->kind_name);
    }
    if (rate <= 0 && format != PARTS_MATLAB) {
        return oto_fail(error, OTO_INVALID, "part '%s' gives no output rate in mode '%s': give one with --rate HZ",
                        part->name, mode->name);
    }
    if (format == PARTS_KALIBR && !part->is_imu) {
        return oto_fail(error, OTO_INVALID, "part '%s' is a magnetometer; Kalibr's imu.yaml describes IMUs",
                        part->name);
    }
    if (format == PARTS_MATLAB || format == PARTS_MAVS) {
        parts_export_json(to, format == PARTS_MAVS, part, mode, rate);
    } else {
        (format == PARTS_KALIBR ? kalibr : sdf)(to, part, mode, rate);
    }
    return OTO_OK;
}
