/* The JSON of MATLAB's imuSensor (loadparams) and of MAVS as a part file: the fields are the same, their names differ.
 */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "parts.h"

#define RT2 1.41421356237309504880

/* The quantity of a field and its units in both kinds of file. */
static const struct field {
    const char *matlab, *mavs, *term;
    const char *units[OTO_PART_TRIADS]; /* NULL: the triad has no such term */
} fields[] = {
    {"MeasurementRange", "Measurement Range", "range", {"m/s²", "rad/s", "µT"}},
    {"Resolution", "Resolution", "resolution", {"m/s²/LSB", "rad/s/LSB", "µT/LSB"}},
    {"ConstantBias", "Constant Bias", "constant_bias", {"m/s²", "rad/s", "µT"}},
    {"AxesMisalignment", "Axis Misalignment", "misalignment", {"%", "%", "%"}},
    {"NoiseDensity", "Noise Density", "noise_density", {"m/s²/√Hz", "rad/s/√Hz", "µT/√Hz"}},
    {"BiasInstability", "Bias Instability", "bias_instability", {"m/s²", "rad/s", "µT"}},
    {"RandomWalk", "Random Walk", "rate_random_walk", {"m/s²/√s", "rad/s/√s", "µT/√s"}},
    {"TemperatureBias", "Temperature Bias", "constant_slope", {"m/s²/°C", "rad/s/°C", "µT/°C"}},
    {"TemperatureScaleFactor", "Temperature Scale Factor", "constant_scale_slope", {"%/°C", "%/°C", "%/°C"}},
    {"AccelerationBias", "Acceleration Bias", "constant_g_sensitivity", {NULL, "rad/s/(m/s²)", NULL}},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static const char *const sections[OTO_PART_TRIADS][4] = {
    {"Accelerometer", "AccelerometerParameters", "accelparams", "AccelParams"},
    {"Gyroscope", "GyroscopeParameters", "gyroparams", "GyroParams"},
    {"Magnetometer", "MagnetometerParameters", "magparams", "MagParams"},
};

struct importing {
    FILE *to;
    oto_warn_function warn;
    void *warn_context;
    struct oto_error *error;
    const struct oto_value *triads[OTO_PART_TRIADS];
    bool is_two_sided; /* of the current triad: MATLAB's 'single-sided', which is Allan's N */
};

static const struct oto_value *find_section(const struct oto_value *map, int triad)
{
    const struct oto_value *found = NULL;
    for (size_t i = 0; i < 4 && found == NULL; i++) {
        found = oto_value_get(map, sections[triad][i]);
    }
    return found;
}

static bool find_sections(struct importing *importing, const struct oto_value *map)
{
    bool any = false;
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        importing->triads[triad] = find_section(map, triad);
        any |= importing->triads[triad] != NULL;
    }
    return any;
}

/* Finds the sections of the triads at the root, or in the selected entry. */
static enum oto_status find_entry(struct importing *importing, const struct oto_value *root, const char *entry,
                                  const struct oto_value **found)
{
    char names[200] = "";
    size_t used = 0;
    *found = root;
    if (root->kind != OTO_VALUE_MAP) {
        return oto_value_expected(root, importing->error,
                                  "a JSON object with Accelerometer, Gyroscope or Magnetometer");
    }
    if (entry == NULL && find_sections(importing, root)) {
        return OTO_OK;
    }
    for (uint32_t i = 0; i < root->count; i++) {
        const bool fits = entry != NULL ? strcmp(root->items[i]->key, entry) == 0 : root->count == 1;
        if (fits && find_sections(importing, root->items[i])) {
            *found = root->items[i];
            return OTO_OK;
        }
        const size_t length = strlen(root->items[i]->key);
        if (used + length + 3 < sizeof names) {
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", root->items[i]->key);
        }
    }
    return oto_value_fail(root, importing->error, OTO_NOT_FOUND,
                          "no section Accelerometer, Gyroscope or Magnetometer, and no key of Kalibr's imu.yaml%s%s; --entry chooses among %s",
                          entry != NULL ? " in entry " : "", entry != NULL ? entry : "", names);
}

