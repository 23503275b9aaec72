/* Reads a part file into struct oto_part. Numbers that are common to all modes are copied into each mode. [loop] */
#include <stdlib.h>
#include <string.h>

#include "private.h"

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory to read a part");
}

static enum oto_status read_text(const struct oto_value *map, const char *key, const char **text,
                                 struct oto_error *error)
{
    const struct oto_value *value;
    const enum oto_status status = part_require(map, key, &value, error);
    return status == OTO_OK ? oto_value_text(value, text, error) : status;
}

static enum oto_status read_optional(const struct oto_value *map, const char *key, const char **text,
                                     struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    *text = NULL;
    return value == NULL || oto_value_is_null(value) ? OTO_OK : oto_value_text(value, text, error);
}

/* ---- documents and what is missing ---- */

static enum oto_status read_document(const struct oto_value *map, struct oto_part_document *document,
                                     struct oto_error *error)
{
    static const char *const keys[] = {"title", "number", "revision", "date", "url"};
    enum oto_status status = part_check_keys(map, keys, sizeof keys / sizeof *keys, error);
    document->id = map->key;
    const struct {
        const char *key;
        const char **text;
    } rest[] = {{"number", &document->number},
                {"revision", &document->revision},
                {"date", &document->date},
                {"url", &document->url}};
    if (status == OTO_OK) {
        status = read_text(map, "title", &document->title, error);
    }
    for (size_t i = 0; i < sizeof rest / sizeof *rest && status == OTO_OK; i++) {
        status = read_optional(map, rest[i].key, rest[i].text, error);
    }
    return status;
}

static enum oto_status read_documents(const struct oto_value *root, struct oto_part *part, struct oto_error *error)
{
    const struct oto_value *map;
    enum oto_status status = part_require(root, "documents", &map, error);
    if (status != OTO_OK) {
        return status;
    }
    if (map->kind != OTO_VALUE_MAP || map->count == 0) {
        return oto_value_expected(map, error, "a map of documents, each with its id");
    }
    part->documents = calloc(map->count, sizeof *part->documents);
    if (part->documents == NULL) {
        return no_memory(error);
    }
    for (; part->document_count < map->count && status == OTO_OK; part->document_count++) {
        status = read_document(map->items[part->document_count], &part->documents[part->document_count], error);
    }
    return status;
}

/* True for the name of a term, such as "gyroscope.in_run_bias_stability", for "gyroscope.known_s", and for "output_rate". */
static bool is_missing_name(const char *name)
{
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        const char *word = oto_part_triad_name((enum oto_part_triad)triad);
        const size_t length = strlen(word);
        if (strncmp(name, word, length) == 0 && name[length] == '.') {
            return part_term_find(name + length + 1) != NULL || strcmp(name + length + 1, "known_s") == 0;
        }
    }
    return strcmp(name, "output_rate") == 0;
}

/* Whether `missing` may list a name. In parts of kind OTO_PART_KIND_SETTINGS it lists names of parameters. */
static bool may_be_missing(const struct oto_part *part, const char *name)
{
    return part->kind == OTO_PART_KIND_SETTINGS ? name[0] != '\0' : is_missing_name(name);
}

static enum oto_status read_missing(const struct oto_value *root, struct oto_part *part, struct oto_error *error)
{
    const struct oto_value *list = oto_value_get(root, "missing");
    enum oto_status status = OTO_OK;
    if (list == NULL || oto_value_is_null(list)) {
        return OTO_OK;
    }
    if (list->kind != OTO_VALUE_LIST) {
        return oto_value_expected(list, error, "a list of terms without a source, as gyroscope.noise_density");
    }
    part->missing = calloc((size_t)list->count + 1, sizeof *part->missing);
    if (part->missing == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < list->count && status == OTO_OK; i++) {
        status = oto_value_text(list->items[i], &part->missing[i], error);
        if (status == OTO_OK && !may_be_missing(part, part->missing[i])) {
            status = oto_value_expected(list->items[i], error, "a triad, a dot and a term, as gyroscope.noise_density");
        }
        part->missing_count += status == OTO_OK;
    }
    return status;
}

/* ---- modes ---- */

static uint32_t count_numbers(const struct oto_value *map)
{
    uint32_t count = 0;
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        const struct oto_value *terms = oto_value_get(map, oto_part_triad_name((enum oto_part_triad)triad));
        count += terms != NULL ? terms->count : 0;
    }
    return count;
}

static enum oto_status read_term(const struct oto_part *part, enum oto_part_triad triad, const struct oto_value *map,
                                 struct oto_part_mode *mode, struct oto_error *error)
{
    if (!part_is_series(map->key)) {
        return part_number_read(part, triad, map, &mode->numbers[mode->number_count++], error);
    }
    if (mode->series_count == sizeof mode->series / sizeof *mode->series) {
        return oto_value_fail_key(map, error, OTO_CONFLICT, "%s.%s is given twice", oto_part_triad_name(triad), map->key);
    }
    return part_series_read(part, triad, map, &mode->series[mode->series_count++], error);
}

