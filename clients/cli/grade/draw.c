/* The world of one drive, as overrides of the world file: what the grade sets, what it draws, and the methods. */
#include "grade/grade.h"

#include <stdlib.h>
#include <string.h>

#include "otolith/rng.h"

/* ---- laws ---- */

struct drawing {
    struct oto_rng_key key;
    uint64_t element;
    char text[1024];
    size_t used;
};

static double uniform(struct drawing *drawing)
{
    return oto_u01(oto_rng_block(drawing->key, drawing->element++, 0, 0, OTO_RNG_DOMAIN_WORLD).v[0]);
}

static double normal(struct drawing *drawing)
{
    return oto_normal_from_bits(oto_rng_block(drawing->key, drawing->element++, 0, 0, OTO_RNG_DOMAIN_WORLD).v[0]);
}

static void put(struct drawing *drawing, const char *text)
{
    const int length = snprintf(drawing->text + drawing->used, sizeof drawing->text - drawing->used, "%s", text);
    drawing->used += length > 0 ? (size_t)length : 0;
    drawing->used = drawing->used < sizeof drawing->text ? drawing->used : sizeof drawing->text - 1;
}

/* [a, b]: a number; [[a, b], [c, d], …]: as many. */
static enum oto_status draw_numbers(struct drawing *drawing, const struct oto_value *range, bool is_normal,
                                    struct oto_error *error)
{
    double ends[2];
    char number[40];
    enum oto_status status = OTO_OK;
    if (range->kind == OTO_VALUE_LIST && range->count > 0 && range->count <= 16 &&
        range->items[0]->kind == OTO_VALUE_LIST) {
        for (uint32_t i = 0; status == OTO_OK && i < range->count; i++) {
            put(drawing, i == 0 ? "[" : ", ");
            status = draw_numbers(drawing, range->items[i], is_normal, error);
        }
        put(drawing, "]");
        return status;
    }
    if (range->kind != OTO_VALUE_LIST || range->count != 2) {
        return oto_value_expected(range, error, is_normal ? "[mean, sigma], or a list of such" : "[low, high], or a list of such");
    }
    for (uint32_t i = 0; status == OTO_OK && i < 2; i++) {
        status = oto_value_f64(range->items[i], &ends[i], error);
    }
    if (status == OTO_OK) {
        const double drawn = is_normal ? ends[0] + ends[1] * normal(drawing) : ends[0] + (ends[1] - ends[0]) * uniform(drawing);
        (void)snprintf(number, sizeof number, "%.12g", drawn);
        put(drawing, number);
    }
    return status;
}

static enum oto_status draw_word(struct drawing *drawing, const struct oto_value *words, struct oto_error *error)
{
    const char *word;
    if (words->kind != OTO_VALUE_LIST || words->count == 0) {
        return oto_value_expected(words, error, "a list of words");
    }
    const uint32_t index = (uint32_t)(uniform(drawing) * words->count);
    const enum oto_status status = oto_value_text(words->items[index], &word, error);
    if (status == OTO_OK) {
        put(drawing, word);
    }
    return status;
}

static enum oto_status draw_one(const struct oto_value *law, uint64_t seed, struct drawing *drawing, struct oto_error *error)
{
    const struct oto_value *kind = law->kind == OTO_VALUE_MAP && law->count == 1 ? law->items[0] : NULL;
    *drawing = (struct drawing){.key = oto_rng_key_make(seed, law->key)};
    if (kind != NULL && strcmp(kind->key, "uniform") == 0) {
        return draw_numbers(drawing, kind, false, error);
    }
    if (kind != NULL && strcmp(kind->key, "normal") == 0) {
        return draw_numbers(drawing, kind, true, error);
    }
    if (kind != NULL && strcmp(kind->key, "choose") == 0) {
        return draw_word(drawing, kind, error);
    }
    return oto_value_expected(law, error, "{uniform: [low, high]}, {normal: [mean, sigma]} or {choose: [word, …]}");
}

/* ---- overrides ---- */

struct making {
    struct grade_draw *draw;
    struct oto_document *document; /* the world with the overrides so far */
    struct oto_error *error;
};

static enum oto_status override(struct making *making, const char *path, const char *yaml)
{
    struct grade_draw *draw = making->draw;
    char **overrides = realloc(draw->overrides, (draw->count + 1) * sizeof *overrides);
    char *text = NULL;
    if (overrides != NULL) {
        draw->overrides = overrides;
    }
    if (overrides == NULL || asprintf(&text, "%s=%s", path, yaml) < 0) {
        return oto_fail(making->error, OTO_NO_MEMORY, "no memory for the values of a drive");
    }
    draw->overrides[draw->count++] = text;
    return oto_document_set(making->document, path, yaml, making->error);
}

