/* otolith check WORLD: loads a world file in the server program and reports errors, without running it. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

static int run_check(const char *server, char **arguments)
{
    struct oto_error error = {0};
    int state = 0;
    pid_t pid = 0;
    const int reason = srv_child_start(
        &(struct srv_child_options){.program = server, .arguments = arguments, .inherits = true, .passed_fd = -1}, &pid);
    if (reason != 0) {
        (void)oto_fail(&error, OTO_IO, "%s could not be started: %s", server, strerror(reason));
        return cli_say(&error);
    }
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
        /* the signal also reaches the check, which ends and is waited for */
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : CLI_FAILED;
}

int cli_check(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)) {
        (void)puts("Usage: otolith check WORLD [--json] [--set path=value]...\n"
                   "Check a world file: syntax, names, units, ranges, plugins and their files, without running it.\n"
                   "Up to 20 errors are reported, each with line and column; with --json as one object on standard output.");
        return CLI_OK;
    }
    if (argc < 2) {
        (void)fprintf(stderr, "Usage: otolith check WORLD [--json] [--set path=value]...\n");
        return CLI_USAGE;
    }
    char server[PATH_MAX];
    struct oto_error error = {0};
    if (cli_sibling("otolithd", server, sizeof server, &error) != OTO_OK) {
        return cli_say(&error);
    }
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    if (arguments == NULL) {
        return cli_no_memory();
    }
    arguments[0] = server;
    arguments[1] = (char[]){"--check"};
    char follow[32]; /* a plugin's prepare that does not return ends with this program */
    (void)snprintf(follow, sizeof follow, "--follow-parent=%ld", (long)getpid());
    arguments[2] = follow;
    for (int i = 1; i < argc; i++) {
        arguments[i + 2] = argv[i];
    }
    const int code = run_check(server, arguments);
    free(arguments);
    return code;
}
