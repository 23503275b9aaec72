#include "link.h"

#include <nats/nats.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "secret.h"

#define MOST_UNCONFIRMED_BYTES ((size_t)8 << 20)

enum {
    CONNECT_TIMEOUT_MS = 5000,
    WRITE_DEADLINE_MS = 10000, /* if the server reads nothing for this time, the link disconnects and reconnects */
    PING_MS = 5000,
    PINGS_OUT = 2,
    RECONNECT_WAIT_MS = 250,
    CONFIRM_EVERY_MS = 100,
    CONFIRM_TIMEOUT_MS = 2000,
    CLOSE_TIMEOUT_MS = 10000, /* time for the threads of libnats to end */
    BUFFER_BYTES = 0, /* of libnats without a connection: it would send a frame before those that repair() sends again */
    SCHEMA_REPEAT_MS = 1000, /* period of the schema if the server has no JetStream */
    MOST_SERVERS = 16,
    SUBJECT_BYTES = 512
};

/* The frames of a schema, each with its subject. */
struct schema {
    struct schema_part {
        char subject[SUBJECT_BYTES];
        unsigned char *frame;
        size_t bytes;
    } *parts;
    uint32_t count;
    char world[SUBJECT_BYTES];
};

struct nats_link {
    struct nats_queue *queue;
    natsConnection *connection;
    natsOptions *options;
    jsCtx *jetstream;
    pthread_t thread;
    bool has_thread;
    bool is_ending, is_idle; /* atomic */
    struct schema staged;    /* the next schema while it is built; used by the caller's thread only */
    struct schema schema;    /* the published schema; used by the sending thread only */
    int64_t schema_repeat_ns; /* used by the sending thread only */
    struct nats_message *sent_first, **sent_last; /* frames without a confirmation; used by the sending thread only */
    bool is_behind; /* one of them was not sent on the newest connection; used by the sending thread only */
    size_t sent_bytes;
    int64_t confirmed_ns;
    natsStatistics *statistics; /* used by the sending thread only */
    uint64_t connection_number; /* connection that gets the unconfirmed frames; used by the sending thread only */
    pthread_mutex_t lock;    /* protects the members below */
    struct schema fresh;     /* a complete schema that the sending thread takes */
    bool has_fresh, schema_is_due;
    struct nats_link_counts counts;
};

static bool is_ending(const struct nats_link *link)
{
    return __atomic_load_n(&link->is_ending, __ATOMIC_ACQUIRE);
}

/* ---- callbacks of libnats, in its threads ---- */

static void on_disconnect(natsConnection *connection, void *context)
{
    struct nats_link *link = context;
    (void)connection;
    (void)pthread_mutex_lock(&link->lock);
    link->counts.is_connected = false;
    (void)pthread_mutex_unlock(&link->lock);
}

static void on_reconnect(natsConnection *connection, void *context)
{
    struct nats_link *link = context;
    (void)connection;
    (void)pthread_mutex_lock(&link->lock);
    link->counts.reconnects++;
    link->counts.is_connected = true;
    link->schema_is_due = true;
    (void)pthread_mutex_unlock(&link->lock);
    nats_queue_wake(link->queue);
}

/* ---- the schema ---- */

/* OTOLITH_SCHEMA holds the newest message of each subject otolith.WORLD.@schema.PART, in memory. */
static natsStatus make_stream(const struct nats_link *link)
{
    const char *subjects[] = {"otolith.*.@schema.*"};
    jsStreamConfig config;
    jsErrCode code = 0;
    natsStatus status = jsStreamConfig_Init(&config);
    config.Name = NATS_SCHEMA_STREAM;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.MaxMsgsPerSubject = 1;
    config.Storage = js_MemoryStorage;
    if (status == NATS_OK) {
        status = js_AddStream(NULL, link->jetstream, &config, NULL, &code);
    }
    return code == JSStreamNameExistErr ? NATS_OK : status; /* the stream exists with other limits, which a user chose */
}

/* Stores the schema in the stream. An earlier schema may have more parts, so its parts are removed first. */
static bool store_schema(const struct nats_link *link)
{
    jsOptions options;
    char all[SUBJECT_BYTES + 32];
    natsStatus status = make_stream(link);
    if (status == NATS_OK) {
        status = jsOptions_Init(&options);
    }
    if (status == NATS_OK) {
        (void)snprintf(all, sizeof all, "otolith.%s.@schema.*", link->schema.world);
        options.Stream.Purge.Subject = all;
        status = js_PurgeStream(link->jetstream, NATS_SCHEMA_STREAM, &options, NULL);
    }
    for (uint32_t i = 0; status == NATS_OK && i < link->schema.count; i++) {
        const struct schema_part *part = &link->schema.parts[i];
        status = js_Publish(NULL, link->jetstream, part->subject, part->frame, (int)part->bytes, NULL, NULL);
    }
    return status == NATS_OK;
}

