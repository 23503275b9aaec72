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
    bool json, first, failed;
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
    if (list->json) {
        (void)fputs(list->first ? "{\"plugin\": " : ", {\"plugin\": ", stdout);
        oto_json_put_text(stdout, descriptor->id);
        (void)fputs(", \"kind\": ", stdout);
        oto_json_put_text(stdout, descriptor->kind);
        (void)fputs(", \"version\": ", stdout);
        oto_json_put_text(stdout, descriptor->version);
        (void)fputs(", \"path\": ", stdout);
        oto_json_put_text(stdout, oto_plugin_path(plugin));
        (void)fputs(", \"text\": ", stdout);
        oto_json_put_text(stdout, descriptor->text);
        (void)fputc('}', stdout);
    } else {
        cli_print_line(stdout, "%-30s %-10s %-8s %s", descriptor->id, descriptor->kind, descriptor->version, descriptor->text);
    }
    list->first = false;
    (void)oto_plugin_close(plugin);
}

static enum oto_status list_plugins(bool json, bool *failed, struct oto_error *error)
{
    struct list list = {.json = json, .first = true};
    (void)fputs(json ? "[" : "", stdout);
    const enum oto_status status = oto_plugin_each(list_one, &list, error);
    (void)fputs(json ? "]\n" : "", stdout);
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
    struct oto_error error = {0};
    bool failed = false;
    cli_parse(&argp, argc, argv, &options);
    const enum oto_status status = options.digest_file != NULL ? oto_plugin_write_digest(options.digest_file, &error)
                                                               : list_plugins(options.common.json, &failed, &error);
    return status != OTO_OK ? cli_say(&error) : failed ? CLI_FAILED : CLI_OK;
}

/* ---- parameters ---- */

static void print_param(const struct oto_param *param, const char *value, bool json, bool first)
{
    char range[256];
    const bool required = (param->flags & OTO_PARAM_REQUIRED) != 0, runtime = (param->flags & OTO_PARAM_RUNTIME) != 0;
    oto_param_describe_range(param, range, sizeof range);
    if (!json) {
        cli_print_line(stdout, "%-44s %-20s %-10s %-18s %s%s", param->key, required ? "(required)" : value,
                       cli_shown_unit(param->unit != NULL ? param->unit : ""), range, param->text,
                       runtime ? "" : " (fixed while running)");
        return;
    }
    (void)fputs(first ? "{\"param\": " : ", {\"param\": ", stdout);
    oto_json_put_text(stdout, param->key);
    (void)fputs(", \"default\": ", stdout);
    oto_json_put_text(stdout, required ? "" : value);
    (void)fputs(", \"unit\": ", stdout);
    oto_json_put_text(stdout, param->unit != NULL ? param->unit : "");
    (void)fputs(", \"accepted\": ", stdout);
    oto_json_put_text(stdout, range);
    (void)printf(", \"required\": %s, \"runtime\": %s, \"text\": ", required ? "true" : "false", runtime ? "true" : "false");
    oto_json_put_text(stdout, param->text);
    (void)fputc('}', stdout);
}

static enum oto_status print_params(const struct oto_plugin_descriptor *descriptor, bool json, struct oto_error *error)
{
    struct oto_params defaults = {0};
    char value[VALUE_BYTES];
    bool first = true;
    enum oto_status status = oto_params_default(descriptor, &defaults, error);
    (void)fputs(json ? "[" : "", stdout);
    for (uint32_t i = 0; i < descriptor->param_count && status == OTO_OK; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (param->type == OTO_PARAM_IGNORED) {
            continue;
        }
        status = oto_params_get(descriptor, param->key, &defaults, value, sizeof value, error);
        if (status == OTO_OK) {
            print_param(param, value, json, first);
            first = false;
        }
    }
    (void)fputs(json ? "]\n" : "", stdout);
    oto_params_free(&defaults);
    return status;
}

int cli_plugin_params(int argc, char **argv)
{
    struct cli_simple simple;
    struct oto_error error = {0};
    struct oto_plugin *plugin = NULL;
    cli_parse_simple(argc, argv, "PLUGIN|FILE.so",
                     "List the parameters of a plugin: default, unit, accepted values, meaning. `otolith get NODE` reads those of a "
                     "running node.", 1, 1, &simple);
    enum oto_status status = open_plugin(simple.arguments[0], &plugin, &error);
    if (status == OTO_OK) {
        status = print_params(oto_plugin_descriptor(plugin), simple.common.json, &error);
        (void)oto_plugin_close(plugin);
    }
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