/* A value as YAML in one line. */
static void write_value(FILE *to, const struct oto_value *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
    const bool is_map = value->kind == OTO_VALUE_MAP;
    if (value->kind == OTO_VALUE_SCALAR && !value->quoted && value->text[strspn(value->text, plain)] == '\0') {
        (void)fputs(value->text, to);
        return;
    }
    if (value->kind == OTO_VALUE_SCALAR) {
        (void)fputc('\'', to);
        for (const char *c = value->text; *c != '\0'; c++) {
            (void)fputs(*c == '\'' ? "''" : (const char[]){*c, '\0'}, to);
        }
        (void)fputc('\'', to);
        return;
    }
    (void)fputc(is_map ? '{' : '[', to);
    for (uint32_t i = 0; i < value->count; i++) {
        (void)fprintf(to, "%s%s%s", i > 0 ? ", " : "", is_map ? value->items[i]->key : "", is_map ? ": " : "");
        write_value(to, value->items[i]);
    }
    (void)fputc(is_map ? '}' : ']', to);
}

static enum oto_status override_value(struct making *making, const char *path, const struct oto_value *value)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (to == NULL) {
        return oto_fail(making->error, OTO_NO_MEMORY, "no memory for the values of a drive");
    }
    write_value(to, value);
    const bool written = fclose(to) == 0;
    const enum oto_status status = written ? override(making, path, text)
                                           : oto_fail(making->error, OTO_NO_MEMORY, "no memory for the values of a drive");
    free(text);
    return status;
}

static enum oto_status apply_grade(struct making *making, const struct grade_world *world, const char *style, uint64_t seed)
{
    struct drawing drawing;
    enum oto_status status = OTO_OK;
    if (style[0] != '\0') {
        status = override(making, "vehicles.0.motion.params.generate", style);
    }
    for (uint32_t i = 0; status == OTO_OK && world->set != NULL && i < world->set->count; i++) {
        status = override_value(making, world->set->items[i]->key, world->set->items[i]);
    }
    for (uint32_t i = 0; status == OTO_OK && i < world->draw->count; i++) {
        status = draw_one(world->draw->items[i], seed, &drawing, making->error);
        if (status == OTO_OK) {
            status = override(making, world->draw->items[i]->key, drawing.text);
        }
    }
    return status;
}

/* ---- the calibration ---- */

static bool is_text(const struct oto_value *value, const char *text)
{
    return value != NULL && value->kind == OTO_VALUE_SCALAR && strcmp(value->text, text) == 0;
}

static const struct oto_value *find_node(const struct oto_value *vehicle, const char *key, const char *text)
{
    const struct oto_value *nodes = oto_value_get(vehicle, "nodes");
    for (uint32_t i = 0; nodes != NULL && nodes->kind == OTO_VALUE_LIST && i < nodes->count; i++) {
        if (is_text(oto_value_get(nodes->items[i], key), text)) {
            return nodes->items[i];
        }
    }
    return NULL;
}

/* The mount of the IMU that the calibration reads, "imu" or "car/imu". */
static enum oto_status read_mount(const struct oto_value *vehicle, const struct oto_value *calibration, double *rpy_deg,
                                  struct oto_error *error)
{
    const char *name;
    const struct oto_value *input = oto_value_get(oto_value_get(calibration, "inputs"), "imu");
    enum oto_status status = input != NULL ? oto_value_text(input, &name, error)
                                           : oto_value_fail(calibration, error, OTO_INVALID, "`inputs: {imu: NODE}` is missing here");
    if (status != OTO_OK) {
        return status;
    }
    const char *slash = strrchr(name, '/');
    const struct oto_value *imu = find_node(vehicle, "name", slash != NULL ? slash + 1 : name);
    const struct oto_value *rpy = oto_value_get(oto_value_get(imu, "mount"), "rpy_deg");
    if (imu == NULL) {
        return oto_value_fail(input, error, OTO_NOT_FOUND, "there is no node '%s'", name);
    }
    for (uint32_t i = 0; status == OTO_OK && rpy != NULL && i < rpy->count && i < 3; i++) {
        status = oto_value_f64(rpy->items[i], &rpy_deg[i], error);
    }
    return status;
}

static enum oto_status number_of(const struct oto_value *map, const char *key, double *number, struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(map, key);
    *number = 0.0;
    return value != NULL ? oto_value_f64(value, number, error) : OTO_OK;
}

