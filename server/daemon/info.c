/* Facts about the server, for the verb `info` and for server.json. */
#include "server.h"

#include "isolate/isolation.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/process_time.h"
#include "otolith/estimator.h"
#include "otolith/vecmath.h"
#include "otolith/version.h"

/* JSON in memory that must fit into a text of `bytes` bytes. */
struct sheet {
    struct oto_json json;
    size_t bytes;
};

#define ROOM 400 /* bytes for a plugin host with its first nodes, or for an input; further entries are left out */

/* Copies the text. False: it did not fit, or there was no memory. */
static bool finish(struct sheet *sheet, char *text)
{
    const bool whole = !sheet->json.failed && sheet->json.bytes < sheet->bytes;
    if (whole) {
        memcpy(text, sheet->json.text, sheet->json.bytes + 1);
    }
    oto_json_free(&sheet->json);
    return whole;
}

static bool has_room(const struct sheet *sheet)
{
    return sheet->json.bytes + ROOM < sheet->bytes;
}

/* Adds the addresses at which the children listen now: clients may connect to each. */
static void put_endpoints(struct oto_json *json, const struct srv_server *server)
{
    const struct srv_supervisor *const children[] = {server->publisher, server->gate};
    oto_json_open(json, "endpoints", '[');
    for (size_t k = 0; k < sizeof children / sizeof *children; k++) {
        for (uint32_t i = 0; children[k] != NULL && i < srv_supervisor_endpoint_count(children[k]); i++) {
            if (srv_supervisor_listens(children[k], i)) {
                oto_json_text(json, NULL, srv_supervisor_endpoint(children[k], i));
            }
        }
    }
    oto_json_close(json, ']');
}

/* Adds the link of the page with its read token, and the file with both tokens; "" while no page listens. `page_expected`: the world has one. */
static void put_page(struct oto_json *json, const struct srv_server *server)
{
    const char *link = server->web != NULL && srv_supervisor_listens(server->web, 0) ? srv_supervisor_endpoint(server->web, 0) : "";
    char tokens[160] = "";
    if (link[0] != 0) {
        (void)snprintf(tokens, sizeof tokens, "%s.web", server->runtime.path);
    }
    oto_json_text(json, "page", link);
    oto_json_text(json, "page_tokens", tokens);
    oto_json_flag(json, "page_expected", server->web != NULL && srv_supervisor_serves(server->web)); /* false also: it cannot start */
}

static void put_identity(struct oto_json *json, const struct srv_server *server)
{
    const struct oto_segment_header *header = srv_engine_segment(server->engine);
    char path[128] = "";
    (void)srv_runtime_dir_path(&server->runtime, "control.sock", path, sizeof path);
    oto_json_text(json, "world", header->world);
    oto_json_text(json, "version", OTO_VERSION_STRING);
    oto_json_i64(json, "pid", getpid());
    oto_json_u64(json, "epoch", header->epoch);
    oto_json_u64(json, "start_time", header->writer_start_time);
    if (server->crash_page != NULL) { /* after a crash clients wait for the next server as long as this process lives */
        oto_json_i64(json, "supervisor_pid", getppid());
        oto_json_u64(json, "supervisor_start_time", srv_process_start_time(getppid()));
    }
    oto_json_text(json, "control", path);
    put_page(json, server);
    put_endpoints(json, server);
}

static void put_clock(struct oto_json *json, const struct srv_server *server)
{
    static const char *const overruns[] = {"slip", "catchup", "fault"};
    const struct oto_segment_header *header = srv_engine_segment(server->engine);
    const struct srv_clock_config *clock = &server->config.clock;
    struct oto_clock now = {.scale = clock->scale};
    (void)oto_segment_clock(header, &now);
    oto_json_format(json, "rate", "\"%" PRIu64 "/%" PRIu64 "\"", clock->rate_num, clock->rate_den);
    oto_json_text(json, "mode", oto_mode_name(__atomic_load_n(&header->mode, __ATOMIC_RELAXED)));
    oto_json_text(json, "state", oto_server_state_name(__atomic_load_n(&header->state, __ATOMIC_RELAXED)));
    oto_json_text(json, "driver", clock->driver == SRV_DRIVER_HYBRID ? "hybrid" : "uv");
    oto_json_text(json, "overrun", overruns[clock->overrun]);
    oto_json_number(json, "scale", now.scale);
    oto_json_u64(json, "seed", server->config.seed);
    oto_json_i64(json, "until_ns", clock->until_ns);
    oto_json_u64(json, "tick", now.tick);
}

