/* A grade file: a world, and what is drawn anew for each drive in it. */
#include "grade/grade.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/document.h"
#include "otolith/rng.h"

enum { PATH_BYTES = 4096 };

/* ---- reading ---- */

static enum oto_status check_keys(const struct oto_value *root, struct oto_error *error)
{
    static const char *const keys[] = {"grade", "world", "draw", "level_path"};
    for (uint32_t i = 0; i < root->count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            known = known || strcmp(root->items[i]->key, keys[k]) == 0;
        }
        if (!known) {
            return oto_value_fail_key(root->items[i], error, OTO_INVALID,
                                      "a grade has `grade`, `world`, `draw` and perhaps `level_path`, not '%s'", root->items[i]->key);
        }
    }
    return OTO_OK;
}

static enum oto_status read_world(struct grade_world *world, const struct oto_value *value, struct oto_error *error)
{
    const char *name, *slash = strrchr(world->path, '/');
    enum oto_status status = oto_value_text(value, &name, error);
    if (status != OTO_OK) {
        return status;
    }
    if (asprintf(&world->world_path, "%.*s%s", name[0] != '/' && slash != NULL ? (int)(slash - world->path + 1) : 0,
                 world->path, name) < 0) {
        world->world_path = NULL;
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the path of a world");
    }
    return cli_read_file(world->world_path, &world->world_text, &world->world_length, error);
}

static bool is_vertical(const struct oto_value *value)
{
    return value != NULL && value->kind == OTO_VALUE_SCALAR &&
           (strcmp(value->text, "white") == 0 || strcmp(value->text, "differenced") == 0);
}

/* `level_path: {vertical: white, vertical_rms_m_s2: 0.6}` */
static enum oto_status read_path(struct grade_world *world, const struct oto_value *value, struct oto_error *error)
{
    const struct oto_value *noise = oto_value_get(value, "vertical_rms_m_s2"), *vertical = oto_value_get(value, "vertical");
    if (value == NULL) {
        return OTO_OK;
    }
    if (noise == NULL || !is_vertical(vertical) || value->count != 2) {
        return oto_value_expected(value, error, "{vertical: white or differenced, vertical_rms_m_s2: NUMBER}");
    }
    world->path_law.is_level = true;
    world->path_law.vertical_is_white = strcmp(vertical->text, "white") == 0;
    const enum oto_status status = oto_value_f64(noise, &world->path_law.vertical_rms_m_s2, error);
    return status == OTO_OK && world->path_law.vertical_rms_m_s2 < 0.0
               ? oto_value_fail(noise, error, OTO_RANGE, "a noise is not negative")
               : status;
}

static enum oto_status read_name(struct grade_world *world, const struct oto_value *root, struct oto_error *error)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    const struct oto_value *value = oto_value_get(root, "grade");
    const char *name;
    enum oto_status status = oto_value_text(value, &name, error);
    if (status == OTO_OK && (name[0] == '\0' || strlen(name) >= sizeof world->name || strspn(name, allowed) != strlen(name))) {
        status = oto_value_fail(value, error, OTO_INVALID, "a grade's name has 1 to %zu characters of a-z, 0-9, _ and -",
                                sizeof world->name - 1);
    }
    if (status == OTO_OK) {
        (void)snprintf(world->name, sizeof world->name, "%s", name);
    }
    return status;
}

enum oto_status grade_world_open(const char *path, struct grade_world *world, struct oto_error *error)
{
    *world = (struct grade_world){.path = strdup(path)};
    if (world->path == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the path of a grade");
    }
    enum oto_status status = cli_read_file(path, &world->text, &world->length, error);
    if (status == OTO_OK) {
        status = oto_document_parse(path, world->text, world->length, NULL, &world->document, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_value *root = oto_document_root(world->document);
    world->draw = oto_value_get(root, "draw");
    if (oto_value_get(root, "grade") == NULL || oto_value_get(root, "world") == NULL || world->draw == NULL ||
        world->draw->kind != OTO_VALUE_MAP) {
        return oto_fail(error, OTO_INVALID, "%.200s is no grade: `grade: NAME`, `world: FILE` and a map `draw` are needed, as in "
                        "configs/grades/calibration_city.yaml", path);
    }
    status = check_keys(root, error);
    if (status == OTO_OK) {
        status = read_name(world, root, error);
    }
    if (status == OTO_OK) {
        status = read_path(world, oto_value_get(root, "level_path"), error);
    }
    return status == OTO_OK ? read_world(world, oto_value_get(root, "world"), error) : status;
}

void grade_world_close(struct grade_world *world)
{
    oto_document_close(world->document);
    free(world->path);
    free(world->text);
    free(world->world_path);
    free(world->world_text);
    *world = (struct grade_world){0};
}

/* PREFIX/bin/otolith: PREFIX/share/otolith/configs/grades; and the checkout that the program was built from. */
enum oto_status grade_world_find(const char *name, char *path, size_t bytes, struct oto_error *error)
{
    char program[PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        *(slash != NULL ? slash : program) = '\0';
    }
    (void)snprintf(path, bytes, "%s/calibration_%.64s.yaml", OTO_SOURCE_GRADES_DIR, name);
    if (access(path, R_OK) == 0) {
        return OTO_OK;
    }
    (void)snprintf(path, bytes, "%.3000s/share/otolith/configs/grades/calibration_%.64s.yaml", program, name);
    return access(path, R_OK) == 0
               ? OTO_OK
               : oto_fail(error, OTO_NOT_FOUND, "there is no grade '%.64s' in %s; give its file", name, OTO_SOURCE_GRADES_DIR);
}

/* ---- drawing ---- */

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

static enum oto_status draw_one(const struct oto_value *law, uint64_t seed, struct oto_document *document,
                                struct oto_error *error)
{
    struct drawing drawing = {.key = oto_rng_key_make(seed, law->key)};
    const struct oto_value *kind = law->kind == OTO_VALUE_MAP && law->count == 1 ? law->items[0] : NULL;
    enum oto_status status;
    if (kind != NULL && strcmp(kind->key, "uniform") == 0) {
        status = draw_numbers(&drawing, kind, false, error);
    } else if (kind != NULL && strcmp(kind->key, "normal") == 0) {
        status = draw_numbers(&drawing, kind, true, error);
    } else if (kind != NULL && strcmp(kind->key, "choose") == 0) {
        status = draw_word(&drawing, kind, error);
    } else {
        return oto_value_expected(law, error, "{uniform: [low, high]}, {normal: [mean, sigma]} or {choose: [word, …]}");
    }
    return status == OTO_OK ? oto_document_set(document, law->key, drawing.text, error) : status;
}

enum oto_status grade_world_draw(const struct grade_world *world, const char *style, uint64_t seed,
                                 struct oto_document **document, struct oto_error *error)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    enum oto_status status =
        oto_document_parse(world->world_path, world->world_text, world->world_length, NULL, document, error);
    if (status == OTO_OK) {
        status = oto_document_set(*document, "seed", text, error);
    }
    if (status == OTO_OK && style != NULL && style[0] != '\0') {
        status = oto_document_set(*document, "vehicles.0.motion.params.generate", style, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < world->draw->count; i++) {
        status = draw_one(world->draw->items[i], seed, *document, error);
    }
    return status;
}
