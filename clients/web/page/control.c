#include "page/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "otolith/client.h"
#include "base/json.h"
#include "wire/control_verbs.h"

#define ARGUMENT_BYTES 1024u
#define STEPS_MAX 1000000u

struct request {
    struct request *next;
    struct web_control *control;
    uint64_t viewer;
    char number[24];
    const struct oto_verb *verb;
    uint32_t argument_count;
    char arguments[WEB_CONTROL_ARGUMENTS][ARGUMENT_BYTES];
    uv_work_t work;
    struct oto_json reply;
};

struct web_control {
    uv_loop_t *loop;
    char socket_path[192];
    web_control_reply reply;
    void *context;
    struct request *first, **last; /* a worker thread handles the first request */
    uint32_t count;
};

/* ---- verbs that do more than to send the request: each runs in the worker ------------------------------------------------------------------------------ */

struct call {
    struct oto_client *client;
    const struct request *request;
    struct oto_reply reply;
    struct oto_error error;
    struct oto_json *params; /* of `get` */
};

static const char *argument(const struct call *call, uint32_t index)
{
    return call->request->arguments[index];
}

static enum oto_status send_request(struct call *call)
{
    const struct request *request = call->request;
    const char *texts[WEB_CONTROL_ARGUMENTS];
    for (uint32_t i = 0; i < request->argument_count; i++) {
        texts[i] = request->arguments[i];
    }
    return oto_control_send(call->client, request->verb->op, texts, request->argument_count, &call->reply, &call->error);
}

/* Other requests of pages wait until the ticks are done, so their number is limited. */
static enum oto_status call_step(struct call *call)
{
    return strtod(argument(call, 0), NULL) <= STEPS_MAX
               ? send_request(call)
               : oto_fail(&call->error, OTO_RANGE, "'%.40s' ticks; at most %u are accepted", argument(call, 0), STEPS_MAX);
}

/* Without a plugin and a part it undoes the last swap. */
static enum oto_status call_swap(struct call *call)
{
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    swap.undo = argument(call, 1)[0] == 0 && argument(call, 2)[0] == 0;
    return swap.undo ? oto_control_swap_with(call->client, argument(call, 0), &swap, &call->reply, NULL, &call->error) : send_request(call);
}

/* Saves a checkpoint. A page may only name a new file in the working directory. */
static enum oto_status call_checkpoint(struct call *call)
{
    static const char accepted[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *name = argument(call, 0);
    char folder[2048], path[2048 + 80];
    if (name[0] == 0 || name[0] == '.' || strlen(name) > 64 || name[strspn(name, accepted)] != 0) {
        return oto_fail(&call->error, OTO_INVALID, "a checkpoint's name has letters, digits, '.', '_' and '-', not '%.64s'", name);
    }
    if (getcwd(folder, sizeof folder) == NULL) {
        return oto_fail(&call->error, OTO_IO, "the working directory is unknown: %s", strerror(errno));
    }
    (void)snprintf(path, sizeof path, "%.2047s/%.64s", folder, name);
    if (access(path, F_OK) == 0) {
        return oto_fail(&call->error, OTO_EXISTS, "%.400s exists already", path);
    }
    const enum oto_status status = oto_control_checkpoint(call->client, path, &call->reply, &call->error);
    if (status == OTO_OK) {
        (void)snprintf(call->reply.text, sizeof call->reply.text, "saved %s", path);
    }
    return status;
}

static void add_param(void *context, const struct oto_param_info *info)
{
    struct oto_json *params = context;
    oto_json_open(params, NULL, '{');
    oto_json_text(params, "key", info->key);
    oto_json_text(params, "value", info->value);
    oto_json_text(params, "unit", info->unit);
    oto_json_text(params, "range", info->range);
    oto_json_text(params, "text", info->text);
    oto_json_flag(params, "runtime", info->runtime);
    oto_json_close(params, '}');
}

static enum oto_status call_get(struct call *call)
{
    return oto_control_get(call->client, argument(call, 0), NULL, add_param, call->params, &call->error);
}

static enum oto_status (*const calls[OTO_VERB_COUNT])(struct call *call) = {[OTO_VERB_GET] = call_get,
                                                                            [OTO_VERB_STEP] = call_step,
                                                                            [OTO_VERB_SWAP] = call_swap,
                                                                            [OTO_VERB_CHECKPOINT] = call_checkpoint};

/* ---- the worker -------------------------------------------------------------------------------------------------- */

static void write_reply(struct request *request, const struct call *call, enum oto_status status)
{
    struct oto_json *json = &request->reply;
    json->layout = OTO_JSON_COMPACT;
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "reply");
    oto_json_text(json, "request", request->number);
    oto_json_text(json, "verb", request->verb->op);
    oto_json_text(json, "text", status == OTO_OK ? call->reply.text : call->error.text);
    oto_json_flag(json, "ok", status == OTO_OK);
    oto_json_u64(json, "tick", call->reply.tick);
    oto_json_format(json, "params", "[%s]", call->params->bytes > 0 ? call->params->text : "");
    oto_json_close(json, '}');
}

