#include "daemon/control/command_queue.h"

#include <stdlib.h>

#define MAX_WAITING 4096u
#define SPARES 72u /* entries for use without free memory: enough for every client to leave and for the run to end */

/* A command that was sent: it waits for its reply, or for room in the engine's queue. */
struct entry {
    struct entry *next;
    struct srv_command command;
    srv_reply_function done;
    void *context;
};

struct entry_list {
    struct entry *first, *last;
};

struct srv_command_queue {
    struct srv_engine *engine;
    uv_poll_t poll;
    struct entry_list waiting; /* not yet in the engine's queue, in order */
    struct entry_list posted;  /* in the engine's queue, in order */
    struct entry *spares;
    uint32_t spare_count, count;
    uint64_t next_id;
    struct srv_command_queue_observer observer; /* its functions are NULL if there is no observer */
    bool stopped;
};

static void append(struct entry_list *list, struct entry *entry)
{
    entry->next = NULL;
    if (list->last != NULL) {
        list->last->next = entry;
    } else {
        list->first = entry;
    }
    list->last = entry;
}

static struct entry *take_first(struct entry_list *list)
{
    struct entry *entry = list->first;
    if (entry != NULL) {
        list->first = entry->next;
        if (list->first == NULL) {
            list->last = NULL;
        }
    }
    return entry;
}

static struct entry *take_entry(struct srv_command_queue *queue)
{
    struct entry *entry = malloc(sizeof *entry);
    if (entry == NULL && queue->spares != NULL) {
        entry = queue->spares;
        queue->spares = entry->next;
        queue->spare_count--;
    }
    return entry;
}

static void give_back(struct srv_command_queue *queue, struct entry *entry)
{
    if (queue->spare_count == SPARES) {
        free(entry);
        return;
    }
    entry->next = queue->spares;
    queue->spares = entry;
    queue->spare_count++;
}

/* Replies arrive almost in order, so the search is short. */
static struct entry *take_by_id(struct entry_list *list, uint64_t id)
{
    struct entry *before = NULL;
    for (struct entry *entry = list->first; entry != NULL; before = entry, entry = entry->next) {
        if (entry->command.id != id) {
            continue;
        }
        if (before == NULL) {
            return take_first(list);
        }
        before->next = entry->next;
        if (list->last == entry) {
            list->last = before;
        }
        return entry;
    }
    return NULL;
}

static void post_waiting(struct srv_command_queue *queue)
{
    while (queue->waiting.first != NULL && srv_engine_post(queue->engine, &queue->waiting.first->command)) {
        struct entry *entry = take_first(&queue->waiting);
        if (entry->done != NULL) {
            append(&queue->posted, entry);
        } else {
            queue->count--;
            give_back(queue, entry);
        }
    }
}

static void deliver(struct srv_command_queue *queue, struct entry *entry, const struct srv_reply *reply)
{
    queue->count--;
    entry->done(entry->context, reply);
    give_back(queue, entry);
}

void srv_command_queue_poll(struct srv_command_queue *queue)
{
    struct srv_reply reply;
    while (srv_engine_take_reply(queue->engine, &reply)) {
        struct entry *entry = take_by_id(&queue->posted, reply.id);
        if (entry != NULL) {
            deliver(queue, entry, &reply);
        }
    }
    post_waiting(queue);
    if (queue->observer.polled != NULL) {
        queue->observer.polled(queue->observer.context);
    }
}

void srv_command_queue_observe(struct srv_command_queue *queue, const struct srv_command_queue_observer *observer)
{
    queue->observer = *observer;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    srv_command_queue_poll(poll->data);
}

