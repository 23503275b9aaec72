/* WebSocket connections: bounded queues in both directions. */
#include "http/http_private.h"

#include <stdlib.h>
#include <string.h>

#define BURST_MESSAGES (2.0 * WEB_MESSAGES_PER_S) /* messages that may arrive together, after a stall */
#define FRAGMENT_BYTES 65536u
#define SMALL_PART_BYTES 512u /* a smaller part of a message counts as a message in the limit of their rate */
#define WRITE_CLOSE ((enum lws_write_protocol)4) /* lws-write.h leaves out this number */
#define CLOSE_S 3 /* for the peer to answer a close frame */

static void take_token(struct lws *wsi, char *token, size_t room)
{
    char argument[WEB_TOKEN_BYTES + 8];
    const char *value = lws_get_urlarg_by_name(wsi, "token=", argument, sizeof argument);
    (void)snprintf(token, room, "%s", value != NULL ? value : "");
}

static int on_established(struct lws *wsi, struct web_session *session)
{
    struct web_http *http = web_http_of(wsi);
    const struct web_protocol *protocol = lws_get_protocol(wsi)->user;
    struct web_peer *peer = calloc(1, sizeof *peer);
    if (protocol == NULL || http->peer_count >= WEB_PEERS_MAX || peer == NULL) {
        free(peer);
        return -1;
    }
    *peer = (struct web_peer){.http = http, .protocol = protocol, .wsi = wsi, .next = http->peers};
    peer->last = &peer->first;
    peer->allowance = BURST_MESSAGES;
    peer->received_most = WEB_MESSAGE_MAX_BYTES;
    peer->allowance_ms = uv_now(http->options.loop);
    take_token(wsi, peer->token, sizeof peer->token);
    if (http->peers != NULL) {
        http->peers->previous = peer;
    }
    http->peers = peer;
    http->peer_count++;
    session->peer = peer;
    peer->state = protocol->connected(protocol->context, peer);
    if (peer->state == NULL && !peer->closing) {
        web_peer_close(peer, LWS_CLOSE_STATUS_POLICY_VIOLATION, "refused");
    }
    return 0;
}

static void drop_first(struct web_peer *peer)
{
    struct message *message = peer->first;
    peer->first = message->next;
    peer->last = peer->first == NULL ? &peer->first : peer->last;
    peer->queued_bytes -= message->bytes;
    free(message);
}

