/* The control socket of a player: the verbs that have a meaning for a recording. Only the player's own user and root may connect. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/monotonic.h"
#include "base/pass_fd.h"
#include "otolith/version.h"
#include "play/player.h"
#include "wire/control_verbs.h"

#define MESSAGES_PER_TURN 64
#define LOSSLESS_LIMIT_NS INT64_C(5000000000)

struct request {
    struct srv_player *player;
    uint32_t client;
};

/* ---- replies ---- */

static void send_reply(const struct request *request, struct oto_message_writer *writer, int passed_fd)
{
    const size_t bytes = oto_message_finish(writer);
    /* A client that does not read its replies loses them. */
    (void)srv_send_with_fds(request->player->clients[request->client].fd, writer->data, bytes, &passed_fd, passed_fd >= 0 ? 1 : 0,
                            MSG_DONTWAIT);
}

static struct oto_message_writer begin_reply(const struct request *request, enum oto_status status, const char *text)
{
    struct srv_player *player = request->player;
    struct oto_message_writer writer;
    struct oto_clock clock = {0};
    (void)oto_segment_clock(player->playback.segment.header, &clock);
    oto_message_begin(&writer, player->reply, sizeof player->reply, player->message.id, "reply");
    oto_message_add_u64(&writer, "status", (uint64_t)status);
    oto_message_add_text(&writer, "text", text);
    oto_message_add_u64(&writer, "tick", clock.tick);
    return writer;
}

static void reply(const struct request *request, enum oto_status status, const char *text)
{
    struct oto_message_writer writer = begin_reply(request, status, text);
    send_reply(request, &writer, -1);
}

/* ---- verbs ---- */

static enum oto_status run_attach(const struct request *request, struct oto_error *error)
{
    const struct oto_segment_header *header = request->player->playback.segment.header;
    if (request->player->clients[request->client].attached) {
        return oto_fail(error, OTO_EXISTS, "this connection is attached already");
    }
    request->player->clients[request->client].attached = true;
    struct oto_message_writer writer = begin_reply(request, OTO_OK, "");
    oto_message_add_text(&writer, "world", header->world);
    oto_message_add_u64(&writer, "bytes", header->segment_bytes);
    oto_message_add_u64(&writer, "epoch", header->epoch);
    oto_message_add_text(&writer, "role", "admin");
    send_reply(request, &writer, request->player->playback.segment.fd);
    return OTO_AGAIN; /* the reply has been sent */
}

/* The request `wake` needs no action: a player wakes all readers at each step of its clock. */
static enum oto_status run_wake(const struct request *request, struct oto_error *error)
{
    (void)request;
    (void)error;
    return OTO_OK;
}

static enum oto_status run_info(const struct request *request, struct oto_error *error)
{
    const struct srv_player *player = request->player;
    const char *link = player->page != NULL && srv_supervisor_listens(player->page, 0) ? srv_supervisor_endpoint(player->page, 0) : "";
    char file[PATH_MAX], tokens[SRV_RUNTIME_PATH_BYTES + 8] = "";
    struct oto_json json = {.layout = OTO_JSON_LINE};
    (void)error;
    if (link[0] != '\0') {
        (void)snprintf(tokens, sizeof tokens, "%s.web", player->runtime.path);
    }
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "world", player->playback.world);
    oto_json_text(&json, "version", OTO_VERSION_STRING);
    oto_json_i64(&json, "pid", getpid());
    oto_json_text(&json, "recording", realpath(player->file, file) != NULL ? file : "");
    oto_json_i64(&json, "start_ns", player->playback.start_ns);
    oto_json_i64(&json, "end_ns", player->playback.end_ns);
    oto_json_i64(&json, "t_ns", player->playback.t_ns);
    oto_json_number(&json, "scale", player->scale);
    oto_json_flag(&json, "paused", player->paused);
    oto_json_u64(&json, "published", player->playback.published);
    oto_json_text(&json, "page", link);
    oto_json_text(&json, "page_tokens", tokens);
    oto_json_flag(&json, "page_expected", player->page != NULL && srv_supervisor_serves(player->page));
    oto_json_i64(&json, "web_pid", player->page != NULL ? srv_supervisor_pid(player->page) : 0);
    oto_json_close(&json, '}');
    reply(request, json.failed ? OTO_NO_MEMORY : OTO_OK, json.failed ? "out of memory" : json.text);
    oto_json_free(&json);
    return OTO_AGAIN;
}

static enum oto_status run_pause(const struct request *request, struct oto_error *error)
{
    (void)error;
    srv_player_pace(request->player, true, request->player->scale);
    return OTO_OK;
}