static void work(uv_work_t *work)
{
    struct request *request = work->data;
    struct oto_json params = {.layout = OTO_JSON_COMPACT, .depth = 1};
    struct call call = {.request = request, .params = &params};
    const struct oto_client_options options = {.size = sizeof options,
                                               .socket_path = request->control->socket_path,
                                               .name = "otolith-web page",
                                               .role = srv_role_text(request->verb->role)};
    enum oto_status status = oto_client_open(&options, &call.client, &call.error);
    if (status == OTO_OK) {
        enum oto_status (*const special)(struct call *) = calls[request->verb - oto_verbs];
        status = special != NULL ? special(&call) : send_request(&call);
    }
    oto_client_close(call.client);
    write_reply(request, &call, params.failed ? OTO_NO_MEMORY : status);
    oto_json_free(&params);
}

static void start_first(struct web_control *control);

static void drop_first(struct web_control *control)
{
    struct request *request = control->first;
    control->first = request->next;
    control->last = control->first == NULL ? &control->first : control->last;
    control->count--;
    oto_json_free(&request->reply);
    free(request);
}

static void after_work(uv_work_t *work, int status)
{
    struct request *request = work->data;
    struct web_control *control = request->control;
    if (status == 0 && !request->reply.failed) {
        control->reply(control->context, request->viewer, request->reply.text, request->reply.bytes);
    }
    drop_first(control);
    start_first(control);
}

static void start_first(struct web_control *control)
{
    if (control->first != NULL) {
        control->first->work.data = control->first;
        (void)uv_queue_work(control->loop, &control->first->work, work, after_work);
    }
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static enum oto_status check(const struct web_control *control, enum oto_verb_id id, bool may_control, const char *name,
                             struct oto_error *error)
{
    if (id == OTO_VERB_COUNT || (oto_verbs[id].flags & OTO_VERB_PAGE) == 0) {
        return oto_fail(error, OTO_NOT_FOUND, "'%.40s' is not a request", name);
    }
    if (oto_verbs[id].role != SRV_ROLE_OBSERVE && !may_control) {
        return oto_fail(error, OTO_DENIED, "'%s' needs the control token", name);
    }
    return control->count < WEB_CONTROL_WAITING
               ? OTO_OK
               : oto_fail(error, OTO_LIMIT, "%u requests wait already", WEB_CONTROL_WAITING);
}

enum oto_status web_control_request(struct web_control *control, uint64_t viewer, bool may_control, const char *number,
                                    const char *verb_name, const char *const *arguments, uint32_t argument_count,
                                    struct oto_error *error)
{
    struct oto_verb_value values[OTO_VERB_ARGUMENTS];
    const enum oto_verb_id id = oto_verb_find(verb_name);
    enum oto_status status = check(control, id, may_control, verb_name, error);
    if (status == OTO_OK) {
        status = oto_verb_read(&oto_verbs[id], arguments, argument_count, values, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < argument_count; i++) {
        if (strlen(arguments[i]) >= ARGUMENT_BYTES) {
            return oto_fail(error, OTO_LIMIT, "an argument of '%s' has at most %u bytes", verb_name, ARGUMENT_BYTES - 1);
        }
    }
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for a request");
    }
    request->control = control;
    request->viewer = viewer;
    request->verb = &oto_verbs[id];
    request->argument_count = argument_count;
    (void)snprintf(request->number, sizeof request->number, "%s", number);
    for (uint32_t i = 0; i < argument_count; i++) {
        (void)snprintf(request->arguments[i], ARGUMENT_BYTES, "%s", arguments[i]);
    }
    *control->last = request;
    control->last = &request->next;
    if (control->count++ == 0) {
        start_first(control);
    }
    return OTO_OK;
}

enum oto_status web_control_open(uv_loop_t *loop, const char *socket_path, web_control_reply reply, void *context,
                                 struct web_control **control, struct oto_error *error)
{
    struct web_control *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the control of the page");
    }
    *made = (struct web_control){.loop = loop, .reply = reply, .context = context};
    made->last = &made->first;
    (void)snprintf(made->socket_path, sizeof made->socket_path, "%s", socket_path);
    *control = made;
    return OTO_OK;
}