/* ---- numbers ---- */

static bool is_infinite(const struct oto_value *value)
{
    return oto_value_is_null(value) || (value->kind == OTO_VALUE_SCALAR && (strcasecmp(value->text, "inf") == 0 ||
                                                                            strcasecmp(value->text, "infinity") == 0));
}

static enum oto_status read_axes(const struct oto_value *value, double axes[3], struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    if (value->kind == OTO_VALUE_LIST && value->count != 3 && value->count != 1) {
        return oto_value_expected(value, error, "a number, or three, one for each axis");
    }
    for (uint32_t i = 0; i < 3 && status == OTO_OK; i++) {
        status = oto_value_f64(value->kind == OTO_VALUE_LIST ? value->items[value->count == 3 ? i : 0] : value,
                               &axes[i], error);
    }
    return status;
}

/* MATLAB's 3x3 matrix in percent: 100 on the diagonal; the other two numbers of a row must be equal to become one number. */
static enum oto_status read_matrix(const struct oto_value *value, double axes[3], struct oto_error *error)
{
    for (uint32_t row = 0; row < 3; row++) {
        double cells[3];
        const enum oto_status status = read_axes(value->items[row], cells, error);
        if (status != OTO_OK) {
            return status;
        }
        const double first = cells[row == 0 ? 1 : 0], second = cells[row == 2 ? 1 : 2];
        if (cells[row] != 100.0 || first != second) {
            return oto_value_fail(
                value->items[row], error, OTO_UNSUPPORTED,
                "row %u of this matrix is no misalignment of one percentage (100 on the diagonal and two "
                "equal numbers): give it as scale_factor_error_percent and cross_axis_percent in params",
                row + 1);
        }
        axes[row] = first;
    }
    return OTO_OK;
}

static enum oto_status read_field(const struct oto_value *value, double axes[3], struct oto_error *error)
{
    if (value->kind == OTO_VALUE_LIST && value->count == 3 && value->items[0]->kind == OTO_VALUE_LIST) {
        return read_matrix(value, axes, error);
    }
    return read_axes(value, axes, error);
}

static void put_number(FILE *to, const double axes[3])
{
    const bool same = axes[0] == axes[1] && axes[1] == axes[2];
    (void)fputs(same ? "" : "[", to);
    for (int i = 0; i < (same ? 1 : 3); i++) {
        (void)fputs(i > 0 ? ", " : "", to);
        oto_json_put_number(to, axes[i]);
    }
    (void)fputs(same ? "" : "]", to);
}

/* ---- sections ---- */

static const struct field *field_of(const char *key)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcmp(fields[i].matlab, key) == 0 || strcmp(fields[i].mavs, key) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

static void say_ignored(const struct importing *importing, const struct oto_value *value)
{
    char sentence[300];
    (void)snprintf(sentence, sizeof sentence, "%.150s:%u:%u: '%.64s' has no place in a part and is left out",
                   value->file, value->key_line, value->key_column, value->key);
    importing->warn(importing->warn_context, sentence);
}

static bool is_dropped(const struct field *field, int triad, const struct oto_value *value)
{
    double axes[3];
    if (field == NULL || field->units[triad] == NULL || is_infinite(value)) {
        return true;
    }
    /* A range or digit of 0 means "none" in these files. */
    return (strcmp(field->term, "range") == 0 || strcmp(field->term, "resolution") == 0) &&
           read_field(value, axes, NULL) == OTO_OK && axes[0] == 0 && axes[1] == 0 && axes[2] == 0;
}

