/*
 * One run of a world: the main loop and all objects that use it. main.c owns it; nothing here is global. [loop]
 */
#ifndef SRV_SERVER_H
#define SRV_SERVER_H

#include <uv.h>

#include "world/world_config.h"
#include "daemon/check_report.h"
#include "daemon/checkpoint/checkpointer.h"
#include "daemon/control/control.h"
#include "daemon/supervise/crash_page.h"
#include "daemon/control/runtime_dir.h"
#include "daemon/control/worker.h"
#include "daemon/log/run_observer.h"
#include "options.h"
#include "base/wait_time.h"
#include "publish/supervisor.h"
#include "daemon/thread/engine.h"

/* Phases of a run's end. Each has a deadline. */
enum srv_phase {
    SRV_PHASE_RUNNING = 0,
    SRV_PHASE_STOPPING, /* waits for the tick thread to stop */
    SRV_PHASE_DRAINING, /* waits until lossless readers have read the last records */
    SRV_PHASE_CLOSING   /* closes publisher, page, sockets and handles */
};

struct srv_server {
    const struct srv_options *options;
    struct srv_world_config config;
    struct srv_runtime_dir runtime;
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    struct srv_control *control;
    struct srv_checkpointer *checkpointer;
    struct srv_crash_page *crash_page; /* NULL: not supervised */
    struct srv_run_observer *run_observer; /* NULL: nothing is logged or replayed */
    struct srv_replay *replay;             /* the replay until the run observer owns it, then NULL */
    struct srv_options as_logged;    /* options of a replay, with world and overrides of its log */
    uint32_t run;                    /* number of this run in the process, from 0; each run has its own log */
    char *began_with;                /* path of the checkpoint that this run continues; NULL: it begins at tick 0 */
    struct srv_checkpoint beginning; /* content of the file `began_with`, until the run serves */
    struct srv_late_reply asked_by;  /* the reply to the client whose `restore` made this run; sent when it serves */
    struct srv_server *next;         /* the next run of this process, ready to start; NULL: there is none */
    struct srv_restore *restoring;   /* the next run is being made; NULL: none */
    struct srv_supervisor *publisher; /* NULL: nothing is published without TLS */
    struct srv_supervisor *gate;      /* NULL: nothing is served over TLS */
    struct srv_supervisor *web;       /* NULL: the world has no page */
    uv_loop_t loop;
    uv_work_t first_job; /* an empty job, which starts the worker thread */
    struct srv_worker worker;
    struct srv_check_report check_report;
    bool worker_stuck; /* the worker is stuck, which was reported */
    uv_signal_t signals[3];
    uv_timer_t watchdog, ending;
    bool loop_open, handles_open;
    enum srv_phase phase;
    int64_t phase_limit_ms;
    struct srv_wait_time phase_time; /* since the phase began */
    bool patient; /* the run reached its end time: lossless readers get time to finish */
    int exit_code;
    char privileges[256];
};

/* Makes the server for run number `run` of this process; NULL: no memory. */
struct srv_server *srv_server_create(const struct srv_options *options, uint32_t run);
/* Makes another attempt at a restored run that could not start, with the same checkpoint, waiting client and directory. */
struct srv_server *srv_server_create_again(struct srv_server *failed);
/* Loads the world and makes the engine, with the state of the checkpoint if the options name one; makes no tick. */
enum oto_status srv_server_load(struct srv_server *server, struct oto_error *error);
/* As srv_server_load, from another checkpoint; NULL: from the one the server already holds. [any thread, one at a time] */
enum oto_status srv_server_load_from(struct srv_server *server, const char *restore_path, struct oto_error *error);
/* Claims the world's name, starts ticking, serving and publishing, and returns when the run has ended. */
enum oto_status srv_server_run(struct srv_server *server, struct oto_error *error);
void srv_server_destroy(struct srv_server *server); /* half-made is allowed */

/* The facts of `info` and of server.json as one line of JSON; false when they do not fit. */
bool srv_server_info(const struct srv_server *server, char *text, size_t bytes);
bool srv_server_json(const struct srv_server *server, char *text, size_t bytes);

#endif
