/*
 * Turns the numbers of a mode into parameters of a plugin: a map of values, each with the place of its number. [loop]
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

enum { MOST_VALUES = 512, TEXT_BYTES = 32, KEY_BYTES = 96, MOST_AXES = 3, MOST_ELEMENTS = OTO_PART_SERIES };

/* One value of the map under construction; the elements of a list follow it. */
struct made {
    struct oto_value value;
    struct oto_value elements[MOST_ELEMENTS];
    struct oto_value *pointers[MOST_ELEMENTS];
    char key[KEY_BYTES];
    char text[MOST_ELEMENTS][TEXT_BYTES];
};

struct making {
    const struct oto_plugin_descriptor *descriptor;
    struct made *made;
    struct oto_value **items;
    uint32_t count;
};

double part_parameter_value(const struct oto_part_number *number, const struct part_term *term, int axis)
{
    const double value = number->value_u[axis] * term->scale;
    return term->use == PART_USE_SPREAD ? value / number->sigma : value;
}

static struct made *next(struct making *making, const char *key, const struct oto_value *place)
{
    struct made *made = &making->made[making->count];
    if (making->count == MOST_VALUES) {
        return NULL;
    }
    (void)snprintf(made->key, sizeof made->key, "%s", key);
    made->value = (struct oto_value){.kind = OTO_VALUE_SCALAR,
                                     .file = place->file,
                                     .line = place->line,
                                     .column = place->column,
                                     .key = made->key,
                                     .text = made->text[0],
                                     .key_line = place->key_line,
                                     .key_column = place->key_column};
    making->items[making->count++] = &made->value;
    return made;
}

static void make_text(struct making *making, const char *key, const char *text, const struct oto_value *place)
{
    struct made *made = oto_param_find(making->descriptor, key) != NULL ? next(making, key, place) : NULL;
    if (made != NULL) {
        (void)snprintf(made->text[0], TEXT_BYTES, "%s", text);
    }
}

static void make_list(struct made *made, const double *values, uint32_t count)
{
    made->value.kind = OTO_VALUE_LIST;
    made->value.text = NULL;
    made->value.count = count;
    made->value.items = made->pointers;
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(made->text[i], TEXT_BYTES, "%.17g", values[i]);
        made->elements[i] = made->value;
        made->elements[i].kind = OTO_VALUE_SCALAR;
        made->elements[i].key = NULL;
        made->elements[i].text = made->text[i];
        made->elements[i].count = 0;
        made->elements[i].items = NULL;
        made->pointers[i] = &made->elements[i];
    }
}

static void make_number(struct making *making, const struct oto_part_number *number)
{
    const struct part_term *term = part_term_find(number->term);
    char format[KEY_BYTES], key[KEY_BYTES];
    double values[MOST_AXES];
    if (term->key == NULL) {
        return;
    }
    /* The unit replaces the %s of the key. The key itself is not used as a format. */
    const char *mark = strstr(term->key, "%s");
    const int head = mark != NULL ? (int)(mark - term->key) : (int)strlen(term->key);
    (void)snprintf(format, sizeof format, "%.*s%s%s", head, term->key,
                   mark != NULL ? part_triad_key(number->triad) : "", mark != NULL ? mark + 2 : "");
    (void)snprintf(key, sizeof key, "%s.%.64s", oto_part_triad_name(number->triad), format);
    const struct oto_param *param = oto_param_find(making->descriptor, key);
    struct made *made = param != NULL ? next(making, key, number->place) : NULL;
    if (made == NULL) {
        return;
    }
    for (int axis = 0; axis < MOST_AXES; axis++) {
        values[axis] = part_parameter_value(number, term, axis);
    }
    if (param->count == MOST_AXES) {
        make_list(made, values, MOST_AXES);
        return;
    }
    /* The plugin has one number for all axes: take the smallest range and the finest resolution. */
    (void)snprintf(made->text[0], TEXT_BYTES, "%.17g", fmin(values[0], fmin(values[1], values[2])));
}

/* The word of a parameter that takes words only; NULL: it takes numbers. */
static const char *word_of(const struct oto_param *param, double value)
{
    for (uint32_t i = 0; param->type == OTO_PARAM_I64 && i < param->name_count; i++) {
        if (param->names[i].value == value) {
            return param->names[i].name;
        }
    }
    return NULL;
}

static void make_setting(struct making *making, const struct oto_part_setting *setting)
{
    const struct oto_param *param = oto_param_find(making->descriptor, setting->key);
    struct made *made = param != NULL ? next(making, setting->key, setting->place) : NULL;
    const char *word = made != NULL ? word_of(param, setting->values[0]) : NULL;
    if (made != NULL && setting->count > 1) {
        make_list(made, setting->values, setting->count);
    } else if (made != NULL && word != NULL) {
        (void)snprintf(made->text[0], TEXT_BYTES, "%s", word);
    } else if (made != NULL) {
        (void)snprintf(made->text[0], TEXT_BYTES, "%.17g", setting->values[0]);
    }
}

