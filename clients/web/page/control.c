#include "page/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "otolith/client.h"
#include "page/text.h"

#define ARGUMENT_BYTES 1024u
#define STEPS_MAX 1000000u

struct verb;

struct request {
    struct request *next;
    struct web_control *control;
    uint64_t viewer;
    char number[24];
    const struct verb *verb;
    char arguments[WEB_CONTROL_ARGUMENTS][ARGUMENT_BYTES];
    uv_work_t work;
    struct web_text reply;
};

struct web_control {
    uv_loop_t *loop;
    char socket_path[192];
    web_control_reply reply;
    void *context;
    struct request *first, **last; /* a worker thread handles the first request */
    uint32_t count;
};

/* ---- verbs: each runs in the worker ------------------------------------------------------------------------------ */

struct call {
    struct oto_client *client;
    const struct request *request;
    struct oto_reply reply;
    struct oto_error error;
    struct web_text *params; /* of `get` */
};

static const char *argument(const struct call *call, uint32_t index)
{
    return call->request->arguments[index];
}

static enum oto_status take_number(struct call *call, uint32_t index, double low, double high, double *number)
{
    char *end = NULL;
    *number = strtod(argument(call, index), &end);
    return end != argument(call, index) && *end == 0 && *number >= low && *number <= high
               ? OTO_OK
               : oto_fail(&call->error, OTO_RANGE, "'%.40s' is not a number from %g to %g", argument(call, index), low, high);
}

static enum oto_status call_pause(struct call *call)
{
    return oto_control_pause(call->client, &call->reply, &call->error);
}

static enum oto_status call_resume(struct call *call)
{
    return oto_control_resume(call->client, &call->reply, &call->error);
}

static enum oto_status call_step(struct call *call)
{
    double ticks;
    const enum oto_status status = take_number(call, 0, 1, STEPS_MAX, &ticks);
    return status == OTO_OK ? oto_control_step(call->client, (uint64_t)ticks, &call->reply, &call->error) : status;
}

static enum oto_status call_scale(struct call *call)
{
    double scale;
    const enum oto_status status = take_number(call, 0, 1e-6, 1e6, &scale);
    return status == OTO_OK ? oto_control_scale(call->client, scale, &call->reply, &call->error) : status;
}

static enum oto_status call_set(struct call *call)
{
    return oto_control_set(call->client, argument(call, 0), argument(call, 1), argument(call, 2), &call->reply, &call->error);
}

/* The arguments are NODE PLUGIN [PART]. An empty plugin undoes the last swap. */
static enum oto_status call_swap(struct call *call)
{
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    swap.plugin = argument(call, 1)[0] != 0 ? argument(call, 1) : NULL;
    swap.part = argument(call, 2)[0] != 0 ? argument(call, 2) : NULL;
    swap.undo = swap.plugin == NULL && swap.part == NULL;
    return oto_control_swap_with(call->client, argument(call, 0), &swap, &call->reply, NULL, &call->error);
}

/* Continues the playback of a recording at another time. */
static enum oto_status call_seek(struct call *call)
{
    double t_s;
    const enum oto_status status = take_number(call, 0, 0, 9e9, &t_s);
    return status == OTO_OK ? oto_control_seek(call->client, (int64_t)(t_s * 1e9 + 0.5), &call->reply, &call->error) : status;
}

static enum oto_status call_fault(struct call *call)
{
    return oto_control_fault(call->client, argument(call, 0), argument(call, 1), &call->reply, &call->error);
}

static enum oto_status call_clear(struct call *call)
{
    double number;
    const enum oto_status status = take_number(call, 1, 0, 4294967295.0, &number);
    return status == OTO_OK
               ? oto_control_clear_faults(call->client, argument(call, 0), (uint64_t)number, &call->reply, &call->error)
               : status;
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
    struct web_text *params = context;
    web_text_add(params, "{");
    web_text_member(params, "key", info->key);
    web_text_member(params, "value", info->value);
    web_text_member(params, "unit", info->unit);
    web_text_member(params, "range", info->range);
    web_text_member(params, "text", info->text);
    web_text_add(params, "\"runtime\":%s},", info->runtime ? "true" : "false");
}

