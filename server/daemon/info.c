/* Facts about the server, for the verb `info` and for server.json. */
#include "server.h"

#include "isolate/isolation.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "otolith/estimator.h"
#include "otolith/vecmath.h"
#include "otolith/version.h"

struct sheet {
    FILE *to; /* writes `made` */
    char *made;
    size_t used, bytes; /* `bytes`: the room for the text, with its NUL */
};

#define put(sheet, ...) ((void)fprintf((sheet)->to, __VA_ARGS__))

#define ROOM 400 /* bytes for a plugin host with its first nodes, or for an input; further entries are left out */

static bool begin(struct sheet *sheet, size_t bytes)
{
    sheet->bytes = bytes;
    sheet->to = open_memstream(&sheet->made, &sheet->used);
    return sheet->to != NULL;
}

/* Copies the text. False: it did not fit, or there was no memory. */
static bool finish(struct sheet *sheet, char *text)
{
    const bool whole = fclose(sheet->to) == 0 && sheet->used < sheet->bytes;
    if (whole) {
        memcpy(text, sheet->made, sheet->used + 1);
    }
    free(sheet->made);
    return whole;
}

static bool has_room(const struct sheet *sheet)
{
    return (size_t)ftell(sheet->to) + ROOM < sheet->bytes;
}

static void put_member(struct sheet *sheet, const char *key, const char *text)
{
    put(sheet, "\"%s\": ", key);
    oto_json_text(sheet->to, text);
    put(sheet, ", ");
}

static void put_endpoints(struct sheet *sheet, const struct srv_server *server)
{
    const struct srv_supervisor *const children[] = {server->publisher, server->gate};
    bool any = false;
    put(sheet, "\"endpoints\": [");
    for (size_t k = 0; k < sizeof children / sizeof *children; k++) {
        for (uint32_t i = 0; children[k] != NULL && i < srv_supervisor_endpoint_count(children[k]); i++) {
            put(sheet, "%s", any ? ", " : "");
            oto_json_text(sheet->to, srv_supervisor_endpoint(children[k], i));
            any = true;
        }
    }
    put(sheet, "]");
}

/* Adds the link of the page with its read token, and the file with both tokens; "" if no page listens. */
static void put_page(struct sheet *sheet, const struct srv_server *server)
{
    const char *link = server->web != NULL ? srv_supervisor_endpoint(server->web, 0) : "";
    char tokens[160] = "";
    if (link[0] != 0) {
        (void)snprintf(tokens, sizeof tokens, "%s.web", server->runtime.path);
    }
    put_member(sheet, "page", link);
    put_member(sheet, "page_tokens", tokens);
}

static void put_identity(struct sheet *sheet, const struct srv_server *server)
{
    const struct oto_segment_header *header = srv_engine_segment(server->engine);
    put_member(sheet, "world", header->world);
    put_member(sheet, "version", OTO_VERSION_STRING);
    put(sheet, "\"pid\": %ld, \"epoch\": %llu, \"start_time\": %llu, ", (long)getpid(),
        (unsigned long long)header->epoch, (unsigned long long)header->writer_start_time);
    char path[128] = "";
    (void)srv_runtime_dir_path(&server->runtime, "control.sock", path, sizeof path);
    put_member(sheet, "control", path);
    put_page(sheet, server);
    put_endpoints(sheet, server);
}

static void put_clock(struct sheet *sheet, const struct srv_server *server)
{
    static const char *const overruns[] = {"slip", "catchup", "fault"};
    const struct oto_segment_header *header = srv_engine_segment(server->engine);
    const struct srv_clock_config *clock = &server->config.clock;
    struct oto_clock now = {.scale = clock->scale};
    (void)oto_segment_clock(header, &now);
    put(sheet, ", \"rate\": \"%llu/%llu\", ", (unsigned long long)clock->rate_num, (unsigned long long)clock->rate_den);
    put_member(sheet, "mode", oto_mode_name(__atomic_load_n(&header->mode, __ATOMIC_RELAXED)));
    put_member(sheet, "state", oto_server_state_name(__atomic_load_n(&header->state, __ATOMIC_RELAXED)));
    put_member(sheet, "driver", clock->driver == SRV_DRIVER_HYBRID ? "hybrid" : "uv");
    put_member(sheet, "overrun", overruns[clock->overrun]);
    put(sheet, "\"scale\": %.17g, \"seed\": %llu, \"until_ns\": %lld, \"tick\": %llu, ", now.scale,
        (unsigned long long)server->config.seed, (long long)clock->until_ns, (unsigned long long)now.tick);
}

static void put_host(struct sheet *sheet, const struct srv_server *server, uint32_t index,
                     const struct srv_group_facts *host)
{
    put(sheet, "%s{\"name\": ", index > 0 ? ", " : "");
    oto_json_text(sheet->to, host->name);
    put(sheet, ", \"pid\": %d, \"mode\": \"%s\", \"budget_us\": %lld, \"restarts\": %llu, \"stale\": %llu, \"landlock\": %u, \"nodes\": [",
        host->pid, host->async ? "async" : "sync", (long long)(host->budget_ns / 1000),
        (unsigned long long)host->restarts, (unsigned long long)host->stale, host->landlock);
    for (uint32_t i = 0; i < host->nodes && has_room(sheet); i++) {
        put(sheet, "%s", i > 0 ? ", " : "");
        oto_json_text(sheet->to, srv_engine_group_node(server->engine, index, i));
    }
    put(sheet, "]}");
}

