/* otolith web: the link of a running world's page. */
#include "cli.h"
#include "web_link.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MS 60000 /* for the page to listen; on a busy machine its start takes long */

struct options {
    struct cli_common common;
    bool control;
};

static const struct argp_option rows[] = {
    {"control", 'c', NULL, 0, "print the link that may also control the world; keep it to yourself", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case 'c':
        options->control = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one argument too many", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Reads the control token from its file, which only the server's user can read. */
static enum oto_status read_control_token(const char *path, char *token, size_t bytes, struct oto_error *error)
{
    char *text = NULL;
    size_t bytes_read = 0;
    const enum oto_status status = cli_read_file(path, &text, &bytes_read, error);
    if (status != OTO_OK) {
        return status;
    }
    const char *found = strstr(text, "control ");
    const size_t length = found != NULL ? strcspn(found + 8, "\n") : 0;
    (void)snprintf(token, bytes, "%.*s", (int)length, found != NULL ? found + 8 : "");
    free(text);
    return length > 0 ? OTO_OK : oto_fail(error, OTO_CORRUPT, "%.200s has no control token", path);
}

static enum oto_status print_link(const struct options *options, const struct cli_web_link *link, struct oto_error *error)
{
    char token[64] = "";
    if (link->link[0] == 0 && link->expected) {
        return oto_fail(error, OTO_TIMEOUT, "the page of this world does not listen yet: ask again; messages of its server say why");
    }
    if (link->link[0] == 0) {
        return oto_fail(error, OTO_NOT_FOUND, "this world has no page: write `web: true` in its file, or start it with "
                        "--set web=true; a recording, without --no-web");
    }
    const enum oto_status status = options->control ? read_control_token(link->tokens, token, sizeof token, error) : OTO_OK;
    if (status != OTO_OK) {
        return status;
    }
    const char *joint = strchr(link->link, '#') != NULL ? "&" : "#";
    cli_print_line(stdout, "%s%s%s%s", link->link, options->control ? joint : "", options->control ? "control=" : "", token);
    return OTO_OK;
}

int cli_web(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .doc = "Print the link of a running world's page in the browser.",
                                     .children = children};
    struct options options = {.control = false};
    struct cli_web_link link;
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    struct oto_client *client = cli_observe(&options.common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    enum oto_status status = cli_web_link_wait(client, WAIT_MS, &link, &error);
    oto_client_close(client);
    if (status == OTO_OK) {
        status = print_link(&options, &link, &error);
    }
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
