/* otolith plugins, otolith params: the plugins that a world can name, and their parameters. */
#include <stdlib.h>
#include <string.h>

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
        json_text(stdout, descriptor->id);
        (void)fputs(", \"kind\": ", stdout);
        json_text(stdout, descriptor->kind);
        (void)fputs(", \"version\": ", stdout);
        json_text(stdout, descriptor->version);
        (void)fputs(", \"path\": ", stdout);
        json_text(stdout, oto_plugin_path(plugin));
        (void)fputs(", \"text\": ", stdout);
        json_text(stdout, descriptor->text);
        (void)fputc('}', stdout);
    } else {
        cli_print_line(stdout, "%-30s %-10s %-8s %s", descriptor->id, descriptor->kind, descriptor->version, descriptor->text);
    }
    list->first = false;
    (void)oto_plugin_close(plugin);
}

int cli_plugins(int argc, char **argv)
{
    struct cli_simple simple;
    struct oto_error error = {0};
    cli_parse_simple(argc, argv, "", "List the plugins that a world file can name: kind, version, and what each is.", 0, 0, &simple);
    struct list list = {.json = simple.common.json, .first = true};
    if (list.json) {
        (void)fputc('[', stdout);
    }
    const enum oto_status status = oto_plugin_each(list_one, &list, &error);
    if (list.json) {
        (void)fputs("]\n", stdout);
    }
    return status != OTO_OK ? cli_say(&error) : list.failed ? CLI_FAILED : CLI_OK;
}

/* ---- parameters ---- */

/* "0 to 1", "above 0, to 5", "mems|mavs"; "" for any finite number. Words beside a number are appended. */
static void describe_range(const struct oto_param *param, char *text, size_t bytes)
{
    const bool limited = param->minimum != 0.0 || param->maximum != 0.0, words_only = param->type == OTO_PARAM_I64;
    size_t used = 0;
    text[0] = '\0';
    if (limited && !(words_only && param->name_count > 0)) {
        const bool open = (param->flags & OTO_PARAM_OPEN_MIN) != 0;
        used = (size_t)snprintf(text, bytes, "%s%g%s to %g", open ? "above " : "", param->minimum, open ? "," : "", param->maximum);
    } else if (param->name_count > 0 && !words_only) {
        used = (size_t)snprintf(text, bytes, "number");
    }
    for (uint32_t i = 0; i < param->name_count && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? "|" : "", param->names[i].name);
    }
}

static void print_param(const struct oto_param *param, const char *value, bool json, bool first)
{
    char range[256];
    const bool required = (param->flags & OTO_PARAM_REQUIRED) != 0, runtime = (param->flags & OTO_PARAM_RUNTIME) != 0;
    describe_range(param, range, sizeof range);
    if (!json) {
        cli_print_line(stdout, "%-44s %-20s %-10s %-18s %s%s", param->key, required ? "(required)" : value,
                       cli_shown_unit(param->unit != NULL ? param->unit : ""), range, param->text,
                       runtime ? "" : " (fixed while running)");
        return;
    }
    (void)fputs(first ? "{\"param\": " : ", {\"param\": ", stdout);
    json_text(stdout, param->key);
    (void)fputs(", \"default\": ", stdout);
    json_text(stdout, required ? "" : value);
    (void)fputs(", \"unit\": ", stdout);
    json_text(stdout, param->unit != NULL ? param->unit : "");
    (void)fputs(", \"accepted\": ", stdout);
    json_text(stdout, range);
    (void)printf(", \"required\": %s, \"runtime\": %s, \"text\": ", required ? "true" : "false", runtime ? "true" : "false");
    json_text(stdout, param->text);
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
