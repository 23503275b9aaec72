#include "attach/client_private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/runtime.h"
#include "attach/segment_map.h"
#include "base/futex.h"
#include "base/monotonic.h"
#include "document/document.h"

#define DEFAULT_TIMEOUT_MS 20000 /* longer than the server waits for a plugin before it answers that it is stuck */
#define WAIT_SLICE_NS 10000000 /* longest time until the death of a server is detected */
#define POLL_SLICE_NS 500000   /* polling period if the server does not wake this client */
#define RUNS_POLL_MS 5         /* polling period for the next run of a world */
#define MAX_CANDIDATES 256

/* ---- opening ---- */

static enum oto_status connect_world(struct oto_client *client, const char *path, int64_t timeout_ms, struct oto_error *error)
{
    client->control.fd = oto_runtime_connect(path, (int)timeout_ms, NULL);
    if (client->control.fd >= 0) {
        return OTO_OK;
    }
    switch (errno) {
    case ENOENT:
    case ECONNREFUSED:
        return oto_fail(error, OTO_NOT_FOUND, "no server listens on %s; `otolith ls` shows the running worlds", path);
    case EPERM:
    case EACCES:
        return oto_fail(error, OTO_DENIED, "the server of %s belongs to another user", path);
    default:
        return oto_fail(error, errno == ETIMEDOUT ? OTO_TIMEOUT : OTO_IO, "cannot connect to %s: %s", path,
                        strerror(errno));
    }
}

static enum oto_status take_channels(struct oto_client *client, struct oto_error *error)
{
    struct oto_segment_directory directory;
    enum oto_status status = oto_segment_read(client->header, client->segment_bytes, &directory, error);
    if (status != OTO_OK) {
        return status;
    }
    memcpy(client->world, directory.world, sizeof client->world);
    client->entries = directory.shared_entries;
    if (directory.epoch != client->epoch) {
        status = oto_fail(error, OTO_CORRUPT, "the segment belongs to another run than the server");
    } else if (oto_channel_book_turn(&client->book, &directory) != OTO_OK) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for the channels of world '%s'", client->world);
    }
    if (status != OTO_OK) {
        oto_segment_directory_finish(&directory);
    }
    return status;
}

static enum oto_status attach(struct oto_client *client, const char *name, const char *role, struct oto_error *error)
{
    int fd = -1;
    uint64_t bytes = 0, epoch = 0;
    struct oto_message_writer request = oto_control_request(&client->control, OTO_VERB_ATTACH);
    oto_verb_write(&oto_verbs[OTO_VERB_ATTACH], (const struct oto_verb_value[]){{.text = name}, {.text = role}, {0}}, &request);
    enum oto_status status =
        oto_control_exchange(&client->control, &request, client->control.timeout_ms, &fd, error);
    if (status != OTO_OK) {
        return status;
    }
    status = oto_message_u64(&client->control.reply, "bytes", &bytes, error);
    if (status == OTO_OK) {
        status = oto_message_u64(&client->control.reply, "epoch", &epoch, error);
    }
    if (status == OTO_OK && fd < 0) {
        status = oto_fail(error, OTO_CORRUPT, "the server did not pass exactly one segment");
    }
    const void *base = NULL;
    if (status == OTO_OK) {
        status = oto_segment_map(fd, bytes, &base, error);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (status != OTO_OK) {
        return status;
    }
    client->header = base;
    client->segment_bytes = bytes;
    client->epoch = epoch;
    return take_channels(client, error);
}

/* Whether the socket is between two runs of its world. The status is that of an attempt to attach. */
static bool is_between_runs(enum oto_status status, const char *path)
{
    char directory[OTO_SOCKET_PATH_BYTES];
    (void)snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path), path);
    return (status == OTO_NOT_FOUND || status == OTO_CLOSED) && oto_runtime_goes_on(directory);
}

/* During a `restore` no server listens for a moment, and the connections of the previous run end. */
static enum oto_status attach_by_name(struct oto_client *client, const char *world, const char *name, const char *role,
                                      struct oto_error *error)
{
    char path[OTO_SOCKET_PATH_BYTES];
    const int64_t deadline_ms = srv_now_ms() + client->control.timeout_ms;
    enum oto_status status = oto_runtime_socket(world, path, error);
    if (status != OTO_OK) {
        return status;
    }
    for (;;) {
        const int64_t left_ms = deadline_ms - srv_now_ms();
        status = connect_world(client, path, left_ms > 0 ? left_ms : 0, error);
        if (status == OTO_OK) {
            status = attach(client, name, role, error);
        }
        if (left_ms <= 0 || !is_between_runs(status, path)) {
            return status;
        }
        if (client->control.fd >= 0) {
            (void)close(client->control.fd);
            client->control.fd = -1;
        }
        (void)poll(NULL, 0, RUNS_POLL_MS);
    }
}

