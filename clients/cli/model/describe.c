/* otolith model list, otolith model info. */
#include "model/model.h"

#include <string.h>

#include "json.h"

struct listing {
    bool is_json;
    struct oto_json json;
    int code; /* exit code: a plugin that cannot be loaded is reported, the others are still listed */
};

static void list_one(void *context, const char *name)
{
    struct listing *listing = context;
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    char path[PATH_MAX];
    if (oto_plugin_find(name, path, sizeof path, &error) != OTO_OK || oto_plugin_open(path, NULL, &plugin, &error) != OTO_OK) {
        listing->code = cli_say(&error);
        return;
    }
    const struct oto_model_extension *model = oto_plugin_model(plugin);
    if (model != NULL && listing->is_json) {
        oto_json_open(&listing->json, NULL, '{');
        oto_json_text(&listing->json, "name", model_name(oto_plugin_descriptor(plugin)));
        oto_json_text(&listing->json, "plugin", name);
        oto_json_u64(&listing->json, "states", model->state_count);
        oto_json_text(&listing->json, "text", oto_plugin_descriptor(plugin)->text);
        oto_json_close(&listing->json, '}');
    } else if (model != NULL) {
        (void)printf("%-24s %2u states  %s\n", model_name(oto_plugin_descriptor(plugin)), model->state_count,
                     oto_plugin_descriptor(plugin)->text);
    }
    (void)oto_plugin_close(plugin);
}

int model_list(int argc, char **argv)
{
    struct model_options options;
    struct oto_error error = {0};
    model_parse(argc, argv, "j", "", "List the motion models that are there.", &options);
    struct listing listing = {.is_json = options.json, .json.to = stdout, .code = CLI_OK};
    if (options.json) {
        oto_json_open(&listing.json, NULL, '[');
    }
    const enum oto_status status = oto_plugin_each(list_one, &listing, &error);
    if (options.json) {
        oto_json_close(&listing.json, ']');
        oto_json_more(&listing.json, "\n", 1);
    }
    return status == OTO_OK ? listing.code : cli_say(&error);
}

static void json_quantities(struct oto_json *json, const char *key, const struct oto_model_quantity *rows, uint32_t count)
{
    oto_json_open(json, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        oto_json_open(json, NULL, '{');
        oto_json_text(json, "name", rows[i].name);
        oto_json_text(json, "unit", rows[i].unit);
        oto_json_text(json, "frame", rows[i].frame);
        oto_json_text(json, "text", rows[i].text);
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static void print_json(const struct oto_model *model)
{
    const struct oto_plugin_descriptor *descriptor = oto_model_descriptor(model);
    const struct oto_model_extension *extension = oto_model_of(model);
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "name", model_name(descriptor));
    oto_json_text(&json, "plugin", descriptor->id);
    oto_json_text(&json, "text", descriptor->text);
    oto_json_flag(&json, "exact", (extension->flags & OTO_MODEL_EXACT) != 0);
    json_quantities(&json, "states", extension->states, oto_model_size(model));
    json_quantities(&json, "derived", extension->derived, extension->derived_count);
    oto_json_open(&json, "params", '[');
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        char value[256] = "";
        (void)oto_model_get_param(model, param->key, value, sizeof value, NULL);
        oto_json_open(&json, NULL, '{');
        oto_json_text(&json, "key", param->key);
        oto_json_text(&json, "column", text_or_empty(param->alias));
        oto_json_text(&json, "unit", text_or_empty(param->unit));
        oto_json_text(&json, "value", value);
        oto_json_flag(&json, "runtime", (param->flags & OTO_PARAM_RUNTIME) != 0);
        oto_json_text(&json, "text", text_or_empty(param->text));
        oto_json_close(&json, '}');
    }
    oto_json_close(&json, ']');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static void print_quantities(const char *title, const struct oto_model_quantity *rows, uint32_t count)
{
    (void)printf("\n%s\n", title);
    for (uint32_t i = 0; i < count; i++) {
        (void)printf("  %-14s %-8s %-5s %s\n", rows[i].name, rows[i].unit, rows[i].frame, rows[i].text);
    }
}

/* True for a parameter of the initial state, which is not listed because only a vehicle needs it. */
static bool is_initial(const struct oto_param *param)
{
    return strncmp(param->key, "initial.", strlen("initial.")) == 0;
}

static void print_model(const struct oto_model *model)
{
    const struct oto_plugin_descriptor *descriptor = oto_model_descriptor(model);
    const struct oto_model_extension *extension = oto_model_of(model);
    (void)printf("%s: %s\nplugin %s; the flow is %s\n", model_name(descriptor), descriptor->text, descriptor->id,
                 (extension->flags & OTO_MODEL_EXACT) != 0 ? "exact at any step" : "integrated");
    print_quantities("states", extension->states, oto_model_size(model));
    if (extension->derived_count > 0) {
        print_quantities("derived", extension->derived, extension->derived_count);
    }
    (void)printf("\nparameters\n");
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        char value[256] = "";
        (void)oto_model_get_param(model, param->key, value, sizeof value, NULL);
        if (!is_initial(param)) {
            (void)printf("  %-22s %-10s %-12s %-8s %s\n", param->key, text_or_empty(param->alias), value, param->unit, param->text);
        }
    }
    (void)printf("  and, as the truth of a vehicle, initial.NAME of each state\n");
}

int model_info(int argc, char **argv)
{
    struct model_options options;
    struct oto_model *model = NULL;
    struct oto_error error = {0};
    model_parse(argc, argv, "mPsj", "MODEL", "Describe a motion model: its states, what follows from them, its parameters.",
                &options);
    if (options.model == NULL) {
        (void)fprintf(stderr, "otolith: info needs a MODEL; otolith model list names them\n");
        return CLI_USAGE;
    }
    const enum oto_status status = model_open(&options, &model, &error);
    if (status == OTO_OK) {
        (options.json ? print_json : print_model)(model);
    }
    oto_model_close(model);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