/*
 * Sets the range of averaging times in which a curve's floor holds. A document shows a few decades at most; beyond them the
 * part must not become better than its floor.
 */
static void make_floor_range(struct making *making, const struct oto_part_number *number)
{
    char key[KEY_BYTES], text[TEXT_BYTES];
    if (part_term_find(number->term)->use != PART_USE_INSTABILITY) {
        return;
    }
    (void)snprintf(text, sizeof text, "%.17g", fmax(number->known_s[1], OTO_PART_FLOOR_MAX_S));
    (void)snprintf(key, sizeof key, "%s.bias_instability_tau_max_s", oto_part_triad_name(number->triad));
    make_text(making, key, text, number->place);
    if (number->known_s[0] > 0.0) {
        (void)snprintf(text, sizeof text, "%.17g", number->known_s[0]);
        (void)snprintf(key, sizeof key, "%s.bias_instability_tau_min_s", oto_part_triad_name(number->triad));
        make_text(making, key, text, number->place);
    }
}

/* Sets what the default adds to the curve of a document: the floor, or the white noise. */
static void make_default(struct making *making, const struct oto_part_mode *mode, enum oto_part_triad triad)
{
    struct oto_part_curve curve;
    char key[KEY_BYTES], text[TEXT_BYTES];
    oto_part_curve(mode, triad, &curve);
    if (!curve.default_floor && !curve.default_white) {
        return;
    }
    (void)snprintf(key, sizeof key, "%s.%s_%s%s", oto_part_triad_name(triad),
                   curve.default_floor ? "bias_instability" : "noise_density", part_triad_key(triad),
                   curve.default_floor ? "" : "_rthz");
    struct made *made = oto_param_find(making->descriptor, key) != NULL ? next(making, key, mode->place) : NULL;
    if (made != NULL) {
        make_list(made, curve.value_u, MOST_AXES);
    }
    if (curve.default_floor) {
        (void)snprintf(key, sizeof key, "%s.bias_instability_tau_max_s", oto_part_triad_name(triad));
        (void)snprintf(text, sizeof text, "%.17g", fmax(curve.meet_s, OTO_PART_FLOOR_MAX_S));
        make_text(making, key, text, mode->place);
    }
}

/* Lists of the parameter's full length; the terms that are not used are zero. */
static void make_series(struct making *making, const struct oto_part_series *series)
{
    const char *name = series->is_sine ? "sine" : "gauss_markov";
    char key[KEY_BYTES];
    for (int list = 0; list < 4; list++) {
        if (list == 0) {
            (void)snprintf(key, sizeof key, "%s.%s_%s", oto_part_triad_name(series->triad), name,
                           series->is_sine ? "hz" : "tau_s");
        } else {
            (void)snprintf(key, sizeof key, "%s.%s_%c_%s", oto_part_triad_name(series->triad), name, "xyz"[list - 1],
                           part_triad_key(series->triad));
        }
        const struct oto_param *param = oto_param_find(making->descriptor, key);
        struct made *made = param != NULL ? next(making, key, series->place) : NULL;
        if (made != NULL) {
            make_list(made, list == 0 ? series->at : series->value_u[list - 1],
                      param->count < MOST_ELEMENTS ? param->count : MOST_ELEMENTS);
        }
    }
}

static bool has_triad(const struct oto_plugin_descriptor *descriptor, enum oto_part_triad triad)
{
    char key[KEY_BYTES];
    (void)snprintf(key, sizeof key, "%s.measurement_range_%s", oto_part_triad_name(triad), part_triad_key(triad));
    return oto_param_find(descriptor, key) != NULL;
}

static enum oto_status check_fits(const struct oto_part *part, const struct oto_plugin_descriptor *descriptor,
                                  struct oto_error *error)
{
    if (part->kind == OTO_PART_KIND_SETTINGS) {
        return OTO_OK; /* part_settings_fit */
    }
    const bool inertial = has_triad(descriptor, OTO_PART_ACCELEROMETER) || has_triad(descriptor, OTO_PART_GYROSCOPE);
    const bool magnetic = has_triad(descriptor, OTO_PART_MAGNETOMETER);
    const bool has_magnetometer = oto_part_has_triad(&part->modes[0], OTO_PART_MAGNETOMETER);
    if (part->is_imu ? inertial || (magnetic && has_magnetometer) : magnetic && !inertial) {
        return OTO_OK;
    }
    return oto_fail(error, OTO_INVALID, "part '%.100s' is %s, and plugin '%s' models none%s", part->name,
                    part->is_imu ? "an IMU" : "a magnetometer", descriptor->id,
                    !part->is_imu && magnetic ? " alone: use a plugin for magnetometers" : "");
}