/* ---- worlds on other machines ---- */

/*
 * Reads the reply to the attach request (id 1), which the gate sends for the client. There is no shared memory: the header is
 * in the client's memory and has the name, epoch and rate of the world; there are no channels.
 */
static enum oto_status attach_remote(struct oto_client *client, struct oto_error *error)
{
    struct oto_message *reply = &client->control.reply;
    uint64_t rate_num = 0, rate_den = 0;
    const char *world = "";
    client->control.next_id = 1;
    enum oto_status status = oto_control_await(&client->control, 1, client->control.timeout_ms, error);
    if (status == OTO_OK) {
        status = oto_message_u64(reply, "epoch", &client->epoch, error);
    }
    if (status == OTO_OK) {
        status = oto_message_text(reply, "world", &world, error);
    }
    if (status == OTO_OK) {
        status = oto_message_u64(reply, "rate_num", &rate_num, error);
    }
    if (status == OTO_OK) {
        status = oto_message_u64(reply, "rate_den", &rate_den, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    struct oto_segment_header *header = calloc(1, sizeof *header);
    if (header == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a client");
    }
    header->epoch = client->epoch;
    header->rate_num = rate_num;
    header->rate_den = rate_den != 0 ? rate_den : 1;
    header->state = OTO_SERVER_RUNNING;
    (void)snprintf(header->world, sizeof header->world, "%s", world);
    (void)snprintf(client->world, sizeof client->world, "%s", world);
    client->header = client->remote_header = header;
    return OTO_OK;
}

static enum oto_status open_remote(struct oto_client *client, const struct oto_client_options *asked, struct oto_error *error)
{
    const enum oto_status status =
        oto_control_remote_open(asked->url, asked->tls, client->control.timeout_ms, &client->control.remote, error);
    return status == OTO_OK ? attach_remote(client, error) : status;
}

static void remember(struct oto_client *client, const struct oto_client_options *asked, const char *name)
{
    struct oto_client_origin *origin = &client->origin;
    (void)snprintf(origin->socket_path, sizeof origin->socket_path, "%s", asked->socket_path != NULL ? asked->socket_path : "");
    (void)snprintf(origin->name, sizeof origin->name, "%s", name);
    (void)snprintf(origin->role, sizeof origin->role, "%s", asked->role != NULL ? asked->role : "");
}

enum oto_status oto_client_open(const struct oto_client_options *options, struct oto_client **client,
                                struct oto_error *error)
{
    struct oto_client_options asked = {.size = sizeof asked};
    if (options != NULL) {
        memcpy(&asked, options, options->size < sizeof asked ? options->size : sizeof asked);
    }
    *client = NULL;
    struct oto_client *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a client");
    }
    made->control.fd = -1;
    made->control.timeout_ms = asked.timeout_ms > 0 ? asked.timeout_ms : DEFAULT_TIMEOUT_MS;
    const char *name = asked.name != NULL ? asked.name : program_invocation_short_name;
    remember(made, &asked, name);
    enum oto_status status = OTO_OK;
    if (asked.url != NULL) {
        status = open_remote(made, &asked, error);
    } else if (asked.socket_path == NULL) {
        status = attach_by_name(made, asked.world, name, asked.role, error);
    } else {
        status = connect_world(made, asked.socket_path, made->control.timeout_ms, error);
        status = status == OTO_OK ? attach(made, name, asked.role, error) : status;
    }
    if (status != OTO_OK) {
        oto_client_close(made);
        return status;
    }
    *client = made;
    return OTO_OK;
}

void oto_client_close(struct oto_client *client)
{
    if (client == NULL) {
        return;
    }
    if (client->control.fd >= 0) {
        (void)close(client->control.fd);
    }
    oto_control_remote_close(client->control.remote);
    oto_mirror_close(client->mirror);
    oto_channel_book_finish(&client->book);
    if (client->remote_header != NULL) {
        free(client->remote_header);
    } else {
        oto_segment_unmap(client->header, client->segment_bytes);
    }
    free(client);
}

/* ---- state and time ---- */

const struct oto_segment_header *oto_client_header(const struct oto_client *client)
{
    return client->header;
}

bool oto_client_server_alive(struct oto_client *client)
{
    return client->mirror != NULL ? !oto_mirror_is_over(client) : oto_control_alive(&client->control);
}

enum oto_status oto_client_clock(const struct oto_client *client, struct oto_clock *clock)
{
    if (client->mirror != NULL) {
        return oto_mirror_clock(client, clock);
    }
    return client->remote_header != NULL ? OTO_UNSUPPORTED : oto_segment_clock(client->header, clock);
}

bool oto_client_run_is_over(const struct oto_client *client)
{
    if (client->mirror != NULL) {
        return oto_mirror_is_over(client);
    }
    const uint32_t state = __atomic_load_n(&client->header->state, __ATOMIC_ACQUIRE);
    return state == OTO_SERVER_CLOSING || state == OTO_SERVER_ENDED || state == OTO_SERVER_FAULT ||
           !oto_control_alive(&client->control);
}

static bool is_past(const struct oto_client *client, uint64_t tick)
{
    struct oto_clock clock;
    return oto_segment_clock(client->header, &clock) == OTO_OK && clock.tick > tick;
}

enum oto_status oto_client_wait_tick(struct oto_client *client, uint64_t tick, int32_t timeout_ms)
{
    const int64_t deadline_ns = srv_now_ns() + (int64_t)timeout_ms * 1000000;
    if (client->remote_header != NULL) {
        return OTO_UNSUPPORTED;
    }
    if (is_past(client, tick)) {
        return OTO_OK;
    }
    if (!client->wake_asked) {
        (void)oto_control_wake(client, true, NULL);
    }
    for (;;) {
        const uint32_t seen = __atomic_load_n(&client->header->tick_futex, __ATOMIC_ACQUIRE);
        const bool ended = oto_client_run_is_over(client);
        if (is_past(client, tick)) {
            return OTO_OK;
        }
        if (ended) {
            return OTO_CLOSED;
        }
        const int64_t left = deadline_ns - srv_now_ns();
        if (left <= 0) {
            return OTO_TIMEOUT;
        }
        const int64_t slice = client->wakes ? WAIT_SLICE_NS : POLL_SLICE_NS;
        srv_futex_wait(&client->header->tick_futex, seen, left < slice ? left : slice);
    }
}

/* ---- channels ---- */

uint32_t oto_client_channel_count(const struct oto_client *client)
{
    return client->book.count;
}

enum oto_status oto_client_channel_identity(const struct oto_client *client, const struct oto_channel *channel,
                                            struct oto_channel_identity *identity)
{
    if (client->mirror != NULL) {
        return OTO_UNSUPPORTED;
    }
    if (channel->view.ring == NULL || channel->index >= client->book.count) {
        return OTO_RANGE;
    }
    const enum oto_status status = oto_channel_identity_read(&client->entries[channel->index], identity);
    identity->plugin[sizeof identity->plugin - 1] = '\0';
    identity->plugin_version[sizeof identity->plugin_version - 1] = '\0';
    return status;
}

const struct oto_channel *oto_client_channel(const struct oto_client *client, uint32_t index)
{
    return index < client->book.count ? client->book.now[index] : NULL;
}

/* True if `name` equals `full`, with or without its leading "world/". */
static bool names(const struct oto_client *client, const char *full, const char *name)
{
    const size_t world = strlen(client->world);
    const bool prefixed = strncmp(full, client->world, world) == 0 && full[world] == '/';
    return strcmp(full, name) == 0 || (prefixed && strcmp(full + world + 1, name) == 0);
}

static const struct oto_channel *find_by(const struct oto_client *client, const char *name, bool by_node)
{
    for (uint32_t i = 0; i < client->book.count; i++) {
        const struct oto_channel *channel = client->book.now[i];
        if (names(client, by_node ? channel->node : channel->topic, name)) {
            return channel;
        }
    }
    return NULL;
}

static void suggest(const struct oto_client *client, const char *topic, struct oto_error *error)
{
    if (client->control.remote != NULL) {
        (void)oto_fail(error, OTO_NOT_FOUND,
                       "no topic '%.95s': this client controls world '%s' on another machine; subscribe to its samples",
                       topic, client->world);
        return;
    }
    const char *candidates[2 * MAX_CANDIDATES] = {NULL};
    size_t count = 0;
    const size_t world = strlen(client->world);
    const uint32_t channels = client->book.count;
    for (uint32_t i = 0; i < channels && i < MAX_CANDIDATES; i++) {
        const char *full = client->book.now[i]->topic;
        candidates[count++] = full;
        if (strncmp(full, client->world, world) == 0 && full[world] == '/') {
            candidates[count++] = full + world + 1;
        }
    }
    const char *near = oto_nearest_word(topic, candidates, count);
    if (near != NULL) {
        (void)oto_fail(error, OTO_NOT_FOUND, "world '%s' has no topic '%.95s'; did you mean '%s'?", client->world, topic,
                       near);
        return;
    }
    char list[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < channels && used + OTO_TOPIC_BYTES + 8 < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 client->book.now[i]->topic);
    }
    (void)oto_fail(error, OTO_NOT_FOUND, "world '%s' has no topic '%.95s'; it has %s", client->world, topic, list);
}

const struct oto_channel *oto_client_find(const struct oto_client *client, const char *topic, struct oto_error *error)
{
    const struct oto_channel *channel = find_by(client, topic, false);
    if (channel == NULL) {
        channel = find_by(client, topic, true);
    }
    if (channel == NULL) {
        suggest(client, topic, error);
    }
    return channel;
}