static void finish_schema(struct schema *schema)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        free(schema->parts[i].frame);
    }
    free(schema->parts);
    *schema = (struct schema){0};
}

static bool take_schema(struct nats_link *link)
{
    struct schema previous = {0};
    (void)pthread_mutex_lock(&link->lock);
    if (link->has_fresh) {
        previous = link->schema;
        link->schema = link->fresh;
        link->fresh = (struct schema){0};
        link->has_fresh = false;
        link->schema_is_due = true;
    }
    const bool is_due = link->schema_is_due;
    link->schema_is_due = false;
    (void)pthread_mutex_unlock(&link->lock);
    finish_schema(&previous);
    return is_due;
}

static void send_schema(struct nats_link *link)
{
    if (take_schema(link)) {
        const bool is_stored = link->jetstream != NULL && store_schema(link);
        (void)pthread_mutex_lock(&link->lock);
        link->counts.has_stream = is_stored;
        (void)pthread_mutex_unlock(&link->lock);
        link->schema_repeat_ns = is_stored ? INT64_MAX : 0;
    }
    if (srv_now_ns() >= link->schema_repeat_ns) {
        for (uint32_t i = 0; i < link->schema.count; i++) {
            const struct schema_part *part = &link->schema.parts[i];
            (void)natsConnection_Publish(link->connection, part->subject, part->frame, (int)part->bytes);
        }
        link->schema_repeat_ns = srv_now_ns() + (int64_t)SCHEMA_REPEAT_MS * 1000000;
    }
}

void nats_link_begin_schema(struct nats_link *link, const char *world_token)
{
    finish_schema(&link->staged);
    (void)snprintf(link->staged.world, sizeof link->staged.world, "%s", world_token);
}

bool nats_link_add_schema(struct nats_link *link, const void *frame, size_t bytes)
{
    struct schema *schema = &link->staged;
    struct schema_part *parts = realloc(schema->parts, (schema->count + 1) * sizeof *parts);
    schema->parts = parts != NULL ? parts : schema->parts;
    unsigned char *copy = parts != NULL ? malloc(bytes) : NULL;
    if (copy == NULL) {
        return false;
    }
    struct schema_part *part = &parts[schema->count];
    (void)snprintf(part->subject, sizeof part->subject, "otolith.%.400s.@schema.%u", schema->world, schema->count);
    memcpy(copy, frame, bytes);
    part->frame = copy;
    part->bytes = bytes;
    schema->count++;
    return true;
}

void nats_link_publish_schema(struct nats_link *link)
{
    (void)pthread_mutex_lock(&link->lock);
    struct schema unsent = link->fresh;
    link->fresh = link->staged;
    link->staged = (struct schema){0};
    link->has_fresh = true;
    (void)pthread_mutex_unlock(&link->lock);
    finish_schema(&unsent);
    nats_queue_wake(link->queue);
}

/* ---- sending ---- */

static bool is_connected(const struct nats_link *link)
{
    return natsConnection_Status(link->connection) == NATS_CONN_STATUS_CONNECTED;
}

static void forget_sent(struct nats_link *link)
{
    while (link->sent_first != NULL) {
        struct nats_message *next = link->sent_first->next;
        free(link->sent_first);
        link->sent_first = next;
    }
    link->sent_last = &link->sent_first;
    link->sent_bytes = 0;
}

/* The number of connections so far. It grows before a new connection can be used, whereas the callbacks come later. */
static uint64_t connection_number(const struct nats_link *link)
{
    uint64_t in, in_bytes, out, out_bytes, number = 0;
    (void)natsConnection_GetStats(link->connection, link->statistics);
    (void)natsStatistics_GetCounts(link->statistics, &in, &in_bytes, &out, &out_bytes, &number);
    return number;
}

/* Sends a PING. If the reply comes on the same connection, the server has all frames that were sent before. */
static void confirm(struct nats_link *link)
{
    const bool is_answered = link->sent_first == NULL || natsConnection_FlushTimeout(link->connection, CONFIRM_TIMEOUT_MS) == NATS_OK;
    if (is_answered && !link->is_behind && connection_number(link) == link->connection_number) {
        forget_sent(link);
        link->confirmed_ns = srv_now_ns();
    }
}

/* Sends a frame on the connection of the unconfirmed frames. NATS_MAX_PAYLOAD: the server takes no frame so large. */
static natsStatus publish(const struct nats_link *link, const struct nats_message *message)
{
    return connection_number(link) != link->connection_number
               ? NATS_CONNECTION_DISCONNECTED
               : natsConnection_Publish(link->connection, message->data, nats_message_payload(message), (int)message->bytes);
}

static void count(struct nats_link *link, uint64_t *counter, uint64_t more)
{
    (void)pthread_mutex_lock(&link->lock);
    *counter += more;
    (void)pthread_mutex_unlock(&link->lock);
}