static bool is_given(const struct importing *importing, int triad, const char *term)
{
    const struct oto_value *section = importing->triads[triad];
    for (uint32_t i = 0; section != NULL && i < section->count; i++) {
        const struct field *field = field_of(section->items[i]->key);
        if (field != NULL && strcmp(field->term, term) == 0 && !is_dropped(field, triad, section->items[i])) {
            return true;
        }
    }
    return false;
}

/* MATLAB: 'double-sided' (default) means sigma = density sqrt(fs/2), called single-sided elsewhere; 'single-sided' means
 * sigma = density sqrt(fs), Allan's N. */
static enum oto_status read_noise_type(struct importing *importing, const struct oto_value *section)
{
    const struct oto_value *type = oto_value_get(section, "NoiseType");
    importing->is_two_sided = false;
    if (type == NULL || oto_value_is_null(type)) {
        return OTO_OK;
    }
    if (type->kind != OTO_VALUE_SCALAR ||
        (strcmp(type->text, "double-sided") != 0 && strcmp(type->text, "single-sided") != 0)) {
        return oto_value_expected(type, importing->error, "double-sided or single-sided");
    }
    importing->is_two_sided = strcmp(type->text, "single-sided") == 0;
    return OTO_OK;
}

/*
 * Both files scale the step of the walk as their noise, by √(2/fs): their number is K/√2. MATLAB's 'single-sided' scales it
 * by √(1/fs).
 */
static void scale_walk(const struct importing *importing, double axes[3])
{
    for (int i = 0; i < 3 && !importing->is_two_sided; i++) {
        axes[i] *= RT2;
    }
}

/* These files describe a model, not a document: a floor that they do not give is 0, and no default replaces it. */
static void put_no_floor(const struct importing *importing, int triad)
{
    if (!is_given(importing, triad, "bias_instability")) {
        (void)fprintf(importing->to, "      bias_instability: {value: 0, unit: \"%s\", is: typ, source: \"file %s, not given\"}\n",
                      oto_part_triad_unit((enum oto_part_triad)triad), importing->triads[triad]->key);
    }
}

static enum oto_status put_section(struct importing *importing, int triad)
{
    const struct oto_value *section = importing->triads[triad];
    enum oto_status status = section->kind == OTO_VALUE_MAP
                                 ? read_noise_type(importing, section)
                                 : oto_value_expected(section, importing->error, "an object");
    if (status != OTO_OK || section->count == 0) {
        return status;
    }
    (void)fprintf(importing->to, "    %s:\n", oto_part_triad_name((enum oto_part_triad)triad));
    for (uint32_t i = 0; i < section->count && status == OTO_OK; i++) {
        const struct oto_value *value = section->items[i];
        const struct field *field = field_of(value->key);
        double axes[3];
        if (is_dropped(field, triad, value)) {
            if (field == NULL && strcmp(value->key, "NoiseType") != 0) {
                say_ignored(importing, value);
            }
            continue;
        }
        status = read_field(value, axes, importing->error);
        if (status != OTO_OK) {
            break;
        }
        if (strcmp(field->term, "rate_random_walk") == 0) {
            scale_walk(importing, axes);
        }
        const bool is_n = importing->is_two_sided && strcmp(field->term, "noise_density") == 0;
        (void)fprintf(importing->to, "      %s: {value: ", is_n ? "allan_n" : field->term);
        put_number(importing->to, axes);
        (void)fprintf(importing->to, ", unit: \"%s\", is: typ, source: \"file %s, line %u\"}\n", field->units[triad],
                      section->key, value->line);
    }
    if (status == OTO_OK) {
        put_no_floor(importing, triad);
    }
    return status;
}