static void make_all(struct making *making, const struct oto_part *part, const struct oto_part_mode *mode)
{
    char text[TEXT_BYTES];
    for (uint32_t i = 0; i < mode->number_count; i++) {
        make_number(making, &mode->numbers[i]);
        make_floor_range(making, &mode->numbers[i]);
    }
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        make_default(making, mode, (enum oto_part_triad)triad);
    }
    for (uint32_t i = 0; i < mode->series_count; i++) {
        make_series(making, &mode->series[i]);
    }
    for (uint32_t i = 0; i < mode->setting_count; i++) {
        make_setting(making, &mode->settings[i]);
    }
    make_text(making, "psd", "single", mode->place);
    if (mode->output_rate_hz > 0) {
        (void)snprintf(text, sizeof text, "%.17g", mode->output_rate_hz);
        make_text(making, "sample_rate_hz", text, mode->output_rate_place);
    }
    if (part->is_imu && oto_part_has_triad(mode, OTO_PART_MAGNETOMETER)) {
        make_text(making, "magnetometer.enable", "true", mode->place);
    }
}

/* Warns about triads whose white noise no document gives. */
static void warn_white(const struct oto_part *part, const struct oto_part_mode *mode,
                       const struct oto_plugin_descriptor *descriptor, oto_warn_function warn, void *warn_context)
{
    for (int triad = 0; triad < OTO_PART_TRIADS && warn != NULL; triad++) {
        char sentence[320];
        struct oto_part_curve curve;
        const bool is_noiseless = oto_part_is_noiseless(mode, (enum oto_part_triad)triad);
        oto_part_curve(mode, (enum oto_part_triad)triad, &curve);
        if (!has_triad(descriptor, (enum oto_part_triad)triad) || (!is_noiseless && !curve.default_white)) {
            continue;
        }
        (void)snprintf(sentence, sizeof sentence,
                       "part '%.80s', mode '%.48s': the %s is simulated %s, because no document gives its white "
                       "noise; set %s.noise_density_%s_rthz",
                       part->name, mode->name, oto_part_triad_name((enum oto_part_triad)triad),
                       is_noiseless ? "without noise" : "with default white noise",
                       oto_part_triad_name((enum oto_part_triad)triad), part_triad_key((enum oto_part_triad)triad));
        warn(warn_context, sentence);
    }
}

enum oto_status oto_part_apply(const struct oto_part *part, const struct oto_part_mode *mode,
                               const struct oto_plugin_descriptor *descriptor, struct oto_params *params,
                               oto_warn_function warn, void *warn_context, struct oto_error *error)
{
    struct making making = {.descriptor = descriptor};
    struct oto_value map = {
        .kind = OTO_VALUE_MAP, .file = mode->place->file, .line = mode->place->line, .column = mode->place->column};
    enum oto_status status = check_fits(part, descriptor, error);
    if (status == OTO_OK) {
        status = part_settings_fit(part, mode, descriptor, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    making.made = calloc(MOST_VALUES, sizeof *making.made);
    making.items = calloc(MOST_VALUES, sizeof(struct oto_value *));
    if (making.made != NULL && making.items != NULL) {
        make_all(&making, part, mode);
        map.count = making.count;
        map.items = making.items;
        warn_white(part, mode, descriptor, warn, warn_context);
        status = oto_params_apply(descriptor, &map, params, error);
    } else {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the parameters of part '%s'", part->name);
    }
    free(making.items);
    free(making.made);
    return status;
}

void oto_part_noise(const struct oto_part_mode *mode, enum oto_part_triad triad, struct oto_part_noise *noise)
{
    memset(noise, 0, sizeof *noise);
    for (uint32_t i = 0; i < mode->number_count; i++) {
        const struct oto_part_number *number = &mode->numbers[i];
        const struct part_term *term = part_term_find(number->term);
        const bool is_walk = strcmp(term->name, "rate_random_walk") == 0;
        const bool is_rms = strcmp(term->name, "noise_rms") == 0;
        double *into = is_rms                              ? noise->rms_u
                       : term->use == PART_USE_WHITE       ? noise->white_u_rthz
                       : term->use == PART_USE_INSTABILITY ? noise->instability_u
                       : is_walk                           ? noise->walk_u_rts
                                                           : NULL;
        if (number->triad != triad || into == NULL) {
            continue;
        }
        for (int axis = 0; axis < MOST_AXES; axis++) {
            into[axis] = part_parameter_value(number, term, axis);
        }
        noise->has_rms |= is_rms;
        for (int axis = 0; axis < MOST_AXES && is_rms && mode->output_rate_hz > 0; axis++) {
            noise->white_u_rthz[axis] = noise->rms_u[axis] / sqrt(mode->output_rate_hz / 2);
        }
        noise->has_white |= term->use == PART_USE_WHITE && (!is_rms || mode->output_rate_hz > 0);
        noise->has_instability |= term->use == PART_USE_INSTABILITY;
        noise->has_walk |= is_walk;
    }
}