static enum oto_status read_numbers(const struct oto_part *part, const struct oto_value *map,
                                    struct oto_part_mode *mode, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (int triad = 0; triad < OTO_PART_TRIADS && status == OTO_OK; triad++) {
        const struct oto_value *terms = oto_value_get(map, oto_part_triad_name((enum oto_part_triad)triad));
        if (terms != NULL && terms->kind != OTO_VALUE_MAP) {
            return oto_value_expected(terms, error, "a map of terms");
        }
        for (uint32_t i = 0; terms != NULL && i < terms->count && status == OTO_OK; i++) {
            status = read_term(part, (enum oto_part_triad)triad, terms->items[i], mode, error);
        }
    }
    return status;
}

static enum oto_status read_rate(const struct oto_part *part, const struct oto_value *map, struct oto_part_mode *mode,
                                 struct oto_error *error)
{
    static const char *const keys[] = {"value", "unit", "is", "source", "note"};
    const struct oto_value *rate = oto_value_get(map, "output_rate"), *value, *unit;
    if (rate == NULL) {
        return OTO_OK;
    }
    enum oto_status status = part_check_keys(rate, keys, sizeof keys / sizeof *keys, error);
    if (status != OTO_OK || (status = part_require(rate, "value", &value, error)) != OTO_OK ||
        (status = part_require(rate, "unit", &unit, error)) != OTO_OK ||
        (status = oto_value_f64(value, &mode->output_rate_hz, error)) != OTO_OK) {
        return status;
    }
    const struct part_unit *found =
        unit->kind == OTO_VALUE_SCALAR ? part_unit_find(unit->text, OTO_PART_ACCELEROMETER, PART_FREQUENCY) : NULL;
    if (found == NULL) {
        return oto_value_expected(unit, error, "Hz or kHz");
    }
    mode->output_rate_hz = part_unit_convert(found, mode->output_rate_hz);
    mode->output_rate_place = value;
    if (mode->output_rate_hz <= 0 || mode->output_rate_hz > 1e6) {
        return oto_value_fail(value, error, OTO_RANGE, "output_rate is %g Hz; more than 0 and at most 1e6 is accepted",
                              mode->output_rate_hz);
    }
    return part_source_read(part, rate, &mode->output_rate_source, error);
}

static enum oto_status read_mode(const struct oto_part *part, const struct oto_value *common,
                                 const struct oto_value *map, struct oto_part_mode *mode, struct oto_error *error)
{
    static const char *const keys[] = {"filter", "output_rate", "accelerometer", "gyroscope", "magnetometer", "note",
                                       "parameters"};
    enum oto_status status = part_check_keys(map, keys, sizeof keys / sizeof *keys, error);
    if (status != OTO_OK) {
        return status;
    }
    mode->name = map->key;
    mode->place = map;
    mode->numbers = calloc((size_t)count_numbers(map) + count_numbers(common) + 1, sizeof *mode->numbers);
    if (mode->numbers == NULL) {
        return no_memory(error);
    }
    status = read_optional(map, "filter", &mode->filter, error);
    if (status == OTO_OK && common != NULL) {
        status = read_numbers(part, common, mode, error);
    }
    if (status == OTO_OK) {
        status = read_numbers(part, map, mode, error);
    }
    if (status == OTO_OK) {
        status = read_rate(part, oto_value_get(map, "output_rate") != NULL ? map : common, mode, error);
    }
    if (status == OTO_OK) {
        status = part_settings_read(part, common, map, mode, error);
    }
    return status == OTO_OK && part->kind != OTO_PART_KIND_SETTINGS ? part_mode_check(part, mode, error) : status;
}

