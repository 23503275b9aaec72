/* otolith play FILE: becomes otolith-player. otolith seek TIME: continues a playback elsewhere. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cli_play(int argc, char **argv)
{
    char program[PATH_MAX], name[] = "otolith play";
    struct oto_error error = {0};
    (void)argc;
    if (cli_sibling("otolith-player", program, sizeof program, &error) != OTO_OK) {
        return cli_say(&error);
    }
    argv[0] = name; /* for the messages of the player's command line */
    (void)execv(program, argv);
    (void)oto_fail(&error, OTO_IO, "%.300s: cannot be started: %s", program, strerror(errno));
    return cli_say(&error);
}

int cli_seek(int argc, char **argv)
{
    struct cli_simple simple;
    struct oto_error error = {0};
    struct oto_reply reply;
    int64_t t_ns = 0;
    cli_parse_simple(argc, argv, "TIME", "Continue a recording that `otolith play` serves at another simulated time, for example "
                     "12.5s. Clients reattach: a new run begins there.", 1, 1, &simple);
    if (cli_duration(simple.arguments[0], &t_ns, &error) != OTO_OK) {
        return cli_say(&error);
    }
    struct oto_client *client = cli_open(&simple.common, NULL);
    if (client == NULL) {
        return CLI_FAILED;
    }
    const enum oto_status status = oto_control_seek(client, t_ns, &reply, &error);
    oto_client_close(client);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
