/*
 * otolith-web: shows a world in the browser. It reads the segment as any client does and serves the page, its data and
 * other sub-protocols on one port. otolithd starts and restarts it. A failure here cannot affect the simulation (A1).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "foxglove/foxglove.h"
#include "http/assets.h"
#include "http/http.h"
#include "options.h"
#include "page/page.h"
#include "program/program.h"
#include "source/world.h"
#include "tokens.h"

#define PORTS_TRIED 16
#define ALIVE_MS 1000
#define LINK_BYTES 256
#define PROTOCOLS_MAX 4

struct program {
    struct srv_program base; /* signals come from the loop, not from its descriptor */
    struct web_options options;
    struct web_tokens tokens;
    uv_loop_t loop;
    uv_signal_t terminate, interrupt;
    uv_timer_t alive;
    struct web_world *world;
    struct web_page *page;
    struct web_foxglove *foxglove;
    struct web_protocol protocols[PROTOCOLS_MAX]; /* sub-protocols of the port; add_protocols fills the table */
    uint32_t protocol_count;
    struct web_http *http;
};

/* ---- reports to the server: lines on standard output ------------------------------------------------------------- */

static void on_alive(uv_timer_t *timer)
{
    (void)timer;
    srv_program_report("alive");
}

/* The token is in the fragment of the link, which a browser does not send. */
static void make_link(const struct program *program, char *link, size_t bytes)
{
    const bool six = strchr(program->options.address, ':') != NULL;
    const int length = snprintf(link, bytes, "http://%s%s%s:%u/", six ? "[" : "", program->options.address, six ? "]" : "",
                                web_http_port(program->http));
    if (!program->options.read_without_token) {
        (void)snprintf(link + length, bytes - (size_t)length, "#token=%s", program->tokens.read);
    }
}

