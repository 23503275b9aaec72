#include "attach/client_private.h"

#include "base/pattern.h"

/* Timeouts of requests that take longer, in ordinary timeouts. */
#define TIMEOUTS_OF_A_PATTERN 24 /* it may change 10000 nodes */
#define TIMEOUTS_OF_A_DISK 6     /* a checkpoint waits for the disk */

/* Places of arguments in the table of verbs. */
enum { STEP_TICKS };
enum {
    SWAP_NODE,
    SWAP_PLUGIN,
    SWAP_PART,
    SWAP_PARAMS,
    SWAP_MODE,
    SWAP_UNIT,
    SWAP_PROBATION_NS,
    SWAP_SHADOW_NS,
    SWAP_TOLERANCE,
    SWAP_BUDGET_NS,
    SWAP_RESET_STATE,
    SWAP_NO_PROBE,
    SWAP_WAIT,
    SWAP_UNDO,
    SWAP_CANCEL
};

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
static enum oto_status exchange_for_ticks(struct oto_client *client, struct oto_message_writer *request, double ticks,
                                          int64_t timeout_ms, struct oto_error *error)
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
    return status;
}

/* Number of ticks until the reply. */
static double ticks_of(const struct oto_client *client, enum oto_verb_id verb, const struct oto_verb_value *values)
{
    if (verb != OTO_VERB_SWAP) {
        return (double)values[STEP_TICKS].u64;
    }
    const double ns = (double)values[SWAP_SHADOW_NS].u64 + (values[SWAP_WAIT].flag ? (double)values[SWAP_PROBATION_NS].u64 : 0.0);
    return 1e-9 * ns * (double)client->header->rate_num / (double)client->header->rate_den;
}

/* Sends a request with one value for each of its arguments, and waits for the reply as the table of verbs has it. */
static enum oto_status ask(struct oto_client *client, enum oto_verb_id verb, const struct oto_verb_value *values,
                           struct oto_reply *reply, struct oto_error *error)
{
    const int64_t timeout_ms = client->control.timeout_ms;
    struct oto_message_writer request = oto_control_request(&client->control, verb);
    enum oto_status status = OTO_OK;
    oto_verb_write(&oto_verbs[verb], values, &request);
    switch (oto_verbs[verb].wait) {
    case OTO_WAIT_TICKS:
        status = exchange_for_ticks(client, &request, ticks_of(client, verb, values),
                                    verb == OTO_VERB_SWAP ? 2 * timeout_ms : timeout_ms, error);
        break;
    case OTO_WAIT_NODES:
        status = oto_control_exchange(&client->control, &request,
                                      srv_is_pattern(values[0].text) ? TIMEOUTS_OF_A_PATTERN * timeout_ms : timeout_ms, NULL, error);
        break;
    case OTO_WAIT_DISK: status = oto_control_exchange(&client->control, &request, TIMEOUTS_OF_A_DISK * timeout_ms, NULL, error); break;
    default: status = oto_control_exchange(&client->control, &request, timeout_ms, NULL, error); break;
    }
    if (status == OTO_OK) {
        fill_reply(&client->control.reply, reply);
    }
    return status;
}

enum oto_status oto_control_send(struct oto_client *client, const char *op, const char *const *texts, uint32_t count,
                                 struct oto_reply *reply, struct oto_error *error)
{
    struct oto_verb_value values[OTO_VERB_ARGUMENTS];
    const enum oto_verb_id verb = oto_verb_find(op);
    if (verb == OTO_VERB_COUNT) {
        return oto_fail(error, OTO_UNSUPPORTED, "there is no request '%.40s'", op);
    }
    const enum oto_status status = oto_verb_read(&oto_verbs[verb], texts, count, values, error);
    return status == OTO_OK ? ask(client, verb, values, reply, error) : status;
}

enum oto_status oto_control_pause(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_PAUSE, NULL, reply, error);
}

enum oto_status oto_control_resume(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_RESUME, NULL, reply, error);
}

enum oto_status oto_control_shutdown(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_SHUTDOWN, NULL, reply, error);
}

enum oto_status oto_control_info(struct oto_client *client, struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_INFO, NULL, reply, error);
}

enum oto_status oto_control_step(struct oto_client *client, uint64_t ticks, struct oto_reply *reply,
                                 struct oto_error *error)
{
    return ask(client, OTO_VERB_STEP, &(const struct oto_verb_value){.u64 = ticks}, reply, error);
}

enum oto_status oto_control_scale(struct oto_client *client, double scale, struct oto_reply *reply,
                                  struct oto_error *error)
{
    return ask(client, OTO_VERB_SCALE, &(const struct oto_verb_value){.f64 = scale}, reply, error);
}

enum oto_status oto_control_seek(struct oto_client *client, int64_t t_ns, struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_SEEK, &(const struct oto_verb_value){.f64 = (double)t_ns * 1e-9}, reply, error);
}

enum oto_status oto_control_mode(struct oto_client *client, const char *mode, struct oto_reply *reply,
                                 struct oto_error *error)
{
    return ask(client, OTO_VERB_MODE, &(const struct oto_verb_value){.text = mode}, reply, error);
}

enum oto_status oto_control_set(struct oto_client *client, const char *node, const char *param, const char *yaml,
                                struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_SET, (const struct oto_verb_value[]){{.text = node}, {.text = param}, {.text = yaml}}, reply, error);
}

enum oto_status oto_control_checkpoint(struct oto_client *client, const char *path, struct oto_reply *reply,
                                       struct oto_error *error)
{
    return ask(client, OTO_VERB_CHECKPOINT, &(const struct oto_verb_value){.text = path}, reply, error);
}