/*
 * After a break sends the frames again that the server did not confirm, in their order and before newer frames. False: there is no
 * connection, or it broke again.
 */
static bool repair(struct nats_link *link)
{
    const uint64_t number = connection_number(link);
    uint64_t resent = 0, refused = 0;
    if (!is_connected(link)) {
        return false;
    }
    if (number == link->connection_number && !link->is_behind) {
        return true;
    }
    link->connection_number = number;
    natsStatus status = NATS_OK;
    for (const struct nats_message *message = link->sent_first; message != NULL && status == NATS_OK; message = message->next) {
        status = publish(link, message);
        resent += status == NATS_OK;
        refused += status == NATS_MAX_PAYLOAD;
        status = status == NATS_MAX_PAYLOAD ? NATS_OK : status;
    }
    link->is_behind = status != NATS_OK;
    count(link, &link->counts.resent, resent);
    count(link, &link->counts.refused, refused);
    return !link->is_behind;
}

/* Sends a frame and keeps it until the server has confirmed it. */
static void send_message(struct nats_link *link, struct nats_message *message)
{
    const natsStatus status = publish(link, message);
    if (status == NATS_MAX_PAYLOAD) {
        count(link, &link->counts.refused, 1);
        free(message);
        return;
    }
    message->next = NULL;
    *link->sent_last = message;
    link->sent_last = &message->next;
    link->sent_bytes += message->bytes;
    link->is_behind = status != NATS_OK;
    count(link, &link->counts.sent, 1);
}

static void *work(void *context)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    struct nats_link *link = context;
    while (!is_ending(link)) {
        if (!repair(link)) {
            (void)nanosleep(&pause, NULL);
            continue;
        }
        send_schema(link);
        const bool has_room = link->sent_bytes < MOST_UNCONFIRMED_BYTES;
        struct nats_message *message = has_room ? nats_queue_take(link->queue, CONFIRM_EVERY_MS) : NULL;
        if (message != NULL) {
            __atomic_store_n(&link->is_idle, false, __ATOMIC_RELEASE);
            send_message(link, message);
        }
        if (message == NULL || srv_now_ns() - link->confirmed_ns > (int64_t)CONFIRM_EVERY_MS * 1000000) {
            confirm(link);
        }
        if (message == NULL) {
            __atomic_store_n(&link->is_idle, link->sent_first == NULL, __ATOMIC_RELEASE);
        }
    }
    return NULL;
}

/* ---- connecting ---- */

static natsStatus set_servers(natsOptions *options, const char *list)
{
    const char *servers[MOST_SERVERS];
    int count = 0;
    char *copy = strdup(list), *rest = NULL;
    for (char *word = copy != NULL ? strtok_r(copy, ",", &rest) : NULL; word != NULL && count < MOST_SERVERS; word = strtok_r(NULL, ",", &rest)) {
        servers[count++] = word;
    }
    const natsStatus status = copy == NULL ? NATS_NO_MEMORY : natsOptions_SetServers(options, servers, count);
    free(copy);
    return status;
}

static natsStatus set_behaviour(struct nats_link *link)
{
    natsOptions *options = link->options;
    natsStatus status = natsOptions_SetName(options, "otolith-nats");
    status = status == NATS_OK ? natsOptions_SetTimeout(options, CONNECT_TIMEOUT_MS) : status;
    status = status == NATS_OK ? natsOptions_SetWriteDeadline(options, WRITE_DEADLINE_MS) : status;
    status = status == NATS_OK ? natsOptions_SetPingInterval(options, PING_MS) : status;
    status = status == NATS_OK ? natsOptions_SetMaxPingsOut(options, PINGS_OUT) : status;
    status = status == NATS_OK ? natsOptions_SetMaxReconnect(options, -1) : status;
    status = status == NATS_OK ? natsOptions_SetReconnectWait(options, RECONNECT_WAIT_MS) : status;
    status = status == NATS_OK ? natsOptions_SetReconnectBufSize(options, BUFFER_BYTES) : status;
    status = status == NATS_OK ? natsOptions_SetNoEcho(options, true) : status;
    status = status == NATS_OK ? natsOptions_SetDisconnectedCB(options, on_disconnect, link) : status;
    return status == NATS_OK ? natsOptions_SetReconnectedCB(options, on_reconnect, link) : status;
}

static natsStatus set_tls(natsOptions *options, const struct nats_link_options *from)
{
    natsStatus status = NATS_OK;
    if (from->tls || from->ca != NULL || from->certificate != NULL) {
        status = natsOptions_SetSecure(options, true);
    }
    if (status == NATS_OK && from->ca != NULL) {
        status = natsOptions_LoadCATrustedCertificates(options, from->ca);
    }
    return status == NATS_OK && from->certificate != NULL ? natsOptions_LoadCertificatesChain(options, from->certificate, from->key) : status;
}