static void put_missing(const struct importing *importing, bool is_imu)
{
    enum { FLOOR_TERM = 2 };
    static const char *const terms[] = {"range", "noise_density", "in_run_bias_stability", "known_s"};
    static const char *const given_as[] = {"range", "noise_density", "bias_instability", "known_s"};
    (void)fputs("missing:\n", importing->to);
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        const bool needed = importing->triads[triad] != NULL || (is_imu && triad != OTO_PART_MAGNETOMETER);
        for (size_t i = 0; needed && i < sizeof terms / sizeof *terms; i++) {
            const bool is_zero = i == FLOOR_TERM && importing->triads[triad] != NULL && importing->triads[triad]->count > 0;
            if (!is_zero && !is_given(importing, triad, given_as[i])) {
                (void)fprintf(importing->to, "  - %s.%s\n", oto_part_triad_name((enum oto_part_triad)triad), terms[i]);
            }
        }
    }
}

static void put_rate(FILE *to, const struct oto_value *entry, const struct oto_value *root)
{
    static const char *const names[] = {"SampleRate", "Sample Rate"};
    for (int i = 0; i < 4; i++) {
        const struct oto_value *rate = oto_value_get(i < 2 ? entry : root, names[i % 2]);
        double hz = 0;
        if (rate != NULL && oto_value_f64(rate, &hz, NULL) == OTO_OK && hz > 0) {
            (void)fputs("    output_rate: {value: ", to);
            oto_json_put_number(to, hz);
            (void)fprintf(to, ", unit: Hz, is: typ, source: \"file %s\"}\n", names[i % 2]);
            return;
        }
    }
}

static enum oto_status put_part(struct importing *importing, const char *path, const char *name,
                                const struct oto_value *entry, const struct oto_value *root)
{
    const bool is_imu =
        importing->triads[OTO_PART_ACCELEROMETER] != NULL || importing->triads[OTO_PART_GYROSCOPE] != NULL;
    enum oto_status status = OTO_OK;
    (void)fputs("part: ", importing->to);
    oto_json_put_text(importing->to, name);
    (void)fputs("\ntitle: ", importing->to);
    oto_json_put_text(importing->to, entry->key != NULL ? entry->key : name);
    (void)fprintf(importing->to,
                  "\nvendor: imported\nkind: %s\ndocuments:\n  file: {title: ", is_imu ? "imu" : "magnetometer");
    oto_json_put_text(importing->to, path);
    (void)fputs("}\n", importing->to);
    put_missing(importing, is_imu);
    (void)fputs("modes:\n  imported:\n", importing->to);
    put_rate(importing->to, entry, root);
    for (int triad = 0; triad < OTO_PART_TRIADS && status == OTO_OK; triad++) {
        if (importing->triads[triad] != NULL) {
            status = put_section(importing, triad);
        }
    }
    return status;
}

enum oto_status parts_import(FILE *to, const char *path, const char *entry, const char *name, oto_warn_function warn,
                             void *warn_context, struct oto_error *error)
{
    struct oto_document *document = NULL;
    char *text = NULL;
    size_t bytes = 0;
    struct importing importing = {.warn = warn, .warn_context = warn_context, .error = error};
    const struct oto_value *found = NULL;
    enum oto_status status = oto_document_read(path, NULL, &document, error);
    const struct oto_value *kalibr = status == OTO_OK ? parts_find_kalibr(oto_document_root(document), entry) : NULL;
    if (status == OTO_OK && kalibr == NULL) {
        status = find_entry(&importing, oto_document_root(document), entry, &found);
    }
    if (status == OTO_OK && (importing.to = open_memstream(&text, &bytes)) == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory to import '%.256s'", path);
    }
    if (status == OTO_OK) {
        status = kalibr != NULL ? parts_put_kalibr(importing.to, path, name, kalibr, error)
                                : put_part(&importing, path, name, found, oto_document_root(document));
        if (fclose(importing.to) != 0 && status == OTO_OK) {
            status = oto_fail(error, OTO_NO_MEMORY, "no memory to import '%.256s'", path);
        }
    }
    if (status == OTO_OK) {
        (void)fwrite(text, 1, bytes, to);
    }
    free(text);
    oto_document_close(document);
    return status;
}
