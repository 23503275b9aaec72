#include "gate/gate.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"

#define CARE_MS 1000
#define REFUSALS_MS 10000
#define ACCEPTS_PER_TURN 16
#define GAP_MS 250 /* a pause of this process (stopped, starved) does not count for the deadlines of clients */

/* ---- reports ---- */

static void report(const struct srv_gate *gate, const char *sentence)
{
    gate->reports.event(gate->reports.context, sentence);
}

static void report_refusal(struct srv_gate *gate, const char *from, const char *reason, int64_t now_ms)
{
    char sentence[400];
    gate->refusals++;
    if (now_ms < gate->next_refusal_ms) {
        return;
    }
    const int length = snprintf(sentence, sizeof sentence, "a connection from %s is refused: %s", from, reason);
    if (gate->refusals > 1 && length > 0 && (size_t)length < sizeof sentence) {
        (void)snprintf(sentence + length, sizeof sentence - (size_t)length, "; %u others before it were not reported", gate->refusals - 1);
    }
    gate->refusals = 0;
    gate->next_refusal_ms = now_ms + REFUSALS_MS;
    report(gate, sentence);
}

/* ---- sessions ---- */

static void end_session(struct srv_gate *gate, uint32_t index, int64_t now_ms)
{
    struct srv_session *session = gate->sessions[index];
    if (session->reason[0] != '\0') {
        report_refusal(gate, session->from, session->reason, now_ms);
    }
    srv_places_leave(&gate->places, session->id);
    srv_session_close(session);
    gate->sessions[index] = gate->sessions[--gate->count];
}

static void run_session(struct srv_gate *gate, uint32_t index, int64_t now_ms)
{
    struct srv_session *session = gate->sessions[index];
    srv_session_run(session, &gate->shared);
    if (srv_session_is_opening(session) && now_ms >= session->deadline_ms) {
        srv_session_end(session, "the handshake took longer than 5 s");
    }
    if (session->state == SRV_SESSION_OVER) {
        end_session(gate, index, now_ms);
    }
}

static void end_all(struct srv_gate *gate, int64_t now_ms)
{
    while (gate->count > 0) {
        gate->sessions[0]->reason[0] = '\0';
        end_session(gate, 0, now_ms);
    }
}

/* The connection of this peer (NULL: of any peer) whose handshake began first. UINT32_MAX: no handshake is under way. */
static uint32_t find_oldest_opening(const struct srv_gate *gate, const struct srv_peer *peer)
{
    uint32_t oldest = UINT32_MAX;
    for (uint32_t i = 0; i < gate->count; i++) {
        const struct srv_session *session = gate->sessions[i];
        const bool fits = peer == NULL || (session->peer.kind == peer->kind && session->peer.address == peer->address);
        if (fits && srv_session_is_opening(session) &&
            (oldest == UINT32_MAX || session->deadline_ms < gate->sessions[oldest]->deadline_ms)) {
            oldest = i;
        }
    }
    return oldest;
}

static bool end_oldest_opening(struct srv_gate *gate, const struct srv_peer *peer, int64_t now_ms)
{
    const uint32_t oldest = find_oldest_opening(gate, peer);
    if (oldest == UINT32_MAX) {
        return false;
    }
    srv_session_end(gate->sessions[oldest], "its handshake was unfinished when all places were taken");
    end_session(gate, oldest, now_ms);
    return true;
}

/* Ends an unfinished handshake: one of this peer, or, if the whole gate is full, one of any peer. */
static bool make_room(struct srv_gate *gate, const struct srv_peer *peer, int64_t now_ms)
{
    return end_oldest_opening(gate, peer, now_ms) || (gate->count >= SRV_PLACES_TCP && end_oldest_opening(gate, NULL, now_ms));
}

static uint32_t count_controls(const struct srv_gate *gate)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gate->count; i++) {
        count += gate->sessions[i]->state == SRV_SESSION_RELAYING;
    }
    return count;
}

static const char *why_no_place(struct srv_gate *gate, const struct srv_gate_listener *listener, const struct srv_peer *peer, int64_t now_ms)
{
    if (listener->control && count_controls(gate) >= SRV_GATE_CONTROLS_MAX) {
        return "8 clients control this world from other machines already";
    }
    while (srv_places_are_full(&gate->places, peer)) {
        if (!make_room(gate, peer, now_ms)) {
            return "all places are taken";
        }
    }
    return NULL;
}

static bool accept_one(struct srv_gate *gate, const struct srv_gate_listener *listener, int64_t now_ms)
{
    struct srv_peer peer;
    char from[96];
    const int fd = srv_gate_listener_accept(listener, &peer, from, sizeof from);
    if (fd < 0) {
        return (errno == EMFILE || errno == ENFILE) && end_oldest_opening(gate, NULL, now_ms);
    }
    const char *full = why_no_place(gate, listener, &peer, now_ms);
    if (full != NULL) {
        (void)close(fd);
        report_refusal(gate, from, full, now_ms);
        return true;
    }
    struct srv_session *session = srv_session_open(gate->keys.context, fd, listener->control, now_ms);
    if (session != NULL) {
        session->id = ++gate->next_id;
        session->peer = peer;
        (void)snprintf(session->from, sizeof session->from, "%s", from);
        (void)srv_places_take(&gate->places, session->id, &peer);
        gate->sessions[gate->count++] = session;
    }
    return true;
}

/* ---- listeners and files, once a second ---- */

static void open_listener(struct srv_gate *gate, uint32_t index, struct oto_error *error)
{
    struct srv_gate_listener *listener = &gate->listeners[index];
    if (srv_gate_listener_open(listener, error) == OTO_OK) {
        char url[160];
        srv_gate_listener_url(listener, url, sizeof url);
        gate->reports.endpoint(gate->reports.context, index, url);
        gate->complained[index] = false;
    } else if (!gate->complained[index]) {
        gate->complained[index] = true;
        gate->reports.closed(gate->reports.context, index);
        report(gate, error->text);
    }
}

