/* Writes descriptions as XML by the table of elements. Only values that differ from their default are written. */
#include <errno.h>

#include "sdf/sdf_table.h"

#include "base/json.h"

#define SDF_VERSION "1.9"
#define NAMESPACE "urn:otolith:sdf"

static int64_t int_at(const void *base, uint32_t offset)
{
    int64_t value;
    memcpy(&value, (const char *)base + offset, sizeof value);
    return value;
}

static double number_at(const void *base, uint32_t offset, uint32_t index)
{
    double value;
    memcpy(&value, (const char *)base + offset + 8 * (size_t)index, sizeof value);
    return value;
}

static bool differs(const struct sdf_element *row, const void *base, const void *standard)
{
    bool other = false;
    if (row->attribute != NULL) {
        other = int_at(base, row->attribute_offset) != int_at(standard, row->attribute_offset);
    }
    switch (row->kind) {
    case SDF_SECTION:
        for (uint32_t i = 0; i < row->child_count; i++) {
            other = other ||
                    differs(&row->children[i], (const char *)base + row->offset, (const char *)standard + row->offset);
        }
        return other;
    case SDF_NOISE_ALL:
        return false;
    case SDF_TEXT:
        return strcmp((const char *)base + row->offset, (const char *)standard + row->offset) != 0;
    case SDF_NUMBER:
    case SDF_POSE:
        for (uint32_t i = 0; i < row->count; i++) {
            other = other || number_at(base, row->offset, i) != number_at(standard, row->offset, i);
        }
        return other;
    default:
        return other || int_at(base, row->offset) != int_at(standard, row->offset);
    }
}

static void put_text(FILE *file, const char *text)
{
    static const char *const names[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&apos;"};
    for (; *text != '\0'; text++) {
        const char *name = names[(unsigned char)*text];
        (void)(name != NULL ? fputs(name, file) : fputc(*text, file));
    }
}

static void put_value(FILE *file, const struct sdf_element *row, const void *base)
{
    char text[32];
    if (row->kind == SDF_TEXT) {
        put_text(file, (const char *)base + row->offset);
    } else if (row->kind == SDF_FLAG) {
        (void)fputs(int_at(base, row->offset) != 0 ? "true" : "false", file);
    } else if (row->kind == SDF_WORD) {
        (void)fputs(sdf_word_of(row->words, (double)int_at(base, row->offset)), file);
    } else if (row->kind == SDF_WHOLE) {
        (void)fprintf(file, "%lld", (long long)int_at(base, row->offset));
    } else {
        for (uint32_t i = 0; i < row->count; i++) {
            const double value = number_at(base, row->offset, i);
            const char *word = sdf_word_of(row->words, value);
            (void)fprintf(file, "%s%s", i > 0 ? " " : "", word != NULL ? word : oto_shortest_decimal(value, text));
        }
    }
}

static void put_element(FILE *file, const struct sdf_element *row, const void *base, const void *standard, int depth);

static void put_children(FILE *file, const struct sdf_element *row, const void *base, const void *standard, int depth)
{
    for (uint32_t i = 0; i < row->child_count; i++) {
        const struct sdf_element *child = &row->children[i];
        const bool is_attribute_too = row->attribute != NULL && strcmp(child->name, row->attribute) == 0;
        if (!is_attribute_too && differs(child, base, standard)) {
            put_element(file, child, base, standard, depth);
        }
    }
}

static void put_element(FILE *file, const struct sdf_element *row, const void *base, const void *standard, int depth)
{
    (void)fprintf(file, "%*s<%s", 2 * depth, "", row->name);
    if (row->attribute != NULL) {
        (void)fprintf(file, " %s=\"%s\"", row->attribute,
                      sdf_word_of(row->attribute_words, (double)int_at(base, row->attribute_offset)));
    }
    if (row->kind == SDF_SECTION) {
        (void)fputs(">\n", file);
        put_children(file, row, (const char *)base + row->offset, (const char *)standard + row->offset, depth + 1);
        (void)fprintf(file, "%*s</%s>\n", 2 * depth, "", row->name);
        return;
    }
    (void)fputs(row->kind == SDF_POSE ? " degrees=\"true\">" : ">", file);
    put_value(file, row, base);
    (void)fprintf(file, "</%s>\n", row->name);
}

static void put_named(FILE *file, int depth, const char *element, const char *name, const char *rest)
{
    (void)fprintf(file, "%*s<%s name=\"", 2 * depth, "", element);
    put_text(file, name);
    (void)fprintf(file, "\"%s>\n", rest);
}

static void put_sensor(FILE *file, const struct oto_sdf_imu *imu)
{
    const int depth = 4;
    put_named(file, depth, "sensor", imu->name, " type=\"imu\"");
    put_children(file, &sdf_sensor, imu, &oto_sdf_imu_default, depth + 1);
    (void)fprintf(file, "%*s</sensor>\n", 2 * depth, "");
}

bool oto_sdf_is_first_of_vehicle(const struct oto_sdf_world *world, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(world->imus[i].vehicle, world->imus[index].vehicle) == 0) {
            return false;
        }
    }
    return true;
}

enum oto_status oto_sdf_to_xml(const struct oto_sdf_world *world, FILE *file, struct oto_error *error)
{
    (void)fputs("<?xml version=\"1.0\"?>\n<sdf version=\"" SDF_VERSION "\" xmlns:otolith=\"" NAMESPACE "\">\n", file);
    put_named(file, 1, "world", world->name, "");
    for (uint32_t v = 0; v < world->count; v++) {
        if (!oto_sdf_is_first_of_vehicle(world, v)) {
            continue;
        }
        put_named(file, 2, "model", world->imus[v].vehicle, "");
        put_named(file, 3, "link", "body", "");
        for (uint32_t i = v; i < world->count; i++) {
            if (strcmp(world->imus[i].vehicle, world->imus[v].vehicle) == 0) {
                put_sensor(file, &world->imus[i]);
            }
        }
        (void)fputs("      </link>\n    </model>\n", file);
    }
    (void)fputs("  </world>\n</sdf>\n", file);
    return ferror(file) ? oto_fail(error, OTO_IO, "the XML could not be written: %s", strerror(errno)) : OTO_OK;
}
