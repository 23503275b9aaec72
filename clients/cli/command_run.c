/*
 * otolith run WORLD: starts a server for the world, shows and records the run, and stops the server. The server starts
 * paused, so that a recording begins with the first sample.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "cli.h"
#include "installed.h"
#include "run_options.h"
#include "server_process.h"
#include "summary.h"
#include "view.h"
#include "web_link.h"

#define PAGE_WAIT_MS 2000 /* for the page to listen */
#define STOP_LIMIT_NS INT64_C(10000000000)
enum { STEP_CHUNK = 256 };

struct run {
    struct run_options *options;
    struct server_process server;
    struct oto_client *client;
    struct view view;
    uint64_t end_tick; /* in step mode with --for */
    int64_t started_ns; /* 0: not resumed yet */
    bool fault; /* the world stopped itself */
    bool quit;  /* by a key */
};

/* The command for the hints: `tools/otolith` in a checkout, otherwise the name of the installed program. */
static const char *own_name(void)
{
    char path[PATH_MAX];
    struct oto_error error;
    if (access("tools/otolith", X_OK) == 0) {
        return "tools/otolith";
    }
    return cli_sibling("../../../tools/otolith", path, sizeof path, &error) == OTO_OK ? "tools/otolith" : "otolith";
}

static void print_page(struct oto_client *client)
{
    struct cli_web_link link;
    struct oto_error error = {0};
    if (cli_web_link_wait(client, PAGE_WAIT_MS, &link, &error) == OTO_OK && link.link[0] != 0) {
        cli_print_line(stderr, "In the browser:");
        cli_print_line(stderr, "  %s", link.link);
    }
}