enum oto_status oto_control_restore(struct oto_client *client, const char *path, struct oto_reply *reply,
                                    struct oto_error *error)
{
    return ask(client, OTO_VERB_RESTORE, &(const struct oto_verb_value){.text = path}, reply, error);
}

enum oto_status oto_control_fault(struct oto_client *client, const char *node, const char *spec,
                                  struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_FAULT, (const struct oto_verb_value[]){{.text = node}, {.text = spec}}, reply, error);
}

enum oto_status oto_control_clear_faults(struct oto_client *client, const char *node, uint64_t fault,
                                         struct oto_reply *reply, struct oto_error *error)
{
    return ask(client, OTO_VERB_CLEAR_FAULTS, (const struct oto_verb_value[]){{.text = node}, {.u64 = fault}}, reply, error);
}

enum oto_status oto_control_wake(struct oto_client *client, bool on, struct oto_error *error)
{
    client->wake_asked = true;
    client->wakes = false;
    const enum oto_status status = ask(client, OTO_VERB_WAKE, &(const struct oto_verb_value){.flag = on}, NULL, error);
    client->wakes = status == OTO_OK && on;
    return status;
}

/* ---- swap ---- */

enum oto_status oto_control_swap(struct oto_client *client, const char *node, const char *plugin,
                                 struct oto_reply *reply, struct oto_error *error)
{
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    swap.plugin = plugin;
    return oto_control_swap_with(client, node, &swap, reply, NULL, error);
}

enum oto_status oto_control_swap_with(struct oto_client *client, const char *node, const struct oto_swap *swap,
                                      struct oto_reply *reply, uint64_t *ticks, struct oto_error *error)
{
    if (swap->probation_ns < 0 || swap->shadow_ns < 0 || swap->shadow_tolerance < 0.0) {
        return oto_fail(error, OTO_RANGE, "swap: probation, shadow and tolerance are not negative");
    }
    const struct oto_verb_value values[OTO_VERB_ARGUMENTS] = {
        [SWAP_NODE] = {.text = node},
        [SWAP_PLUGIN] = {.text = swap->plugin},
        [SWAP_PART] = {.text = swap->part},
        [SWAP_PARAMS] = {.text = swap->params},
        [SWAP_MODE] = {.text = swap->mode},
        [SWAP_UNIT] = {.u64 = swap->unit, .absent = !swap->has_unit},
        [SWAP_PROBATION_NS] = {.u64 = (uint64_t)swap->probation_ns},
        [SWAP_SHADOW_NS] = {.u64 = (uint64_t)swap->shadow_ns},
        [SWAP_TOLERANCE] = {.f64 = swap->shadow_tolerance},
        [SWAP_BUDGET_NS] = {.u64 = (uint64_t)swap->budget_ns, .absent = swap->budget_ns < 0},
        [SWAP_RESET_STATE] = {.flag = swap->reset_state},
        [SWAP_NO_PROBE] = {.flag = swap->no_probe},
        [SWAP_WAIT] = {.flag = swap->wait},
        [SWAP_UNDO] = {.flag = swap->undo},
        [SWAP_CANCEL] = {.flag = swap->cancel}};
    const enum oto_status status = ask(client, OTO_VERB_SWAP, values, reply, error);
    if (ticks != NULL) {
        *ticks = status == OTO_OK ? oto_message_u64_or(&client->control.reply, "ticks", 0) : 0;
    }
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
        const struct oto_verb_value values[] = {{.text = node}, {.text = param}, {.u64 = given, .absent = given == 0}};
        enum oto_status status = ask(client, OTO_VERB_GET, values, NULL, error);
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

/* A message lists so many channels at most: further ones follow, and name the index of their first. */
static uint32_t part_of(uint32_t first, uint32_t count)
{
    return count - first < OTO_MESSAGE_MAX_LIST ? count - first : OTO_MESSAGE_MAX_LIST;
}

static void add_part(struct oto_message_writer *request, const char *key, const uint64_t *items, uint32_t part, uint32_t first)
{
    oto_message_add_u64_list(request, key, items, part);
    if (first > 0) {
        oto_message_add_u64(request, "first", first);
    }
}

enum oto_status oto_lossless_begin(struct oto_client *client, const struct oto_channel *const *channels, uint32_t count,
                                   struct oto_error *error)
{
    uint64_t indices[OTO_MESSAGE_MAX_LIST];
    enum oto_status status = OTO_OK;
    uint32_t done = 0;
    client->lossless_count = 0;
    do {
        const uint32_t part = part_of(done, count);
        for (uint32_t i = 0; i < part; i++) {
            const struct oto_channel *channel = channels[done + i];
            if (channel->view.ring == NULL) {
                return oto_fail(error, OTO_NOT_FOUND, "this run of world '%s' has no channel '%s' of the same layout", client->world,
                                channel->topic);
            }
            indices[i] = channel->index;
        }
        struct oto_message_writer request = oto_control_request(&client->control, OTO_VERB_LOSSLESS);
        add_part(&request, "channels", indices, part, done);
        status = oto_control_exchange(&client->control, &request, client->control.timeout_ms, NULL, error);
        done += part;
    } while (status == OTO_OK && done < count);
    client->lossless_count = status == OTO_OK ? count : 0;
    return status;
}

enum oto_status oto_lossless_acknowledge(struct oto_client *client, const uint64_t *next, uint32_t count)
{
    enum oto_status status = OTO_OK;
    if (count == 0 || count != client->lossless_count) {
        return OTO_INVALID;
    }
    for (uint32_t done = 0; done < count && status == OTO_OK; done += part_of(done, count)) {
        struct oto_message_writer request = oto_control_request(&client->control, OTO_VERB_ACK);
        add_part(&request, "next", next + done, part_of(done, count), done);
        status = oto_control_post(&client->control, &request);
    }
    return status;
}
