#include "page/page.h"

#include <stdlib.h>
#include <string.h>

#include "page/control.h"
#include "page/describe.h"
#include "page/feed.h"
#include "page/places.h"
#include "tokens.h"

#define FRAME_MS 16
#define STATUS_EVERY 15 /* frames */
#define HELLO_MS 5000   /* a connection must send its token within this time */
#define FRAMES_UNACKNOWLEDGED 4u /* limit for a page that does not acknowledge; a slow page gets fewer and larger frames */
#define QUEUE_BYTES (512u << 10) /* if more bytes are queued, no frame is added */
#define EVENTS_A_FRAME 32u
#define WATCHED_MAX 512u /* channels whose records are counted for a page */
#define LINES_MAX (WEB_FEED_COLUMNS + 8u)
#define CLOSE_REFUSED 4001 /* wrong token */
#define CLOSE_LATE 4002    /* no token within HELLO_MS: the page connects again, as the machine may have been busy */

/* One connected page. */
struct web_viewer {
    struct web_viewer *previous, *next;
    struct web_page *page;
    struct web_peer *peer;
    uint64_t number, since_ms;
    bool admitted, may_control;
    uint32_t described;            /* index of the first channel that was not described yet */
    uint32_t watched[WATCHED_MAX]; /* indices of channels */
    uint32_t watched_count;
    bool wants_places;
    double places_time_s; /* of the positions that were sent last */
    uint32_t sent_bytes, acknowledged_bytes; /* of frames, modulo 2^32 */
    uint32_t sent_after[FRAMES_UNACKNOWLEDGED]; /* sent_bytes after each of the last frames */
    uint32_t frame;                             /* index of the oldest of them */
    double sim_time_s;                       /* in the last frame */
    struct web_feed feed;
    struct oto_reader events;
    bool has_events;
};

struct web_page {
    struct web_page_options options;
    struct web_world_listener listener;
    struct web_control *control;
    struct web_viewer *viewers;
    uint64_t viewer_count; /* number of the newest viewer */
    uv_timer_t timer;
    uint32_t frame;
    struct oto_json json;
    struct web_tick_times times;
    struct web_types types;
    struct web_places places;
    struct web_feed_room room;
};

static void send_text(struct web_viewer *viewer)
{
    const struct oto_json *json = &viewer->page->json;
    if (!json->failed) {
        (void)web_peer_send(viewer->peer, json->text, json->bytes, false); /* beyond the limit a message is dropped */
    }
}

static void send_reply(struct web_viewer *viewer, const char *number, enum oto_status status, const char *sentence)
{
    struct oto_json *json = &viewer->page->json;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "reply");
    oto_json_text(json, "request", number);
    oto_json_text(json, "text", sentence);
    oto_json_flag(json, "ok", status == OTO_OK);
    oto_json_open(json, "params", '[');
    oto_json_close(json, ']');
    oto_json_close(json, '}');
    send_text(viewer);
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static void find_events(struct web_viewer *viewer)
{
    const struct oto_client *client = web_world_client(viewer->page->options.world);
    viewer->has_events = false;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if ((channel->flags & OTO_CHANNEL_EVENTS) != 0 && channel->type.bytes == sizeof(struct oto_event_record)) {
            viewer->events = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
            viewer->has_events = true;
            return;
        }
    }
}

static bool is_described(const struct web_viewer *viewer)
{
    return viewer->described == oto_client_channel_count(web_world_client(viewer->page->options.world));
}

/* Sends the description of the world. The page must subscribe again after each description. */
static void send_world(struct web_viewer *viewer)
{
    struct web_page *page = viewer->page;
    web_feed_clear(&viewer->feed);
    viewer->watched_count = 0;
    viewer->wants_places = false;
    web_describe_world(&page->json, page->options.world, &page->types, viewer->may_control, &viewer->described);
    send_text(viewer);
    find_events(viewer);
}

/* Sends further parts of the description, as the page takes them. */
static void describe_more(struct web_viewer *viewer)
{
    struct web_page *page = viewer->page;
    bool more = true;
    while (more && !is_described(viewer) && web_peer_queued_bytes(viewer->peer) < QUEUE_BYTES) {
        web_describe_channels(&page->json, web_world_client(page->options.world), &page->types, &viewer->described);
        more = !page->json.failed;
        send_text(viewer);
    }
}

