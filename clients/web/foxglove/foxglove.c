#include "foxglove/foxglove.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/diagnostics.h"
#include "foxglove/session.h"
#include "otolith/records.h"
#include "tokens.h"

#define TURN_MS 16
#define QUEUE_BYTES (512u << 10)  /* if more bytes are queued, no sample is added */
#define SAMPLES_A_TURN 512u       /* of a subscription */
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define VIEW_PERIOD_NS INT64_C(10000000)
#define CLOSE_REFUSED 4001
enum { MESSAGE_DATA = 1, TIME = 2 }; /* opcodes of binary messages */
enum { WARNING = 1 };

/* Foxglove and Lichtblick show a hint for exactly this text. */
static const char LIMIT_REACHED[] = "Send buffer limit reached";

void fox_send_text(struct fox_session *session)
{
    const struct oto_json *json = &session->foxglove->json;
    if (!json->failed) {
        (void)web_peer_send(session->peer, json->text, json->bytes, false); /* beyond the limit a message is dropped */
    }
}

void fox_send_status(struct fox_session *session, uint32_t level, const char *message)
{
    struct oto_json *json = &session->foxglove->json;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "status");
    oto_json_u64(json, "level", level);
    oto_json_text(json, "message", message);
    oto_json_close(json, '}');
    fox_send_text(session);
}

/* ---- the world ---- */

static void list_nodes(struct web_foxglove *foxglove, const struct oto_client *client)
{
    foxglove->node_count = 0;
    foxglove->has_events = false;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if ((channel->flags & OTO_CHANNEL_EVENTS) != 0) {
            foxglove->events = oto_reader_make(channel, OTO_READ_FROM_NOW);
            foxglove->has_events = channel->type.bytes == sizeof(struct oto_event_record);
            continue;
        }
        const bool same = foxglove->node_count > 0 && strcmp(foxglove->nodes[foxglove->node_count - 1], channel->node) == 0;
        if (!same && foxglove->node_count < FOX_NODES_MAX) {
            foxglove->nodes[foxglove->node_count++] = channel->node;
        }
    }
}

static enum oto_status take_world(struct web_foxglove *foxglove, struct oto_error *error)
{
    const struct oto_client *client = web_world_client(foxglove->options.world);
    fox_catalog_free(&foxglove->catalog);
    list_nodes(foxglove, client);
    foxglove->playback = *web_world_recording(foxglove->options.world);
    (void)snprintf(foxglove->session_id, sizeof foxglove->session_id, "%016" PRIx64, oto_client_header(client)->epoch);
    return fox_catalog_make(&foxglove->catalog, client, error);
}

static void put_time(struct oto_json *json, const char *key, int64_t t_ns)
{
    oto_json_format(json, key, "{\"sec\":%" PRId64 ",\"nsec\":%" PRId64 "}", t_ns / NS_PER_S, t_ns % NS_PER_S);
}

/* Sends the channels and the connection graph in parts, as the viewer takes them. */
static void send_lists(struct fox_session *session)
{
    struct web_foxglove *foxglove = session->foxglove;
    const struct fox_catalog *catalog = &foxglove->catalog;
    bool more = true;
    while (more && web_peer_queued_bytes(session->peer) < QUEUE_BYTES) {
        if (session->advertised < catalog->count) {
            fox_catalog_advertise(catalog, &session->advertised, &foxglove->json);
        } else if (session->wants_graph && session->graph_next < catalog->count) {
            fox_catalog_graph(catalog, &session->graph_next, &foxglove->json);
        } else {
            return;
        }
        more = !foxglove->json.failed;
        fox_send_text(session);
    }
}