static void report_start(const struct program *program)
{
    char link[LINK_BYTES], sentence[LINK_BYTES];
    const uint16_t port = web_http_port(program->http);
    make_link(program, link, sizeof link);
    if (program->base.parent != 0) {
        srv_program_report("endpoint 0 %s", link);
    } else {
        (void)printf("%s\n", link);
        (void)fflush(stdout);
    }
    if (program->options.port != 0 && port != program->options.port) {
        (void)snprintf(sentence, sizeof sentence, "port %u is taken; the page is on port %u", program->options.port, port);
        srv_program_event(&program->base, sentence);
    }
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

static void start_handles(struct program *program)
{
    (void)uv_signal_init(&program->loop, &program->terminate);
    (void)uv_signal_start(&program->terminate, on_signal, SIGTERM);
    (void)uv_signal_init(&program->loop, &program->interrupt);
    if (program->base.parent == 0) { /* Ctrl-C reaches the whole process group: the server decides when to end */
        (void)uv_signal_start(&program->interrupt, on_signal, SIGINT);
    } else {
        (void)signal(SIGINT, SIG_IGN);
        (void)signal(SIGHUP, SIG_IGN);
    }
    (void)uv_timer_init(&program->loop, &program->alive);
    if (program->base.parent != 0) {
        (void)uv_timer_start(&program->alive, on_alive, ALIVE_MS, ALIVE_MS);
    }
}

static enum oto_status open_world(struct program *program, struct oto_error *error)
{
    const struct oto_client_options client = {.size = sizeof client,
                                              .world = program->options.world,
                                              .socket_path = program->options.socket_path,
                                              .name = "otolith-web",
                                              .role = "observe"};
    return web_world_open(&program->loop, &client, &program->world, error);
}

/* The path of the control socket: from the command line, or RUNTIME_DIRECTORY/WORLD/control.sock. */
static enum oto_status find_socket(struct program *program, char *path, size_t bytes, struct oto_error *error)
{
    char base[160];
    if (program->options.socket_path != NULL) {
        (void)snprintf(path, bytes, "%s", program->options.socket_path);
        return OTO_OK;
    }
    const enum oto_status status = oto_runtime_directory(base, sizeof base, error);
    const char *world = oto_client_header(web_world_client(program->world))->world;
    if (status == OTO_OK && snprintf(path, bytes, "%s/%s/control.sock", base, world) >= (int)bytes) {
        return oto_fail(error, OTO_LIMIT, "the path of the control socket of '%.64s' is too long", world);
    }
    return status;
}

static void add_protocols(struct program *program)
{
    program->protocols[program->protocol_count++] = web_page_protocol(program->page);
    web_foxglove_protocols(program->foxglove, &program->protocols[program->protocol_count]);
    program->protocol_count += WEB_FOXGLOVE_PROTOCOLS;
}

/* The port of the previous page of this world, so that its link stays valid; 0 if the command line excludes this port. */
static uint16_t preferred_port(const struct program *program)
{
    const uint16_t asked = program->options.port, last = program->tokens.port;
    return asked == 0 || (last >= asked && last - asked < PORTS_TRIED) ? last : 0;
}

static enum oto_status open_http(struct program *program, struct oto_error *error)
{
    const struct web_http_options http = {.loop = &program->loop,
                                          .address = program->options.address,
                                          .port = program->options.port,
                                          .preferred_port = preferred_port(program),
                                          .tries = PORTS_TRIED,
                                          .origins = program->options.origins,
                                          .origin_count = program->options.origin_count,
                                          .assets = web_assets,
                                          .asset_count = web_asset_count,
                                          .protocols = program->protocols,
                                          .protocol_count = program->protocol_count};
    return web_http_open(&http, &program->http, error);
}

static enum oto_status open_program(struct program *program, struct oto_error *error)
{
    char socket_path[192];
    enum oto_status status = open_world(program, error);
    if (status == OTO_OK) {
        status = find_socket(program, socket_path, sizeof socket_path, error);
    }
    if (status == OTO_OK) {
        status = web_tokens_load(&program->tokens, socket_path, error);
    }
    if (status == OTO_OK) {
        const struct web_page_options page = {.loop = &program->loop,
                                              .world = program->world,
                                              .socket_path = socket_path,
                                              .read_token = program->options.read_without_token ? NULL : program->tokens.read,
                                              .control_token = program->tokens.control};
        const struct web_foxglove_options foxglove = {.loop = &program->loop,
                                                      .world = program->world,
                                                      .socket_path = socket_path,
                                                      .read_token = page.read_token,
                                                      .control_token = page.control_token};
        status = web_page_open(&page, &program->page, error);
        if (status == OTO_OK) {
            status = web_foxglove_open(&foxglove, &program->foxglove, error);
        }
    }
    if (status == OTO_OK) {
        add_protocols(program);
        status = open_http(program, error);
    }
    if (status == OTO_OK) {
        program->tokens.port = web_http_port(program->http);
        status = web_tokens_save(&program->tokens, error);
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct program program = {.base.name = "otolith-web"};
    struct oto_error error = {0};
    web_options_read(&program.options, argc, argv);
    program.base.parent = program.options.parent;
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&program.loop) != 0 || !srv_program_follow_parent(program.base.parent)) {
        return EXIT_FAILURE;
    }
    start_handles(&program);
    const enum oto_status status = open_program(&program, &error);
    if (status == OTO_OK) {
        web_confine();
        report_start(&program);
        (void)uv_run(&program.loop, UV_RUN_DEFAULT);
    } else {
        srv_program_print(&program.base, "%s", error.text);
    }
    /* Connections end with the process (http.h). A port that is taken, or a missing package, would not help a restart. */
    const bool hopeless = status == OTO_INVALID || status == OTO_UNSUPPORTED || status == OTO_CONFLICT;
    _exit(status == OTO_OK ? EXIT_SUCCESS : hopeless ? SRV_EXIT_USAGE : EXIT_FAILURE);
}