static void print_hints(struct oto_client *client)
{
    const struct oto_channel *shown = NULL;
    for (uint32_t i = 0; i < oto_client_channel_count(client) && shown == NULL; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        shown = strcmp(channel->type.name, "imu") == 0 ? channel : NULL;
    }
    char directory[PATH_MAX];
    struct oto_error error;
    if (shown == NULL || oto_runtime_directory(directory, sizeof directory, &error) != OTO_OK) {
        return;
    }
    const char *otolith = own_name();
    char publisher[PATH_MAX + OTO_WORLD_NAME_BYTES + 24];
    struct oto_reply facts;
    (void)snprintf(publisher, sizeof publisher, "ipc://%s/%s/pub.ipc", directory, oto_client_header(client)->world);
    (void)printf("In a second terminal:\n"
                 "  %s echo %s -n 3\n"
                 "  %s set %s accelerometer.constant_bias_m_s2 '[1, 0, 0]'\n"
                 "  %s swap %s %s\n",
                 otolith, shown->topic, otolith, shown->node, otolith, shown->node, shown->plugin);
    if (oto_control_info(client, &facts, &error) == OTO_OK && strstr(facts.text, publisher) != NULL) {
        (void)printf("  nngcat --sub --dial %s --subscribe %s --quoted\n", publisher, shown->topic);
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

static uint32_t state_of(const struct run *run)
{
    return __atomic_load_n(&oto_client_header(run->client)->state, __ATOMIC_ACQUIRE);
}

static bool run_over(struct run *run)
{
    return state_of(run) == OTO_SERVER_FAULT || server_ended(&run->server);
}

static bool ended_in_order(const struct run *run)
{
    const uint32_t state = state_of(run);
    return state == OTO_SERVER_ENDED || state == OTO_SERVER_CLOSING;
}

/* A world in mode `step` is advanced by steps. OTO_OK also if the run is over already: a replay without ticks, a crash. */
static enum oto_status resume(struct run *run, struct oto_error *error)
{
    struct oto_reply reply;
    const enum oto_status status = run->options->step_mode ? OTO_OK : oto_control_resume(run->client, &reply, error);
    return status != OTO_OK && oto_client_run_is_over(run->client) ? OTO_OK : status;
}

/* Requests the steps of a world in mode `step` with --for, as many at a time as the rings can hold. */
static enum oto_status step_on(struct run *run, struct oto_error *error)
{
    struct oto_clock clock = {0};
    struct oto_reply reply;
    (void)oto_client_clock(run->client, &clock);
    const uint64_t left = run->end_tick > clock.tick ? run->end_tick - clock.tick : 0;
    return left > 0 ? oto_control_step(run->client, left < STEP_CHUNK ? left : STEP_CHUNK, &reply, error) : OTO_OK;
}

static enum oto_status open_view(struct run *run, struct oto_error *error)
{
    const enum oto_status status = view_init(&run->view, run->client, NULL, error);
    run->view.end_ns = run->options->for_ns;
    if (status == OTO_OK && !run->options->quiet) {
        view_keys_open(&run->view);
    }
    return status;
}

static void close_view(struct run *run)
{
    view_keys_close(&run->view);
    view_finish(&run->view);
}

static void show(struct run *run, bool terminal, int64_t *next_ns)
{
    const bool key = view_keys_take(&run->view, 0, &run->quit);
    if (run->options->quiet || (!key && srv_now_ns() < *next_ns)) {
        return;
    }
    *next_ns = srv_now_ns() + (terminal ? 100000000 : 1000000000);
    view_update(&run->view);
    if (terminal) {
        view_draw(&run->view, stdout);
    } else {
        view_line(&run->view, stdout);
    }
}

/* Writes the new samples to all recordings and returns their number. */
static uint64_t drain(struct run *run)
{
    return recorder_drain(&run->options->recorder) + run_recording_drain(&run->options->mcap);
}

/*
 * Attaches to the next run of the server after a crash or a restored checkpoint, and continues view and recording there.
 * OTO_CLOSED: the server has ended.
 */
static enum oto_status reattach(struct run *run, struct oto_error *error)
{
    while (drain(run) > 0) {
        /* reads the remaining samples of the run that has ended */
    }
    enum oto_status status = server_reattach(&run->server, run->client, error);
    if (status == OTO_OK) {
        close_view(run);
        status = open_view(run, error);
    }
    if (status == OTO_OK) {
        status = recorder_resume(&run->options->recorder, error);
    }
    if (status == OTO_OK) {
        status = run_recording_resume(&run->options->mcap, error);
    }
    return status == OTO_OK ? resume(run, error) : status;
}

static int finish_view(struct run *run, bool terminal, int code)
{
    view_update(&run->view);
    if (!run->options->quiet && terminal) {
        view_draw(&run->view, stdout);
    }
    return code;
}

static bool records(const struct run *run)
{
    return run->options->recorder.count > 0 || run->options->mcap.recording != NULL;
}

static int watch(struct run *run)
{
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const bool stepping = run->options->step_mode && run->options->for_ns > 0;
    int64_t next_ns = srv_now_ns() + (terminal ? 0 : 1000000000);
    struct oto_error error = {0};
    while (!cli_interrupted() && !run->quit && !run_over(run)) {
        struct oto_clock clock = {0};
        if (oto_client_run_is_over(run->client) && !run_over(run)) {
            const bool orderly = ended_in_order(run);
            const enum oto_status status = reattach(run, &error);
            if (status == OTO_CLOSED || (orderly && status == OTO_TIMEOUT)) {
                return finish_view(run, terminal, orderly || cli_interrupted() ? CLI_OK : CLI_FAILED);
            }
            if (status != OTO_OK) {
                return cli_say(&error);
            }
        }
        (void)oto_client_clock(run->client, &clock);
        if (drain(run) == 0) {
            if (stepping && clock.tick >= run->end_tick) {
                break;
            }
            if (stepping && step_on(run, &error) != OTO_OK && !run_over(run) && !oto_client_run_is_over(run->client)) {
                return cli_say(&error);
            }
            if (!stepping) {
                cli_wait_for_records(run->client, clock.tick, records(run) ? 5 : 50);
            }
        }
        show(run, terminal, &next_ns);
    }
    return finish_view(run, terminal, CLI_OK);
}

static uint64_t end_tick(const struct run *run)
{
    const struct oto_segment_header *header = oto_client_header(run->client);
    const double ticks = (double)run->options->for_ns * 1e-9 * (double)header->rate_num / (double)header->rate_den;
    return (uint64_t)(ticks + 0.5);
}

/*
 * The world stops before any output is finished, so that recordings, summary, log and checkpoint end at the same tick. A
 * world that waits for the recorder is drained until it has stopped.
 */
static void stop(struct run *run)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    const int64_t deadline_ns = srv_now_ns() + STOP_LIMIT_NS;
    run->fault = state_of(run) == OTO_SERVER_FAULT;
    /* A signal ends a server that does not answer: one that starts again would wait, paused, for this command. */
    run->server.is_ending = oto_control_shutdown(run->client, &reply, &error) == OTO_OK || (ended_in_order(run) && !cli_interrupted());
    while (!run_over(run) && !oto_client_run_is_over(run->client) && srv_now_ns() < deadline_ns) {
        if (drain(run) == 0) {
            (void)usleep(1000);
        }
    }
    run->fault = run->fault || state_of(run) == OTO_SERVER_FAULT;
}

static int report(struct run *run, int code)
{
    struct oto_error error = {0};
    struct oto_clock clock = {0};
    const int64_t wall_ns = srv_now_ns() - run->started_ns;
    if (recorder_finish(&run->options->recorder, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    if (run->options->mcap.path != NULL) {
        server_stop(&run->server); /* after this the server's log of inputs is complete */
    }
    if (run_recording_finish(&run->options->mcap, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    if (recorder_lost(&run->options->recorder) + run->options->mcap.counts.lost > 0 && !run->options->allow_loss) {
        code = CLI_FAILED;
    }
    (void)oto_client_clock(run->client, &clock);
    if (run->options->summary != NULL &&
        summary_write(run->options->summary, run->client, &run->options->recorder, wall_ns, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    if (run->options->json && summary_print(run->client, &run->options->recorder, wall_ns, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    cli_print_line(stderr, "%s: %.3f s simulated in %.3f s, %llu ticks, %llu overruns, state hash %016llx%s",
                   oto_client_header(run->client)->world, (double)clock.sim_time_ns * 1e-9, (double)wall_ns * 1e-9,
                   (unsigned long long)clock.tick,
                   (unsigned long long)oto_client_header(run->client)->counter[OTO_COUNTER_OVERRUNS],
                   (unsigned long long)clock.state_hash, run->fault ? ": stopped by a FAULT, see world/@events" : "");
    return run->fault ? CLI_FAILED : code;
}

static int run_attached(struct run *run)
{
    struct oto_error error = {0};
    int code = CLI_OK;
    bool interrupted = false;
    if (open_view(run, &error) != OTO_OK ||
        recorder_start(&run->options->recorder, run->client, &error) != OTO_OK ||
        run_recording_start(&run->options->mcap, oto_client_header(run->client)->world, run->options->log, &error) != OTO_OK) {
        code = cli_say(&error);
    } else {
        run->end_tick = end_tick(run);
        run->started_ns = srv_now_ns();
        if (!run->options->quiet) {
            print_page(run->client);
        }
        if (!run->options->quiet && isatty(STDOUT_FILENO)) {
            print_hints(run->client);
        }
        code = resume(run, &error) == OTO_OK ? watch(run) : cli_say(&error);
        interrupted = cli_interrupted();
    }
    stop(run);
    if (run->started_ns != 0) {
        code = report(run, code);
    } else {
        (void)recorder_finish(&run->options->recorder, &error);
        (void)run_recording_finish(&run->options->mcap, &error);
    }
    close_view(run);
    oto_client_close(run->client);
    return interrupted && code == CLI_OK ? cli_signal_exit_code() : code;
}

int cli_run(int argc, char **argv)
{
    struct run_options *options = calloc(1, sizeof *options);
    if (options == NULL) {
        return cli_no_memory();
    }
    cli_parse(&run_options_argp, argc, argv, options);
    struct oto_error error = {0};
    char *chosen = NULL; /* without a world in the command line */
    if (options->replay == NULL && options->world_path == NULL && (options->world_path = chosen = cli_world_choose(&error)) == NULL) {
        free(options);
        return cli_say(&error);
    }
    if (options->replay == NULL) { /* a replay cannot continue after a crash */
        run_options_pass(options, "supervise", NULL);
    }
    const bool logs = options->log != NULL;
    if (run_recording_prepare(&options->mcap, &options->log, &error) != OTO_OK) {
        free(options);
        free(chosen);
        return cli_say(&error);
    }
    if (!logs && options->log != NULL) {
        run_options_pass(options, "log", options->mcap.log);
    }
    run_options_pass(options, "start-paused", NULL);
    char follow[RUN_NAME_BYTES - 2]; /* the server ends with this process, even if this one is killed while the server starts */
    (void)snprintf(follow, sizeof follow, "follow-parent=%ld", (long)getpid());
    run_options_pass(options, follow, NULL);
    if (options->world_path != NULL) {
        options->arguments[options->argument_count++] = options->world_path;
    }
    cli_catch_signals();
    struct run run = {.options = options};
    char name[OTO_WORLD_NAME_BYTES];
    int code = CLI_FAILED;
    const enum oto_status named = run_options_world_name(options, name, sizeof name, &error);
    if (named == OTO_NO_MEMORY || named == OTO_IO) { /* without the world's name this command cannot attach */
        code = cli_say(&error);
    } else if (server_start(&run.server, options->arguments, &error) != OTO_OK) {
        code = cli_say(&error);
    } else if (named == OTO_OK && (run.client = server_attach(&run.server, name, &error)) != NULL) {
        code = run_attached(&run);
    } else if (cli_interrupted()) {
        code = cli_signal_exit_code();
    } else if (named != OTO_OK) {
        run.server.is_ending = true; /* it says what is wrong with the file */
    } else if (!server_ended(&run.server)) {
        (void)cli_say(&error);
    }
    server_stop(&run.server);
    (void)run_recording_finish(&options->mcap, &error);
    free(options);
    free(chosen);
    return run.server.exit_code != 0 ? CLI_FAILED : code;
}
