#include "attach/client_private.h"

#include "base/pattern.h"

#define TIMEOUTS_OF_A_PATTERN 24 /* timeout of a request for a pattern, in ordinary timeouts: it may change 10000 nodes */

/* Copies tick and text, which every reply to a change has. */
static void fill_reply(const struct oto_message *message, struct oto_reply *reply)
{
    const char *text = "";
    if (reply == NULL) {
        return;
    }
    reply->tick = 0;
    (void)oto_message_u64(message, "tick", &reply->tick, NULL);
    (void)oto_message_text(message, "text", &text, NULL);
    (void)snprintf(reply->text, sizeof reply->text, "%s", text);
}

static enum oto_status ask_within(struct oto_client *client, struct oto_message_writer *request, int64_t timeout_ms,
                                  struct oto_reply *reply, struct oto_error *error)
{
    const enum oto_status status = oto_control_exchange(&client->control, request, timeout_ms, NULL, error);
    if (status == OTO_OK) {
        fill_reply(&client->control.reply, reply);
    }
    return status;
}

static enum oto_status ask(struct oto_client *client, struct oto_message_writer *request, struct oto_reply *reply,
                           struct oto_error *error)
{
    return ask_within(client, request, client->control.timeout_ms, reply, error);
}

/* Sends a request about a node, or about all nodes that match a pattern, and waits for the reply. */
static enum oto_status ask_nodes(struct oto_client *client, const char *node, struct oto_message_writer *request,
                                 struct oto_reply *reply, struct oto_error *error)
{
    const int64_t timeouts = srv_is_pattern(node) ? TIMEOUTS_OF_A_PATTERN : 1;
    return ask_within(client, request, timeouts * client->control.timeout_ms, reply, error);
}

static enum oto_status ask_plain(struct oto_client *client, const char *op, struct oto_reply *reply,
                                 struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, op);
    return ask(client, &request, reply, error);
}

enum oto_status oto_control_pause(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask_plain(client, "pause", reply, error);
}

enum oto_status oto_control_resume(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask_plain(client, "resume", reply, error);
}

enum oto_status oto_control_shutdown(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask_plain(client, "shutdown", reply, error);
}

enum oto_status oto_control_info(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask_plain(client, "info", reply, error);
}

static uint64_t tick_of(const struct oto_client *client)
{
    struct oto_clock clock = {0};
    (void)oto_segment_clock(client->header, &clock);
    return clock.tick;
}

/*
 * Sends a request that the server answers after `ticks` ticks. The timeout is the given one plus twice the time that the ticks
 * take at the requested pace. A world may be slower than its pace: after a timeout it waits again if the tick has advanced.
 */
static enum oto_status ask_for_ticks(struct oto_client *client, struct oto_message_writer *request, double ticks, int64_t timeout_ms,
                                     struct oto_reply *reply, struct oto_error *error)
{
    struct oto_control_socket *control = &client->control;
    struct oto_clock clock = {.scale = 1.0};
    (void)oto_segment_clock(client->header, &clock);
    const double pace = clock.scale > 0.0 && clock.scale < 1.0 ? clock.scale : 1.0;
    const double rate_hz = (double)client->header->rate_num / (double)client->header->rate_den;
    const double ms = 2000.0 * ticks / (rate_hz * pace), last = (double)clock.tick + ticks;
    const uint64_t id = control->next_id;
    uint64_t tick = clock.tick;
    timeout_ms += ms < 1e12 ? (int64_t)ms : INT64_C(1000000000000);
    enum oto_status status = oto_control_exchange(control, request, timeout_ms, NULL, error);
    while (status == OTO_TIMEOUT && control->reply.id != id && tick_of(client) != tick && (double)tick < last) {
        tick = tick_of(client);
        status = oto_control_await(control, id, timeout_ms, error);
    }
    if (status == OTO_OK) {
        fill_reply(&control->reply, reply);
    }
    return status;
}

enum oto_status oto_control_step(struct oto_client *client, uint64_t ticks, struct oto_reply *reply,
                                 struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "step");
    oto_message_add_u64(&request, "ticks", ticks);
    return ask_for_ticks(client, &request, (double)ticks, client->control.timeout_ms, reply, error);
}

enum oto_status oto_control_scale(struct oto_client *client, double scale, struct oto_reply *reply,
                                  struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "scale");
    oto_message_add_f64(&request, "scale", scale);
    return ask(client, &request, reply, error);
}

enum oto_status oto_control_seek(struct oto_client *client, int64_t t_ns, struct oto_reply *reply, struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "seek");
    oto_message_add_f64(&request, "t_s", (double)t_ns * 1e-9);
    return ask(client, &request, reply, error);
}

enum oto_status oto_control_mode(struct oto_client *client, const char *mode, struct oto_reply *reply,
                                 struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "mode");
    oto_message_add_text(&request, "mode", mode);
    return ask(client, &request, reply, error);
}