static enum oto_status read_modes(const struct oto_value *root, struct oto_part *part, struct oto_error *error)
{
    static const char *const common_keys[] = {"output_rate", "accelerometer", "gyroscope", "magnetometer", "parameters"};
    const struct oto_value *common = oto_value_get(root, "common"), *map;
    enum oto_status status = part_require(root, "modes", &map, error);
    if (status == OTO_OK && common != NULL) {
        status = part_check_keys(common, common_keys, sizeof common_keys / sizeof *common_keys, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    if (map->kind != OTO_VALUE_MAP || map->count == 0) {
        return oto_value_expected(map, error, "a map with at least one mode");
    }
    part->modes = calloc(map->count, sizeof *part->modes);
    if (part->modes == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < map->count && status == OTO_OK; i++) {
        part->mode_count++;
        status = read_mode(part, common, map->items[i], &part->modes[i], error);
    }
    return status;
}

enum oto_status oto_part_mode_find(const struct oto_part *part, const char *name, const struct oto_part_mode **mode,
                                   struct oto_error *error)
{
    char names[200] = "";
    size_t used = 0;
    if (name == NULL) {
        *mode = &part->modes[part->default_mode];
        return OTO_OK;
    }
    for (uint32_t i = 0; i < part->mode_count; i++) {
        if (strcmp(part->modes[i].name, name) == 0) {
            *mode = &part->modes[i];
            return OTO_OK;
        }
        const size_t length = strlen(part->modes[i].name);
        if (used + length + 3 < sizeof names) {
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", part->modes[i].name);
        }
    }
    return oto_fail(error, OTO_NOT_FOUND, "part '%s' has no mode '%.64s'; it has %s", part->name, name, names);
}

static enum oto_status read_default(const struct oto_value *root, struct oto_part *part, struct oto_error *error)
{
    const struct oto_value *value;
    const struct oto_part_mode *mode = NULL;
    struct oto_error inner = {0};
    if (part->mode_count == 1 && oto_value_get(root, "default_mode") == NULL) {
        return OTO_OK;
    }
    enum oto_status status = part_require(root, "default_mode", &value, error);
    if (status != OTO_OK) {
        return status;
    }
    if (value->kind != OTO_VALUE_SCALAR) {
        return oto_value_expected(value, error, "the name of a mode");
    }
    status = oto_part_mode_find(part, value->text, &mode, &inner);
    part->default_mode = mode != NULL ? (uint32_t)(mode - part->modes) : 0;
    return status == OTO_OK ? status : oto_value_fail(value, error, status, "%.400s", inner.text);
}

/* ---- the part ---- */

static enum oto_status read_kind(const struct oto_value *root, struct oto_part *part, struct oto_error *error)
{
    static const struct {
        const char *name;
        enum oto_part_kind kind;
    } kinds[] = {{"imu", OTO_PART_KIND_IMU},
                 {"magnetometer", OTO_PART_KIND_MAGNETOMETER},
                 {"receiver", OTO_PART_KIND_SETTINGS},
                 {"pressure", OTO_PART_KIND_SETTINGS}};
    const struct oto_value *value;
    const enum oto_status status = part_require(root, "kind", &value, error);
    if (status != OTO_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (value->kind == OTO_VALUE_SCALAR && strcmp(value->text, kinds[i].name) == 0) {
            part->kind = kinds[i].kind;
            part->kind_name = kinds[i].name;
            part->is_imu = part->kind == OTO_PART_KIND_IMU;
            return OTO_OK;
        }
    }
    return oto_value_expected(value, error, "imu, magnetometer, receiver or pressure");
}

static enum oto_status read_root(const struct oto_value *root, struct oto_part *part, struct oto_error *error)
{
    static const char *const keys[] = {"part",    "title",        "vendor", "kind",  "documents",
                                       "missing", "default_mode", "common", "modes", "note"};
    enum oto_status status = part_check_keys(root, keys, sizeof keys / sizeof *keys, error);
    if (status != OTO_OK || (status = read_text(root, "part", &part->name, error)) != OTO_OK ||
        (status = read_text(root, "title", &part->title, error)) != OTO_OK ||
        (status = read_text(root, "vendor", &part->vendor, error)) != OTO_OK ||
        (status = read_kind(root, part, error)) != OTO_OK || (status = read_documents(root, part, error)) != OTO_OK ||
        (status = read_missing(root, part, error)) != OTO_OK || (status = read_modes(root, part, error)) != OTO_OK) {
        return status;
    }
    return read_default(root, part, error);
}

enum oto_status oto_part_read(const char *path, struct oto_part **part, struct oto_error *error)
{
    struct part_file *file = calloc(1, sizeof *file);
    *part = NULL;
    if (file == NULL || (file->path = strdup(path)) == NULL) {
        free(file);
        return no_memory(error);
    }
    file->part.path = file->path;
    enum oto_status status = oto_document_read(path, NULL, &file->document, error);
    if (status == OTO_OK) {
        status = read_root(oto_document_root(file->document), &file->part, error);
    }
    if (status == OTO_OK) {
        *part = &file->part;
    } else {
        oto_part_close(&file->part);
    }
    return status;
}

void oto_part_close(struct oto_part *part)
{
    struct part_file *file = (struct part_file *)part;
    if (file == NULL) {
        return;
    }
    for (uint32_t i = 0; i < part->mode_count; i++) {
        free(part->modes[i].numbers);
        free(part->modes[i].settings);
    }
    free(part->modes);
    free(part->missing);
    free(part->documents);
    oto_document_close(file->document);
    free(file->path);
    free(file);
}