/* Sends the server info. The session id is the epoch: with a new id a viewer drops its data. */
static void greet(struct fox_session *session)
{
    struct web_foxglove *foxglove = session->foxglove;
    const struct oto_segment_header *header = oto_client_header(web_world_client(foxglove->options.world));
    struct oto_json *json = &foxglove->json;
    const struct web_recording *playback = &foxglove->playback;
    for (uint32_t i = 0; i < FOX_SUBSCRIPTIONS; i++) {
        fox_end_subscription(&session->subscriptions[i]);
    }
    session->parameters.running = false;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "serverInfo");
    oto_json_text(json, "name", header->world);
    oto_json_text(json, "sessionId", foxglove->session_id);
    if (playback->plays) {
        put_time(json, "dataStartTime", playback->start_ns);
        put_time(json, "dataEndTime", playback->end_ns);
    }
    oto_json_format(json, "capabilities", "[\"time\",\"parameters\",\"parametersSubscribe\",\"connectionGraph\"%s%s]",
                    session->may_control ? ",\"services\"" : "", session->may_control && playback->plays ? ",\"playbackControl\"" : "");
    oto_json_format(json, "supportedEncodings", "[\"cdr\",\"json\"]");
    oto_json_format(json, "metadata", "{\"ROS_DISTRO\":\"humble\"}");
    oto_json_close(json, '}');
    fox_send_text(session);
    session->advertised = session->graph_next = 0;
    send_lists(session);
    if (session->may_control) {
        fox_advertise_services(session);
    }
}

/* After a seek the channels are the same: the subscriptions continue, from the oldest record of the new run. */
static void continue_session(struct fox_session *session)
{
    const struct fox_catalog *catalog = &session->foxglove->catalog;
    for (uint32_t i = 0; i < FOX_SUBSCRIPTIONS; i++) {
        struct fox_subscription *subscription = &session->subscriptions[i];
        for (uint32_t k = 0; subscription->used && k < catalog->channels[subscription->channel].source_count; k++) {
            subscription->readers[k] = oto_reader_make(catalog->channels[subscription->channel].sources[k], OTO_READ_FROM_OLDEST);
        }
        subscription->next_view_ns = 0;
        subscription->lost = 0;
    }
    session->parameters.running = false;
    if (session->control.awaited == 0) {
        fox_send_playback(session, NULL);
    }
}

static void on_world_changed(void *context)
{
    struct web_foxglove *foxglove = context;
    struct oto_error error = {0};
    const struct web_recording before = foxglove->playback;
    const uint32_t channels = foxglove->catalog.count;
    char session_id[sizeof foxglove->session_id];
    memcpy(session_id, foxglove->session_id, sizeof session_id);
    if (web_world_is_over(foxglove->options.world) || take_world(foxglove, &error) != OTO_OK) {
        return;
    }
    const struct web_recording *now = &foxglove->playback;
    if (before.plays && now->plays && before.start_ns == now->start_ns && before.end_ns == now->end_ns &&
        channels == foxglove->catalog.count) {
        memcpy(foxglove->session_id, session_id, sizeof session_id);
        for (struct fox_session *session = foxglove->sessions; session != NULL; session = session->next) {
            if (session->admitted) {
                continue_session(session);
            }
        }
        return;
    }
    for (struct fox_session *session = foxglove->sessions; session != NULL; session = session->next) {
        if (session->admitted) {
            greet(session);
        }
    }
}

/* ---- data ---- */

static bool send_message(struct fox_session *session, uint32_t subscription, int64_t t_ns)
{
    struct web_foxglove *foxglove = session->foxglove;
    const struct oto_buffer *message = &foxglove->message;
    const uint64_t log_time_ns = t_ns > 0 ? (uint64_t)t_ns : 0;
    enum { HEAD = 13 };
    if (message->bytes + HEAD > sizeof foxglove->frame) {
        return true;
    }
    foxglove->frame[0] = MESSAGE_DATA;
    memcpy(foxglove->frame + 1, &subscription, sizeof subscription);
    memcpy(foxglove->frame + 5, &log_time_ns, sizeof log_time_ns);
    memcpy(foxglove->frame + HEAD, message->data, message->bytes);
    return web_peer_send(session->peer, foxglove->frame, HEAD + message->bytes, true) == OTO_OK;
}