static enum oto_status set_user(natsOptions *options, const struct nats_link_options *from, struct oto_error *error)
{
    char secret[NATS_SECRET_BYTES] = "";
    enum oto_status status = OTO_OK;
    natsStatus set = NATS_OK;
    if (from->credentials != NULL) {
        set = natsOptions_SetUserCredentialsFromFiles(options, from->credentials, NULL);
    }
    if (from->token_file != NULL) {
        status = nats_secret_read(from->token_file, secret, error);
        set = status == OTO_OK ? natsOptions_SetToken(options, secret) : NATS_OK;
    } else if (from->user != NULL) {
        status = nats_secret_read(from->password_file, secret, error);
        set = status == OTO_OK ? natsOptions_SetUserInfo(options, from->user, secret) : NATS_OK;
    }
    explicit_bzero(secret, sizeof secret);
    return status == OTO_OK && set != NATS_OK ? oto_fail(error, OTO_INVALID, "credentials: %s", natsStatus_GetText(set)) : status;
}

static enum oto_status connect_first(struct nats_link *link, const struct nats_link_options *options, struct oto_error *error)
{
    natsStatus status = natsOptions_Create(&link->options);
    status = status == NATS_OK ? set_servers(link->options, options->servers) : status;
    status = status == NATS_OK ? set_behaviour(link) : status;
    status = status == NATS_OK ? set_tls(link->options, options) : status;
    const enum oto_status user = status == NATS_OK ? set_user(link->options, options, error) : OTO_OK;
    if (user != OTO_OK) {
        return user;
    }
    status = status == NATS_OK ? natsConnection_Connect(&link->connection, link->options) : status;
    if (status != NATS_OK) {
        const char *more = nats_GetLastError(NULL);
        return oto_fail(error, status == NATS_CONNECTION_AUTH_FAILED ? OTO_DENIED : OTO_IO, "cannot connect to NATS: %s%s%.200s",
                        natsStatus_GetText(status), more != NULL ? ": " : "", more != NULL ? more : "");
    }
    link->counts.is_connected = true;
    (void)natsConnection_JetStream(&link->jetstream, link->connection, NULL);
    return natsStatistics_Create(&link->statistics) == NATS_OK ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for a connection");
}

enum oto_status nats_link_open(const struct nats_link_options *options, struct nats_queue *queue, struct nats_link **link,
                               struct oto_error *error)
{
    struct nats_link *made = calloc(1, sizeof *made);
    *link = NULL;
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a connection");
    }
    made->queue = queue;
    made->sent_last = &made->sent_first;
    enum oto_status status = connect_first(made, options, error);
    if (status == OTO_OK) {
        made->has_thread = pthread_create(&made->thread, NULL, work, made) == 0;
        status = made->has_thread ? OTO_OK : oto_fail(error, OTO_LIMIT, "cannot start a thread");
    }
    if (status != OTO_OK) {
        (void)nats_link_close(made);
        return status;
    }
    *link = made;
    return OTO_OK;
}

bool nats_link_drain(struct nats_link *link, int drain_ms)
{
    const int64_t until_ns = srv_now_ns() + (int64_t)drain_ms * 1000000;
    struct nats_queue_counts queued;
    bool is_sent = false;
    while (!is_sent && srv_now_ns() < until_ns) {
        const struct timespec pause = {.tv_nsec = 10000000};
        nats_queue_count(link->queue, &queued);
        is_sent = queued.bytes == 0 && __atomic_load_n(&link->is_idle, __ATOMIC_ACQUIRE);
        (void)nanosleep(&pause, NULL);
    }
    return is_sent;
}

bool nats_link_close(struct nats_link *link)
{
    if (link == NULL) {
        return true;
    }
    __atomic_store_n(&link->is_ending, true, __ATOMIC_RELEASE);
    nats_queue_wake(link->queue);
    if (link->has_thread) {
        (void)pthread_join(link->thread, NULL);
    }
    natsStatistics_Destroy(link->statistics);
    jsCtx_Destroy(link->jetstream);
    natsConnection_Destroy(link->connection); /* queues on_disconnect for a thread of libnats */
    natsOptions_Destroy(link->options);
    if (nats_CloseAndWait(CLOSE_TIMEOUT_MS) != NATS_OK) {
        return false;
    }
    forget_sent(link);
    finish_schema(&link->staged);
    finish_schema(&link->schema);
    finish_schema(&link->fresh);
    (void)pthread_mutex_destroy(&link->lock);
    free(link);
    return true;
}

void nats_link_count(struct nats_link *link, struct nats_link_counts *counts)
{
    (void)pthread_mutex_lock(&link->lock);
    *counts = link->counts;
    (void)pthread_mutex_unlock(&link->lock);
}
