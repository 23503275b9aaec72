/* Verbs about the world's state: save it to a file, restore it from a file. */
#include "daemon/control/request.h"

static void on_done(void *context, enum oto_status status, uint64_t tick, const char *text)
{
    srv_pending_request_finish(context, status, tick, text);
}

static struct srv_late_reply on_accepted(void *context)
{
    return srv_pending_request_postpone(context);
}

/* The absolute path of the request; NULL: the request was refused. */
static const char *path_of(struct srv_request *request)
{
    struct oto_error error = {0};
    const char *path = NULL;
    if (oto_message_text(request->message, "path", &path, &error) == OTO_OK && path[0] != '/') {
        (void)oto_fail(&error, OTO_INVALID, "%s: '%.200s' is a relative path: an absolute one is needed",
                       request->message->op, path);
    }
    if (error.status != OTO_OK) {
        srv_reply_error(request, &error);
        return NULL;
    }
    return path;
}

void srv_verb_checkpoint(struct srv_request *request)
{
    const struct srv_control_hooks *hooks = srv_control_get_hooks(request->control);
    const char *path = path_of(request);
    struct srv_pending_request *pending =
        path != NULL ? srv_pending_request_open(request, "checkpoint %.120s", path) : NULL;
    if (pending != NULL) {
        hooks->save(hooks->context, path, on_done, pending);
    }
}

void srv_verb_restore(struct srv_request *request)
{
    const struct srv_control_hooks *hooks = srv_control_get_hooks(request->control);
    const char *path = path_of(request);
    struct srv_pending_request *pending =
        path != NULL ? srv_pending_request_open(request, "restore %.120s", path) : NULL;
    if (pending != NULL) {
        const struct srv_restore_request restore = {path, pending, on_done, on_accepted};
        hooks->restore(hooks->context, &restore);
    }
}
