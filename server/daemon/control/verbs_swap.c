/* The verb swap: replaces a node's plugin, undoes that, or cancels it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/loader.h"
#include "daemon/control/request.h"

static bool flag(const struct oto_message *message, const char *key)
{
    const struct oto_argument *argument = oto_message_find(message, key);
    return argument != NULL && argument->kind == OTO_ARGUMENT_BOOL && argument->u64 != 0;
}

/* Finds an argument that may be absent. NULL: it is absent, or has a wrong kind, which is an error. */
static const struct oto_argument *optional(const struct oto_message *message, const char *key,
                                           enum oto_argument_kind kind, struct oto_error *error)
{
    const struct oto_argument *argument = oto_message_find(message, key);
    if (argument != NULL && argument->kind != kind &&
        !(kind == OTO_ARGUMENT_F64 && argument->kind == OTO_ARGUMENT_U64)) {
        (void)oto_fail(error, OTO_INVALID, "swap: '%s' must be %s", key,
                       kind == OTO_ARGUMENT_TEXT ? "a text" : "a number, not negative");
        return NULL;
    }
    return argument;
}

static const char *text_of(const struct oto_message *message, const char *key, struct oto_error *error)
{
    const struct oto_argument *argument = optional(message, key, OTO_ARGUMENT_TEXT, error);
    return argument != NULL ? argument->text : NULL;
}

static int64_t ns_of(const struct oto_message *message, const char *key, int64_t absent, struct oto_error *error)
{
    const struct oto_argument *argument = optional(message, key, OTO_ARGUMENT_U64, error);
    if (argument != NULL && argument->u64 > (uint64_t)INT64_MAX / 2) {
        (void)oto_fail(error, OTO_RANGE, "swap: '%s' is too long a time", key);
    }
    return argument != NULL ? (int64_t)argument->u64 : absent;
}

static uint32_t unit_of(const struct oto_argument *unit, struct oto_error *error)
{
    if (unit != NULL && unit->u64 > UINT32_MAX) {
        (void)oto_fail(error, OTO_RANGE, "swap: unit %llu: 0 to %u is accepted", (unsigned long long)unit->u64,
                       UINT32_MAX);
    }
    return unit != NULL ? (uint32_t)unit->u64 : 0;
}

static double tolerance_of(const struct oto_argument *tolerance, struct oto_error *error)
{
    if (tolerance != NULL && !(tolerance->f64 >= 0.0)) {
        (void)oto_fail(error, OTO_RANGE, "swap: shadow_tolerance %g: a number, not negative, is accepted",
                       tolerance->f64);
    }
    return tolerance != NULL ? tolerance->f64 : 0.0;
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
    const struct oto_argument *unit = optional(message, "unit", OTO_ARGUMENT_U64, error);
    const struct oto_argument *tolerance = optional(message, "shadow_tolerance", OTO_ARGUMENT_F64, error);
    memset(options, 0, sizeof *options);
    options->plugin = text_of(message, "plugin", error);
    options->params_path = text_of(message, "params", error);
    options->part = text_of(message, "part", error);
    options->mode = text_of(message, "mode", error);
    options->unit_given = unit != NULL;
    options->unit = unit_of(unit, error);
    options->reset_state = flag(message, "reset_state");
    options->probation_ns = ns_of(message, "probation_ns", SRV_SWAP_PROBATION_NS, error);
    options->shadow_ns = ns_of(message, "shadow_ns", 0, error);
    options->budget_ns = ns_of(message, "budget_ns", -1, error);
    options->shadow_tolerance = tolerance_of(tolerance, error);
    options->unprobed = flag(message, "no_probe");
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
    const bool cancel = flag(request->message, "cancel"), undo = flag(request->message, "undo");
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
        srv_pending_request_open(request, "swap %s %s", oto_message_find(request->message, "node")->text, what);
    struct srv_loader *loader = srv_control_loader(request->control);
    const bool wait = flag(request->message, "wait");
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