/* A page that does not acknowledge gets nothing more; its readers fall behind, and the losses are counted. */
static bool is_ready(const struct web_viewer *viewer)
{
    const int32_t ahead = (int32_t)(viewer->acknowledged_bytes - viewer->sent_after[viewer->frame]);
    return viewer->admitted && is_described(viewer) && ahead >= 0 && web_peer_queued_bytes(viewer->peer) < QUEUE_BYTES;
}

static void send_places(struct web_page *page)
{
    struct oto_clock clock = {.tick = 0};
    size_t bytes = 0;
    (void)oto_client_clock(web_world_client(page->options.world), &clock);
    const double now_s = (double)clock.sim_time_ns * 1e-9;
    for (struct web_viewer *viewer = page->viewers; viewer != NULL; viewer = viewer->next) {
        if (!viewer->wants_places || viewer->places_time_s == now_s || !is_ready(viewer)) {
            continue;
        }
        bytes = bytes > 0 ? bytes : web_places_make(&page->places, now_s, page->room.payload);
        viewer->places_time_s = now_s;
        (void)web_peer_send(viewer->peer, page->places.message, bytes, true);
    }
}

static void send_records(struct web_viewer *viewer)
{
    struct web_page *page = viewer->page;
    if (viewer->watched_count > 0) {
        web_describe_records(&page->json, web_world_client(page->options.world), viewer->watched, viewer->watched_count);
        send_text(viewer);
    }
}

static bool takes_status(const struct web_viewer *viewer)
{
    return viewer->admitted && is_described(viewer) && web_peer_queued_bytes(viewer->peer) < QUEUE_BYTES;
}

static void send_status(struct web_page *page)
{
    for (struct web_viewer *viewer = page->viewers; viewer != NULL; viewer = viewer->next) {
        if (takes_status(viewer)) {
            send_records(viewer);
        }
    }
    web_describe_status(&page->json, web_world_client(page->options.world), &page->times,
                        web_world_is_over(page->options.world));
    for (struct web_viewer *viewer = page->viewers; viewer != NULL; viewer = viewer->next) {
        if (takes_status(viewer)) {
            send_text(viewer);
        }
    }
}

static void take_world(struct web_page *page)
{
    const struct oto_client *client = web_world_client(page->options.world);
    web_describe_types(&page->types, client);
    web_places_take(&page->places, client);
}

static void on_world_changed(void *context)
{
    struct web_page *page = context;
    if (web_world_is_over(page->options.world)) {
        return; /* the next status reports the end; the remaining records of the rings are still read */
    }
    take_world(page);
    for (struct web_viewer *viewer = page->viewers; viewer != NULL; viewer = viewer->next) {
        if (viewer->admitted) {
            send_world(viewer);
        }
    }
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void send_events(struct web_viewer *viewer)
{
    struct oto_json *json = &viewer->page->json;
    struct oto_sample_head head;
    struct oto_event_record event;
    uint32_t count = 0;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "events");
    oto_json_open(json, "items", '[');
    while (viewer->has_events && count < EVENTS_A_FRAME &&
           oto_reader_next(&viewer->events, &head, &event, sizeof event) == OTO_OK) {
        web_describe_event(json, &head, &event);
        count++;
    }
    oto_json_close(json, ']');
    oto_json_u64(json, "lost", viewer->events.cursor.lost);
    oto_json_close(json, '}');
    if (count > 0) {
        send_text(viewer);
    }
}

static void send_frame(struct web_viewer *viewer, double sim_time_s)
{
    struct web_page *page = viewer->page;
    uint32_t batches = 0;
    const size_t bytes = web_feed_frame(&viewer->feed, &page->room, &batches);
    if (batches == 0 && sim_time_s == viewer->sim_time_s) {
        return;
    }
    viewer->sim_time_s = sim_time_s;
    viewer->sent_bytes += (uint32_t)bytes;
    viewer->sent_after[viewer->frame] = viewer->sent_bytes;
    viewer->frame = (viewer->frame + 1) % FRAMES_UNACKNOWLEDGED;
    web_feed_header(page->room.frame, batches, sim_time_s, viewer->sent_bytes, web_world_run(page->options.world));
    (void)web_peer_send(viewer->peer, page->room.frame, bytes, true); /* the queue has room: see is_ready */
}