static int on_closed(struct web_session *session)
{
    struct web_peer *peer = session->peer;
    if (peer == NULL) {
        return 0;
    }
    session->peer = NULL;
    if (peer->state != NULL) {
        peer->protocol->closed(peer->state);
    }
    while (peer->first != NULL) {
        drop_first(peer);
    }
    if (peer->previous != NULL) {
        peer->previous->next = peer->next;
    } else {
        peer->http->peers = peer->next;
    }
    if (peer->next != NULL) {
        peer->next->previous = peer->previous;
    }
    peer->http->peer_count--;
    free(peer->received);
    free(peer);
    return 0;
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/* `cost` is in messages. */
static bool is_too_frequent(struct web_peer *peer, double cost)
{
    const uint64_t now_ms = uv_now(peer->http->options.loop);
    peer->allowance += (double)(now_ms - peer->allowance_ms) * 1e-3 * WEB_MESSAGES_PER_S;
    peer->allowance = peer->allowance > BURST_MESSAGES ? BURST_MESSAGES : peer->allowance;
    peer->allowance_ms = now_ms;
    peer->allowance -= cost;
    return peer->allowance < 0.0;
}

/* Makes room for so many bytes more of a message. The memory is that of the longest message, until it is whole. */
static bool make_room(struct web_peer *peer, size_t bytes)
{
    const size_t wanted = peer->received_bytes + bytes;
    size_t room = peer->received_room > 0 ? peer->received_room : WEB_MESSAGE_MAX_BYTES;
    while (room < wanted) {
        room *= 2;
    }
    unsigned char *received = room == peer->received_room ? peer->received : realloc(peer->received, room);
    if (received == NULL) {
        return false;
    }
    peer->received = received;
    peer->received_room = room;
    return true;
}

static void deliver(struct web_peer *peer, bool binary)
{
    const size_t whole = peer->received_bytes;
    peer->received_bytes = 0;
    peer->protocol->received(peer->state, peer->received, whole, binary);
    if (peer->received_room > WEB_MESSAGE_MAX_BYTES) {
        free(peer->received);
        peer->received = NULL;
        peer->received_room = 0;
    }
}

static void refuse_length(struct web_peer *peer)
{
    char reason[64];
    (void)snprintf(reason, sizeof reason, "a message has at most %zu bytes", peer->received_most);
    web_peer_close(peer, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, reason);
}

/* Each small part counts as a message in the limit of their rate, so that a message of endless empty fragments is stopped. */
static int on_received(struct lws *wsi, struct web_peer *peer, const void *data, size_t bytes)
{
    const bool is_last = lws_is_final_fragment(wsi) && lws_remaining_packet_payload(wsi) == 0;
    const bool frequent = is_too_frequent(peer, is_last || bytes < SMALL_PART_BYTES ? 1.0 : (double)bytes / WEB_MESSAGE_MAX_BYTES);
    if (peer->closing || peer->state == NULL) {
        return frequent ? -1 : 0; /* a peer that ignores the close frame */
    }
    if (frequent) {
        web_peer_close(peer, LWS_CLOSE_STATUS_POLICY_VIOLATION, "more than 100 messages a second");
        return 0;
    }
    if (bytes > peer->received_most - peer->received_bytes || !make_room(peer, bytes)) {
        refuse_length(peer);
        return 0;
    }
    memcpy(peer->received + peer->received_bytes, data, bytes);
    peer->received_bytes += bytes;
    if (is_last) {
        deliver(peer, lws_frame_is_binary(wsi) != 0);
    }
    return 0;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/*
 * Sends the close frame itself: with libuv, libwebsockets 4.1.6 closes the socket of a callback that returns -1 before its
 * own close frame is sent. The connection ends with the close frame of the peer or after a timeout.
 */
static int close_now(struct lws *wsi, struct web_peer *peer)
{
    unsigned char room[LWS_PRE + 2 + sizeof peer->close_reason];
    const size_t bytes = strlen(peer->close_reason);
    if (peer->close_sent) {
        return 0;
    }
    peer->close_sent = true;
    room[LWS_PRE] = (unsigned char)(peer->close_code >> 8);
    room[LWS_PRE + 1] = (unsigned char)peer->close_code;
    memcpy(room + LWS_PRE + 2, peer->close_reason, bytes);
    lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_ACK, CLOSE_S);
    return lws_write(wsi, room + LWS_PRE, bytes + 2, WRITE_CLOSE) < (int)bytes + 2 ? -1 : 0;
}

/* One fragment of the first message for each turn of the loop. */
static int on_writable(struct lws *wsi, struct web_peer *peer)
{
    struct message *message = peer->first;
    if (message == NULL) {
        return peer->closing ? close_now(wsi, peer) : 0;
    }
    const size_t left = message->bytes - message->sent, part = left < FRAGMENT_BYTES ? left : FRAGMENT_BYTES;
    const enum lws_write_protocol kind = message->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT;
    const int flags = lws_write_ws_flags((int)kind, message->sent == 0, part == left);
    if (lws_write(wsi, message->data + message->sent, part, (enum lws_write_protocol)flags) < (int)part) {
        return -1;
    }
    message->sent += part;
    if (message->sent == message->bytes) {
        drop_first(peer);
    }
    if (peer->first != NULL || peer->closing) {
        (void)lws_callback_on_writable(wsi);
    } else if (peer->state != NULL && peer->protocol->writable != NULL) {
        peer->protocol->writable(peer->state);
    }
    return 0;
}

enum oto_status web_peer_send(struct web_peer *peer, const void *data, size_t bytes, bool binary)
{
    if (peer->closing) {
        return OTO_CLOSED;
    }
    if (bytes > WEB_QUEUE_MAX_BYTES - peer->queued_bytes) {
        return OTO_LIMIT;
    }
    struct message *message = malloc(sizeof *message + LWS_PRE + bytes);
    if (message == NULL) {
        return OTO_NO_MEMORY;
    }
    *message = (struct message){.bytes = bytes, .binary = binary};
    message->data = (unsigned char *)(message + 1) + LWS_PRE;
    memcpy(message->data, data, bytes);
    *peer->last = message;
    peer->last = &message->next;
    peer->queued_bytes += bytes;
    (void)lws_callback_on_writable(peer->wsi);
    return OTO_OK;
}

size_t web_peer_queued_bytes(const struct web_peer *peer)
{
    return peer->queued_bytes;
}

void web_peer_close(struct web_peer *peer, uint16_t code, const char *reason)
{
    if (!peer->closing) {
        peer->closing = true;
        peer->close_code = code;
        (void)snprintf(peer->close_reason, sizeof peer->close_reason, "%s", reason);
        (void)lws_callback_on_writable(peer->wsi);
    }
}

void web_peer_accept_long(struct web_peer *peer, size_t bytes)
{
    peer->received_most = bytes;
}

const char *web_peer_query_token(const struct web_peer *peer)
{
    return peer->token;
}

int web_peer_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t bytes)
{
    struct web_session *session = user;
    switch ((int)reason) {
    case LWS_CALLBACK_ESTABLISHED:
        return on_established(wsi, session);
    case LWS_CALLBACK_CLOSED:
        return on_closed(session);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: /* nonzero: no second close frame answers the one that answers ours */
        return session->peer != NULL && session->peer->close_sent;
    case LWS_CALLBACK_RECEIVE:
        return session->peer != NULL ? on_received(wsi, session->peer, in, bytes) : -1;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return session->peer != NULL ? on_writable(wsi, session->peer) : -1;
    default:
        return 0;
    }
}
