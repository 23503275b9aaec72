#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "base/origin.h"
#include "otolith/version.h"
#include "program/program.h"

enum { KEY_READ_TOKEN = 1000, KEY_PARENT };

static const struct argp_option option_table[] = {
    {"world", 'w', "NAME", 0, "the world; default: the only one that runs", 0},
    {"socket", 's', "PATH", 0, "the world's control socket, instead of its name", 0},
    {"listen", 'l', "ADDRESS:PORT", 0, "default 127.0.0.1:8090; if the port is taken, one of the next 15 is used; 0: any port", 0},
    {"read-token", KEY_READ_TOKEN, "auto|none", 0, "none: everybody who reaches the port may read, on loopback only", 0},
    {"origin", 'o', "URL", 0, "another page that may connect, such as https://app.foxglove.dev, or a reverse proxy before this port, whose Host is then accepted; at most 8 times", 0},
    {"parent", KEY_PARENT, "PID", 0, "pid of the parent: end when it ends", 0},
    {0}};

static void read_listen(struct web_options *options, const char *value, struct argp_state *state)
{
    const char *colon = strrchr(value, ':');
    char *end = NULL;
    const bool brackets = value[0] == '[' && colon != NULL && colon > value + 1 && colon[-1] == ']';
    const char *start = value + brackets;
    const size_t bytes = colon != NULL ? (size_t)(colon - start) - brackets : 0;
    const unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;
    if (bytes == 0 || bytes >= sizeof options->address || end == colon + 1 || *end != 0 || port > UINT16_MAX) {
        argp_error(state, "--listen %s: ADDRESS:PORT is accepted, as 127.0.0.1:8090 or [::1]:8090", value);
    }
    memcpy(options->address, start, bytes);
    options->address[bytes] = 0;
    options->port = (uint16_t)port;
}

bool web_options_loopback(const struct web_options *options)
{
    return strncmp(options->address, "127.", 4) == 0 || strcmp(options->address, "::1") == 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct web_options *options = state->input;
    switch (key) {
    case 'w':
        options->world = value;
        return 0;
    case 's':
        options->socket_path = value;
        return 0;
    case 'l':
        read_listen(options, value, state);
        return 0;
    case KEY_READ_TOKEN:
        options->read_without_token = strcmp(value, "none") == 0;
        if (!options->read_without_token && strcmp(value, "auto") != 0) {
            argp_error(state, "--read-token %s: auto or none is accepted", value);
        }
        return 0;
    case 'o':
        if (!srv_is_origin(value)) {
            argp_error(state, "--origin %s: an origin as browsers send it is accepted: https://HOST or http://HOST:PORT in lower case, without a path", value);
        }
        srv_program_add(state, "--origin", options->origins, &options->origin_count, WEB_ORIGINS_MAX, value);
        return 0;
    case KEY_PARENT:
        options->parent = (pid_t)srv_program_number(state, "--parent", value, 1, INT32_MAX);
        return 0;
    case ARGP_KEY_END:
        if (options->read_without_token && !web_options_loopback(options)) {
            argp_error(state, "--read-token none is accepted on loopback only; %s is not", options->address);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void web_options_read(struct web_options *options, int argc, char **argv)
{
    *options = (struct web_options){.address = "127.0.0.1", .port = 8090};
    const struct argp argp = {option_table, parse_option, NULL,
                              "Shows a running world in the browser: live plots, attitude, events, parameters.", NULL, NULL,
                              NULL};
    srv_program_options(&argp, "otolith-web " OTO_VERSION_STRING, argc, argv, options);
}
