/*
 * The verb swap, from the request to the reply: replaces a node's plugin, undoes that, or cancels it. The stages are in
 * server/sim/SWAP.md.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/loader_private.h"

static void free_text(const char *text)
{
    free((void *)(uintptr_t)text);
}

void srv_swap_job_finish(struct srv_job *job)
{
    free_text(job->options.plugin);
    free_text(job->options.params_path);
    free_text(job->options.part);
    free_text(job->options.mode);
    srv_previous_finish(&job->previous);
}

static bool stop_if_cancelled(struct srv_job *job)
{
    if (job->cancelled) {
        job->status = oto_fail(&job->error, OTO_CLOSED, "cancelled");
        srv_job_refuse(job);
    }
    return job->cancelled;
}

/* ---- to the tick thread and back ---- */

static void on_snapshot(void *context, const struct srv_reply *reply)
{
    struct srv_job *job = context;
    struct srv_loader *loader = job->loader;
    job->change = reply->change;
    if (reply->status != OTO_OK || job->cancelled || reply->change == NULL) {
        job->status = job->cancelled ? OTO_CLOSED : reply->status;
        (void)oto_fail(&job->error, job->status, "%s", job->cancelled ? "cancelled" : srv_reply_reason(reply));
        srv_job_refuse(job);
    } else {
        job->stage = SRV_JOB_TRYING_WAITS;
    }
    srv_loader_go_on(loader);
}

void srv_swap_job_loaded(struct srv_job *job)
{
    if (stop_if_cancelled(job)) {
        return;
    }
    if (!srv_swap_wants_snapshot(job->change)) {
        job->stage = SRV_JOB_TRYING_WAITS;
        return;
    }
    const struct srv_command command = {.kind = SRV_COMMAND_SNAPSHOT, .change = job->change};
    job->stage = SRV_JOB_SNAPSHOT;
    if (!srv_command_queue_send(job->loader->command_queue, &command, on_snapshot, job)) {
        const struct srv_reply reply = srv_command_queue_refusal(job->loader->command_queue, job->change);
        on_snapshot(job, &reply);
    }
}

static void keep_previous(const struct srv_job *job, const struct srv_node_change *change)
{
    struct srv_previous *previous = &job->loader->previous[job->node];
    srv_previous_finish(previous);
    srv_swap_previous(change, previous);
}

static void answer_live(struct srv_job *job, const char *end)
{
    char text[2048], ticks[128];
    srv_swap_describe(job->change, text, sizeof text);
    (void)snprintf(ticks, sizeof ticks, "; live after %" PRIu64 " tick%s", job->live_tick - job->asked_tick,
                   job->live_tick - job->asked_tick == 1 ? "" : "s");
    const size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, "%s%s%s", ticks, end[0] != '\0' ? "; " : "", end);
    if (job->pending != NULL) {
        const struct srv_pending_request_number numbers[] = {{"ticks", job->live_tick - job->asked_tick},
                                                             {"probation_ns", (uint64_t)job->options.probation_ns}};
        srv_pending_request_finish_with(job->pending, OTO_OK, job->live_tick, text, numbers, 2);
        job->pending = NULL;
    }
}

/* The engine has already written the event about the end of the swap. */
static void on_settled(void *context, const struct srv_reply *reply)
{
    struct srv_job *job = context;
    struct srv_loader *loader = job->loader;
    char text[512];
    if (reply->plugin == NULL) { /* the reply is not from the engine, which still has the change */
        srv_job_answer(job, reply->status, reply->tick, "the server ends; the swap is live");
        srv_job_drop(job);
        return;
    }
    srv_swap_describe_end(reply->change, text, sizeof text);
    if (reply->status == OTO_OK) {
        keep_previous(job, reply->change);
        answer_live(job, text);
    } else {
        srv_job_answer(job, reply->status, reply->tick, text);
    }
    srv_job_retire(job, reply->change);
    srv_loader_go_on(loader);
}

static void say_shadow(const struct srv_job *job)
{
    char text[152];
    srv_swap_describe_shadow(job->change, text, sizeof text);
    if (text[0] != '\0') {
        const char *node = srv_engine_node_setup(job->loader->engine, job->node)->node;
        srv_command_queue_event(job->loader->command_queue, OTO_EVENT_SWAP, 0, (int64_t)job->live_tick, node, text);
    }
}

static void settle(struct srv_job *job)
{
    const struct srv_command command = {.kind = SRV_COMMAND_SETTLE, .change = job->change};
    if (!job->wait) {
        answer_live(job, "");
    }
    job->stage = SRV_JOB_SETTLING;
    if (!srv_command_queue_send(job->loader->command_queue, &command, on_settled, job)) {
        const struct srv_reply reply = {.status = OTO_CLOSED};
        on_settled(job, &reply);
    }
}

static void on_flipped(void *context, const struct srv_reply *reply)
{
    struct srv_job *job = context;
    struct srv_loader *loader = job->loader;
    job->change = reply->change;
    job->live_tick = reply->tick;
    if (reply->status != OTO_OK || reply->change == NULL) {
        srv_job_answer(job, reply->status, reply->tick, srv_reply_reason(reply));
        srv_job_retire(job, reply->change);
    } else if (reply->settling) {
        say_shadow(job);
        settle(job);
    } else {
        say_shadow(job);
        answer_live(job, "");
        keep_previous(job, reply->change);
        srv_job_retire(job, reply->change);
    }
    srv_loader_go_on(loader);
}

