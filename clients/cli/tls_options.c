#include "tls_options.h"

enum { KEY_CA = 0x200, KEY_CERT, KEY_KEY, KEY_CRL };

static error_t parse_tls(int key, char *argument, struct argp_state *state)
{
    struct cli_tls *tls = state->input;
    tls->files.size = sizeof tls->files;
    switch (key) {
    case KEY_CA: tls->files.ca = argument; return 0;
    case KEY_CERT: tls->files.cert = argument; return 0;
    case KEY_KEY: tls->files.key = argument; return 0;
    case KEY_CRL: tls->files.crl = argument; return 0;
    case ARGP_KEY_END:
        if ((tls->files.cert == NULL) != (tls->files.key == NULL)) {
            argp_error(state, "--cert and --key belong together");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option tls_options[] = {
    {"ca", KEY_CA, "FILE", 0, "tls+tcp: certificates that sign the server's (default: those of the system)", 5},
    {"cert", KEY_CERT, "FILE", 0, "tls+tcp: certificate of this client, with --key", 5},
    {"key", KEY_KEY, "FILE", 0, "tls+tcp: its key", 5},
    {"crl", KEY_CRL, "FILE", 0, "tls+tcp: revocation lists of these authorities", 5},
    {0},
};
const struct argp cli_tls_argp = {.options = tls_options, .parser = parse_tls};

static error_t parse_remote(int key, char *argument, struct argp_state *state)
{
    struct cli_remote *remote = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &remote->tls; return 0;
    case 'c': remote->url = argument; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option remote_options[] = {
    {"connect", 'c', "URL", 0, "control a world on another machine at tls+tcp://host:port, with --cert and --key", 5},
    {0},
};
static const struct argp_child remote_children[] = {{&cli_tls_argp, 0, NULL, 0}, {0}};
const struct argp cli_remote_argp = {.options = remote_options, .parser = parse_remote, .children = remote_children};

static const struct argp_option samples_options[] = {
    {"connect", 'c', "URL", 0, "subscribe to tcp://host:port or tls+tcp://host:port in place of the shared memory of this machine", 5},
    {0},
};
const struct argp cli_samples_argp = {.options = samples_options, .parser = parse_remote, .children = remote_children};

const struct oto_tls_files *cli_tls_files(const struct cli_tls *tls)
{
    return tls->files.size != 0 ? &tls->files : NULL;
}
