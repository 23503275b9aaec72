/*
 * otolith-player: serves a recording as a world. Shared memory, control socket, publisher and page are those of a live world, so
 * that every reader works with it; the samples are the recorded ones. `otolith play` starts it.
 */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/monotonic.h"
#include "otolith/version.h"
#include "play/player.h"
#include "program/program.h"

#define SAMPLES_PER_TURN 4096
#define PACED_TURN_MS 1
#define IDLE_TURN_MS 50

struct options {
    const char *file, *name;
    const char *listen[SRV_SUPERVISOR_ENDPOINTS - 1]; /* beside ipc */
    uint32_t listen_count;
    double scale, start_s;
    bool paused, loop, hold, no_publish, no_web, insecure, json;
};

struct program {
    struct srv_program base;
    struct options options;
    struct srv_player player;
    uv_loop_t loop; /* of the supervisors of publisher and page */
};

/* ---- options ---- */

enum { KEY_NAME = 1000, KEY_LISTEN, KEY_NO_PUBLISH, KEY_NO_WEB, KEY_INSECURE };

static const struct argp_option rows[] = {
    {"speed", 's', "X", 0, "recorded seconds per real second (1); max: as fast as lossless readers read", 0},
    {"start", 't', "SECONDS", 0, "begin at this simulated time of the recording", 0},
    {"paused", 'p', NULL, 0, "begin paused: otolith resume, step, seek", 0},
    {"loop", 'l', NULL, 0, "restart at the end", 0},
    {"hold", 'h', NULL, 0, "stay paused at the end, for otolith seek, instead of ending", 0},
    {"name", KEY_NAME, "WORLD", 0, "serve it under this name (that of the recorded world)", 0},
    {"listen", KEY_LISTEN, "URL", 0, "publish here too, for example tcp://127.0.0.1:7450; may be repeated", 0},
    {"insecure", KEY_INSECURE, NULL, 0, "accept tcp:// addresses beyond this machine: everybody who reaches the port may read", 0},
    {"no-publish", KEY_NO_PUBLISH, NULL, 0, "start no publisher and no page", 0},
    {"no-web", KEY_NO_WEB, NULL, 0, "start no page in the browser", 0},
    {"json", 'j', NULL, 0, "print JSON: a line at the start, and one at the end", 0},
    {0}};

static double number(const char *text, const char *option, double least, struct argp_state *state)
{
    char *end;
    const double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !isfinite(value) || value < least) {
        argp_error(state, "--%s takes a number from %g, not '%s'", option, least, text);
    }
    return value;
}

