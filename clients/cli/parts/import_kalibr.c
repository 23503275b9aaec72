/*
 * Kalibr's imu.yaml as a part, also as allan_variance_ros writes it: densities are two-sided (Allan's N), random walks are K. The
 * keys are at the root, or in an entry such as imu0.
 */
#include <string.h>

#include "json.h"
#include "parts.h"

static const struct {
    const char *density, *walk, *density_unit, *walk_unit;
} keys[] = {
    {"accelerometer_noise_density", "accelerometer_random_walk", "m/s²/√Hz", "m/s³/√Hz"},
    {"gyroscope_noise_density", "gyroscope_random_walk", "rad/s/√Hz", "rad/s²/√Hz"},
};
enum { TRIADS = sizeof keys / sizeof *keys };

static bool is_kalibr(const struct oto_value *map)
{
    return map->kind == OTO_VALUE_MAP &&
           (oto_value_get(map, keys[0].density) != NULL || oto_value_get(map, keys[1].density) != NULL);
}

const struct oto_value *parts_find_kalibr(const struct oto_value *root, const char *entry)
{
    if (root->kind != OTO_VALUE_MAP) {
        return NULL;
    }
    if (entry == NULL && is_kalibr(root)) {
        return root;
    }
    for (uint32_t i = 0; i < root->count; i++) {
        if ((entry != NULL ? strcmp(root->items[i]->key, entry) == 0 : root->count == 1) && is_kalibr(root->items[i])) {
            return root->items[i];
        }
    }
    return NULL;
}

static enum oto_status put_number(FILE *to, const struct oto_value *map, const char *key, const char *term, const char *unit,
                                  struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    double number = 0;
    if (value == NULL) {
        return OTO_OK;
    }
    const enum oto_status status = oto_value_f64(value, &number, error);
    if (status == OTO_OK) {
        (void)fprintf(to, "      %s: {value: ", term);
        oto_json_put_number(to, number);
        (void)fprintf(to, ", unit: \"%s\", is: typ, source: \"file %s, line %u\"}\n", unit, key, value->line);
    }
    return status;
}

enum oto_status parts_put_kalibr(FILE *to, const char *path, const char *name, const struct oto_value *map,
                                 struct oto_error *error)
{
    const struct oto_value *rate = oto_value_get(map, "update_rate");
    enum oto_status status = OTO_OK;
    double hz = 0;
    (void)fputs("part: ", to);
    oto_json_put_text(to, name);
    (void)fputs("\ntitle: ", to);
    oto_json_put_text(to, map->key != NULL ? map->key : name);
    (void)fputs("\nvendor: imported\nkind: imu\ndocuments:\n  file: {title: ", to);
    oto_json_put_text(to, path);
    (void)fputs("}\nmissing:\n", to);
    for (size_t i = 0; i < TRIADS; i++) {
        const char *triad = oto_part_triad_name((enum oto_part_triad)i);
        (void)fprintf(to, "  - %s.range\n  - %s.in_run_bias_stability\n  - %s.known_s\n", triad, triad, triad);
        if (oto_value_get(map, keys[i].density) == NULL) {
            (void)fprintf(to, "  - %s.noise_density\n", triad);
        }
    }
    (void)fputs("modes:\n  imported:\n", to);
    if (rate != NULL && oto_value_f64(rate, &hz, NULL) == OTO_OK && hz > 0) {
        (void)fprintf(to, "    output_rate: {value: %.12g, unit: Hz, is: typ, source: \"file update_rate\"}\n", hz);
    }
    for (size_t i = 0; i < TRIADS && status == OTO_OK; i++) {
        (void)fprintf(to, "    %s:\n", oto_part_triad_name((enum oto_part_triad)i));
        status = put_number(to, map, keys[i].density, "allan_n", keys[i].density_unit, error);
        if (status == OTO_OK) {
            status = put_number(to, map, keys[i].walk, "rate_random_walk", keys[i].walk_unit, error);
        }
    }
    return status;
}