enum oto_status oto_control_set(struct oto_client *client, const char *node, const char *param, const char *yaml,
                                struct oto_reply *reply, struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "set");
    oto_message_add_text(&request, "node", node);
    oto_message_add_text(&request, "param", param);
    oto_message_add_text(&request, "value", yaml);
    return ask_nodes(client, node, &request, reply, error);
}

enum oto_status oto_control_swap(struct oto_client *client, const char *node, const char *plugin,
                                 struct oto_reply *reply, struct oto_error *error)
{
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    swap.plugin = plugin;
    return oto_control_swap_with(client, node, &swap, reply, NULL, error);
}

static void add_text(struct oto_message_writer *request, const char *key, const char *text)
{
    if (text != NULL) {
        oto_message_add_text(request, key, text);
    }
}

static void add_flag(struct oto_message_writer *request, const char *key, bool flag)
{
    if (flag) {
        oto_message_add_bool(request, key, true);
    }
}

/* Number of ticks until the reply of a swap. */
static double swap_ticks(const struct oto_client *client, const struct oto_swap *swap)
{
    const double ns = (double)swap->shadow_ns + (swap->wait ? (double)swap->probation_ns : 0.0);
    return 1e-9 * ns * (double)client->header->rate_num / (double)client->header->rate_den;
}

enum oto_status oto_control_swap_with(struct oto_client *client, const char *node, const struct oto_swap *swap,
                                      struct oto_reply *reply, uint64_t *ticks, struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "swap");
    if (swap->probation_ns < 0 || swap->shadow_ns < 0 || swap->shadow_tolerance < 0.0) {
        return oto_fail(error, OTO_RANGE, "swap: probation, shadow and tolerance are not negative");
    }
    oto_message_add_text(&request, "node", node);
    add_text(&request, "plugin", swap->plugin);
    add_text(&request, "params", swap->params);
    add_text(&request, "part", swap->part);
    add_text(&request, "mode", swap->mode);
    if (swap->has_unit) {
        oto_message_add_u64(&request, "unit", swap->unit);
    }
    oto_message_add_u64(&request, "probation_ns", (uint64_t)swap->probation_ns);
    oto_message_add_u64(&request, "shadow_ns", (uint64_t)swap->shadow_ns);
    oto_message_add_f64(&request, "shadow_tolerance", swap->shadow_tolerance);
    if (swap->budget_ns >= 0) {
        oto_message_add_u64(&request, "budget_ns", (uint64_t)swap->budget_ns);
    }
    add_flag(&request, "reset_state", swap->reset_state);
    add_flag(&request, "no_probe", swap->no_probe);
    add_flag(&request, "wait", swap->wait);
    add_flag(&request, "undo", swap->undo);
    add_flag(&request, "cancel", swap->cancel);
    const enum oto_status status =
        ask_for_ticks(client, &request, swap_ticks(client, swap), 2 * (int64_t)client->control.timeout_ms, reply, error);
    if (ticks != NULL) {
        *ticks = 0;
        if (status == OTO_OK) {
            (void)oto_message_u64(&client->control.reply, "ticks", ticks, NULL);
        }
    }
    return status;
}

static enum oto_status ask_path(struct oto_client *client, const char *op, const char *path, struct oto_reply *reply,
                                struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, op);
    oto_message_add_text(&request, "path", path);
    return ask_within(client, &request, 6 * (int64_t)client->control.timeout_ms, reply, error); /* a checkpoint waits
                                                                                                 * for the disk */
}

enum oto_status oto_control_checkpoint(struct oto_client *client, const char *path, struct oto_reply *reply,
                                       struct oto_error *error)
{
    return ask_path(client, "checkpoint", path, reply, error);
}

enum oto_status oto_control_restore(struct oto_client *client, const char *path, struct oto_reply *reply,
                                    struct oto_error *error)
{
    return ask_path(client, "restore", path, reply, error);
}

enum oto_status oto_control_fault(struct oto_client *client, const char *node, const char *spec,
                                  struct oto_reply *reply, struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "fault");
    oto_message_add_text(&request, "node", node);
    oto_message_add_text(&request, "spec", spec);
    return ask_nodes(client, node, &request, reply, error);
}

enum oto_status oto_control_clear_faults(struct oto_client *client, const char *node, uint64_t fault,
                                         struct oto_reply *reply, struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "clear_faults");
    oto_message_add_text(&request, "node", node);
    oto_message_add_u64(&request, "id_of_fault", fault);
    return ask_nodes(client, node, &request, reply, error);
}

enum oto_status oto_control_wake(struct oto_client *client, bool on, struct oto_error *error)
{
    struct oto_message_writer request = oto_control_request(&client->control, "wake");
    oto_message_add_bool(&request, "on", on);
    client->wake_asked = true;
    client->wakes = false;
    const enum oto_status status = ask(client, &request, NULL, error);
    client->wakes = status == OTO_OK && on;
    return status;
}

