#include "daemon/checkpoint/checkpointer.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_CAPACITY (UINT64_C(1) << 16)
#define ENDING ".ckpt"
#define PAGE_BYTES 4096
#define ANSWER_LIMIT_MS 2000 /* timeout for the answers of plugin hosts of mode async */
#define PAUSE_MS 1000 /* least real time between periodic checkpoints: mode asap simulates many seconds in one real second */

/* A requested checkpoint. */
struct job {
    struct job *next;
    struct srv_checkpointer *owner;
    char *path;
    srv_checkpoint_function done;
    void *context;
    uint64_t deadline_ms; /* time of the loop's clock at which the job stops waiting for plugin hosts of mode async */
    bool waits;           /* the job waits for plugin hosts of mode async: the snapshot will be taken again */
    uint64_t tick;
    struct srv_checkpoint checkpoint; /* its member `state` points into owner->room */
    enum oto_status status;
    struct oto_error error;
    uv_work_t work;
};

struct srv_checkpointer {
    struct srv_worker *worker;
    struct srv_engine *engine;
    const struct srv_world_config *config;
    struct srv_command_queue *command_queue;
    struct job *jobs; /* in the order of the requests; the first one is being carried out */
    struct srv_snapshot room; /* memory for the snapshot of the first job; kept for the next job */
    uint64_t wanted;          /* bytes that `room` needs for a state */
    struct srv_checkpoint_costs costs;
    int64_t due_ns;   /* simulated time of the next periodic checkpoint */
    uint64_t not_before_ms; /* earliest time of the next periodic checkpoint, in the loop's clock */
    srv_saved_function saved;
    void *saved_context;
    bool periodic;    /* a periodic checkpoint is being made */
    bool stopped;
    oto_warn_function warn;
    void *warn_context;
    char complaint[OTO_ERROR_TEXT_BYTES];
};

struct srv_checkpointer *srv_checkpointer_create(struct srv_worker *worker, struct srv_engine *engine,
                                                 const struct srv_world_config *config,
                                                 struct srv_command_queue *command_queue, srv_saved_function saved,
                                                 void *saved_context)
{
    struct srv_checkpointer *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->worker = worker;
        made->engine = engine;
        made->config = config;
        made->command_queue = command_queue;
        made->saved = saved;
        made->saved_context = saved_context;
        made->wanted = FIRST_CAPACITY;
    }
    return made;
}

void srv_checkpointer_destroy(struct srv_checkpointer *checkpointer)
{
    if (checkpointer != NULL) {
        free(checkpointer->room.data);
        free(checkpointer);
    }
}

bool srv_checkpointer_is_busy(const struct srv_checkpointer *checkpointer)
{
    return checkpointer->jobs != NULL;
}

const struct srv_checkpoint_costs *srv_checkpointer_costs(const struct srv_checkpointer *checkpointer)
{
    return &checkpointer->costs;
}

static void take_snapshot(struct job *job);

/* Replies to the first job, and starts the next. */
static void finish(struct job *job, enum oto_status status, const char *text)
{
    struct srv_checkpointer *owner = job->owner;
    owner->jobs = job->next;
    job->done(job->context, status, job->tick, text);
    job->checkpoint.state = NULL;
    srv_checkpoint_finish(&job->checkpoint);
    free(job->path);
    free(job);
    if (owner->jobs != NULL) {
        take_snapshot(owner->jobs);
    }
}

/* [worker] */
static void write_file(uv_work_t *work)
{
    struct job *job = work->data;
    job->status = srv_checkpoint_write(job->path, &job->checkpoint, &job->error);
}

static void on_written(uv_work_t *work, int cancelled)
{
    struct job *job = work->data;
    srv_worker_done(job->owner->worker, work);
    if (cancelled != 0) {
        finish(job, OTO_CONFLICT, "the worker does not return from another request: the checkpoint was not written");
    } else {
        finish(job, job->status, job->status == OTO_OK ? job->path : job->error.text);
    }
}

static void describe_and_write(struct job *job)
{
    struct srv_checkpoint *checkpoint = &job->checkpoint;
    const struct srv_snapshot *room = &job->owner->room;
    checkpoint->tick = room->tick;
    checkpoint->chain = room->chain;
    checkpoint->state = room->data;
    checkpoint->state_bytes = room->bytes;
    memset((unsigned char *)room->data + room->bytes, 0, 8); /* the file's padding to 8 bytes is read from here */
    job->status = srv_checkpoint_describe_engine(job->owner->engine, job->owner->config, checkpoint, &job->error);
    if (job->status != OTO_OK) {
        finish(job, job->status, job->error.text);
        return;
    }
    job->work.data = job;
    char what[112];
    (void)snprintf(what, sizeof what, "checkpoint %.90s", job->path);
    if (!srv_worker_queue(job->owner->worker, &job->work, write_file, on_written, what)) {
        finish(job, OTO_NO_MEMORY, "the server has no worker for it");
    }
}

