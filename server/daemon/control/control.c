#include "daemon/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/loader.h"
#include "daemon/control/watch.h"
#include "daemon/control/request.h"

#define ACCEPTS_PER_TURN 32
#define REFILL_MS 5
#define CARE_MS 500

struct srv_control {
    uv_loop_t *loop;
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    struct srv_control_hooks hooks;
    struct srv_loader *loader;
    struct srv_watch *watch;
    uv_poll_t listener;
    uv_timer_t refill; /* runs while a connection is throttled */
    uv_timer_t care;   /* closes silent connections, and restarts a listener that ran out of descriptors */
    int listen_fd, spare_fd;
    struct srv_connection *connections;
    uint32_t count, wake_count;
    bool stopped;
    struct oto_message message;
    unsigned char receive_buffer[OTO_MESSAGE_MAX_BYTES];
    unsigned char reply_buffer[OTO_MESSAGE_MAX_BYTES];
};

/* ---- connections ------------------------------------------------------------------------------------------------- */

unsigned char *srv_control_receive_buffer(struct srv_control *control, size_t *bytes)
{
    *bytes = sizeof control->receive_buffer;
    return control->receive_buffer;
}

static void on_refill(uv_timer_t *timer)
{
    struct srv_control *control = timer->data;
    bool throttled = false;
    struct srv_connection *next;
    for (struct srv_connection *connection = control->connections; connection != NULL; connection = next) {
        next = connection->next;
        srv_connection_refill(connection);
        throttled = throttled || connection->throttled;
    }
    if (!throttled) {
        (void)uv_timer_stop(timer);
    }
}

void srv_control_throttled(struct srv_control *control)
{
    if (!uv_is_active((const uv_handle_t *)&control->refill)) {
        (void)uv_timer_start(&control->refill, on_refill, REFILL_MS, REFILL_MS);
    }
}

void srv_control_set_wake(struct srv_connection *connection, bool on)
{
    struct srv_control *control = connection->control;
    if (connection->wake != on) {
        connection->wake = on;
        control->wake_count = on ? control->wake_count + 1 : control->wake_count - 1;
        srv_engine_set_waiters(control->engine, control->wake_count);
    }
}

void srv_control_forget(struct srv_connection *connection)
{
    struct srv_control *control = connection->control;
    srv_control_set_wake(connection, false);
    srv_connection_leave(connection, control->command_queue);
    if (connection->steps > 0 && !control->stopped) { /* the client that waited for the step has disconnected */
        const struct srv_command pause = {.kind = SRV_COMMAND_PAUSE};
        (void)srv_command_queue_send(control->command_queue, &pause, NULL, NULL);
    }
    if (connection->lossless.slot >= 0) {
        srv_engine_lossless_end(control->engine, connection->lossless.slot);
        connection->lossless.slot = -1;
    }
    *connection->link = connection->next;
    if (connection->next != NULL) {
        connection->next->link = connection->link;
    }
    connection->link = NULL;
    control->count--;
    srv_engine_count(control->engine, OTO_COUNTER_CLIENTS, -1);
}

static void refuse(int fd, enum oto_status status, const char *why)
{
    unsigned char data[512];
    struct oto_message_writer writer;
    oto_message_begin(&writer, data, sizeof data, 0, "reply");
    oto_message_add_u64(&writer, "status", (uint64_t)status);
    oto_message_add_text(&writer, "text", why);
    /* Reads what the peer has sent: closing a socket with unread data resets the connection, and the reply would be lost. */
    (void)shutdown(fd, SHUT_RD);
    unsigned char rest[64];
    for (int i = 0; i < 64 && recv(fd, rest, sizeof rest, MSG_DONTWAIT) > 0; i++) {
    }
    (void)send(fd, data, oto_message_finish(&writer), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)close(fd);
}

/* The reason why a user may not connect; NULL: the user may. Some places are reserved for the server's own user and root. */
static const char *why_no_place(const struct srv_control *control, uid_t uid)
{
    uint32_t same = 0, strangers = 0;
    for (const struct srv_connection *other = control->connections; other != NULL; other = other->next) {
        same += other->uid == uid;
        strangers += other->uid != 0 && other->uid != geteuid();
    }
    if (control->count >= SRV_MAX_CONNECTIONS) {
        return "64 clients are connected already: close one and try again";
    }
    if (uid == 0 || uid == geteuid()) {
        return NULL;
    }
    return same >= SRV_MAX_OF_USER        ? "16 clients of this user are connected already: close one and try again"
           : strangers >= SRV_MAX_STRANGERS ? "48 clients of other users are connected already, and the rest is the owner's"
                                            : NULL;
}