static void check_listen(const struct options *options, const struct argp_state *state)
{
    for (uint32_t i = 0; i < options->listen_count && !options->insecure; i++) {
        if (srv_address_is_open(options->listen[i])) {
            argp_error(state, "--listen %s: everybody who reaches the port may read, without encryption; listen on 127.0.0.1, or accept it with --insecure",
                       options->listen[i]);
        }
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 's':
        options->scale = strcmp(argument, "max") == 0 ? 0.0 : number(argument, "speed", 1e-6, state);
        return 0;
    case 't':
        options->start_s = number(argument, "start", 0.0, state);
        return 0;
    case 'p':
        options->paused = true;
        return 0;
    case 'l':
        options->loop = true;
        return 0;
    case 'h':
        options->hold = true;
        return 0;
    case KEY_NAME:
        options->name = argument;
        return 0;
    case KEY_LISTEN:
        srv_program_add(state, "--listen", options->listen, &options->listen_count, SRV_SUPERVISOR_ENDPOINTS - 1, argument);
        return 0;
    case KEY_NO_PUBLISH:
        options->no_publish = true;
        return 0;
    case KEY_NO_WEB:
        options->no_web = true;
        return 0;
    case 'j':
        options->json = true;
        return 0;
    case KEY_INSECURE:
        options->insecure = true;
        return 0;
    case ARGP_KEY_END:
        check_listen(options, state);
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL) {
            argp_error(state, "one recording; '%s' is one argument too many", argument);
        }
        options->file = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a recording is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- pace ---- */

void srv_player_pace(struct srv_player *player, bool paused, double scale)
{
    player->paused = paused;
    player->scale = scale;
    player->base_ns = player->playback.t_ns;
    player->base_real_ns = srv_now_ns();
    srv_playback_state(&player->playback, paused ? OTO_SERVER_PAUSED : OTO_SERVER_RUNNING,
                       scale == 0.0 ? OTO_MODE_ASAP : OTO_MODE_REALTIME, scale == 0.0 ? 1.0 : scale);
}

/* The simulated time that the playback should have reached. */
static int64_t target_ns(const struct srv_player *player)
{
    const double passed_ns = (double)(srv_now_ns() - player->base_real_ns) * player->scale;
    const double target = (double)player->base_ns + passed_ns;
    return player->scale == 0.0 || target > (double)player->playback.end_ns ? player->playback.end_ns : (int64_t)target;
}

enum oto_status srv_player_publish(struct srv_player *player, int64_t until_ns, struct oto_error *error)
{
    return srv_playback_advance(&player->playback, until_ns, SAMPLES_PER_TURN, srv_player_has_room, player, error);
}

static enum oto_status start_at(struct srv_player *player, int64_t t_ns, bool paused, struct oto_error *error)
{
    srv_player_end_run(player);
    const enum oto_status status = srv_playback_start(&player->playback, t_ns, error);
    player->over = false;
    player->has_seek = false;
    if (status == OTO_OK) {
        srv_player_pace(player, paused, player->scale);
    }
    return status;
}

/* Called at the end of the recording: plays it again, stays paused, or ends the run, as the options demand. */
static enum oto_status end_of_file(struct program *program, struct oto_error *error)
{
    struct srv_player *player = &program->player;
    if (program->options.loop) {
        return start_at(player, player->playback.start_ns, false, error);
    }
    player->over = true;
    srv_player_pace(player, true, player->scale);
    if (!program->options.hold) {
        srv_playback_state(&player->playback, OTO_SERVER_ENDED, OTO_MODE_REALTIME, player->scale);
        player->ended = true;
    }
    return OTO_OK;
}

/* ---- publisher and page ---- */

/* Prints what needs a person. An exit and a restart do not: after a seek the publisher follows the new run. */
static void on_event(void *context, const char *name, uint32_t severity, int64_t value, const char *sentence)
{
    const struct program *program = context;
    (void)name;
    (void)value;
    if (severity > 1) {
        srv_program_print(&program->base, "%s", sentence);
    }
}

static void ignore(void *context)
{
    (void)context;
}

static void on_endpoints(void *context, bool is_new)
{
    (void)context;
    (void)is_new;
}

static void on_page(void *context, bool is_new)
{
    const struct program *program = context;
    if (is_new) {
        srv_program_print(&program->base, "%s in the browser: %s", program->player.playback.world,
                          srv_supervisor_endpoint(program->player.page, 0));
    }
}

/* A playback also runs without publisher or page. */
static void start_child(struct program *program, const struct srv_supervisor_options *options, void (*on_endpoint)(void *, bool),
                        struct srv_supervisor **child)
{
    struct oto_error error = {0};
    const struct srv_supervisor_hooks hooks = {program, on_event, ignore, on_endpoint};
    if (srv_supervisor_start(&program->loop, options, program->player.runtime.path, &hooks, child, &error) != OTO_OK) {
        srv_program_print(&program->base, "%s", error.text);
    }
}

static void start_children(struct program *program)
{
    const struct options *options = &program->options;
    struct srv_supervisor_options publisher = {
        .program = "otolith-publisher", .endpoint_option = "--listen", .endpoint_count = 1, .endpoints = {"ipc"}};
    const struct srv_supervisor_options page = {.program = "otolith-web", .endpoint_count = 1, .endpoints = {""}};
    for (uint32_t i = 0; i < options->listen_count; i++) {
        publisher.endpoints[publisher.endpoint_count++] = options->listen[i];
    }
    if (!options->no_publish) {
        start_child(program, &publisher, on_endpoints, &program->player.publisher);
    }
    if (!options->no_publish && !options->no_web) {
        start_child(program, &page, on_page, &program->player.page);
    }
}

static void stop_children(struct program *program)
{
    struct srv_supervisor *const children[] = {program->player.publisher, program->player.page};
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        if (children[i] != NULL) {
            srv_supervisor_stop(children[i]);
        }
    }
    (void)uv_run(&program->loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        srv_supervisor_destroy(children[i]);
    }
    (void)uv_loop_close(&program->loop);
}

/* ---- start and end ---- */

static enum oto_status open_player(struct program *program, struct oto_error *error)
{
    struct srv_player *player = &program->player;
    const struct options *options = &program->options;
    char text[256];
    player->listen_fd = -1;
    player->file = options->file;
    player->scale = options->scale;
    enum oto_status status = srv_playback_open(&player->playback, options->file, options->name, error);
    if (status == OTO_OK && options->start_s * 1e9 > (double)player->playback.end_ns) {
        status = oto_fail(error, OTO_RANGE, "--start %g: the recording ends at %.9g s", options->start_s,
                          (double)player->playback.end_ns * 1e-9);
    }
    const int64_t start_ns = (int64_t)(options->start_s * 1e9 + 0.5);
    if (status == OTO_OK) {
        status = srv_runtime_dir_claim(player->playback.world, &player->runtime, error);
    }
    if (status == OTO_OK) {
        status = start_at(player, start_ns > player->playback.start_ns ? start_ns : player->playback.start_ns, options->paused, error);
    }
    if (status == OTO_OK) {
        player->listen_fd = srv_runtime_dir_listen(&player->runtime, error);
        status = player->listen_fd >= 0 ? OTO_OK : error->status;
    }
    if (status == OTO_OK) { /* after control.sock: a program that waits for this file then finds the socket */
        (void)snprintf(text, sizeof text, "{\"world\": \"%s\", \"version\": \"" OTO_VERSION_STRING "\", \"pid\": %ld}\n",
                       player->playback.world, (long)getpid());
        status = srv_runtime_dir_write(&player->runtime, "server.json", text, error);
    }
    return status;
}