static void put_hosts(struct sheet *sheet, const struct srv_server *server)
{
    struct srv_group_facts host;
    put(sheet, ", \"plugin_hosts\": [");
    for (uint32_t i = 0; has_room(sheet) && srv_engine_group(server->engine, i, &host); i++) {
        put_host(sheet, server, i, &host);
    }
    put(sheet, "]");
}

static void put_checkpoints(struct sheet *sheet, const struct srv_server *server)
{
    const struct srv_checkpoint_costs *costs = srv_checkpointer_costs(server->checkpointer);
    put(sheet, ", \"checkpoints\": {\"count\": %llu, \"bytes\": %llu, \"stall_us\": %.3f, \"stall_max_us\": %.3f}",
        (unsigned long long)costs->count, (unsigned long long)costs->bytes, (double)costs->stall_ns * 1e-3,
        (double)costs->stall_max_ns * 1e-3);
}

static void put_input(struct sheet *sheet, const char *world, const char *node, const struct oto_input_binding *input,
                      bool first)
{
    const oto_vec3 rpy = oto_rpy_from_quat(input->q_body_from_sensor);
    put(sheet, "%s{\"node\": \"%s/%s\", ", first ? "" : ", ", world, node); /* names need no escapes */
    put_member(sheet, "input", input->name);
    put_member(sheet, "topic", input->topic);
    put(sheet, "\"mount_rpy_deg\": [%.9g, %.9g, %.9g]}", rpy.x / OTO_DEG, rpy.y / OTO_DEG, rpy.z / OTO_DEG);
}

/* Adds the inputs of estimators, each with the mount of the input's sensor. */
static void put_inputs(struct sheet *sheet, const struct srv_server *server)
{
    const char *world = srv_engine_segment(server->engine)->world;
    bool first = true;
    put(sheet, ", \"inputs\": [");
    for (uint32_t i = 0; i < srv_engine_node_count(server->engine); i++) {
        const struct oto_setup *setup = srv_engine_node_setup(server->engine, i);
        for (uint32_t k = 0; k < setup->estimator.input_count && has_room(sheet); k++) {
            put_input(sheet, world, setup->node, &setup->estimator.inputs[k], first);
            first = false;
        }
    }
    put(sheet, "]");
}

/* Adds the facts that are needed to start the same world again. */
static void put_origin(struct sheet *sheet, const struct srv_server *server)
{
    const struct srv_options *options = server->options;
    char absolute[PATH_MAX];
    put_member(sheet, "file", realpath(options->world_path, absolute) != NULL ? absolute : options->world_path);
    put(sheet, "\"origin\": {\"latitude_rad\": %.17g, \"longitude_rad\": %.17g, \"altitude_m\": %.17g}, ", server->config.origin_latitude_rad,
        server->config.origin_longitude_rad, server->config.origin_altitude_m);
    const bool logs = options->log_path != NULL && realpath(options->log_path, absolute) != NULL;
    put_member(sheet, "log", logs ? absolute : "");
    put(sheet, "\"overrides\": [");
    for (uint32_t i = 0; i < options->override_count; i++) {
        char set[1024];
        (void)snprintf(set, sizeof set, "%s=%s", options->overrides[i].path, options->overrides[i].value);
        put(sheet, "%s", i > 0 ? ", " : "");
        oto_json_text(sheet->to, set);
    }
    put(sheet, "], ");
}

bool srv_server_info(const struct srv_server *server, char *text, size_t bytes)
{
    struct sheet sheet;
    if (!begin(&sheet, bytes)) {
        return false;
    }
    put(&sheet, "{");
    put_identity(&sheet, server);
    put_clock(&sheet, server);
    put_member(&sheet, "privileges", server->privileges);
    put_origin(&sheet, server);
    const bool publishes = server->publisher != NULL;
    put(&sheet, "\"gate_pid\": %ld, ", server->gate != NULL ? (long)srv_supervisor_pid(server->gate) : 0L);
    put(&sheet, "\"web_pid\": %ld, ", server->web != NULL ? (long)srv_supervisor_pid(server->web) : 0L);
    put(&sheet, "\"publisher_pid\": %ld, \"publisher_restarts\": %llu, \"clients\": %u, \"nodes\": %u",
        publishes ? (long)srv_supervisor_pid(server->publisher) : 0L,
        publishes ? (unsigned long long)srv_supervisor_restarts(server->publisher) : 0ULL,
        srv_control_connection_count(server->control), srv_engine_node_count(server->engine));
    put_checkpoints(&sheet, server);
    put_hosts(&sheet, server);
    put_inputs(&sheet, server);
    put(&sheet, "}");
    return finish(&sheet, text);
}

bool srv_server_json(const struct srv_server *server, char *text, size_t bytes)
{
    struct sheet sheet;
    if (!begin(&sheet, bytes)) {
        return false;
    }
    put(&sheet, "{");
    put_identity(&sheet, server);
    put(&sheet, "}\n");
    return finish(&sheet, text);
}