/* ---- get ---- */

/* The lists of a reply to `get`; item i of each list belongs to parameter i. */
struct param_lists {
    const struct oto_argument *keys, *values, *units, *texts, *runtime;
    const struct oto_argument *ranges; /* NULL: an older server does not send it */
    uint64_t total;
};

static enum oto_status take_lists(const struct oto_message *reply, struct param_lists *lists, struct oto_error *error)
{
    lists->keys = oto_message_find(reply, "keys");
    lists->values = oto_message_find(reply, "values");
    lists->units = oto_message_find(reply, "units");
    lists->texts = oto_message_find(reply, "texts");
    lists->runtime = oto_message_find(reply, "runtime");
    const struct oto_argument *all[] = {lists->keys, lists->values, lists->units, lists->texts, lists->runtime};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const enum oto_argument_kind kind =
            all[i] == lists->runtime ? OTO_ARGUMENT_U64_LIST : OTO_ARGUMENT_TEXT_LIST;
        if (all[i] == NULL || all[i]->count != lists->keys->count || (all[i]->count > 0 && all[i]->kind != kind)) {
            return oto_fail(error, OTO_CORRUPT, "the server's table of parameters is malformed");
        }
    }
    lists->ranges = oto_message_find(reply, "ranges");
    if (lists->ranges != NULL &&
        (lists->ranges->count != lists->keys->count || lists->ranges->kind != OTO_ARGUMENT_TEXT_LIST)) {
        lists->ranges = NULL;
    }
    lists->total = lists->keys->count;
    (void)oto_message_u64(reply, "total", &lists->total, NULL);
    return OTO_OK;
}

static void give_param(const struct param_lists *lists, uint32_t i, oto_param_function each, void *context)
{
    struct oto_param_info info;
    (void)snprintf(info.key, sizeof info.key, "%s", lists->keys->text_list[i]);
    (void)snprintf(info.value, sizeof info.value, "%s", lists->values->text_list[i]);
    (void)snprintf(info.unit, sizeof info.unit, "%s", lists->units->text_list[i]);
    (void)snprintf(info.text, sizeof info.text, "%s", lists->texts->text_list[i]);
    info.runtime = lists->runtime->u64_list[i] != 0;
    (void)snprintf(info.range, sizeof info.range, "%s", lists->ranges != NULL ? lists->ranges->text_list[i] : "");
    each(context, &info);
}

enum oto_status oto_control_get(struct oto_client *client, const char *node, const char *param,
                                oto_param_function each, void *context, struct oto_error *error)
{
    uint64_t given = 0;
    for (;;) {
        struct param_lists lists;
        struct oto_message_writer request = oto_control_request(&client->control, "get");
        oto_message_add_text(&request, "node", node);
        if (param != NULL) {
            oto_message_add_text(&request, "param", param);
        }
        if (given > 0) {
            oto_message_add_u64(&request, "first", given);
        }
        enum oto_status status = ask(client, &request, NULL, error);
        if (status == OTO_OK) {
            status = take_lists(&client->control.reply, &lists, error);
        }
        if (status != OTO_OK) {
            return status;
        }
        for (uint32_t i = 0; i < lists.keys->count; i++) {
            give_param(&lists, i, each, context);
        }
        given += lists.keys->count;
        if (lists.keys->count == 0 || given >= lists.total) {
            return OTO_OK;
        }
    }
}

/* ---- lossless reading ---- */

enum oto_status oto_lossless_begin(struct oto_client *client, const struct oto_channel *const *channels, uint32_t count,
                                   struct oto_error *error)
{
    uint64_t indices[OTO_MESSAGE_MAX_LIST];
    if (count > OTO_MESSAGE_MAX_LIST) {
        return oto_fail(error, OTO_LIMIT, "%u channels to read losslessly; at most %u are accepted", count,
                        OTO_MESSAGE_MAX_LIST);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (channels[i]->view.ring == NULL) {
            return oto_fail(error, OTO_NOT_FOUND, "this run of world '%s' has no channel '%s' of the same layout", client->world,
                            channels[i]->topic);
        }
        indices[i] = channels[i]->index;
    }
    struct oto_message_writer request = oto_control_request(&client->control, "lossless");
    oto_message_add_u64_list(&request, "channels", indices, count);
    const enum oto_status status = ask(client, &request, NULL, error);
    client->lossless_count = status == OTO_OK ? count : 0;
    return status;
}

enum oto_status oto_lossless_acknowledge(struct oto_client *client, const uint64_t *next, uint32_t count)
{
    if (count == 0 || count != client->lossless_count) {
        return OTO_INVALID;
    }
    struct oto_message_writer request = oto_control_request(&client->control, "ack");
    oto_message_add_u64_list(&request, "next", next, count);
    return oto_control_post(&client->control, &request);
}