static void keep_costs(struct srv_checkpoint_costs *costs, const struct srv_snapshot *room)
{
    costs->count++;
    costs->bytes = room->bytes;
    costs->stall_ns = room->stall_ns;
    costs->stall_max_ns = room->stall_ns > costs->stall_max_ns ? room->stall_ns : costs->stall_max_ns;
}

static void on_snapshot(void *context, const struct srv_reply *reply)
{
    struct job *job = context;
    struct srv_checkpointer *owner = job->owner;
    job->tick = reply->tick;
    if (reply->status == OTO_LIMIT && owner->room.bytes > owner->room.capacity) {
        owner->wanted = owner->room.bytes + owner->room.bytes / 8 + PAGE_BYTES;
        take_snapshot(job);
    } else if (reply->status == OTO_TIMEOUT && uv_now(owner->worker->loop) < job->deadline_ms) {
        job->waits = true;
    } else if (reply->status != OTO_OK) {
        finish(job, reply->status, srv_reply_reason(reply));
    } else {
        keep_costs(&owner->costs, &owner->room);
        describe_and_write(job);
    }
}

/*
 * Allocates memory and writes to each of its pages, so that the tick thread's copy causes no page fault. A memset after malloc
 * would not do: the compiler replaces both by calloc, whose pages are only allocated when they are written.
 */
static bool make_room(struct srv_snapshot *room, uint64_t bytes)
{
    const uint64_t capacity = (bytes + 7) / 8 * 8;
    if (room->data != NULL && room->capacity >= capacity) {
        return true;
    }
    free(room->data);
    volatile unsigned char *data = malloc(capacity + 8);
    *room = (struct srv_snapshot){.data = (void *)(uintptr_t)data, .capacity = data != NULL ? capacity : 0};
    for (uint64_t at = 0; at < room->capacity; at += PAGE_BYTES) {
        data[at] = 0;
    }
    return data != NULL;
}

static void take_snapshot(struct job *job)
{
    struct srv_checkpointer *owner = job->owner;
    const struct srv_command command = {.kind = SRV_COMMAND_SAVE, .snapshot = &owner->room};
    if (!make_room(&owner->room, owner->wanted)) {
        finish(job, OTO_NO_MEMORY, "the server has no memory for the world's state");
    } else if (owner->stopped || !srv_command_queue_send(owner->command_queue, &command, on_snapshot, job)) {
        finish(job, OTO_CLOSED, "the server ends, or too many commands are waiting for the tick");
    }
}

void srv_checkpointer_request(struct srv_checkpointer *checkpointer, const char *path, srv_checkpoint_function done,
                              void *context)
{
    struct job *job = calloc(1, sizeof *job);
    char *own_path = strdup(path);
    if (job == NULL || own_path == NULL || checkpointer->stopped) {
        free(job);
        free(own_path);
        done(context, checkpointer->stopped ? OTO_CLOSED : OTO_NO_MEMORY, 0, "the server ends, or is out of memory");
        return;
    }
    *job = (struct job){.owner = checkpointer,
                        .path = own_path,
                        .deadline_ms = uv_now(checkpointer->worker->loop) + ANSWER_LIMIT_MS,
                        .done = done,
                        .context = context};
    struct job **link = &checkpointer->jobs;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = job;
    if (checkpointer->jobs == job) {
        take_snapshot(job);
    }
}

void srv_checkpointer_retry(struct srv_checkpointer *checkpointer)
{
    struct job *job = checkpointer->jobs;
    if (job != NULL && job->waits) {
        job->waits = false;
        take_snapshot(job);
    }
}

/* A job whose snapshot command waits for the tick thread gets its reply from the command queue. */
void srv_checkpointer_stop(struct srv_checkpointer *checkpointer)
{
    checkpointer->stopped = true;
    srv_checkpointer_retry(checkpointer); /* replies to a request that waits for plugin hosts */
}

static void ignore(void *context, enum oto_status status, uint64_t tick, const char *text)
{
    (void)context;
    (void)status;
    (void)tick;
    (void)text;
}