static enum oto_status call_get(struct call *call)
{
    return oto_control_get(call->client, argument(call, 0), NULL, add_param, call->params, &call->error);
}

struct verb {
    const char *name;
    enum oto_status (*call)(struct call *call);
    uint32_t least, most; /* arguments */
    bool reads;           /* only reads, so it needs no control token */
    const char *role;
};

static const struct verb verbs[] = {
    {"get", call_get, 1, 1, true, "observe"},
    {"pause", call_pause, 0, 0, false, "operate"},
    {"resume", call_resume, 0, 0, false, "operate"},
    {"step", call_step, 1, 1, false, "operate"},
    {"scale", call_scale, 1, 1, false, "operate"},
    {"seek", call_seek, 1, 1, false, "operate"},
    {"set", call_set, 3, 3, false, "operate"},
    {"swap", call_swap, 2, 3, false, "admin"},
    {"fault", call_fault, 2, 2, false, "operate"},
    {"clear", call_clear, 2, 2, false, "operate"},
    {"checkpoint", call_checkpoint, 1, 1, false, "admin"},
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

/* ---- the worker -------------------------------------------------------------------------------------------------- */

static void write_reply(struct request *request, const struct call *call, enum oto_status status)
{
    struct web_text *text = &request->reply;
    web_text_clear(text);
    web_text_add(text, "{\"op\":\"reply\",");
    web_text_member(text, "request", request->number);
    web_text_member(text, "verb", request->verb->name);
    web_text_member(text, "text", status == OTO_OK ? call->reply.text : call->error.text);
    web_text_add(text, "\"ok\":%s,\"tick\":%llu,\"params\":[%s]}", status == OTO_OK ? "true" : "false",
                 (unsigned long long)call->reply.tick, call->params->bytes > 0 ? call->params->text : "");
}

static void work(uv_work_t *work)
{
    struct request *request = work->data;
    struct web_text params = {0};
    struct call call = {.request = request, .params = &params};
    const struct oto_client_options options = {.size = sizeof options,
                                               .socket_path = request->control->socket_path,
                                               .name = "otolith-web page",
                                               .role = request->verb->role};
    enum oto_status status = oto_client_open(&options, &call.client, &call.error);
    if (status == OTO_OK) {
        status = request->verb->call(&call);
    }
    oto_client_close(call.client);
    web_text_trim(&params);
    write_reply(request, &call, params.failed ? OTO_NO_MEMORY : status);
    web_text_free(&params);
}

static void start_first(struct web_control *control);

static void drop_first(struct web_control *control)
{
    struct request *request = control->first;
    control->first = request->next;
    control->last = control->first == NULL ? &control->first : control->last;
    control->count--;
    web_text_free(&request->reply);
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

static enum oto_status check(const struct web_control *control, const struct verb *verb, bool may_control, const char *name,
                             uint32_t argument_count, struct oto_error *error)
{
    if (verb == NULL) {
        return oto_fail(error, OTO_NOT_FOUND, "'%.40s' is not a request", name);
    }
    if (!verb->reads && !may_control) {
        return oto_fail(error, OTO_DENIED, "'%s' needs the control token", name);
    }
    if (argument_count < verb->least || argument_count > verb->most) {
        return oto_fail(error, OTO_INVALID, "'%s' takes %u to %u arguments, not %u", name, verb->least, verb->most, argument_count);
    }
    return control->count < WEB_CONTROL_WAITING
               ? OTO_OK
               : oto_fail(error, OTO_LIMIT, "%u requests wait already", WEB_CONTROL_WAITING);
}

enum oto_status web_control_request(struct web_control *control, uint64_t viewer, bool may_control, const char *number,
                                    const char *verb_name, const char *const *arguments, uint32_t argument_count,
                                    struct oto_error *error)
{
    const struct verb *verb = find_verb(verb_name);
    const enum oto_status status = check(control, verb, may_control, verb_name, argument_count, error);
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
    request->verb = verb;
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
