/* The request `restore`: the worker makes the next run while this one continues. */
#include "server_private.h"

#include <stdlib.h>
#include <string.h>

struct srv_restore {
    uv_work_t work;
    struct srv_server *server, *next;
    struct srv_restore_request request;
    char *path;
    bool given_up; /* the worker was stuck: the client has its reply, and the result is not used */
    enum oto_status status;
    struct oto_error error;
};

/* [worker] */
static void make_next(uv_work_t *work)
{
    struct srv_restore *restore = work->data;
    restore->status = srv_server_load_from(restore->next, restore->path, &restore->error);
}

static void finish(struct srv_restore *restore)
{
    srv_server_destroy(restore->next);
    free(restore->path);
    free(restore);
}

static void refuse(struct srv_restore *restore, enum oto_status status, const char *reason)
{
    if (!restore->given_up) {
        restore->request.refuse(restore->request.context, status, 0, reason);
    }
    finish(restore);
}

static void on_made(uv_work_t *work, int cancelled)
{
    struct srv_restore *restore = work->data;
    struct srv_server *server = restore->server;
    srv_worker_done(&server->worker, work);
    server->restoring = NULL;
    if (cancelled != 0 || server->phase != SRV_PHASE_RUNNING) {
        refuse(restore, OTO_CLOSED, "the server ends");
    } else if (restore->status != OTO_OK || restore->given_up) {
        refuse(restore, restore->status, restore->error.text);
    } else {
        struct srv_server *next = server->next = restore->next;
        next->asked_by = restore->request.accept(restore->request.context);
        if (next->asked_by.by_gate) {
            srv_late_reply_send(&next->asked_by, OTO_OK, next->beginning.tick, "the restored world starts");
        }
        restore->next = NULL;
        finish(restore);
        srv_server_end(server, false);
    }
}

void srv_server_give_up_restore(struct srv_server *server)
{
    struct srv_restore *restore = server->restoring;
    if (restore != NULL && !restore->given_up) {
        restore->given_up = true;
        restore->request.refuse(restore->request.context, OTO_TIMEOUT, 0, SRV_WORKER_GIVEN_UP);
    }
}

void srv_server_restore(void *context, const struct srv_restore_request *request)
{
    struct srv_server *server = context;
    struct srv_restore *restore = calloc(1, sizeof *restore);
    if (restore == NULL) {
        request->refuse(request->context, OTO_NO_MEMORY, 0, "the server is out of memory");
        return;
    }
    *restore = (struct srv_restore){.work.data = restore,
                                .server = server,
                                .next = srv_server_create(server->options, server->run + 1),
                                .request = *request,
                                .path = strdup(request->path)};
    if (server->restoring != NULL || server->phase != SRV_PHASE_RUNNING) {
        refuse(restore, server->restoring != NULL ? OTO_CONFLICT : OTO_CLOSED,
               server->restoring != NULL ? "another restore is under way: wait for its reply" : "the server ends");
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
    server->restoring = restore;
}
