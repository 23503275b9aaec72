/* The verb swap: replaces a node's plugin, undoes that, or cancels it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/loader.h"
#include "daemon/control/request.h"

static int64_t ns_of(const struct oto_message *message, const char *key, int64_t absent, struct oto_error *error)
{
    const uint64_t ns = oto_message_u64_or(message, key, (uint64_t)absent);
    if (oto_message_find(message, key) != NULL && ns > (uint64_t)INT64_MAX / 2) {
        (void)oto_fail(error, OTO_RANGE, "swap: '%s' is too long a time", key);
    }
    return (int64_t)ns;
}

static uint32_t unit_of(const struct oto_message *message, struct oto_error *error)
{
    const uint64_t unit = oto_message_u64_or(message, "unit", 0);
    if (unit > UINT32_MAX) {
        (void)oto_fail(error, OTO_RANGE, "swap: unit %llu: 0 to %u is accepted", (unsigned long long)unit, UINT32_MAX);
    }
    return (uint32_t)unit;
}

static double tolerance_of(const struct oto_message *message, struct oto_error *error)
{
    const double tolerance = oto_message_f64_or(message, "shadow_tolerance", 0.0);
    if (!(tolerance >= 0.0)) {
        (void)oto_fail(error, OTO_RANGE, "swap: shadow_tolerance %g: a number, not negative, is accepted", tolerance);
    }
    return tolerance;
}

static bool is_file(const char *plugin)
{
    const size_t length = strlen(plugin);
    return strchr(plugin, '/') != NULL || (length > 3 && strcmp(plugin + length - 3, ".so") == 0);
}

/* Whether the file is in one of the plugin directories of the server: then its name alone finds the same file. */
static bool is_configured(const char *plugin)
{
    char name[64], found[4096], *real, *real_found;
    const char *base = strrchr(plugin, '/');
    base = base != NULL ? base + 1 : plugin;
    const size_t length = strlen(base);
    if (length <= 3 || length >= sizeof name) {
        return false;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(length - 3), base);
    if (oto_plugin_find(name, found, sizeof found, NULL) != OTO_OK) {
        return false;
    }
    real = realpath(plugin, NULL);
    real_found = realpath(found, NULL);
    const bool same = real != NULL && real_found != NULL && strcmp(real, real_found) == 0;
    free(real);
    free(real_found);
    return same;
}

/* Refuses a relative path, which would start at the server's working directory and not at the client's. */
static void check_plugin(const struct srv_connection *connection, const char *plugin, struct oto_error *error)
{
    if (is_file(plugin) && plugin[0] != '/') {
        (void)oto_fail(error, OTO_INVALID,
                       "swap: '%.200s' is a relative path: the name of a plugin or an absolute path is needed", plugin);
    } else if (is_file(plugin) && connection->uid != geteuid() && !is_configured(plugin)) {
        (void)oto_fail(error, OTO_DENIED,
                       "swap: '%.200s' is in none of the server's plugin directories, and only the server's own user may "
                       "name other files",
                       plugin);
    }
}

static void read_options(const struct srv_request *request, struct srv_swap_options *options, struct oto_error *error)
{
    const struct oto_message *message = request->message;
    memset(options, 0, sizeof *options);
    options->plugin = oto_message_text_or(message, "plugin", NULL);
    options->params_path = oto_message_text_or(message, "params", NULL);
    options->part = oto_message_text_or(message, "part", NULL);
    options->mode = oto_message_text_or(message, "mode", NULL);
    options->unit_given = oto_message_find(message, "unit") != NULL;
    options->unit = unit_of(message, error);
    options->reset_state = oto_message_flag(message, "reset_state");
    options->probation_ns = ns_of(message, "probation_ns", SRV_SWAP_PROBATION_NS, error);
    options->shadow_ns = ns_of(message, "shadow_ns", 0, error);
    options->budget_ns = ns_of(message, "budget_ns", -1, error);
    options->shadow_tolerance = tolerance_of(message, error);
    options->unprobed = oto_message_flag(message, "no_probe");
    if (options->mode != NULL && options->part == NULL && error->status == OTO_OK) {
        (void)oto_fail(error, OTO_INVALID, "swap: a mode is of a part: name the part too");
    }
    if (options->plugin != NULL && error->status == OTO_OK) {
        check_plugin(request->connection, options->plugin, error);
    }
}

void srv_verb_swap(struct srv_request *request)
{
    struct oto_error error = {0};
    struct srv_swap_options options;
    const bool cancel = oto_message_flag(request->message, "cancel"), undo = oto_message_flag(request->message, "undo");
    const uint32_t node = srv_request_node(request);
    if (node == UINT32_MAX) {
        return;
    }
    read_options(request, &options, &error);
    if (error.status == OTO_OK && !cancel && !undo && options.plugin == NULL) {
        (void)oto_fail(&error, OTO_INVALID, "swap: 'plugin' is missing: the name of a plugin or an absolute path");
    }
    if (error.status != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    const char *what = cancel ? "--cancel" : undo ? "--undo" : options.plugin;
    struct srv_pending_request *pending =
        srv_pending_request_open(request, "swap %s %s", oto_message_text_or(request->message, "node", ""), what);
    struct srv_loader *loader = srv_control_loader(request->control);
    const bool wait = oto_message_flag(request->message, "wait");
    if (pending == NULL) {
        return;
    }
    if (cancel) {
        srv_loader_cancel(loader, pending, node);
    } else if (undo) {
        srv_loader_undo(loader, pending, node, &options, wait);
    } else {
        srv_loader_swap(loader, pending, node, &options, wait);
    }
}
