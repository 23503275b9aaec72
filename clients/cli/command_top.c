/* otolith top: the live view of a world that runs already. */
#include "view.h"

#include <time.h>
#include <unistd.h>

int cli_top(int argc, char **argv)
{
    struct cli_simple simple;
    cli_parse_simple(argc, argv, "", "Watch all topics of a running world. One snapshot where the output is no terminal.", 0, 0,
                     &simple);
    cli_catch_signals();
    struct oto_client *client = cli_observe(simple.common.world);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct view view;
    if (view_init(&view, client) != OTO_OK) {
        oto_client_close(client);
        return CLI_FAILED;
    }
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const struct timespec pause = {0, 200000000};
    view_update(&view);
    do {
        (void)nanosleep(&pause, NULL);
        view_update(&view);
        view_draw(&view, stdout);
    } while (terminal && !cli_interrupted() && oto_client_server_alive(client));
    view_finish(&view);
    oto_client_close(client);
    return CLI_OK;
}