static void put_host(struct sheet *sheet, const struct srv_server *server, uint32_t index,
                     const struct srv_group_facts *host)
{
    struct oto_json *json = &sheet->json;
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "name", host->name);
    oto_json_i64(json, "pid", host->pid);
    oto_json_text(json, "mode", host->async ? "async" : "sync");
    oto_json_i64(json, "budget_us", host->budget_ns / 1000);
    oto_json_u64(json, "restarts", host->restarts);
    oto_json_u64(json, "stale", host->stale);
    oto_json_u64(json, "landlock", host->landlock);
    oto_json_open(json, "nodes", '[');
    for (uint32_t i = 0; i < host->nodes && has_room(sheet); i++) {
        oto_json_text(json, NULL, srv_engine_group_node(server->engine, index, i));
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

static void put_hosts(struct sheet *sheet, const struct srv_server *server)
{
    struct srv_group_facts host;
    oto_json_open(&sheet->json, "plugin_hosts", '[');
    for (uint32_t i = 0; has_room(sheet) && srv_engine_group(server->engine, i, &host); i++) {
        put_host(sheet, server, i, &host);
    }
    oto_json_close(&sheet->json, ']');
}

static void put_checkpoints(struct oto_json *json, const struct srv_server *server)
{
    const struct srv_checkpoint_costs *costs = srv_checkpointer_costs(server->checkpointer);
    oto_json_open(json, "checkpoints", '{');
    oto_json_u64(json, "count", costs->count);
    oto_json_u64(json, "bytes", costs->bytes);
    oto_json_number(json, "stall_us", (double)costs->stall_ns * 1e-3);
    oto_json_number(json, "stall_max_us", (double)costs->stall_max_ns * 1e-3);
    oto_json_close(json, '}');
}

static void put_input(struct oto_json *json, const char *world, const char *node, const struct oto_input_binding *input)
{
    const oto_vec3 rpy = oto_rpy_from_quat(input->q_body_from_sensor);
    oto_json_open(json, NULL, '{');
    oto_json_format(json, "node", "\"%s/%s\"", world, node); /* names need no escapes */
    oto_json_text(json, "input", input->name);
    oto_json_text(json, "topic", input->topic);
    oto_json_format(json, "mount_rpy_deg", "[%.9g, %.9g, %.9g]", rpy.x / OTO_DEG, rpy.y / OTO_DEG, rpy.z / OTO_DEG);
    oto_json_close(json, '}');
}

/* Adds the inputs of estimators, each with the mount of the input's sensor. */
static void put_inputs(struct sheet *sheet, const struct srv_server *server)
{
    const char *world = srv_engine_segment(server->engine)->world;
    oto_json_open(&sheet->json, "inputs", '[');
    for (uint32_t i = 0; i < srv_engine_node_count(server->engine); i++) {
        const struct oto_setup *setup = srv_engine_node_setup(server->engine, i);
        for (uint32_t k = 0; k < setup->estimator.input_count && has_room(sheet); k++) {
            put_input(&sheet->json, world, setup->node, &setup->estimator.inputs[k]);
        }
    }
    oto_json_close(&sheet->json, ']');
}

/* Adds the facts that are needed to start the same world again. */
static void put_origin(struct oto_json *json, const struct srv_server *server)
{
    const struct srv_options *options = server->options;
    char absolute[PATH_MAX];
    oto_json_text(json, "file", realpath(options->world_path, absolute) != NULL ? absolute : options->world_path);
    oto_json_open(json, "origin", '{');
    oto_json_number(json, "latitude_rad", server->config.origin_latitude_rad);
    oto_json_number(json, "longitude_rad", server->config.origin_longitude_rad);
    oto_json_number(json, "altitude_m", server->config.origin_altitude_m);
    oto_json_close(json, '}');
    const bool logs = options->log_path != NULL && realpath(options->log_path, absolute) != NULL;
    oto_json_text(json, "log", logs ? absolute : "");
    oto_json_open(json, "overrides", '[');
    for (uint32_t i = 0; i < options->override_count; i++) {
        char set[1024];
        (void)snprintf(set, sizeof set, "%s=%s", options->overrides[i].path, options->overrides[i].value);
        oto_json_text(json, NULL, set);
    }
    oto_json_close(json, ']');
}

static int64_t pid_of(const struct srv_supervisor *supervisor)
{
    return supervisor != NULL ? srv_supervisor_pid(supervisor) : 0;
}

bool srv_server_info(const struct srv_server *server, char *text, size_t bytes)
{
    struct sheet sheet = {.bytes = bytes};
    struct oto_json *json = &sheet.json;
    oto_json_open(json, NULL, '{');
    put_identity(json, server);
    put_clock(json, server);
    oto_json_text(json, "privileges", server->privileges);
    put_origin(json, server);
    oto_json_i64(json, "gate_pid", pid_of(server->gate));
    oto_json_i64(json, "web_pid", pid_of(server->web));
    oto_json_i64(json, "publisher_pid", pid_of(server->publisher));
    oto_json_u64(json, "publisher_restarts", server->publisher != NULL ? srv_supervisor_restarts(server->publisher) : 0);
    oto_json_u64(json, "clients", srv_control_connection_count(server->control));
    oto_json_u64(json, "nodes", srv_engine_node_count(server->engine));
    put_checkpoints(json, server);
    put_hosts(&sheet, server);
    put_inputs(&sheet, server);
    oto_json_close(json, '}');
    return finish(&sheet, text);
}

bool srv_server_json(const struct srv_server *server, char *text, size_t bytes)
{
    struct sheet sheet = {.bytes = bytes};
    oto_json_open(&sheet.json, NULL, '{');
    put_identity(&sheet.json, server);
    oto_json_close(&sheet.json, '}');
    oto_json_more(&sheet.json, "\n", 1);
    return finish(&sheet, text);
}