void srv_swap_job_flip(struct srv_job *job)
{
    if (stop_if_cancelled(job)) {
        return;
    }
    const struct srv_command command = {.kind = SRV_COMMAND_SWAP, .change = job->change};
    job->stage = SRV_JOB_FLIPPING;
    if (!srv_command_queue_send(job->loader->command_queue, &command, on_flipped, job)) {
        const struct srv_reply reply = srv_command_queue_refusal(job->loader->command_queue, job->change);
        on_flipped(job, &reply);
    }
}

/* ---- requests ---- */

static struct srv_job *find_swap(const struct srv_loader *loader, uint32_t node, enum srv_job_stage first,
                                 enum srv_job_stage last)
{
    for (struct srv_job *job = loader->jobs; job != NULL; job = job->next) {
        if (job->swap && job->node == node && job->stage >= first && job->stage <= last) {
            return job;
        }
    }
    return NULL;
}

/* The node's swap that is not live yet; NULL: none. */
static struct srv_job *under_way(const struct srv_loader *loader, uint32_t node)
{
    return find_swap(loader, node, SRV_JOB_WAITING, SRV_JOB_FLIPPING);
}

bool srv_loader_is_swapping(const struct srv_loader *loader, uint32_t node)
{
    return under_way(loader, node) != NULL;
}

static struct srv_job *on_probation(const struct srv_loader *loader, uint32_t node)
{
    return find_swap(loader, node, SRV_JOB_SETTLING, SRV_JOB_SETTLING);
}

static void refuse_pending(struct srv_pending_request *pending, enum oto_status status, const char *text)
{
    if (pending != NULL) {
        srv_pending_request_finish(pending, status, 0, text);
    }
}

static bool copy_text(const char *from, const char **to)
{
    *to = from != NULL ? strdup(from) : NULL;
    return from == NULL || *to != NULL;
}

static bool copy_options(struct srv_job *job, const struct srv_swap_options *options)
{
    job->options = *options;
    const bool plugin = copy_text(options->plugin, &job->options.plugin);
    const bool params = copy_text(options->params_path, &job->options.params_path);
    const bool part = copy_text(options->part, &job->options.part);
    const bool mode = copy_text(options->mode, &job->options.mode);
    job->options.probe = options->unprobed ? NULL : job->loader->probe;
    return plugin && params && part && mode;
}

static struct srv_job *make_swap(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node,
                                 const struct srv_swap_options *options, bool wait)
{
    struct oto_clock clock = {0};
    if (under_way(loader, node) != NULL) {
        refuse_pending(pending, OTO_CONFLICT, "another swap of this node is under way: wait, or cancel it");
        return NULL;
    }
    struct srv_job *job = srv_job_make(loader, pending, node);
    if (job == NULL) {
        return NULL;
    }
    (void)oto_segment_clock(srv_engine_segment(loader->engine), &clock);
    job->swap = true;
    job->wait = wait;
    job->asked_tick = clock.tick;
    if (!copy_options(job, options)) {
        srv_job_answer(job, OTO_NO_MEMORY, 0, "the server is out of memory");
        srv_job_drop(job);
        return NULL;
    }
    return job;
}

void srv_loader_swap(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node,
                     const struct srv_swap_options *options, bool wait)
{
    struct srv_job *job = make_swap(loader, pending, node, options, wait);
    if (job != NULL) {
        srv_job_enter(job);
    }
}

/* Reply to UNDO or CANCEL for a swap that the tick thread has; it finishes the pending request. */
static void on_commanded(void *context, const struct srv_reply *reply)
{
    srv_pending_request_finish(context, reply->status, reply->tick, reply->status == OTO_OK ? "done" : srv_reply_reason(reply));
}

static void command_trial(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node,
                          enum srv_command_kind kind)
{
    const struct srv_command command = {.kind = kind, .node = node};
    (void)srv_pending_request_send(pending, loader->command_queue, &command, on_commanded);
}

/* Undoes the node's last swap: at once during probation, otherwise by a swap to the previous plugin with these options. */
static void undo_swap(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node,
                      const struct srv_swap_options *options, bool wait)
{
    const struct srv_previous *previous = &loader->previous[node];
    if (under_way(loader, node) == NULL && on_probation(loader, node) != NULL) {
        command_trial(loader, pending, node, SRV_COMMAND_UNDO);
        return;
    }
    if (previous->plugin == NULL) {
        refuse_pending(pending, OTO_NOT_FOUND, "this node was not swapped: there is nothing to go back to");
        return;
    }
    struct srv_job *job = make_swap(loader, pending, node, options, wait);
    if (job == NULL) {
        return;
    }
    srv_previous_copy(previous, &job->previous);
    job->options.previous = &job->previous;
    job->options.probe = NULL;
    srv_job_enter(job);
}

static void cancel_swap(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node)
{
    struct srv_job *job = under_way(loader, node);
    if (job == NULL) {
        const bool live = on_probation(loader, node) != NULL;
        refuse_pending(pending, live ? OTO_CONFLICT : OTO_NOT_FOUND,
                       live ? "it is live already: undo takes it back" : "no swap of this node is under way");
    } else if (job->stage == SRV_JOB_FLIPPING) {
        command_trial(loader, pending, node, SRV_COMMAND_CANCEL);
    } else if (job->stage == SRV_JOB_WAITING) {
        srv_job_answer(job, OTO_CLOSED, 0, "cancelled");
        srv_job_drop(job);
        refuse_pending(pending, OTO_OK, "cancelled");
    } else {
        job->cancelled = true;
        refuse_pending(pending, OTO_OK, "cancelled");
    }
}

/* ---- the verb ---- */

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
        cancel_swap(loader, pending, node);
    } else if (undo) {
        undo_swap(loader, pending, node, &options, wait);
    } else {
        srv_loader_swap(loader, pending, node, &options, wait);
    }
}