static void send_source(struct fox_session *session, struct fox_subscription *subscription, const struct fox_channel *channel,
                        uint32_t source)
{
    struct web_foxglove *foxglove = session->foxglove;
    struct oto_sample_head head;
    for (uint32_t i = 0; i < SAMPLES_A_TURN && web_peer_queued_bytes(session->peer) < QUEUE_BYTES; i++) {
        if (oto_reader_next(&subscription->readers[source], &head, foxglove->payload, sizeof foxglove->payload) != OTO_OK) {
            return;
        }
        const bool is_view = channel->ros == NULL && channel->view != OTO_ROS_LOG && channel->source_count == 1;
        if (is_view && head.t_ns < subscription->next_view_ns) {
            continue;
        }
        subscription->next_view_ns = head.t_ns + VIEW_PERIOD_NS;
        if (fox_catalog_encode(channel, source, &head, foxglove->payload, &foxglove->message) == OTO_OK &&
            !send_message(session, subscription->id, head.t_ns)) {
            return;
        }
    }
}

/* Sends new samples. A viewer that is too slow loses samples, because the ring overwrites them, and gets a status message. */
static void send_samples(struct fox_session *session, struct fox_subscription *subscription)
{
    const struct fox_channel *channel = &session->foxglove->catalog.channels[subscription->channel];
    uint64_t lost = 0;
    for (uint32_t i = 0; i < channel->source_count; i++) {
        send_source(session, subscription, channel, i);
        lost += subscription->readers[i].cursor.lost;
    }
    if (lost > subscription->lost) {
        subscription->lost = lost;
        fox_send_status(session, WARNING, LIMIT_REACHED);
    }
}

static uint64_t lost_of(const struct fox_session *session)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < FOX_SUBSCRIPTIONS; i++) {
        lost += session->subscriptions[i].used ? session->subscriptions[i].lost : 0;
    }
    return lost;
}

/* Sends /clock or /diagnostics, which are not made from a record. */
static void send_state(struct fox_session *session, struct fox_subscription *subscription, enum oto_ros_view view, const struct oto_clock *clock)
{
    struct web_foxglove *foxglove = session->foxglove;
    const int64_t now_ns = view == OTO_ROS_CLOCK ? clock->sim_time_ns : (int64_t)uv_now(foxglove->options.loop) * NS_PER_MS;
    const struct oto_sample_head head = {.t_ns = clock->sim_time_ns};
    if (now_ns < subscription->next_view_ns) {
        return;
    }
    subscription->next_view_ns = now_ns + (view == OTO_ROS_CLOCK ? VIEW_PERIOD_NS : NS_PER_S);
    const enum oto_status status =
        view == OTO_ROS_CLOCK
            ? oto_ros_view_encode(view, NULL, "", &head, NULL, &foxglove->message)
            : oto_diagnostics_encode(web_world_client(foxglove->options.world), clock, lost_of(session), &foxglove->message);
    if (status == OTO_OK) {
        (void)send_message(session, subscription->id, clock->sim_time_ns);
    }
}

static void send_time(struct fox_session *session, int64_t t_ns)
{
    unsigned char frame[9] = {TIME};
    const uint64_t time_ns = t_ns > 0 ? (uint64_t)t_ns : 0;
    memcpy(frame + 1, &time_ns, sizeof time_ns);
    (void)web_peer_send(session->peer, frame, sizeof frame, true);
}

/* True if a client has set a parameter or swapped a plugin. The viewers that subscribe to parameters then get them again. */
static bool has_new_parameters(struct web_foxglove *foxglove)
{
    struct oto_sample_head head;
    struct oto_event_record event;
    bool set = false;
    while (foxglove->has_events && oto_reader_next(&foxglove->events, &head, &event, sizeof event) == OTO_OK) {
        set = set || event.kind == OTO_EVENT_PARAMETER || event.kind == OTO_EVENT_SWAP;
    }
    return set;
}

static void on_timer(uv_timer_t *timer)
{
    struct web_foxglove *foxglove = timer->data;
    struct oto_clock clock = {0};
    const bool set = has_new_parameters(foxglove);
    (void)oto_client_clock(web_world_client(foxglove->options.world), &clock);
    for (struct fox_session *session = foxglove->sessions; session != NULL; session = session->next) {
        if (!session->admitted || web_peer_queued_bytes(session->peer) >= QUEUE_BYTES) {
            continue;
        }
        send_lists(session);
        send_time(session, clock.sim_time_ns);
        for (uint32_t i = 0; i < FOX_SUBSCRIPTIONS; i++) {
            struct fox_subscription *subscription = &session->subscriptions[i];
            const struct fox_channel *channel = subscription->used ? &foxglove->catalog.channels[subscription->channel] : NULL;
            if (channel != NULL && channel->source_count > 0) {
                send_samples(session, subscription);
            } else if (channel != NULL) {
                send_state(session, subscription, channel->view, &clock);
            }
        }
        if (set && session->wants_parameters) {
            fox_get_parameters(session, "");
        }
    }
}

