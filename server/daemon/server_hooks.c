/* Functions of the server that the control socket and the publisher's supervisor call. */
#include "server_private.h"

#include <stdio.h>
#include <string.h>

#include "base/plain_text.h"
#include "isolate/probe.h"

/* Sentences contain text of world files and clients, whose control characters must not reach a terminal. */
static void say(const char *kind, const char *sentence)
{
    char plain[1024];
    (void)fprintf(stderr, "otolithd: %s%s\n", kind, oto_plain_text(sentence, plain, sizeof plain));
}

void srv_server_say(void *context, const char *sentence)
{
    (void)context;
    say("", sentence);
}

void srv_server_warn(void *context, const char *sentence)
{
    (void)context;
    say(strstr(sentence, ": warning: ") == NULL ? "warning: " : "", sentence);
}

/* Before the reply the log, whose path is one of the facts, gets what has happened until now: a recording copies it. */
static bool tell_info(void *context, char *text, size_t bytes)
{
    struct srv_server *server = context;
    srv_run_observer_flush(server->run_observer);
    return srv_server_info(server, text, bytes);
}

static void on_shutdown(void *context, const char *who)
{
    (void)who;
    srv_server_end(context, false);
}

static void on_save(void *context, const char *path, srv_hook_done_function done, void *done_context)
{
    const struct srv_server *server = context;
    srv_checkpointer_request(server->checkpointer, path, done, done_context);
}

void srv_server_write_facts(struct srv_server *server)
{
    struct oto_error error = {0};
    char text[4096];
    if (server->phase != SRV_PHASE_RUNNING) {
        return; /* the file is gone, or is that of the next run */
    }
    if (!srv_server_json(server, text, sizeof text) ||
        srv_runtime_dir_write(&server->runtime, "server.json", text, &error) != OTO_OK) {
        srv_server_warn(NULL, error.text[0] != 0 ? error.text : "server.json would be too long");
    }
}

/* The source of the event is the program's name without "otolith-". */
static void on_event(void *context, const char *program, uint32_t severity, int64_t value, const char *sentence)
{
    struct srv_server *server = context;
    if (server->phase == SRV_PHASE_RUNNING) {
        srv_server_say(NULL, sentence);
    }
    srv_command_queue_event(server->command_queue, OTO_EVENT_PUBLISHER, severity, value, program + strlen("otolith-"), sentence);
}

static void on_web_restart(void *context)
{
    (void)context; /* the events of the supervisor report the restart */
}

static void on_endpoints(void *context, bool is_new)
{
    (void)is_new;
    srv_server_write_facts(context);
}

static void on_web_link(void *context, bool is_new)
{
    struct srv_server *server = context;
    if (is_new && !server->options->follow_parent) { /* `otolith run` prints the link itself */
        (void)fprintf(stderr, "otolithd: %s in the browser: %s\n", server->config.name, srv_supervisor_endpoint(server->web, 0));
    }
    srv_server_write_facts(server);
}

static void on_publisher_restart(void *context)
{
    struct srv_server *server = context;
    srv_engine_count(server->engine, OTO_COUNTER_PUBLISHER_RESTARTS, 1);
}

struct srv_control_hooks srv_server_control_hooks(struct srv_server *server)
{
    return (struct srv_control_hooks){.context = server,
                                      .is_replay = server->options->replay_path != NULL,
                                      .info = tell_info,
                                      .shutdown = on_shutdown,
                                      .access = &server->config.control,
                                      .worker = &server->worker,
                                      .probe = srv_probe_run,
                                      .save = on_save,
                                      .restore = srv_server_restore};
}

struct srv_supervisor_hooks srv_server_publisher_hooks(struct srv_server *server)
{
    return (struct srv_supervisor_hooks){server, on_event, on_publisher_restart, on_endpoints};
}

struct srv_supervisor_hooks srv_server_web_hooks(struct srv_server *server)
{
    return (struct srv_supervisor_hooks){server, on_event, on_web_restart, on_web_link};
}
