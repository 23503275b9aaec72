/* Calibration results as JSON. */
#include "fit/calibrate.h"

static void put_rows(struct oto_json *json, const char *key, const double *values, uint32_t columns)
{
    oto_json_open(json, key, '[');
    for (uint32_t i = 0; i < 3; i++) {
        oto_json_numbers(json, NULL, values + i * columns, columns);
    }
    oto_json_close(json, ']');
}

static void put_affine(struct oto_json *json, const char *key, const struct fit_affine *affine, const char *unit)
{
    if (!affine->is_there) {
        return;
    }
    oto_json_open(json, key, '{');
    oto_json_text(json, "unit", unit);
    put_rows(json, "matrix", &affine->matrix[0][0], 3);
    put_rows(json, "matrix_standard_error", &affine->matrix_se[0][0], 3);
    oto_json_numbers(json, "bias", affine->bias, 3);
    oto_json_numbers(json, "bias_standard_error", affine->bias_se, 3);
    oto_json_numbers(json, "residual_rms", affine->rms, 3);
    oto_json_close(json, '}');
}

static void put_thermal(struct oto_json *json, enum oto_part_triad id, const struct fit_thermal *thermal)
{
    if (!thermal->is_there) {
        return;
    }
    oto_json_open(json, oto_part_triad_name(id), '{');
    oto_json_numbers(json, "range_degc", (double[]){thermal->from_degc, thermal->to_degc}, 2);
    put_rows(json, "coefficients", &thermal->c[0][0], 4); /* of the powers 0 to 3 of T - 25 degC */
    put_rows(json, "standard_error", &thermal->se[0][0], 4);
    oto_json_close(json, '}');
}

void fit_calibration_json(struct oto_json *json, const char *key, const struct fit_calibration *calibration)
{
    bool any = false;
    oto_json_open(json, key, '{');
    put_affine(json, "accelerometer", &calibration->accelerometer, "m/s2");
    put_affine(json, "gyroscope", &calibration->gyroscope, "rad/s");
    put_affine(json, "g_sensitivity", &calibration->g_sensitivity, "rad/s");
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        any = any || calibration->thermal[id].is_there;
    }
    if (any) {
        oto_json_open(json, "temperature", '{');
        for (int id = 0; id < OTO_PART_TRIADS; id++) {
            put_thermal(json, (enum oto_part_triad)id, &calibration->thermal[id]);
        }
        oto_json_close(json, '}');
    }
    oto_json_close(json, '}');
}