/* ---- the loop ---- */

static int turn_ms(const struct srv_player *player)
{
    return player->paused ? IDLE_TURN_MS : player->scale == 0.0 && player->stalled_ns == 0 ? 0 : PACED_TURN_MS;
}

/* Waits for requests and signals, at most until the next pass of the loop, and handles them. */
static void wait_and_serve(struct program *program)
{
    struct srv_player *player = &program->player;
    struct pollfd fds[2 + SRV_PLAYER_MOST_CLIENTS] = {{.fd = program->base.signal_fd, .events = POLLIN},
                                                      {.fd = player->listen_fd, .events = POLLIN}};
    const uint32_t count = player->client_count;
    for (uint32_t i = 0; i < count; i++) {
        fds[2 + i] = (struct pollfd){.fd = player->clients[i].fd, .events = POLLIN};
    }
    if (poll(fds, 2 + count, turn_ms(player)) <= 0) {
        return;
    }
    for (uint32_t i = count; i-- > 0;) { /* backwards, because the last client takes the place of a client that is closed */
        if (fds[2 + i].revents != 0) {
            srv_player_serve(player, i);
        }
    }
    if (fds[1].revents != 0) {
        srv_player_accept(player);
    }
    player->ended = player->ended || fds[0].revents != 0;
}

static enum oto_status run(struct program *program, struct oto_error *error)
{
    struct srv_player *player = &program->player;
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && !player->ended) {
        wait_and_serve(program);
        (void)uv_run(&program->loop, UV_RUN_NOWAIT);
        if (player->has_seek) {
            status = start_at(player, player->seek_ns, player->paused && !player->over, error);
            continue;
        }
        if (player->paused) {
            continue;
        }
        status = srv_player_publish(player, target_ns(player), error);
        status = status == OTO_CLOSED ? end_of_file(program, error) : status == OTO_AGAIN ? OTO_OK : status;
    }
    return status;
}

/* A world's name needs no escaping. */
static void print_start(const struct program *program)
{
    const struct srv_playback *playback = &program->player.playback;
    srv_program_print(&program->base, "%s plays (pid %ld): %.9g s to %.9g s of '%s'", playback->world, (long)getpid(),
                      (double)playback->start_ns * 1e-9, (double)playback->end_ns * 1e-9, program->options.file);
    if (program->options.json) {
        (void)printf("{\"world\": \"%s\", \"pid\": %ld, \"start_s\": %.9f, \"end_s\": %.9f}\n", playback->world, (long)getpid(),
                     (double)playback->start_ns * 1e-9, (double)playback->end_ns * 1e-9);
        (void)fflush(stdout);
    }
}

static void print_end(const struct program *program)
{
    const struct srv_playback *playback = &program->player.playback;
    if (playback->out_of_order > 0) {
        srv_program_print(&program->base, "%llu samples came after later ones of their topic, and were left out",
                          (unsigned long long)playback->out_of_order);
    }
    if (program->options.json) {
        (void)printf("{\"world\": \"%s\", \"t_s\": %.9f, \"samples\": %llu, \"left_out\": %llu}\n", playback->world,
                     (double)playback->t_ns * 1e-9, (unsigned long long)playback->published, (unsigned long long)playback->out_of_order);
    }
}

int main(int argc, char **argv)
{
    static struct program program = {.base.name = "otolith-player", .options = {.scale = 1.0}};
    const struct argp argp = {rows, parse, "FILE.mcap",
                              "Serve a recording as a world: its samples in shared memory, over nng and in the browser, as they were.", NULL, NULL, NULL};
    struct oto_error error = {0};
    srv_program_options(&argp, NULL, argc, argv, &program.options);
    if (!srv_program_begin(&program.base) || uv_loop_init(&program.loop) != 0) {
        return EXIT_FAILURE;
    }
    enum oto_status status = open_player(&program, &error);
    const bool serves = status == OTO_OK;
    if (serves) {
        print_start(&program);
        start_children(&program);
        status = run(&program, &error);
        srv_runtime_dir_retire(&program.player.runtime);
        print_end(&program);
    }
    if (status != OTO_OK) {
        srv_program_print(&program.base, "%s", error.text);
    }
    stop_children(&program);
    srv_player_close_clients(&program.player);
    if (program.player.listen_fd >= 0 && serves) {
        (void)close(program.player.listen_fd);
    }
    srv_playback_close(&program.player.playback);
    srv_runtime_dir_release(&program.player.runtime);
    return status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