static enum oto_status run_resume(const struct request *request, struct oto_error *error)
{
    (void)error;
    srv_player_pace(request->player, false, request->player->scale);
    return OTO_OK;
}

static enum oto_status run_scale(const struct request *request, struct oto_error *error)
{
    const double scale = oto_message_f64_or(&request->player->message, "scale", 0.0);
    if (!(scale > 0.0 && scale <= 1e6)) {
        return oto_fail(error, OTO_RANGE, "scale %g; above 0 and at most 1000000 is accepted", scale);
    }
    srv_player_pace(request->player, request->player->paused, scale);
    return OTO_OK;
}

static enum oto_status run_step(const struct request *request, struct oto_error *error)
{
    struct srv_player *player = request->player;
    const uint64_t ticks = oto_message_u64_or(&player->message, "ticks", 0);
    srv_player_pace(player, true, player->scale);
    const double ns = (double)ticks * 1e9 * (double)player->playback.rate_den / (double)player->playback.rate_num;
    const int64_t left_ns = player->playback.end_ns - player->playback.t_ns;
    const int64_t step_ns = ns < (double)left_ns ? (int64_t)(ns + 0.5) : left_ns;
    const enum oto_status published = srv_player_publish(player, player->playback.t_ns + step_ns, error);
    srv_player_pace(player, true, player->scale);
    return published == OTO_CLOSED || published == OTO_AGAIN ? OTO_OK : published;
}

static enum oto_status run_seek(const struct request *request, struct oto_error *error)
{
    struct srv_player *player = request->player;
    const struct srv_playback *playback = &player->playback;
    const double t_s = oto_message_f64_or(&player->message, "t_s", 0.0);
    if (!isfinite(t_s) || t_s * 1e9 < (double)playback->start_ns - 0.5 || t_s * 1e9 > (double)playback->end_ns + 0.5) {
        return oto_fail(error, OTO_RANGE, "the recording is from %.9g s to %.9g s: %.9g s is not in it",
                        (double)playback->start_ns * 1e-9, (double)playback->end_ns * 1e-9, t_s);
    }
    player->has_seek = true; /* the seek is done after this reply, because it begins a new run */
    player->seek_ns = (int64_t)(t_s * 1e9 + 0.5);
    return OTO_OK;
}

static enum oto_status run_shutdown(const struct request *request, struct oto_error *error)
{
    (void)error;
    srv_runtime_dir_retire(&request->player->runtime); /* before the reply: the client may start the next world of that name */
    request->player->ended = true;
    return OTO_OK;
}

static void end_lossless(struct srv_play_client *client)
{
    free(client->lossless.channels);
    free(client->lossless.next);
    client->lossless = (struct srv_play_lossless){0};
}

static enum oto_status run_lossless(const struct request *request, struct oto_error *error)
{
    struct srv_player *player = request->player;
    struct srv_play_client *client = &player->clients[request->client];
    const struct oto_argument *list = oto_message_find(&player->message, "channels");
    if (oto_message_find(&player->message, "first") != NULL) {
        return oto_fail(error, OTO_LIMIT, "of a recording that is played at most %u channels are read without loss", OTO_MESSAGE_MAX_LIST);
    }
    end_lossless(client);
    struct srv_play_lossless lossless = {.count = list->count,
                                         .channels = calloc((size_t)list->count + 1, sizeof(uint32_t)),
                                         .next = calloc((size_t)list->count + 1, sizeof(uint64_t))};
    bool good = lossless.channels != NULL && lossless.next != NULL;
    for (uint32_t i = 0; i < list->count && good; i++) {
        good = list->u64_list[i] < player->playback.recorded->count;
        lossless.channels[i] = (uint32_t)list->u64_list[i];
        lossless.next[i] = good ? player->playback.rings[list->u64_list[i]].head + 1 : 0;
    }
    client->lossless = lossless;
    if (!good) {
        end_lossless(client);
        return oto_fail(error, OTO_RANGE, "lossless: a channel that the recording does not have");
    }
    struct oto_message_writer writer = begin_reply(request, OTO_OK, "");
    oto_message_add_u64(&writer, "slot", 0);
    send_reply(request, &writer, -1);
    return OTO_AGAIN;
}

/* This request gets no reply, also when it is invalid. */
static enum oto_status run_acknowledge(const struct request *request, struct oto_error *error)
{
    struct srv_play_lossless *lossless = &request->player->clients[request->client].lossless;
    const struct oto_argument *list = oto_message_find(&request->player->message, "next");
    (void)error;
    if (list->count == lossless->count) {
        memcpy(lossless->next, list->u64_list, list->count * sizeof *lossless->next);
    }
    return OTO_AGAIN;
}

