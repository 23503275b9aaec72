/* A complete world file from descriptions. */
#include <errno.h>

#include "sdf/sdf_table.h"

#include "base/json.h"

static double value_at(const struct sdf_param *param, const struct oto_sdf_imu *imu, uint32_t index)
{
    const char *place = (const char *)imu + param->offset + (size_t)index * param->stride;
    int64_t whole;
    double number;
    if (param->kind == SDF_NUMBER) {
        memcpy(&number, place, sizeof number);
        return number;
    }
    memcpy(&whole, place, sizeof whole);
    return (double)whole;
}

static void put_value(FILE *file, const struct sdf_param *param, double value)
{
    char text[32];
    const char *word = sdf_word_of(param->words, value);
    if (word != NULL) {
        (void)fputs(word, file);
    } else if (param->kind == SDF_FLAG) {
        (void)fputs(value != 0 ? "true" : "false", file);
    } else {
        (void)fputs(oto_shortest_decimal(value, text), file);
    }
}

static void put_param(FILE *file, const struct sdf_param *param, const struct oto_sdf_imu *imu)
{
    (void)fprintf(file, "          %s: %s", param->key, param->count > 1 ? "[" : "");
    for (uint32_t i = 0; i < param->count; i++) {
        (void)fputs(i > 0 ? ", " : "", file);
        put_value(file, param, value_at(param, imu, i));
    }
    (void)fputs(param->count > 1 ? "]\n" : "\n", file);
}

static bool is_default(const struct sdf_param *param, const struct oto_sdf_imu *imu)
{
    for (uint32_t i = 0; i < param->count; i++) {
        if (value_at(param, imu, i) != value_at(param, &oto_sdf_imu_default, i)) {
            return false;
        }
    }
    return true;
}

static void put_params(FILE *file, const struct oto_sdf_imu *imu)
{
    bool any = false;
    for (uint32_t i = 0; i < sdf_param_count; i++) {
        if (!is_default(&sdf_params[i], imu)) {
            (void)fputs(any ? "" : "        params:\n", file);
            put_param(file, &sdf_params[i], imu);
            any = true;
        }
    }
}

/* Printable ASCII in quotes. */
static void put_quoted(FILE *file, const char *before, const char *text)
{
    (void)fprintf(file, "%s\"", before);
    for (; *text != '\0'; text++) {
        (void)(*text == '"' || *text == '\\' ? fprintf(file, "\\%c", *text) : fputc(*text, file));
    }
    (void)fputs("\"\n", file);
}

static void put_vector(FILE *file, const char *key, const double v[3])
{
    char x[32], y[32], z[32];
    (void)fprintf(file, "%s: [%s, %s, %s]", key, oto_shortest_decimal(v[0], x), oto_shortest_decimal(v[1], y),
                  oto_shortest_decimal(v[2], z));
}

static void put_node(FILE *file, const struct oto_sdf_imu *imu)
{
    put_quoted(file, "      - name: ", imu->name);
    (void)fputs("        plugin: sdf_imu\n", file);
    if (imu->topic[0] != '\0') {
        put_quoted(file, "        topic: ", imu->topic);
    }
    if (imu->frame_id[0] != '\0') {
        put_quoted(file, "        frame_id: ", imu->frame_id);
    }
    bool is_mounted = false;
    for (int i = 0; i < 3; i++) {
        is_mounted = is_mounted || imu->position_m[i] != 0 || imu->rpy_deg[i] != 0;
    }
    if (is_mounted) {
        (void)fputs("        mount: {", file);
        put_vector(file, "position_m", imu->position_m);
        (void)fputs(", ", file);
        put_vector(file, "rpy_deg", imu->rpy_deg);
        (void)fputs("}\n", file);
    }
    put_params(file, imu);
}

/* Text in a comment must not end the line. */
static void put_source(FILE *file, const char *source)
{
    (void)fputs("# Made by `otolith sdf import ", file);
    for (; *source != '\0'; source++) {
        (void)fputc((unsigned char)*source < ' ' || *source == 0x7f ? '?' : *source, file);
    }
    (void)fputs("`. The clock and the drive are examples.\n", file);
}

enum oto_status oto_sdf_to_yaml(const struct oto_sdf_world *world, const char *source, FILE *file,
                                struct oto_error *error)
{
    put_source(file, source);
    put_quoted(file, "world: ", world->name);
    (void)fputs("clock: {rate_hz: 1000}\nvehicles:\n", file);
    for (uint32_t v = 0; v < world->count; v++) {
        if (!oto_sdf_is_first_of_vehicle(world, v)) {
            continue;
        }
        put_quoted(file, "  - name: ", world->imus[v].vehicle);
        (void)fputs("    motion: {plugin: motion_script}\n    nodes:\n", file);
        for (uint32_t i = v; i < world->count; i++) {
            if (strcmp(world->imus[i].vehicle, world->imus[v].vehicle) == 0) {
                put_node(file, &world->imus[i]);
            }
        }
    }
    return ferror(file) ? oto_fail(error, OTO_IO, "the world could not be written: %s", strerror(errno)) : OTO_OK;
}