/* Reads changed certificate files, and ends the connections that were accepted with the old files; their clients reconnect. */
static void reload_keys(struct srv_gate *gate, int64_t now_ms)
{
    struct oto_error error = {0};
    if (!srv_keys_have_changed(&gate->keys)) {
        return;
    }
    char sentence[sizeof error.text + 96];
    if (srv_keys_load(&gate->keys, &error) != OTO_OK) {
        (void)snprintf(sentence, sizeof sentence, "%s; the files that were read before stay in use", error.text);
    } else {
        (void)snprintf(sentence, sizeof sentence, "the certificate files have changed and were read; %u connections end", gate->count);
        end_all(gate, now_ms);
    }
    report(gate, sentence);
}

static void care(struct srv_gate *gate, int64_t now_ms)
{
    char sentence[400];
    struct oto_error error = {0};
    if (now_ms < gate->next_care_ms) {
        return;
    }
    gate->next_care_ms = now_ms + CARE_MS;
    reload_keys(gate, now_ms);
    if (srv_keys_warning(&gate->keys, (int64_t)time(NULL), sentence, sizeof sentence)) {
        report(gate, sentence);
    }
    for (uint32_t i = 0; i < gate->listener_count; i++) {
        if (gate->listeners[i].fd < 0) {
            open_listener(gate, i, &error);
        }
    }
}

enum oto_status srv_gate_open(struct srv_gate *gate, const struct srv_gate_options *options, const struct srv_gate_reports *reports,
                              struct oto_error *error)
{
    gate->shared.options = options;
    gate->reports = *reports;
    gate->keys.files = options->files;
    gate->listener_count = options->listen_count;
    for (uint32_t i = 0; i < options->listen_count; i++) {
        gate->listeners[i] = (struct srv_gate_listener){.url = options->listen[i], .control = srv_gate_is_control(options->listen[i]), .fd = -1};
    }
    const enum oto_status status = srv_keys_load(&gate->keys, error);
    if (status == OTO_OK) {
        care(gate, srv_now_ms());
    }
    return status;
}

void srv_gate_close(struct srv_gate *gate)
{
    end_all(gate, 0);
    for (uint32_t i = 0; i < gate->listener_count; i++) {
        srv_gate_listener_close(&gate->listeners[i]);
    }
    srv_frames_finish(&gate->shared.frames);
    srv_keys_finish(&gate->keys);
}

/* ---- turns ---- */

#define POLLS_MAX (1 + SRV_GATE_LISTEN_MAX + 2 * SRV_PLACES)

static void wait_ready(const struct srv_gate *gate, int other_fd, int64_t timeout_ns)
{
    struct pollfd polls[POLLS_MAX];
    const struct timespec timeout = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    uint32_t count = 0;
    polls[count++] = (struct pollfd){.fd = other_fd, .events = POLLIN};
    for (uint32_t i = 0; i < gate->listener_count; i++) {
        polls[count++] = (struct pollfd){.fd = gate->listeners[i].fd, .events = POLLIN};
    }
    for (uint32_t i = 0; i < gate->count; i++) {
        count += srv_session_poll(gate->sessions[i], &polls[count]);
    }
    (void)ppoll(polls, count, &timeout, NULL);
}

static void run_sessions(struct srv_gate *gate, int64_t now_ms)
{
    for (uint32_t i = gate->count; i-- > 0;) { /* backwards: the last session, which has run, replaces one that ends */
        run_session(gate, i, now_ms);
    }
}

static void excuse_gap(struct srv_gate *gate, int64_t now_ms)
{
    const int64_t gap_ms = gate->last_run_ms != 0 ? now_ms - gate->last_run_ms : 0;
    gate->last_run_ms = now_ms;
    for (uint32_t i = 0; i < gate->count && gap_ms > GAP_MS; i++) {
        gate->sessions[i]->deadline_ms += gap_ms;
    }
}

void srv_gate_run(struct srv_gate *gate, int other_fd, int64_t timeout_ns)
{
    wait_ready(gate, other_fd, timeout_ns);
    const int64_t now_ms = srv_now_ms();
    excuse_gap(gate, now_ms);
    run_sessions(gate, now_ms);
    for (uint32_t i = 0; i < gate->listener_count; i++) {
        for (int turn = 0; turn < ACCEPTS_PER_TURN && gate->listeners[i].fd >= 0 && accept_one(gate, &gate->listeners[i], now_ms); turn++) {
        }
    }
    care(gate, now_ms);
}

void srv_gate_push(struct srv_gate *gate)
{
    const int64_t now_ms = srv_now_ms();
    for (uint32_t i = gate->count; i-- > 0;) {
        if (gate->sessions[i]->state == SRV_SESSION_STREAMING) {
            run_session(gate, i, now_ms);
        }
    }
}

void srv_gate_put(struct srv_gate *gate, const void *data, size_t bytes)
{
    srv_frames_put(&gate->shared.frames, data, bytes);
}

bool srv_gate_has_subscribers(const struct srv_gate *gate)
{
    bool any = false;
    for (uint32_t i = 0; i < gate->count; i++) {
        any = any || gate->sessions[i]->state == SRV_SESSION_STREAMING;
    }
    return any;
}

bool srv_gate_take_connected(struct srv_gate *gate)
{
    bool any = false;
    for (uint32_t i = 0; i < gate->count; i++) {
        any = any || gate->sessions[i]->connected;
        gate->sessions[i]->connected = false;
    }
    return any;
}