/* The functions of the verbs that have a meaning for a recording. OTO_AGAIN: no further reply. */
static enum oto_status (*const verbs[OTO_VERB_COUNT])(const struct request *request, struct oto_error *error) = {
    [OTO_VERB_ATTACH] = run_attach,   [OTO_VERB_WAKE] = run_wake,         [OTO_VERB_INFO] = run_info,
    [OTO_VERB_PAUSE] = run_pause,     [OTO_VERB_RESUME] = run_resume,     [OTO_VERB_SCALE] = run_scale,
    [OTO_VERB_STEP] = run_step,       [OTO_VERB_SEEK] = run_seek,         [OTO_VERB_SHUTDOWN] = run_shutdown,
    [OTO_VERB_LOSSLESS] = run_lossless, [OTO_VERB_ACK] = run_acknowledge};

static void dispatch(const struct request *request)
{
    const struct oto_message *message = &request->player->message;
    const enum oto_verb_id id = oto_verb_find(message->op);
    struct oto_error error = {0};
    enum oto_status status;
    if (id == OTO_VERB_COUNT || verbs[id] == NULL) {
        status = oto_fail(&error, OTO_UNSUPPORTED, "this world is a recording that is played: '%s' has no meaning for it", message->op);
    } else {
        status = oto_verb_check(&oto_verbs[id], message, &error);
        status = status == OTO_OK ? verbs[id](request, &error) : oto_verbs[id].wait == OTO_WAIT_NONE ? OTO_AGAIN : status;
    }
    if (status != OTO_AGAIN) {
        reply(request, status, status == OTO_OK ? "" : error.text);
    }
}

/* ---- lossless readers ---- */

/* The playback waits at most five seconds for a reader that acknowledges nothing. */
bool srv_player_has_room(void *context, uint32_t channel)
{
    struct srv_player *player = context;
    const struct srv_ring *ring = &player->playback.rings[channel];
    for (uint32_t c = 0; c < player->client_count && player->scale == 0.0; c++) {
        struct srv_play_lossless *lossless = &player->clients[c].lossless;
        for (uint32_t i = 0; i < lossless->count; i++) {
            if (lossless->channels[i] != channel || ring->head + 1 - lossless->next[i] <= ring->mask - ring->mask / 8) {
                continue;
            }
            const int64_t now_ns = srv_now_ns();
            player->stalled_ns = player->stalled_ns == 0 ? now_ns : player->stalled_ns;
            if (now_ns - player->stalled_ns < LOSSLESS_LIMIT_NS) {
                return false;
            }
            end_lossless(&player->clients[c]);
            break;
        }
    }
    player->stalled_ns = 0;
    return true;
}

/* ---- connections ---- */

void srv_player_accept(struct srv_player *player)
{
    for (;;) {
        const int fd = accept4(player->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred peer = {.uid = (uid_t)-1};
        socklen_t bytes = sizeof peer;
        if (fd < 0) {
            return;
        }
        const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
        if (!known || (peer.uid != 0 && peer.uid != geteuid()) || player->client_count == SRV_PLAYER_MOST_CLIENTS) {
            (void)close(fd);
            continue;
        }
        player->clients[player->client_count++] = (struct srv_play_client){.fd = fd};
    }
}

static void close_client(struct srv_player *player, uint32_t index)
{
    end_lossless(&player->clients[index]);
    (void)close(player->clients[index].fd);
    player->clients[index] = player->clients[--player->client_count];
}

void srv_player_serve(struct srv_player *player, uint32_t client)
{
    const struct request request = {player, client};
    for (int i = 0; i < MESSAGES_PER_TURN && !player->has_seek; i++) {
        struct oto_error error = {0};
        const ssize_t bytes = recv(player->clients[client].fd, player->received, sizeof player->received, MSG_DONTWAIT);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (bytes <= 0) {
            close_client(player, client);
            return;
        }
        if (oto_message_decode(player->received, (size_t)bytes, &player->message, &error) == OTO_OK) {
            dispatch(&request);
        } else {
            player->message.id = 0;
            reply(&request, error.status, error.text);
        }
    }
}

void srv_player_end_run(struct srv_player *player)
{
    for (uint32_t i = player->client_count; i-- > 0;) { /* backwards, because the last client takes the place of a closed one */
        if (player->clients[i].attached) {
            close_client(player, i);
        }
    }
}

void srv_player_close_clients(struct srv_player *player)
{
    while (player->client_count > 0) {
        close_client(player, player->client_count - 1);
    }
}