void srv_checkpointer_refuse_waiting(struct srv_checkpointer *checkpointer)
{
    struct job *job = checkpointer->jobs;
    if (job != NULL && job->work.data != NULL && uv_cancel((uv_req_t *)&job->work) != 0) { /* the job runs: it cannot be cancelled */
        job->done(job->context, OTO_TIMEOUT, job->tick, "the file has not been written for 10 s, as by a stuck disk: the "
                  "checkpoint may be complete later");
        job->done = ignore;
    }
}

/* ---- periodic ---- */

struct found {
    char *name;
    uint64_t tick;
};

/* Parses the name of a checkpoint file, for example "demo-000000012000.ckpt". */
static bool parse_name(const char *name, const char *world, uint64_t *tick)
{
    const size_t bytes = strlen(world);
    char *end = NULL;
    if (strncmp(name, world, bytes) != 0 || name[bytes] != '-' || name[bytes + 1] < '0' || name[bytes + 1] > '9') {
        return false;
    }
    errno = 0;
    *tick = strtoull(name + bytes + 1, &end, 10);
    return errno == 0 && strcmp(end, ENDING) == 0;
}

/* Path of the newest checkpoint of a tick before `below`; NULL: there is none, or no memory for its path. */
static char *find(const char *directory, const char *world, uint64_t below, uint64_t *tick)
{
    char best[PATH_MAX] = "";
    DIR *folder = opendir(directory);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
        uint64_t at;
        if (parse_name(entry->d_name, world, &at) && at < below && (best[0] == '\0' || at > *tick)) {
            (void)snprintf(best, sizeof best, "%s/%s", directory, entry->d_name);
            *tick = at;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return best[0] != '\0' ? strdup(best) : NULL;
}

/* Removes the oldest checkpoints and keeps the configured number (`keep`). */
static void remove_old(const struct srv_checkpointer *checkpointer)
{
    const struct srv_checkpoint_config *wanted = &checkpointer->config->checkpoint;
    uint64_t below = UINT64_MAX;
    uint32_t kept = 0;
    for (char *path = find(wanted->directory, checkpointer->config->name, below, &below); path != NULL;
         path = find(wanted->directory, checkpointer->config->name, below, &below)) {
        if (++kept > wanted->keep) {
            (void)unlink(path);
        }
        free(path);
    }
}

static void on_periodic(void *context, enum oto_status status, uint64_t tick, const char *text)
{
    struct srv_checkpointer *checkpointer = context;
    (void)tick;
    checkpointer->periodic = false;
    if (status == OTO_OK) {
        checkpointer->complaint[0] = '\0';
        if (checkpointer->saved != NULL) {
            checkpointer->saved(checkpointer->saved_context, text);
        }
        remove_old(checkpointer);
    } else if (status != OTO_CLOSED && status != OTO_CONFLICT && status != OTO_TIMEOUT &&
               strncmp(text, checkpointer->complaint, sizeof checkpointer->complaint - 1) != 0) {
        (void)snprintf(checkpointer->complaint, sizeof checkpointer->complaint, "%s", text);
        checkpointer->warn(checkpointer->warn_context, text);
    }
}

void srv_checkpointer_look(struct srv_checkpointer *checkpointer, oto_warn_function warn, void *warn_context)
{
    const struct srv_checkpoint_config *wanted = &checkpointer->config->checkpoint;
    struct oto_clock clock;
    char path[sizeof wanted->directory + 128];
    if (wanted->every_ns == 0 || checkpointer->periodic || checkpointer->stopped ||
        oto_segment_clock(srv_engine_segment(checkpointer->engine), &clock) != OTO_OK) {
        return;
    }
    if (checkpointer->due_ns == 0) {
        checkpointer->due_ns = (clock.sim_time_ns / wanted->every_ns + 1) * wanted->every_ns;
    }
    if (clock.sim_time_ns < checkpointer->due_ns || uv_now(checkpointer->worker->loop) < checkpointer->not_before_ms) {
        return;
    }
    checkpointer->not_before_ms = uv_now(checkpointer->worker->loop) + PAUSE_MS;
    checkpointer->due_ns = (clock.sim_time_ns / wanted->every_ns + 1) * wanted->every_ns;
    checkpointer->warn = warn;
    checkpointer->warn_context = warn_context;
    checkpointer->periodic = true;
    (void)mkdir(wanted->directory, 0700);
    (void)snprintf(path, sizeof path, "%s/%s-%012llu" ENDING, wanted->directory, checkpointer->config->name,
                   (unsigned long long)clock.tick);
    srv_checkpointer_request(checkpointer, path, on_periodic, checkpointer);
}
