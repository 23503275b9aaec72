/*
 * Settings: numbers of a part that name a parameter of its plugin, in the parameter's own unit. Parts whose quantities are not
 * those of a triad consist of them; other parts have them where the terms of a triad do not suffice, as a matrix. [loop]
 */
#include <stdlib.h>
#include <string.h>

#include "private.h"

static enum oto_status read_values(const struct oto_value *value, struct oto_part_setting *setting, struct oto_error *error)
{
    if (value->kind == OTO_VALUE_SCALAR) {
        setting->count = 1;
        return oto_value_f64(value, &setting->values[0], error);
    }
    if (value->kind != OTO_VALUE_LIST || value->count == 0 || value->count > OTO_PART_SETTING_VALUES) {
        return oto_value_expected(value, error, "a number, or a list of at most 6 numbers");
    }
    setting->count = value->count;
    for (uint32_t i = 0; i < value->count; i++) {
        const enum oto_status status = oto_value_f64(value->items[i], &setting->values[i], error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

static enum oto_status read_is(const struct oto_value *map, struct oto_part_setting *setting, struct oto_error *error)
{
    const struct oto_value *is;
    const enum oto_status status = part_require(map, "is", &is, error);
    if (status != OTO_OK) {
        return status;
    }
    static const char *const kinds[] = {"typ", "max", "derived"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (is->kind == OTO_VALUE_SCALAR && strcmp(is->text, kinds[i]) == 0) {
            setting->is = kinds[i];
            return OTO_OK;
        }
    }
    return oto_value_expected(is, error, "typ, max or derived");
}

static enum oto_status read_setting(const struct oto_part *part, const struct oto_value *map,
                                    struct oto_part_setting *setting, struct oto_error *error)
{
    static const char *const keys[] = {"value", "unit", "is", "source", "note"};
    const struct oto_value *value, *unit;
    enum oto_status status = part_check_keys(map, keys, sizeof keys / sizeof *keys, error);
    setting->key = map->key;
    setting->place = map;
    if (status != OTO_OK || (status = part_require(map, "value", &value, error)) != OTO_OK ||
        (status = read_values(value, setting, error)) != OTO_OK ||
        (status = part_require(map, "unit", &unit, error)) != OTO_OK ||
        (status = oto_value_text(unit, &setting->unit, error)) != OTO_OK ||
        (status = read_is(map, setting, error)) != OTO_OK) {
        return status;
    }
    return part_source_read(part, map, &setting->source, error);
}

static enum oto_status read_all(const struct oto_part *part, const struct oto_value *map, struct oto_part_mode *mode,
                                struct oto_error *error)
{
    const struct oto_value *settings = map != NULL ? oto_value_get(map, "parameters") : NULL;
    enum oto_status status = OTO_OK;
    if (settings != NULL && settings->kind != OTO_VALUE_MAP) {
        return oto_value_expected(settings, error, "a map of parameters");
    }
    for (uint32_t i = 0; settings != NULL && i < settings->count && status == OTO_OK; i++) {
        status = read_setting(part, settings->items[i], &mode->settings[mode->setting_count++], error);
    }
    return status;
}

static uint32_t count_in(const struct oto_value *map)
{
    const struct oto_value *settings = map != NULL ? oto_value_get(map, "parameters") : NULL;
    return settings != NULL ? settings->count : 0;
}

enum oto_status part_settings_read(const struct oto_part *part, const struct oto_value *common, const struct oto_value *map,
                                   struct oto_part_mode *mode, struct oto_error *error)
{
    const uint32_t count = count_in(common) + count_in(map);
    if (count == 0) {
        return part->kind != OTO_PART_KIND_SETTINGS
                   ? OTO_OK
                   : oto_value_fail(map, error, OTO_INVALID, "mode '%.48s' has no `parameters`", mode->name);
    }
    mode->settings = calloc(count, sizeof *mode->settings);
    if (mode->settings == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read a part");
    }
    enum oto_status status = read_all(part, common, mode, error);
    status = status == OTO_OK ? read_all(part, map, mode, error) : status;
    for (uint32_t i = 0; status == OTO_OK && i < mode->setting_count; i++) {
        for (uint32_t k = 0; status == OTO_OK && k < i; k++) {
            if (strcmp(mode->settings[i].key, mode->settings[k].key) == 0) {
                status = oto_value_fail_key(mode->settings[i].place, error, OTO_CONFLICT,
                                            "mode '%.48s': %s is given twice, first in line %u", mode->name,
                                            mode->settings[i].key, mode->settings[k].place->line);
            }
        }
    }
    return status;
}

enum oto_status part_settings_fit(const struct oto_part *part, const struct oto_part_mode *mode,
                                  const struct oto_plugin_descriptor *descriptor, struct oto_error *error)
{
    for (uint32_t i = 0; i < mode->setting_count; i++) {
        const struct oto_part_setting *setting = &mode->settings[i];
        const struct oto_param *param = oto_param_find(descriptor, setting->key);
        if (param == NULL && part->kind != OTO_PART_KIND_SETTINGS) {
            continue; /* left out, as the terms of a triad that the plugin lacks */
        }
        if (param == NULL) {
            return oto_value_fail_key(setting->place, error, OTO_INVALID, "part '%.100s' sets %s, which plugin '%s' has not",
                                      part->name, setting->key, descriptor->id);
        }
        if (strcmp(param->unit, setting->unit) != 0) {
            return oto_value_fail(setting->place, error, OTO_INVALID, "%s is in '%s', plugin '%s' takes '%s'", setting->key,
                                  setting->unit, descriptor->id, param->unit);
        }
    }
    return OTO_OK;
}
