/* The children of the server that read the world: publisher, gate and page. */
#include "daemon/server_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert(SRV_MAX_LISTEN < SRV_SUPERVISOR_ENDPOINTS, "the gate gets all listeners and that of `control`");
static_assert(SRV_MAX_ROLE_RULES + 9 <= SRV_SUPERVISOR_ARGUMENTS, "the gate gets all roles");

static bool is_tls(const char *url)
{
    return strncmp(url, "tls+tcp://", 10) == 0;
}

/* Adds the addresses of `publish` with TLS, or those without. */
static void add_endpoints(struct srv_supervisor_options *options, const struct srv_publish_config *publish, bool tls)
{
    for (uint32_t i = 0; i < publish->listen_count; i++) {
        if (is_tls(publish->listen[i]) == tls) {
            options->endpoints[options->endpoint_count++] = publish->listen[i];
        }
    }
}

/* Adds the option --only as arguments 2 and 3; arguments 0 and 1 are the options for coalescing and format. */
static void add_only(struct srv_supervisor_options *options, const struct srv_publish_config *publish)
{
    if (publish->only[0] != '\0') {
        options->arguments[2] = "--only";
        options->arguments[3] = publish->only;
    }
}

static bool publishes(const struct srv_server *server)
{
    return server->config.publish.enabled && !server->options->no_publish;
}

enum oto_status srv_server_start_publishing(struct srv_server *server, struct oto_error *error)
{
    const struct srv_publish_config *publish = &server->config.publish;
    const bool datagrams = strncmp(publish->listen[0], "udp://", 6) == 0;
    char coalesce[64];
    (void)snprintf(coalesce, sizeof coalesce, "--coalesce-ns=%lld", (long long)publish->coalesce_ns);
    struct srv_supervisor_options options = {.program = "otolith-publisher",
                                             .arguments = {coalesce, datagrams         ? "--format=plotjuggler"
                                                                   : publish->packed ? "--format=packed"
                                                                                     : "--format=map"},
                                             .endpoint_option = "--listen"};
    if (publishes(server)) {
        add_endpoints(&options, publish, false);
    }
    if (options.endpoint_count == 0) {
        return OTO_OK;
    }
    add_only(&options, publish);
    const struct srv_supervisor_hooks hooks = srv_server_publisher_hooks(server);
    return srv_supervisor_start(&server->loop, &options, server->runtime.path, &hooks, &server->publisher, error);
}

/* ---- the gate ---- */

/* Storage of the gate's arguments. */
struct gate_texts {
    char control[300], coalesce[64];
    char files[4][SRV_PATH_BYTES + 8];
    char grants[SRV_MAX_ROLE_RULES][128];
};

static void add_files(struct srv_supervisor_options *options, struct gate_texts *texts, const struct srv_tls_config *tls)
{
    const char *const names[] = {"--cert", "--key", "--ca", "--crl"}, *const paths[] = {tls->cert, tls->key, tls->client_ca, tls->crl};
    uint32_t count = 0;
    while (options->arguments[count] != NULL) {
        count++;
    }
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (paths[i][0] != '\0') {
            (void)snprintf(texts->files[i], sizeof texts->files[i], "%s=%s", names[i], paths[i]);
            options->arguments[count++] = texts->files[i];
        }
    }
}

static void add_grants(struct srv_supervisor_options *options, struct gate_texts *texts, const struct srv_control_config *control)
{
    uint32_t count = 0;
    while (options->arguments[count] != NULL) {
        count++;
    }
    for (uint32_t i = 0; i < control->rule_count; i++) {
        const struct srv_role_rule *rule = &control->rules[i];
        if (rule->certificate[0] != '\0') {
            (void)snprintf(texts->grants[i], sizeof texts->grants[i], "--grant=%s", rule->certificate);
            options->arguments[count++] = texts->grants[i];
        }
    }
}

enum oto_status srv_server_start_gate(struct srv_server *server, struct oto_error *error)
{
    const struct srv_publish_config *publish = &server->config.publish;
    const struct srv_control_config *control = &server->config.control;
    struct gate_texts texts;
    (void)snprintf(texts.coalesce, sizeof texts.coalesce, "--coalesce-ns=%lld", (long long)publish->coalesce_ns);
    struct srv_supervisor_options options = {.program = "otolith-gate",
                                             .arguments = {texts.coalesce, publish->packed ? "--format=packed" : "--format=map"},
                                             .endpoint_option = "--listen"};
    if (publishes(server)) {
        add_endpoints(&options, publish, true);
        add_only(&options, publish);
    }
    if (control->listen[0] != '\0') {
        (void)snprintf(texts.control, sizeof texts.control, "control+%s", control->listen);
        options.endpoints[options.endpoint_count++] = texts.control;
    }
    if (options.endpoint_count == 0) {
        return OTO_OK;
    }
    add_files(&options, &texts, &server->config.tls);
    add_grants(&options, &texts, control);
    const struct srv_supervisor_hooks hooks = srv_server_publisher_hooks(server);
    return srv_supervisor_start(&server->loop, &options, server->runtime.path, &hooks, &server->gate, error);
}

/* ---- the page ---- */

/* A world also runs without its page: a failure only prints a sentence. */
void srv_server_start_web(struct srv_server *server)
{
    const struct srv_web_config *web = &server->config.web;
    struct oto_error error = {0};
    if (!web->enabled || server->options->no_publish) {
        return;
    }
    struct srv_supervisor_options options = {
        .program = "otolith-web",
        .arguments = {"--listen", web->listen, web->read_token == SRV_READ_TOKEN_NONE ? "--read-token=none" : "--read-token=auto"},
        .endpoint_count = 1,
        .endpoints = {""}};
    for (uint32_t i = 0; i < SRV_ORIGINS_MAX && web->origins[i][0] != '\0'; i++) {
        options.arguments[3 + 2 * i] = "--origin";
        options.arguments[4 + 2 * i] = web->origins[i];
    }
    const struct srv_supervisor_hooks hooks = srv_server_web_hooks(server);
    const enum oto_status status =
        srv_supervisor_start(&server->loop, &options, server->runtime.path, &hooks, &server->web, &error);
    if (status != OTO_OK) {
        char sentence[sizeof error.text + 128];
        (void)snprintf(sentence, sizeof sentence, "the world has no page: %s (otolith-web is built where libwebsockets is installed)",
                       error.text);
        srv_server_say(NULL, sentence);
    }
}