/* ---- connections ---- */

static void *on_connected(void *context, struct web_peer *peer)
{
    struct web_foxglove *foxglove = context;
    struct fox_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return NULL;
    }
    const struct web_foxglove_options *options = &foxglove->options;
    const char *token = web_peer_query_token(peer);
    session->foxglove = foxglove;
    session->peer = peer;
    session->number = ++foxglove->session_count;
    session->may_control = web_token_equals(options->control_token, token);
    session->admitted = session->may_control || options->read_token == NULL || web_token_equals(options->read_token, token);
    session->next = foxglove->sessions;
    if (foxglove->sessions != NULL) {
        foxglove->sessions->previous = session;
    } else {
        (void)uv_timer_start(&foxglove->timer, on_timer, TURN_MS, TURN_MS);
    }
    foxglove->sessions = session;
    if (session->admitted) {
        web_peer_accept_long(peer, FOX_MESSAGE_BYTES);
        greet(session);
    } else {
        web_peer_close(peer, CLOSE_REFUSED, "the address needs the token of the printed link: ?token=...");
    }
    return session;
}

static void on_received(void *state, const void *data, size_t bytes, bool binary)
{
    struct fox_session *session = state;
    if (session->admitted) {
        fox_receive(session, data, bytes, binary);
    }
}

static void on_closed(void *state)
{
    struct fox_session *session = state;
    struct web_foxglove *foxglove = session->foxglove;
    *(session->previous != NULL ? &session->previous->next : &foxglove->sessions) = session->next;
    if (session->next != NULL) {
        session->next->previous = session->previous;
    }
    for (uint32_t i = 0; i < FOX_SUBSCRIPTIONS; i++) {
        fox_end_subscription(&session->subscriptions[i]);
    }
    oto_json_free(&session->parameters.values);
    free(session);
    if (foxglove->sessions == NULL) {
        (void)uv_timer_stop(&foxglove->timer);
    }
}

static void on_reply(void *context, uint64_t number, const char *text, size_t bytes)
{
    const struct web_foxglove *foxglove = context;
    for (struct fox_session *session = foxglove->sessions; session != NULL; session = session->next) {
        if (session->number == number) {
            fox_reply(session, text, bytes);
            return;
        }
    }
}

/* ---- start and end ---- */

enum oto_status web_foxglove_open(const struct web_foxglove_options *options, struct web_foxglove **foxglove,
                                  struct oto_error *error)
{
    struct web_foxglove *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for Foxglove");
    }
    made->options = *options;
    made->json.layout = OTO_JSON_COMPACT;
    enum oto_status status = take_world(made, error);
    if (status == OTO_OK) {
        status = web_control_open(options->loop, options->socket_path, on_reply, made, &made->control, error);
    }
    if (status != OTO_OK) {
        fox_catalog_free(&made->catalog);
        free(made);
        return status;
    }
    made->listener = (struct web_world_listener){.context = made, .changed = on_world_changed};
    web_world_listen(options->world, &made->listener);
    (void)uv_timer_init(options->loop, &made->timer);
    made->timer.data = made;
    *foxglove = made;
    return OTO_OK;
}

void web_foxglove_protocols(struct web_foxglove *foxglove, struct web_protocol protocols[WEB_FOXGLOVE_PROTOCOLS])
{
    static const char *const names[WEB_FOXGLOVE_PROTOCOLS] = {"foxglove.websocket.v1", "foxglove.sdk.v1"};
    for (uint32_t i = 0; i < WEB_FOXGLOVE_PROTOCOLS; i++) {
        protocols[i] = (struct web_protocol){
            .name = names[i], .context = foxglove, .connected = on_connected, .received = on_received, .closed = on_closed};
    }
}
