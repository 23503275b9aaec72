/* otolith plugins, otolith params: the plugins that a world can name, and their parameters. */

#include "cli.h"
#include "json.h"
#include "plugin/host.h"

enum { VALUE_BYTES = 4096 };

/* A plugin that cannot be loaded is listed with the reason. */
static enum oto_status open_plugin(const char *name, struct oto_plugin **plugin, struct oto_error *error)
{
    char path[4096];
    const enum oto_status status = oto_plugin_find(name, path, sizeof path, error);
    return status == OTO_OK ? oto_plugin_open(path, NULL, plugin, error) : status;
}

struct list {
    struct oto_json *json; /* NULL: text */
    bool failed;
};

static void list_one(void *context, const char *name)
{
    struct list *list = context;
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    if (open_plugin(name, &plugin, &error) != OTO_OK) {
        list->failed = true;
        (void)cli_say(&error);
        return;
    }
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    if (list->json != NULL) {
        oto_json_open(list->json, NULL, '{');
        oto_json_text(list->json, "plugin", descriptor->id);
        oto_json_text(list->json, "kind", descriptor->kind);
        oto_json_text(list->json, "version", descriptor->version);
        oto_json_text(list->json, "path", oto_plugin_path(plugin));
        oto_json_text(list->json, "text", descriptor->text);
        oto_json_close(list->json, '}');
    } else {
        cli_print_line(stdout, "%-30s %-10s %-8s %s", descriptor->id, descriptor->kind, descriptor->version, descriptor->text);
    }
    (void)oto_plugin_close(plugin);
}

/* Begins or ends a list on standard output, if there is one. */
static void open_list(struct oto_json *json)
{
    if (json != NULL) {
        oto_json_open(json, NULL, '[');
    }
}

static void close_list(struct oto_json *json)
{
    if (json != NULL) {
        oto_json_close(json, ']');
        oto_json_more(json, "\n", 1);
    }
}

static enum oto_status list_plugins(struct oto_json *json, bool *failed, struct oto_error *error)
{
    struct list list = {.json = json};
    open_list(json);
    const enum oto_status status = oto_plugin_each(list_one, &list, error);
    close_list(json);
    *failed = list.failed;
    return status;
}

struct plugins_options {
    struct cli_common common;
    const char *digest_file;
};

enum { OPTION_WRITE_DIGEST = 256 };

static error_t parse_plugins(int key, char *arg, struct argp_state *state)
{
    struct plugins_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->common; return 0;
    case OPTION_WRITE_DIGEST: options->digest_file = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cli_plugins(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"write-digest", OPTION_WRITE_DIGEST, "FILE.so", 0,
         "write the digest of its loaded bytes into a plugin that was just linked; a copy that changes later is not loaded", 0},
        {0}};
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows, .parser = parse_plugins, .children = children,
                                     .doc = "List the plugins that a world file can name: kind, version, and what each is."};
    struct plugins_options options = {0};
    struct oto_json json = {.to = stdout};
    struct oto_error error = {0};
    bool failed = false;
    cli_parse(&argp, argc, argv, &options);
    const enum oto_status status = options.digest_file != NULL ? oto_plugin_write_digest(options.digest_file, &error)
                                                               : list_plugins(options.common.json ? &json : NULL, &failed, &error);
    return status != OTO_OK ? cli_say(&error) : failed ? CLI_FAILED : CLI_OK;
}

/* ---- parameters ---- */

static void print_param(const struct oto_param *param, const char *value, struct oto_json *json)
{
    char range[256];
    const bool required = (param->flags & OTO_PARAM_REQUIRED) != 0, runtime = (param->flags & OTO_PARAM_RUNTIME) != 0;
    const char *unit = param->unit != NULL ? param->unit : "";
    oto_param_describe_range(param, range, sizeof range);
    if (json == NULL) {
        cli_print_line(stdout, "%-44s %-20s %-10s %-18s %s%s", param->key, required ? "(required)" : value, cli_shown_unit(unit), range,
                       param->text, runtime ? "" : " (fixed while running)");
        return;
    }
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "param", param->key);
    oto_json_text(json, "default", required ? "" : value);
    oto_json_text(json, "unit", unit);
    oto_json_text(json, "accepted", range);
    oto_json_flag(json, "required", required);
    oto_json_flag(json, "runtime", runtime);
    oto_json_text(json, "text", param->text);
    oto_json_close(json, '}');
}

static enum oto_status print_params(const struct oto_plugin_descriptor *descriptor, struct oto_json *json, struct oto_error *error)
{
    struct oto_params defaults = {0};
    char value[VALUE_BYTES];
    enum oto_status status = oto_params_default(descriptor, &defaults, error);
    open_list(json);
    for (uint32_t i = 0; i < descriptor->param_count && status == OTO_OK; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (param->type == OTO_PARAM_IGNORED) {
            continue;
        }
        status = oto_params_get(descriptor, param->key, &defaults, value, sizeof value, error);
        if (status == OTO_OK) {
            print_param(param, value, json);
        }
    }
    close_list(json);
    oto_params_free(&defaults);
    return status;
}

int cli_plugin_params(int argc, char **argv)
{
    struct cli_simple simple;
    struct oto_json json = {.to = stdout};
    struct oto_error error = {0};
    struct oto_plugin *plugin = NULL;
    cli_parse_simple(argc, argv, "PLUGIN|FILE.so",
                     "List the parameters of a plugin: default, unit, accepted values, meaning. `otolith get NODE` reads those of a "
                     "running node.", 1, 1, &simple);
    enum oto_status status = open_plugin(simple.arguments[0], &plugin, &error);
    if (status == OTO_OK) {
        status = print_params(oto_plugin_descriptor(plugin), simple.common.json ? &json : NULL, &error);
        (void)oto_plugin_close(plugin);
    }
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
