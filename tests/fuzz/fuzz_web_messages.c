/*
 * What a connection may send to otolith-web: messages of the page's otolith.v1 and of both Foxglove sub-protocols. The input is a
 * byte that chooses the sub-protocol and the tokens, then messages: a byte of kind, two of length (little-endian), and the text.
 * The world is the small segment of fake_server.h. Connections, timers and replies of the server are this file's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_server.h"
#include "foxglove/session.h"
#include "page/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { PAGE = 0, FOXGLOVE = 1, ADMITTED = 2, CONTROL = 4, PLAYS = 8, OPTIONS = 16 }; /* bits of the first byte */
enum { MESSAGES = 64, TURNS = 2 };
#define READ_TOKEN "00000000000000000000000000000001"
#define CONTROL_TOKEN "00000000000000000000000000000002"

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* ---- what is replaced: the connection, libuv's timers, the world's restarts, the server's replies ---- */

struct web_peer {
    const char *token;
    size_t sent_bytes;
    bool closed;
};

struct web_control {
    web_control_reply reply;
    void *context;
    uint64_t viewer;
    char number[24];
    bool waits;
};

struct web_world {
    struct oto_client *client;
    struct web_recording recording;
};

static struct web_control controls[2];
static uint32_t control_count;
static uv_timer_cb callbacks[2];
static uv_timer_t *timers[2];
static uint32_t timer_count;

enum oto_status web_peer_send(struct web_peer *peer, const void *data, size_t bytes, bool binary)
{
    uint64_t sum = binary;
    for (size_t i = 0; i < bytes; i++) {
        sum += ((const unsigned char *)data)[i];
    }
    peer->sent_bytes += bytes + (sum == UINT64_MAX);
    return peer->sent_bytes > WEB_QUEUE_MAX_BYTES ? OTO_LIMIT : OTO_OK;
}

size_t web_peer_queued_bytes(const struct web_peer *peer)
{
    return peer->sent_bytes;
}

void web_peer_close(struct web_peer *peer, uint16_t code, const char *reason)
{
    must(code >= 1000 && strlen(reason) <= 120);
    peer->closed = true;
}

void web_peer_accept_long(struct web_peer *peer, size_t bytes)
{
    must(peer->token[0] != 0 && bytes > WEB_MESSAGE_MAX_BYTES);
}

const char *web_peer_query_token(const struct web_peer *peer)
{
    return peer->token;
}

void web_world_listen(struct web_world *world, struct web_world_listener *listener)
{
    must(world->client != NULL && listener->changed != NULL);
}

struct oto_client *web_world_client(struct web_world *world)
{
    return world->client;
}

bool web_world_is_over(const struct web_world *world)
{
    return world->client == NULL;
}

const struct web_recording *web_world_recording(const struct web_world *world)
{
    return &world->recording;
}

uint32_t web_world_run(const struct web_world *world)
{
    return world->client != NULL;
}

enum oto_status web_control_open(uv_loop_t *loop, const char *socket_path, web_control_reply reply, void *context,
                                 struct web_control **control, struct oto_error *error)
{
    must(loop != NULL && socket_path != NULL && error != NULL);
    *control = &controls[control_count++];
    **control = (struct web_control){.reply = reply, .context = context};
    return OTO_OK;
}

enum oto_status web_control_request(struct web_control *control, uint64_t viewer, bool may_control, const char *number,
                                    const char *verb, const char *const *arguments, uint32_t argument_count,
                                    struct oto_error *error)
{
    size_t length = strlen(verb);
    for (uint32_t i = 0; i < argument_count; i++) {
        length += strlen(arguments[i]);
    }
    must(argument_count <= WEB_CONTROL_ARGUMENTS && length < 2 * WEB_MESSAGE_MAX_BYTES);
    if (!may_control && strcmp(verb, "get") != 0) {
        return oto_fail(error, OTO_DENIED, "it needs the control token");
    }
    if (control->waits) {
        return oto_fail(error, OTO_LIMIT, "too many requests wait");
    }
    control->waits = true;
    control->viewer = viewer;
    (void)snprintf(control->number, sizeof control->number, "%s", number);
    return OTO_OK;
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    must(loop != NULL);
    timers[timer_count++] = timer;
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t timeout_ms, uint64_t repeat_ms)
{
    must(timeout_ms == repeat_ms);
    callbacks[timer == timers[0] ? 0 : 1] = callback;
    return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
    callbacks[timer == timers[0] ? 0 : 1] = NULL;
    return 0;
}

