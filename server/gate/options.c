#include "gate/options.h"

#include <string.h>

#include "program/program.h"

enum { KEY_COALESCE = 1000, KEY_FORMAT, KEY_PARENT, KEY_CERT, KEY_KEY, KEY_CA, KEY_CRL, KEY_GRANT, KEY_ONLY };

static const struct argp_option option_table[] = {
    {"socket", 's', "PATH", 0, "the world's control socket", 0},
    {"listen", 'l', "URL", 0, "tls+tcp://HOST:PORT for samples, control+tls+tcp://HOST:PORT for remote control; at most 8 times", 0},
    {"cert", KEY_CERT, "FILE", 0, "certificate of the server, followed by those up to its authority", 0},
    {"key", KEY_KEY, "FILE", 0, "its key, a file that only its user can read", 0},
    {"ca", KEY_CA, "FILE", 0, "authorities of clients: every client needs a certificate", 0},
    {"crl", KEY_CRL, "FILE", 0, "revocation lists of these authorities", 0},
    {"grant", KEY_GRANT, "NAME", 0, "clients whose certificate has this common name have a role in the world; at most 32 times", 0},
    {"coalesce-ns", KEY_COALESCE, "NS", 0, "time whose samples share a frame; 0: 1 ms", 0},
    {"format", KEY_FORMAT, "map|packed", 0, "encoding of samples", 0},
    {"only", KEY_ONLY, "PATTERNS", 0, "send the topics that match, for example 'car_00*/imu,truck/*'", 0},
    {"parent", KEY_PARENT, "PID", 0, "pid of the parent: end when it ends", 0},
    {0}};

bool srv_gate_is_control(const char *url)
{
    return strncmp(url, SRV_GATE_CONTROL_PREFIX, strlen(SRV_GATE_CONTROL_PREFIX)) == 0;
}

static void add_grant(const struct argp_state *state, struct srv_gate_options *options, const char *value)
{
    if (options->grant_count == SRV_GATE_GRANTS_MAX) {
        argp_error(state, "--grant %s: at most %d names are accepted", value, SRV_GATE_GRANTS_MAX);
        return;
    }
    options->grants[options->grant_count++] = value;
}

static void check_whole(const struct argp_state *state, const struct srv_gate_options *options)
{
    if (options->socket_path == NULL || options->listen_count == 0) {
        argp_error(state, "--socket and at least one --listen are needed");
    }
    for (uint32_t i = 0; i < options->listen_count; i++) {
        if (srv_gate_is_control(options->listen[i]) && options->files.ca == NULL) {
            argp_error(state, "remote control needs --ca: every client shows a certificate");
        }
    }
}

static error_t parse_text(int key, char *value, struct argp_state *state)
{
    struct srv_gate_options *options = state->input;
    switch (key) {
    case 's': options->socket_path = value; return 0;
    case KEY_CERT: options->files.cert = value; return 0;
    case KEY_KEY: options->files.key = value; return 0;
    case KEY_CA: options->files.ca = value; return 0;
    case KEY_CRL: options->files.crl = value; return 0;
    case KEY_ONLY: options->only = value; return 0;
    case KEY_GRANT: add_grant(state, options, value); return 0;
    case 'l':
        srv_program_add(state, "--listen", options->listen, &options->listen_count, SRV_GATE_LISTEN_MAX, value);
        return 0;
    case ARGP_KEY_END: check_whole(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct srv_gate_options *options = state->input;
    switch (key) {
    case KEY_COALESCE:
        options->coalesce_ns = srv_program_number(state, "--coalesce-ns", value, 0, 1000000000);
        return 0;
    case KEY_FORMAT:
        options->format = strcmp(value, "packed") == 0 ? SRV_FEED_PACKED : SRV_FEED_MAP;
        if (options->format == SRV_FEED_MAP && strcmp(value, "map") != 0) {
            argp_error(state, "--format %s: map or packed is accepted", value);
        }
        return 0;
    case KEY_PARENT:
        options->parent = (pid_t)srv_program_number(state, "--parent", value, 1, INT32_MAX);
        return 0;
    default:
        return parse_text(key, value, state);
    }
}

void srv_gate_options_parse(int argc, char **argv, struct srv_gate_options *options)
{
    const struct argp argp = {option_table, parse_option, NULL, "Publishes and controls a world over TLS; started by otolithd.",
                              NULL, NULL, NULL};
    srv_program_options(&argp, NULL, argc, argv, options);
}
