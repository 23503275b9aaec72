/* The request `restore`: the worker makes the next run while this one continues. */
#include "server_private.h"

#include <stdlib.h>
#include <string.h>

struct restore {
    uv_work_t work;
    struct srv_server *server, *next;
    struct srv_restore_request request;
    char *path;
    enum oto_status status;
    struct oto_error error;
};

/* [worker] */
static void make_next(uv_work_t *work)
{
    struct restore *restore = work->data;
    restore->status = srv_server_load_from(restore->next, restore->path, &restore->error);
}

static void finish(struct restore *restore)
{
    srv_server_destroy(restore->next);
    free(restore->path);
    free(restore);
}

static void refuse(struct restore *restore, enum oto_status status, const char *reason)
{
    restore->request.refuse(restore->request.context, status, 0, reason);
    finish(restore);
}

static void on_made(uv_work_t *work, int cancelled)
{
    struct restore *restore = work->data;
    struct srv_server *server = restore->server;
    srv_worker_done(&server->worker, work);
    server->restoring = false;
    if (cancelled != 0 || server->phase != SRV_PHASE_RUNNING) {
        refuse(restore, OTO_CLOSED, "the server ends");
    } else if (restore->status != OTO_OK) {
        refuse(restore, restore->status, restore->error.text);
    } else {
        server->next = restore->next;
        server->next->asked_by = restore->request.accept(restore->request.context);
        restore->next = NULL;
        finish(restore);
        srv_server_end(server, false);
    }
}

void srv_server_restore(void *context, const struct srv_restore_request *request)
{
    struct srv_server *server = context;
    struct restore *restore = calloc(1, sizeof *restore);
    if (restore == NULL) {
        request->refuse(request->context, OTO_NO_MEMORY, 0, "the server is out of memory");
        return;
    }
    *restore = (struct restore){.work.data = restore,
                                .server = server,
                                .next = srv_server_create(server->options, server->run + 1),
                                .request = *request,
                                .path = strdup(request->path)};
    if (server->restoring || server->phase != SRV_PHASE_RUNNING) {
        refuse(restore, server->restoring ? OTO_CONFLICT : OTO_CLOSED,
               server->restoring ? "another restore is under way: wait for its reply" : "the server ends");
        return;
    }
    if (restore->next == NULL || restore->path == NULL) {
        refuse(restore, OTO_NO_MEMORY, "the server is out of memory");
        return;
    }
    restore->next->crash_page = server->crash_page;
    char what[112];
    (void)snprintf(what, sizeof what, "restore %.90s", request->path);
    if (!srv_worker_queue(&server->worker, &restore->work, make_next, on_made, what)) {
        refuse(restore, OTO_NO_MEMORY, "the server has no worker for it");
        return;
    }
    server->restoring = true;
}
