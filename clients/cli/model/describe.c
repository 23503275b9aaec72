/* otolith model list, otolith model info. */
#include "model/model.h"

#include <string.h>

#include "json.h"

struct listing {
    bool json;
    unsigned count;
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
    if (model != NULL && listing->json) {
        (void)printf("%s{\"name\": ", listing->count > 0 ? ", " : "");
        oto_json_put_text(stdout, model_name(oto_plugin_descriptor(plugin)));
        (void)printf(", \"plugin\": ");
        oto_json_put_text(stdout, name);
        (void)printf(", \"states\": %u, \"text\": ", model->state_count);
        oto_json_put_text(stdout, oto_plugin_descriptor(plugin)->text);
        (void)printf("}");
    } else if (model != NULL) {
        (void)printf("%-24s %2u states  %s\n", model_name(oto_plugin_descriptor(plugin)), model->state_count,
                     oto_plugin_descriptor(plugin)->text);
    }
    listing->count += model != NULL;
    (void)oto_plugin_close(plugin);
}

int model_list(int argc, char **argv)
{
    struct model_options options;
    struct oto_error error = {0};
    model_parse(argc, argv, "j", "", "List the motion models that are there.", &options);
    struct listing listing = {.json = options.json, .code = CLI_OK};
    (void)printf("%s", options.json ? "[" : "");
    const enum oto_status status = oto_plugin_each(list_one, &listing, &error);
    (void)printf("%s", options.json ? "]\n" : "");
    return status == OTO_OK ? listing.code : cli_say(&error);
}

static void json_text_member(const char *key, const char *value, const char *before)
{
    (void)printf("%s\"%s\": ", before, key);
    oto_json_put_text(stdout, value != NULL ? value : "");
}

static void print_quantities(const char *title, const struct oto_model_quantity *rows, uint32_t count, bool json)
{
    (void)printf(json ? ", \"%s\": [" : "\n%s\n", title);
    for (uint32_t i = 0; i < count; i++) {
        if (json) {
            json_text_member("name", rows[i].name, i > 0 ? ", {" : "{");
            json_text_member("unit", rows[i].unit, ", ");
            json_text_member("frame", rows[i].frame, ", ");
            json_text_member("text", rows[i].text, ", ");
            (void)printf("}");
        } else {
            (void)printf("  %-14s %-8s %-5s %s\n", rows[i].name, rows[i].unit, rows[i].frame, rows[i].text);
        }
    }
    (void)printf("%s", json ? "]" : "");
}

/* True for a parameter of the initial state, which is not listed because only a vehicle needs it. */
static bool is_initial(const struct oto_param *param)
{
    return strncmp(param->key, "initial.", strlen("initial.")) == 0;
}

static void print_params(const struct oto_model *model, bool json)
{
    const struct oto_plugin_descriptor *descriptor = oto_model_descriptor(model);
    bool first = true;
    (void)printf(json ? ", \"params\": [" : "\nparameters\n");
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        char value[256] = "";
        (void)oto_model_get_param(model, param->key, value, sizeof value, NULL);
        if (json) {
            json_text_member("key", param->key, first ? "{" : ", {");
            json_text_member("column", param->alias, ", ");
            json_text_member("unit", param->unit, ", ");
            json_text_member("value", value, ", ");
            (void)printf(", \"runtime\": %s", (param->flags & OTO_PARAM_RUNTIME) != 0 ? "true" : "false");
            json_text_member("text", param->text, ", ");
            (void)printf("}");
        } else if (!is_initial(param)) {
            (void)printf("  %-22s %-10s %-12s %-8s %s\n", param->key, param->alias != NULL ? param->alias : "", value,
                         param->unit, param->text);
        }
        first = false;
    }
    if (json) {
        (void)printf("]");
    } else {
        (void)printf("  and, as the truth of a vehicle, initial.NAME of each state\n");
    }
}

static void print_model(const struct oto_model *model, bool json)
{
    const struct oto_plugin_descriptor *descriptor = oto_model_descriptor(model);
    const struct oto_model_extension *extension = oto_model_of(model);
    const bool exact = (extension->flags & OTO_MODEL_EXACT) != 0;
    if (json) {
        json_text_member("name", model_name(descriptor), "{");
        json_text_member("plugin", descriptor->id, ", ");
        json_text_member("text", descriptor->text, ", ");
        (void)printf(", \"exact\": %s", exact ? "true" : "false");
    } else {
        (void)printf("%s: %s\nplugin %s; the flow is %s\n", model_name(descriptor), descriptor->text,
                     descriptor->id, exact ? "exact at any step" : "integrated");
    }
    print_quantities("states", extension->states, oto_model_size(model), json);
    if (json || extension->derived_count > 0) {
        print_quantities("derived", extension->derived, extension->derived_count, json);
    }
    print_params(model, json);
    (void)printf("%s", json ? "}\n" : "");
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
        print_model(model, options.json);
    }
    oto_model_close(model);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
