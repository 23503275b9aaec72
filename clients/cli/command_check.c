/* otolith check WORLD: loads a world file in the server program and reports errors, without running it. */
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_check(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)) {
        (void)puts("Usage: otolith check WORLD [--set path=value]...\n"
                   "Check a world file: syntax, names, units, ranges, plugins and their files, without running it.");
        return CLI_OK;
    }
    if (argc < 2) {
        (void)fprintf(stderr, "Usage: otolith check WORLD [--set path=value]...\n");
        return CLI_USAGE;
    }
    char server[PATH_MAX];
    struct oto_error error = {0};
    if (cli_sibling("otolithd", server, sizeof server, &error) != OTO_OK) {
        return cli_say(&error);
    }
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (arguments == NULL) {
        return cli_no_memory();
    }
    arguments[0] = server;
    arguments[1] = (char[]){"--check"};
    for (int i = 1; i < argc; i++) {
        arguments[i + 1] = argv[i];
    }
    (void)execv(server, arguments);
    (void)oto_fail(&error, OTO_IO, "%s could not be started", server);
    free(arguments);
    return cli_say(&error);
}