static void serve_viewers(struct web_page *page)
{
    struct oto_clock clock = {.tick = 0};
    (void)oto_client_clock(web_world_client(page->options.world), &clock);
    const uint64_t now_ms = uv_now(page->options.loop);
    for (struct web_viewer *viewer = page->viewers; viewer != NULL; viewer = viewer->next) {
        if (viewer->admitted) {
            describe_more(viewer);
        }
        if (is_ready(viewer)) {
            send_events(viewer);
            send_frame(viewer, (double)clock.sim_time_ns * 1e-9);
        } else if (!viewer->admitted && now_ms - viewer->since_ms > HELLO_MS) {
            web_peer_close(viewer->peer, CLOSE_LATE, "no token was presented in time");
        }
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct web_page *page = timer->data;
    serve_viewers(page);
    if (++page->frame % STATUS_EVERY == 0) {
        send_status(page);
        send_places(page);
    }
}

/* ---- messages of the page: lines, the first is the verb ---------------------------------------------------------- */

static void on_hello(struct web_viewer *viewer, char **lines, uint32_t count)
{
    const struct web_page_options *options = &viewer->page->options;
    const char *read = count > 1 ? lines[1] : "", *control = count > 2 ? lines[2] : "";
    viewer->may_control = web_token_equals(options->control_token, control);
    viewer->admitted = viewer->may_control || options->read_token == NULL || web_token_equals(options->read_token, read);
    if (viewer->admitted) {
        send_world(viewer);
    } else {
        web_peer_close(viewer->peer, CLOSE_REFUSED, "wrong token");
    }
}

static void on_subscribe(struct web_viewer *viewer, char **lines, uint32_t count)
{
    struct oto_error error = {0};
    const unsigned long id = count > 1 ? strtoul(lines[1], NULL, 10) : 0;
    const struct oto_client *client = web_world_client(viewer->page->options.world);
    if (count < 4 || id > UINT16_MAX) {
        send_reply(viewer, "", OTO_INVALID, "subscribe takes a number, a topic and columns");
    } else if (web_feed_subscribe(&viewer->feed, client, (uint16_t)id, lines[2], (const char *const *)&lines[3], count - 3,
                                  &error) != OTO_OK) {
        send_reply(viewer, "", error.status, error.text);
    }
}

static void on_unsubscribe(struct web_viewer *viewer, char **lines, uint32_t count)
{
    if (count > 1) {
        web_feed_unsubscribe(&viewer->feed, (uint16_t)strtoul(lines[1], NULL, 10));
    }
}

static void on_acknowledge(struct web_viewer *viewer, char **lines, uint32_t count)
{
    if (count > 1) {
        viewer->acknowledged_bytes = (uint32_t)strtoul(lines[1], NULL, 10);
    }
}

/* Handles "watch INDEX,INDEX,…": the channels whose records are counted for the page. */
static void on_watch(struct web_viewer *viewer, char **lines, uint32_t count)
{
    const uint32_t channels = oto_client_channel_count(web_world_client(viewer->page->options.world));
    const char *text = count > 1 ? lines[1] : "";
    viewer->watched_count = 0;
    while (*text >= '0' && *text <= '9' && viewer->watched_count < WATCHED_MAX) {
        char *end;
        const unsigned long index = strtoul(text, &end, 10);
        if (index < channels) {
            viewer->watched[viewer->watched_count++] = (uint32_t)index;
        }
        text = *end == ',' ? end + 1 : end;
    }
}

static void on_places(struct web_viewer *viewer, char **lines, uint32_t count)
{
    viewer->wants_places = count > 1 && strcmp(lines[1], "on") == 0;
    viewer->places_time_s = -1.0;
}

/* Handles the message "do NUMBER VERB ARGUMENT…", one word a line. */
static void on_do(struct web_viewer *viewer, char **lines, uint32_t count)
{
    struct oto_error error = {0};
    if (count < 3 || count - 3 > WEB_CONTROL_ARGUMENTS) {
        send_reply(viewer, "", OTO_INVALID, "a request has a number, a verb and up to four arguments");
        return;
    }
    const enum oto_status status =
        web_control_request(viewer->page->control, viewer->number, viewer->may_control, lines[1], lines[2],
                            (const char *const *)&lines[3], count - 3, &error);
    if (status != OTO_OK) {
        send_reply(viewer, lines[1], status, error.text);
    }
}

static const struct {
    const char *name;
    void (*take)(struct web_viewer *viewer, char **lines, uint32_t count);
    bool is_hello;
} messages[] = {{"hello", on_hello, true},
                {"subscribe", on_subscribe, false},
                {"unsubscribe", on_unsubscribe, false},
                {"ack", on_acknowledge, false},
                {"watch", on_watch, false},
                {"places", on_places, false},
                {"do", on_do, false}};

/* Splits the text at its newlines, in place. */
static uint32_t split(char *text, char **lines)
{
    uint32_t count = 0;
    for (char *line = text; line != NULL && count < LINES_MAX; count++) {
        lines[count] = line;
        line = strchr(line, '\n');
        if (line != NULL) {
            *line++ = 0;
        }
    }
    return count;
}

static void on_received(void *state, const void *data, size_t bytes, bool binary)
{
    struct web_viewer *viewer = state;
    char text[WEB_MESSAGE_MAX_BYTES + 1], *lines[LINES_MAX];
    memcpy(text, data, bytes);
    text[bytes] = 0;
    const uint32_t count = binary ? 0 : split(text, lines);
    for (size_t i = 0; count > 0 && i < sizeof messages / sizeof *messages; i++) {
        if (strcmp(lines[0], messages[i].name) == 0 && messages[i].is_hello != viewer->admitted) {
            messages[i].take(viewer, lines, count);
            return;
        }
    }
    web_peer_close(viewer->peer, CLOSE_REFUSED, "the message is not of otolith.v1, or no token was presented");
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void *on_connected(void *context, struct web_peer *peer)
{
    struct web_page *page = context;
    struct web_viewer *viewer = calloc(1, sizeof *viewer);
    if (viewer == NULL) {
        return NULL;
    }
    viewer->page = page;
    viewer->peer = peer;
    viewer->number = ++page->viewer_count;
    viewer->since_ms = uv_now(page->options.loop);
    viewer->next = page->viewers;
    if (page->viewers != NULL) {
        page->viewers->previous = viewer;
    } else {
        (void)uv_timer_start(&page->timer, on_timer, FRAME_MS, FRAME_MS);
    }
    page->viewers = viewer;
    return viewer;
}

static void on_closed(void *state)
{
    struct web_viewer *viewer = state;
    struct web_page *page = viewer->page;
    if (viewer->previous != NULL) {
        viewer->previous->next = viewer->next;
    } else {
        page->viewers = viewer->next;
    }
    if (viewer->next != NULL) {
        viewer->next->previous = viewer->previous;
    }
    free(viewer);
    if (page->viewers == NULL) {
        (void)uv_timer_stop(&page->timer); /* while no page is connected this process sleeps */
    }
}

static void on_reply(void *context, uint64_t number, const char *text, size_t bytes)
{
    const struct web_page *page = context;
    for (struct web_viewer *viewer = page->viewers; viewer != NULL; viewer = viewer->next) {
        if (viewer->number == number) {
            (void)web_peer_send(viewer->peer, text, bytes, false);
        }
    }
}

enum oto_status web_page_open(const struct web_page_options *options, struct web_page **page, struct oto_error *error)
{
    struct web_page *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the page");
    }
    made->options = *options;
    made->json.layout = OTO_JSON_COMPACT;
    const enum oto_status status = web_control_open(options->loop, options->socket_path, on_reply, made, &made->control, error);
    if (status != OTO_OK) {
        free(made);
        return status;
    }
    take_world(made);
    made->listener = (struct web_world_listener){.context = made, .changed = on_world_changed};
    web_world_listen(options->world, &made->listener);
    (void)uv_timer_init(options->loop, &made->timer);
    made->timer.data = made;
    *page = made;
    return OTO_OK;
}

struct web_protocol web_page_protocol(struct web_page *page)
{
    return (struct web_protocol){
        .name = "otolith.v1", .context = page, .connected = on_connected, .received = on_received, .closed = on_closed};
}
