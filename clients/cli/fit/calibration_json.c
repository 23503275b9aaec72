/* Calibration results as JSON. */
#include "fit/calibrate.h"
#include "json.h"

static void put_row(FILE *to, const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        (void)fputs(i > 0 ? ", " : "[", to);
        oto_json_put_number(to, values[i]);
    }
    (void)fputc(']', to);
}

static void put_rows(FILE *to, const char *key, const double *values, int columns)
{
    (void)fprintf(to, ", \"%s\": [", key);
    for (int i = 0; i < 3; i++) {
        (void)fputs(i > 0 ? ", " : "", to);
        put_row(to, values + i * columns, columns);
    }
    (void)fputc(']', to);
}

static void put_affine(FILE *to, const char *key, const struct fit_affine *affine, const char *unit, bool *first)
{
    if (!affine->is_there) {
        return;
    }
    (void)fprintf(to, "%s\"%s\": {\"unit\": \"%s\"", *first ? "" : ", ", key, unit);
    *first = false;
    put_rows(to, "matrix", &affine->matrix[0][0], 3);
    put_rows(to, "matrix_standard_error", &affine->matrix_se[0][0], 3);
    (void)fputs(", \"bias\": ", to);
    put_row(to, affine->bias, 3);
    (void)fputs(", \"bias_standard_error\": ", to);
    put_row(to, affine->bias_se, 3);
    (void)fputs(", \"residual_rms\": ", to);
    put_row(to, affine->rms, 3);
    (void)fputc('}', to);
}

static void put_thermal(FILE *to, enum oto_part_triad id, const struct fit_thermal *thermal, bool *first)
{
    const double range_degc[2] = {thermal->from_degc, thermal->to_degc};
    if (!thermal->is_there) {
        return;
    }
    (void)fprintf(to, "%s\"%s\": {\"range_degc\": ", *first ? "" : ", ", oto_part_triad_name(id));
    *first = false;
    put_row(to, range_degc, 2);
    put_rows(to, "coefficients", &thermal->c[0][0], 4); /* of the powers 0 to 3 of T - 25 degC */
    put_rows(to, "standard_error", &thermal->se[0][0], 4);
    (void)fputc('}', to);
}

void fit_calibration_json(FILE *to, const struct fit_calibration *calibration)
{
    bool first = true, first_triad = true, any = false;
    (void)fputc('{', to);
    put_affine(to, "accelerometer", &calibration->accelerometer, "m/s2", &first);
    put_affine(to, "gyroscope", &calibration->gyroscope, "rad/s", &first);
    put_affine(to, "g_sensitivity", &calibration->g_sensitivity, "rad/s", &first);
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        any = any || calibration->thermal[id].is_there;
    }
    if (any) {
        (void)fprintf(to, "%s\"temperature\": {", first ? "" : ", ");
        for (int id = 0; id < OTO_PART_TRIADS; id++) {
            put_thermal(to, (enum oto_part_triad)id, &calibration->thermal[id], &first_triad);
        }
        (void)fputc('}', to);
    }
    (void)fputc('}', to);
}