uint64_t uv_now(const uv_loop_t *loop)
{
    return loop != NULL ? 1000000 : 0;
}

/* ---- the program, opened once ---- */

struct program {
    struct fake_server server;
    char runtime[FAKE_RUNTIME_BYTES];
    struct web_world world;
    struct web_page *page;
    struct web_foxglove *foxglove;
    uv_loop_t loop;
};
static struct program *program;

/* The memory of the page and of Foxglove stays reachable through `program`, as in otolith-web until it ends. */
static void end_program(void)
{
    oto_client_close(program->world.client);
    fake_stop(&program->server);
    fake_runtime_remove(program->runtime);
}

static void begin_program(void)
{
    struct oto_error error = {0};
    const struct oto_client_options options = {.size = sizeof options, .world = "demo", .name = "fuzz", .role = "observe"};
    program = calloc(1, sizeof *program);
    must(program != NULL);
    program->server.pass_fds = 1;
    fake_runtime_make(program->runtime);
    fake_start(&program->server, "demo", FAKE_SEALS);
    must(oto_client_open(&options, &program->world.client, &error) == OTO_OK);
    const struct web_page_options page = {&program->loop, &program->world, "control.sock", READ_TOKEN, CONTROL_TOKEN};
    const struct web_foxglove_options foxglove = {&program->loop, &program->world, "control.sock", READ_TOKEN, CONTROL_TOKEN};
    must(web_page_open(&page, &program->page, &error) == OTO_OK);
    must(web_foxglove_open(&foxglove, &program->foxglove, &error) == OTO_OK);
    (void)atexit(end_program);
}

/* ---- one connection ---- */

static void turn(struct web_peer *peer)
{
    static const char params[] = "{\"op\":\"reply\",\"request\":\"%s\",\"ok\":true,\"text\":\"done\",\"tick\":7,"
                                 "\"params\":[{\"key\":\"a.x\",\"value\":\"[1, 2]\"},{\"key\":\"law\",\"value\":\"mems\"}]}";
    peer->sent_bytes = 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct web_control *control = &controls[i];
        char text[sizeof params + sizeof control->number];
        if (control->waits) {
            control->waits = false;
            const int length = snprintf(text, sizeof text, params, control->number);
            control->reply(control->context, control->viewer, text, (size_t)length);
        }
        if (callbacks[i] != NULL) {
            callbacks[i](timers[i]);
        }
    }
}

static void converse(const struct web_protocol *protocol, struct web_peer *peer, const uint8_t *data, size_t bytes)
{
    void *state = protocol->connected(protocol->context, peer);
    must(state != NULL);
    for (uint32_t i = 0; i < MESSAGES && bytes >= 3 && !peer->closed; i++) {
        const size_t wanted = data[1] | (size_t)data[2] << 8, rest = bytes - 3;
        size_t length = wanted < rest ? wanted : rest;
        length = length < WEB_MESSAGE_MAX_BYTES ? length : WEB_MESSAGE_MAX_BYTES;
        char *message = malloc(length + 1); /* of its exact size, so that a sanitizer sees a read beyond it */
        memcpy(message, data + 3, length);
        protocol->received(state, message, length, data[0] & 1);
        free(message);
        turn(peer);
        data += 3 + length;
        bytes -= 3 + length;
    }
    for (int i = 0; i < TURNS; i++) {
        turn(peer);
    }
    controls[0].waits = controls[1].waits = false;
    protocol->closed(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (program == NULL) {
        begin_program();
    }
    if (bytes == 0) {
        return 0;
    }
    const uint8_t options = data[0] % OPTIONS;
    struct web_protocol foxglove[WEB_FOXGLOVE_PROTOCOLS], page = web_page_protocol(program->page);
    struct web_peer peer = {.token = options & CONTROL ? CONTROL_TOKEN : options & ADMITTED ? READ_TOKEN : ""};
    web_foxglove_protocols(program->foxglove, foxglove);
    program->foxglove->playback.plays = program->world.recording.plays = (options & PLAYS) != 0;
    converse(options & FOXGLOVE ? &foxglove[data[0] / OPTIONS % WEB_FOXGLOVE_PROTOCOLS] : &page, &peer, data + 1, bytes - 1);
    must(program->foxglove->sessions == NULL && callbacks[0] == NULL && callbacks[1] == NULL);
    return 0;
}
