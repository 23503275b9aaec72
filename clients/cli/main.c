/* otolith: the command-line client. Finds the command in a table and passes the other arguments to it. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "document/document.h"
#include "otolith/version.h"

static const struct cli_command commands[] = {
    {"run", cli_run, "start a world, show it and record it"},
    {"record", cli_record, "record a running world as an MCAP file"},
    {"play", cli_play, "serve a recording as a world"},
    {"seek", cli_seek, "continue a played recording at another time"},
    {"ls", cli_ls, "list the running worlds' topics"},
    {"info", cli_info, "describe a topic: rate, record, fields, units"},
    {"echo", cli_echo, "print samples of a topic"},
    {"hz", cli_hz, "measure the rate of a topic"},
    {"top", cli_top, "show a live view of a running world"},
    {"web", cli_web, "print the link of a world's page in the browser"},
    {"get", cli_get, "read the parameters of a node"},
    {"set", cli_set, "change a parameter of a running node"},
    {"pause", cli_clock, "stop the world's clock"},
    {"resume", cli_clock, "resume the world's clock"},
    {"step", cli_clock, "run a number of ticks, then pause"},
    {"scale", cli_clock, "set simulated seconds per real second"},
    {"swap", cli_swap, "replace a node's plugin while the world runs"},
    {"checkpoint", cli_checkpoint, "save the state of a running world"},
    {"restore", cli_restore, "restore a running world from a checkpoint"},
    {"branch", cli_branch, "start another world from the current state of this one"},
    {"verify", cli_verify, "prove the samples of a recording; find the first difference of two logs"},
    {"fault", cli_fault, "inject a fault into a sensor's samples"},
    {"check", cli_check, "check a world file without running it"},
    {"doctor", cli_doctor, "check whether this machine is fit for real time"},
    {"allan", cli_allan, "Allan deviation of a CSV's columns or of a topic, with fitted coefficients"},
    {"fit", cli_fit, "a part from a rest log, tested against the log"},
    {"plot", cli_plot, "draw columns of CSV files as SVG"},
    {"sense", cli_sense, "run a sensor plugin over a CSV of true inputs"},
    {"estimate", cli_estimate, "run an estimator plugin over recorded logs"},
    {"calibrate", cli_calibrate, "find the mounting angles of an IMU from logs of a drive"},
    {"grade", cli_grade, "measure the mount calibration on simulated drives"},
    {"new", cli_new, "write a plugin or a world to start from"},
    {"plugins", cli_plugins, "list the plugins that a world can name"},
    {"params", cli_plugin_params, "list the parameters of a plugin: default, unit, accepted values"},
    {"sweep", cli_sweep, "run a world with many values and seeds, and tabulate metrics"},
    {"parts", cli_parts, "list, show, import and export parts: data of real sensors"},
    {"sdf", cli_sdf, "convert IMUs between SDF XML and worlds"},
    {"export", cli_export, "write the messages of the records as a ROS 2 package"},
    {"gnss-out", cli_gnss_out, "send satellite fixes as a receiver does: NMEA 0183, UBX"},
    {"model", cli_model, "list motion models; predict states, Jacobians and roll-outs"},
    {"environment", cli_environment, "gravity, magnetic field and air at a place and date"},
};

static const size_t command_count = sizeof commands / sizeof *commands;

static int help(FILE *to, int code)
{
    (void)fprintf(to, "otolith " OTO_VERSION_STRING ": simulated inertial sensors in shared memory and on the wire\n\n"
                      "usage: otolith COMMAND [OPTION...]      otolith COMMAND --help lists its options\n\n");
    for (size_t i = 0; i < command_count; i++) {
        (void)fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].summary);
    }
    return code;
}

/* Flushes standard output; a write error is reported and fails the command. */
static int finish(int code)
{
    const int reason = fflush(stdout) == 0 ? 0 : errno;
    if (code == CLI_OK && cli_print_failed()) {
        return cli_no_memory();
    }
    if (code != CLI_OK || ferror(stdout) == 0) {
        return code;
    }
    (void)fprintf(stderr, "otolith: the output could not be written%s%s\n", reason != 0 ? ": " : "",
                  reason != 0 ? strerror(reason) : "");
    return CLI_FAILED;
}

int main(int argc, char **argv)
{
    static char buffer[BUFSIZ]; /* without this buffer stdio drops characters if it cannot allocate one */
    (void)setvbuf(stdout, buffer, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, sizeof buffer);
    (void)signal(SIGCHLD, SIG_DFL); /* some launchers ignore it, which makes children unwaitable */
    (void)signal(SIGXFSZ, SIG_IGN); /* beyond RLIMIT_FSIZE a write fails with EFBIG, which is reported */
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        return finish(help(argc < 2 ? stderr : stdout, argc < 2 ? CLI_USAGE : CLI_OK));
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)puts("otolith " OTO_VERSION_STRING);
        return finish(CLI_OK);
    }
    const char *names[sizeof commands / sizeof *commands];
    for (size_t i = 0; i < command_count; i++) {
        names[i] = commands[i].name;
        if (strcmp(argv[1], commands[i].name) == 0) {
            char name[64];
            (void)snprintf(name, sizeof name, "otolith %s", commands[i].name);
            argv[1] = name;
            return finish(commands[i].run(argc - 1, argv + 1));
        }
    }
    const char *near = oto_nearest_word(argv[1], names, command_count);
    (void)fprintf(stderr, "otolith: there is no command '%s'%s%s%s\n", argv[1], near != NULL ? "; did you mean '" : "",
                  near != NULL ? near : "", near != NULL ? "'?" : "; otolith --help lists them");
    return CLI_USAGE;
}