/*
 * What the road is tilted by everywhere: its bank, and the crown towards the side of the traffic. A calibration that is told of
 * a level path takes no road as level.
 */
static enum oto_status read_road(const struct oto_value *vehicle, const struct oto_value *calibration, double *roll_deg,
                                 struct oto_error *error)
{
    double bank_deg, crown_deg;
    if (is_text(oto_value_get(oto_value_get(calibration, "params"), "path"), "level")) {
        *roll_deg = 0.0;
        return OTO_OK;
    }
    const struct oto_value *road = oto_value_get(oto_value_get(oto_value_get(vehicle, "motion"), "params"), "road");
    enum oto_status status = number_of(road, "bank_deg", &bank_deg, error);
    if (status == OTO_OK) {
        status = number_of(road, "crown_deg", &crown_deg, error);
    }
    if (status == OTO_OK) {
        *roll_deg = bank_deg + (is_text(oto_value_get(road, "traffic_side"), "left") ? -crown_deg : crown_deg);
    }
    return status;
}

static enum oto_status set_method(struct making *making, uint32_t index, const char *vehicle, const char *node,
                                  const char *method, bool histogram)
{
    const struct {
        const char *key, *value;
    } params[] = {{"method", method}, {"diagnostics", "false"}, {"histogram_channel", histogram ? "true" : "false"}};
    char path[256];
    enum oto_status status = OTO_OK;
    (void)snprintf(making->draw->calibrations[index], sizeof making->draw->calibrations[index], "%.48s/%.64s", vehicle, node);
    for (size_t i = 0; status == OTO_OK && i < sizeof params / sizeof *params; i++) {
        (void)snprintf(path, sizeof path, "vehicles.0.nodes.%.64s.params.%s", node, params[i].key);
        status = override(making, path, params[i].value);
    }
    return status;
}

static enum oto_status add_methods(struct making *making, const char *const *methods, uint32_t count, bool histogram)
{
    const struct oto_value *vehicles = oto_value_get(oto_document_root(making->document), "vehicles");
    const struct oto_value *vehicle = vehicles != NULL && vehicles->kind == OTO_VALUE_LIST && vehicles->count == 1 ? vehicles->items[0] : NULL;
    const struct oto_value *calibration = find_node(vehicle, "plugin", "mount_calibration");
    const char *name, *vehicle_name;
    char path[64];
    if (calibration == NULL) {
        return oto_fail(making->error, OTO_NOT_FOUND, "a grade's world has one vehicle, with a node of the plugin mount_calibration");
    }
    enum oto_status status = read_mount(vehicle, calibration, making->draw->true_rpy_deg, making->error);
    if (status == OTO_OK) {
        status = read_road(vehicle, calibration, &making->draw->road_roll_deg, making->error);
    }
    if (status == OTO_OK) {
        status = oto_value_text(oto_value_get(calibration, "name"), &name, making->error);
    }
    if (status == OTO_OK) {
        status = oto_value_text(oto_value_get(vehicle, "name"), &vehicle_name, making->error);
    }
    for (uint32_t m = 1; status == OTO_OK && m < count; m++) {
        status = override_value(making, "vehicles.0.nodes.+", calibration);
        (void)snprintf(path, sizeof path, "vehicles.0.nodes.%u.name", oto_value_get(vehicle, "nodes")->count - 1);
        if (status == OTO_OK) {
            status = override(making, path, methods[m]);
        }
        if (status == OTO_OK) {
            status = set_method(making, m, vehicle_name, methods[m], methods[m], histogram);
        }
    }
    return status == OTO_OK ? set_method(making, 0, vehicle_name, name, methods[0], histogram) : status;
}

enum oto_status grade_draw_make(const struct grade_world *world, const char *style, uint64_t seed, const char *const *methods,
                                uint32_t method_count, bool histogram, struct grade_draw *draw, struct oto_error *error)
{
    struct making making = {.draw = draw, .error = error};
    *draw = (struct grade_draw){.count = 0};
    enum oto_status status =
        oto_document_parse(world->world_path, world->world_text, world->world_length, NULL, &making.document, error);
    if (status == OTO_OK) {
        status = apply_grade(&making, world, style, seed);
    }
    if (status == OTO_OK) {
        status = add_methods(&making, methods, method_count, histogram);
    }
    oto_document_close(making.document);
    return status;
}

void grade_draw_finish(struct grade_draw *draw)
{
    for (uint32_t i = 0; i < draw->count; i++) {
        free(draw->overrides[i]);
    }
    free(draw->overrides);
    *draw = (struct grade_draw){.count = 0};
}