static void welcome(struct srv_control *control, int fd)
{
    struct ucred peer = {.pid = 0, .uid = (uid_t)-1};
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
        peer.uid = (uid_t)-1;
    }
    const struct srv_rights rights = srv_rights_of(control->hooks.access, fd, &peer);
    if (rights.role == SRV_ROLE_NONE) {
        refuse(fd, OTO_DENIED, "this world belongs to another user, who gave you no role: `control: roles:` of its file would");
        return;
    }
    const char *full = why_no_place(control, peer.uid);
    if (full != NULL) {
        refuse(fd, OTO_LIMIT, full);
        return;
    }
    struct srv_connection *connection = srv_connection_open(control, control->loop, fd, &peer, &rights);
    if (connection == NULL) {
        refuse(fd, OTO_NO_MEMORY, "the server is out of memory: try again later");
        return;
    }
    connection->next = control->connections;
    connection->link = &control->connections;
    if (connection->next != NULL) {
        connection->next->link = &connection->next;
    }
    control->connections = connection;
    control->count++;
    srv_engine_count(control->engine, OTO_COUNTER_CLIENTS, 1);
}

/* No descriptor is free: closes the spare descriptor to accept the peer, so that the peer gets a refusal and does not hang. */
static void refuse_without_descriptors(struct srv_control *control)
{
    if (control->spare_fd < 0) {
        (void)uv_poll_stop(&control->listener); /* the timer function on_care starts it again */
        return;
    }
    (void)close(control->spare_fd);
    const int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        refuse(fd, OTO_LIMIT, "the server is out of file descriptors: try again later");
    }
    control->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_connect(uv_poll_t *poll, int status, int events)
{
    struct srv_control *control = poll->data;
    (void)status;
    (void)events;
    for (int turn = 0; turn < ACCEPTS_PER_TURN; turn++) {
        const int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            welcome(control, fd);
        } else if (errno == EMFILE || errno == ENFILE) {
            refuse_without_descriptors(control);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

static void on_care(uv_timer_t *timer)
{
    struct srv_control *control = timer->data;
    const uint64_t now_ms = uv_now(control->loop);
    struct srv_connection *next;
    for (struct srv_connection *connection = control->connections; connection != NULL; connection = next) {
        next = connection->next;
        if (!connection->spoken && now_ms - connection->opened_ms > SRV_GREETING_MS) {
            srv_connection_close(connection);
        }
    }
    if (control->spare_fd < 0) {
        control->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    (void)uv_poll_start(&control->listener, UV_READABLE, on_connect);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* What the server does for a verb of the table in wire/control_verbs.h. */
static const struct verb {
    void (*run)(struct srv_request *request); /* NULL: only a player has this verb */
    bool needs_worker; /* refused while the worker is stuck */
} verbs[OTO_VERB_COUNT] = {
    [OTO_VERB_ATTACH] = {srv_verb_attach, false},
    [OTO_VERB_WAKE] = {srv_verb_wake, false},
    [OTO_VERB_INFO] = {srv_verb_info, false},
    [OTO_VERB_PAUSE] = {srv_verb_pause, false},
    [OTO_VERB_RESUME] = {srv_verb_resume, false},
    [OTO_VERB_STEP] = {srv_verb_step, false},
    [OTO_VERB_SCALE] = {srv_verb_scale, false},
    [OTO_VERB_MODE] = {srv_verb_mode, false},
    [OTO_VERB_GET] = {srv_verb_get, false},
    [OTO_VERB_SET] = {srv_verb_set, true},
    [OTO_VERB_SWAP] = {srv_verb_swap, true},
    [OTO_VERB_FAULT] = {srv_verb_fault, false},
    [OTO_VERB_CLEAR_FAULTS] = {srv_verb_clear_faults, false},
    [OTO_VERB_CHECKPOINT] = {srv_verb_checkpoint, true},
    [OTO_VERB_RESTORE] = {srv_verb_restore, true},
    [OTO_VERB_LOSSLESS] = {srv_verb_lossless, false},
    [OTO_VERB_ACK] = {srv_verb_acknowledge, false},
    [OTO_VERB_JOIN] = {srv_verb_join, false},
    [OTO_VERB_SHUTDOWN] = {srv_verb_shutdown, false},
};

/* Refuses a request, and writes an event as for any request. */
static void refuse_verb(struct srv_request *request, enum oto_status status, const char *text)
{
    struct srv_pending_request *pending = srv_pending_request_open(request, "%s", request->verb->op);
    if (pending != NULL) {
        srv_pending_request_finish(pending, status, 0, text);
    }
}

bool srv_request_permits(struct srv_request *request, uint32_t node)
{
    const struct oto_verb *verb = request->verb;
    const char *world = srv_engine_segment(request->engine)->world;
    char full[OTO_TOPIC_BYTES + OTO_WORLD_NAME_BYTES], text[sizeof full + 160];
    (void)snprintf(full, sizeof full, "%s/%s", world, srv_engine_node_setup(request->engine, node)->node);
    const enum srv_role role = srv_role_on(request->control->hooks.access, &request->connection->rights, world, full);
    if (role < verb->role) {
        (void)snprintf(text, sizeof text, "'%s' needs the role %s, and this client has the role %s for '%s'", verb->op,
                       srv_role_text(verb->role), srv_role_text(role), full);
        refuse_verb(request, OTO_DENIED, text);
    }
    return role >= verb->role;
}

static void run_verb(struct srv_request *request, const struct verb *action)
{
    const struct oto_verb *verb = request->verb;
    const struct srv_rights *rights = &request->connection->rights;
    const enum srv_role role = (verb->flags & OTO_VERB_OF_NODE) != 0 ? rights->most : rights->role;
    const struct srv_control_hooks *hooks = &request->control->hooks;
    struct oto_error error = {0};
    char text[256];
    if (role < verb->role) {
        (void)snprintf(text, sizeof text, "'%s' needs the role %s, and this client has the role %s%s", verb->op,
                       srv_role_text(verb->role), srv_role_text(role), role < rights->most ? " for the whole world" : "");
        refuse_verb(request, OTO_DENIED, text);
    } else if ((verb->flags & OTO_VERB_LOCAL) != 0 && request->connection->remote) {
        (void)snprintf(text, sizeof text, "'%s' is for clients on the server's machine, which share memory with it", verb->op);
        refuse_verb(request, OTO_UNSUPPORTED, text);
    } else if ((verb->flags & OTO_VERB_CHANGES) != 0 && hooks->is_replay) {
        (void)snprintf(text, sizeof text,
                       "this is a replay, which continues as its log does: '%s' would make it another run", verb->op);
        refuse_verb(request, OTO_UNSUPPORTED, text);
    } else if (oto_verb_check(verb, request->message, &error) != OTO_OK) {
        if (verb->wait != OTO_WAIT_NONE) {
            srv_reply_error(request, &error);
        }
    } else if (action->needs_worker && srv_worker_is_stuck(hooks->worker, text, sizeof text)) {
        refuse_verb(request, OTO_CONFLICT, text);
    } else {
        action->run(request);
    }
}

void srv_control_receive(struct srv_connection *connection, const void *data, size_t bytes)
{
    struct srv_control *control = connection->control;
    struct srv_request request = {control, connection, control->engine, control->command_queue, &control->message, NULL};
    struct oto_error error = {0};
    enum oto_status status = OTO_OK;
    control->message.id = 0;
    if (bytes > sizeof control->receive_buffer) {
        status = oto_fail(&error, OTO_LIMIT, "a control message has at most %u bytes, this one has %zu",
                          OTO_MESSAGE_MAX_BYTES, bytes);
    } else {
        status = oto_message_decode(data, bytes, &control->message, &error);
    }
    if (status != OTO_OK) {
        control->message.id = 0; /* the id of a damaged message cannot be trusted */
        srv_connection_charge(connection, SRV_MESSAGE_COST_US);
        srv_reply_error(&request, &error);
        return;
    }
    connection->spoken = true;
    const enum oto_verb_id id = oto_verb_find(control->message.op);
    srv_connection_charge(connection, id == OTO_VERB_ACK ? SRV_ACKNOWLEDGE_COST_US : SRV_MESSAGE_COST_US);
    if (id != OTO_VERB_COUNT && verbs[id].run != NULL) {
        request.verb = &oto_verbs[id];
        run_verb(&request, &verbs[id]);
        return;
    }
    (void)oto_fail(&error, OTO_UNSUPPORTED, "unknown op '%s' in a control message", control->message.op);
    srv_reply_error(&request, &error);
}

void srv_reply_begin(struct srv_request *request, struct oto_message_writer *writer, enum oto_status status,
                     const char *text)
{
    oto_message_begin(writer, request->control->reply_buffer, sizeof request->control->reply_buffer,
                      request->message->id, "reply");
    oto_message_add_u64(writer, "status", (uint64_t)status);
    oto_message_add_text(writer, "text", text);
}

void srv_reply_send(struct srv_request *request, struct oto_message_writer *writer, int passed_fd)
{
    const size_t bytes = oto_message_finish(writer);
    if (bytes == 0) {
        struct oto_message_writer shorter;
        srv_reply_begin(request, &shorter, OTO_LIMIT, "the answer is too long for a message");
        srv_connection_send(request->connection, shorter.data, oto_message_finish(&shorter), -1);
        return;
    }
    srv_connection_send(request->connection, writer->data, bytes, passed_fd);
}

void srv_reply_text(struct srv_request *request, enum oto_status status, const char *text)
{
    struct oto_message_writer writer;
    srv_reply_begin(request, &writer, status, text);
    srv_reply_send(request, &writer, -1);
}

void srv_reply_error(struct srv_request *request, const struct oto_error *error)
{
    srv_reply_text(request, error->status, error->text);
}

void srv_connection_who(const struct srv_connection *connection, char *who, size_t bytes)
{
    (void)snprintf(who, bytes, "%s (pid %ld)", connection->name, (long)connection->pid);
}

struct srv_loader *srv_control_loader(struct srv_control *control)
{
    return control->loader;
}

const struct srv_control_hooks *srv_control_get_hooks(const struct srv_control *control)
{
    return &control->hooks;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static enum oto_status start_handles(struct srv_control *control, struct oto_error *error)
{
    control->listener.data = control->refill.data = control->care.data = control;
    int failed = uv_poll_init(control->loop, &control->listener, control->listen_fd);
    if (failed != 0) {
        return oto_fail(error, OTO_IO, "the control socket cannot be watched: %s", uv_strerror(failed));
    }
    (void)uv_timer_init(control->loop, &control->refill);
    (void)uv_timer_init(control->loop, &control->care);
    (void)uv_poll_start(&control->listener, UV_READABLE, on_connect);
    (void)uv_timer_start(&control->care, on_care, CARE_MS, CARE_MS);
    return OTO_OK;
}

enum oto_status srv_control_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_command_queue *command_queue,
                                   const struct srv_control_hooks *hooks, int listen_fd, struct srv_control **control,
                                   struct oto_error *error)
{
    struct srv_control *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->loop = loop;
        made->engine = engine;
        made->command_queue = command_queue;
        made->hooks = *hooks;
        made->listen_fd = listen_fd;
        made->loader = srv_loader_create(hooks->worker, engine, command_queue, hooks->probe);
        made->watch = srv_watch_create(engine, command_queue, made->loader);
    }
    enum oto_status status = OTO_OK;
    if (made == NULL || made->loader == NULL || made->watch == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "out of memory for the control socket");
    } else {
        status = start_handles(made, error);
    }
    if (status != OTO_OK) {
        (void)close(listen_fd);
        if (made != NULL) {
            srv_watch_destroy(made->watch);
            srv_loader_destroy(made->loader);
        }
        free(made);
        return status;
    }
    made->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!hooks->is_replay) {
        srv_watch_start(made->watch, loop);
    }
    *control = made;
    return OTO_OK;
}

void srv_control_stop(struct srv_control *control)
{
    if (control->stopped) {
        return;
    }
    control->stopped = true;
    srv_watch_stop(control->watch);
    srv_loader_stop(control->loader);
    while (control->connections != NULL) {
        srv_connection_close(control->connections);
    }
    uv_close((uv_handle_t *)&control->listener, NULL);
    uv_close((uv_handle_t *)&control->refill, NULL);
    uv_close((uv_handle_t *)&control->care, NULL);
    (void)close(control->listen_fd);
    if (control->spare_fd >= 0) {
        (void)close(control->spare_fd);
    }
}

void srv_control_destroy(struct srv_control *control)
{
    if (control != NULL) {
        srv_watch_destroy(control->watch);
        srv_loader_destroy(control->loader);
        free(control);
    }
}

void srv_control_refuse_waiting(struct srv_control *control, const char *why)
{
    srv_loader_give_up_running(control->loader, OTO_TIMEOUT, SRV_WORKER_GIVEN_UP);
    srv_loader_refuse_waiting(control->loader, OTO_CONFLICT, why);
}

uint32_t srv_control_connection_count(const struct srv_control *control)
{
    return control->count;
}

static bool has_unread(const struct srv_control *control, const struct srv_lossless *lossless)
{
    const struct oto_segment_header *header = srv_engine_segment(control->engine);
    const unsigned char *base = (const unsigned char *)header;
    for (uint32_t i = 0; i < lossless->count; i++) {
        const void *entry = base + header->directory_offset + (size_t)lossless->channels[i] * header->channel_stride;
        const struct oto_ring_view view = oto_ring_view_make(header, entry);
        if (lossless->next[i] <= oto_ring_newest(&view)) {
            return true;
        }
    }
    return false;
}

bool srv_control_lossless_pending(const struct srv_control *control)
{
    for (const struct srv_connection *connection = control->connections; connection != NULL;
         connection = connection->next) {
        if (connection->lossless.slot >= 0 && has_unread(control, &connection->lossless)) {
            return true;
        }
    }
    return false;
}