enum oto_status srv_command_queue_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_command_queue **queue,
                                         struct oto_error *error)
{
    struct srv_command_queue *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the queue of commands");
    }
    made->engine = engine;
    made->next_id = 1;
    for (struct entry *spare; made->spare_count < SPARES && (spare = malloc(sizeof *spare)) != NULL;) {
        give_back(made, spare);
    }
    made->poll.data = made;
    int failed = uv_poll_init(loop, &made->poll, srv_engine_notify_fd(engine));
    if (failed == 0) {
        failed = uv_poll_start(&made->poll, UV_READABLE, on_readable);
    }
    if (failed != 0) {
        srv_command_queue_destroy(made);
        return oto_fail(error, OTO_IO, "the engine's replies cannot be watched: %s", uv_strerror(failed));
    }
    *queue = made;
    return OTO_OK;
}

/* The engine keeps the objects of posted commands; the replies to the other commands return theirs to the senders. */
static void answer_closed(struct srv_command_queue *queue, struct entry_list *list, bool posted)
{
    for (struct entry *entry = take_first(list); entry != NULL; entry = take_first(list)) {
        const struct srv_reply reply = {.id = entry->command.id,
                                        .kind = entry->command.kind,
                                        .status = OTO_CLOSED,
                                        .change = posted ? NULL : entry->command.change,
                                        .faults = posted ? NULL : entry->command.fault,
                                        .mailbox = posted ? NULL : entry->command.mailbox,
                                        .reason = "the server ends"};
        if (entry->done != NULL) {
            deliver(queue, entry, &reply);
        } else {
            queue->count--;
            give_back(queue, entry);
        }
    }
}

void srv_command_queue_stop(struct srv_command_queue *queue)
{
    if (queue->stopped) {
        return;
    }
    queue->stopped = true;
    srv_command_queue_poll(queue);
    answer_closed(queue, &queue->posted, true);
    answer_closed(queue, &queue->waiting, false);
    uv_close((uv_handle_t *)&queue->poll, NULL);
}

void srv_command_queue_destroy(struct srv_command_queue *queue)
{
    while (queue != NULL && queue->spares != NULL) {
        struct entry *entry = queue->spares;
        queue->spares = entry->next;
        free(entry);
    }
    free(queue);
}

/* Commands that end something are never refused for too many commands: there is at most one for each thing that was started. */
static bool must_arrive(enum srv_command_kind kind)
{
    return kind == SRV_COMMAND_STOP || kind == SRV_COMMAND_LEAVE || kind == SRV_COMMAND_SETTLE;
}

struct srv_reply srv_command_queue_refusal(const struct srv_command_queue *queue, struct srv_node_change *change)
{
    return (struct srv_reply){.status = queue->stopped ? OTO_CLOSED : OTO_LIMIT,
                              .change = change,
                              .reason =
                                  queue->stopped ? "the server ends" : "too many commands are waiting for the tick"};
}

bool srv_command_queue_send(struct srv_command_queue *queue, const struct srv_command *command, srv_reply_function done,
                            void *context)
{
    if (queue->stopped || (queue->count >= MAX_WAITING && !must_arrive(command->kind))) {
        return false;
    }
    struct entry *entry = take_entry(queue);
    if (entry == NULL) {
        return false;
    }
    *entry = (struct entry){.command = *command, .done = done, .context = context};
    entry->command.id = queue->next_id++;
    if (queue->observer.sent != NULL) {
        queue->observer.sent(queue->observer.context, &entry->command);
    }
    entry->command.key = entry->command.text = NULL; /* these texts belong to the sender */
    queue->count++;
    append(&queue->waiting, entry);
    post_waiting(queue);
    return true;
}

void srv_command_queue_event(struct srv_command_queue *queue, enum oto_event_kind kind, uint32_t severity,
                             int64_t value, const char *source, const char *text)
{
    struct srv_command command = {.kind = SRV_COMMAND_EVENT};
    command.event.kind = kind;
    command.event.severity = severity;
    command.event.value = value;
    (void)snprintf(command.event.source, sizeof command.event.source, "%s", source);
    (void)snprintf(command.event.text, sizeof command.event.text, "%s", text);
    (void)srv_command_queue_send(queue, &command, NULL, NULL);
}
