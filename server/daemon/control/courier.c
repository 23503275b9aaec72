#include "daemon/control/courier.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WAITING 4096u
#define SPARES 72u /* used when memory is out: enough for every client to leave and for the run to end */

/* A command that was sent: it waits for its reply, or for room in the engine's queue. */
struct parcel {
    struct parcel *next;
    struct srv_command command;
    srv_reply_function done;
    void *context;
};

struct parcel_list {
    struct parcel *first, *last;
};

struct srv_courier {
    struct srv_engine *engine;
    uv_poll_t poll;
    struct parcel_list waiting; /* not yet in the engine's queue, in order */
    struct parcel_list posted;  /* in the engine's queue, in order */
    struct parcel *spares;
    uint32_t spare_count, count;
    uint64_t next_id;
    struct srv_courier_observer observer; /* no functions: no observer */
    bool stopped;
};

static void append(struct parcel_list *list, struct parcel *parcel)
{
    parcel->next = NULL;
    if (list->last != NULL) {
        list->last->next = parcel;
    } else {
        list->first = parcel;
    }
    list->last = parcel;
}

static struct parcel *take_first(struct parcel_list *list)
{
    struct parcel *parcel = list->first;
    if (parcel != NULL) {
        list->first = parcel->next;
        if (list->first == NULL) {
            list->last = NULL;
        }
    }
    return parcel;
}

static struct parcel *take_parcel(struct srv_courier *courier)
{
    struct parcel *parcel = malloc(sizeof *parcel);
    if (parcel == NULL && courier->spares != NULL) {
        parcel = courier->spares;
        courier->spares = parcel->next;
        courier->spare_count--;
    }
    return parcel;
}

static void give_back(struct srv_courier *courier, struct parcel *parcel)
{
    if (courier->spare_count == SPARES) {
        free(parcel);
        return;
    }
    parcel->next = courier->spares;
    courier->spares = parcel;
    courier->spare_count++;
}

/* Replies arrive almost in order, so the search is short. */
static struct parcel *take_by_id(struct parcel_list *list, uint64_t id)
{
    struct parcel *before = NULL;
    for (struct parcel *parcel = list->first; parcel != NULL; before = parcel, parcel = parcel->next) {
        if (parcel->command.id != id) {
            continue;
        }
        if (before == NULL) {
            return take_first(list);
        }
        before->next = parcel->next;
        if (list->last == parcel) {
            list->last = before;
        }
        return parcel;
    }
    return NULL;
}

static void post_waiting(struct srv_courier *courier)
{
    while (courier->waiting.first != NULL && srv_engine_post(courier->engine, &courier->waiting.first->command)) {
        struct parcel *parcel = take_first(&courier->waiting);
        if (parcel->done != NULL) {
            append(&courier->posted, parcel);
        } else {
            courier->count--;
            give_back(courier, parcel);
        }
    }
}

static void deliver(struct srv_courier *courier, struct parcel *parcel, const struct srv_reply *reply)
{
    courier->count--;
    parcel->done(parcel->context, reply);
    give_back(courier, parcel);
}

void srv_courier_poll(struct srv_courier *courier)
{
    struct srv_reply reply;
    while (srv_engine_take_reply(courier->engine, &reply)) {
        struct parcel *parcel = take_by_id(&courier->posted, reply.id);
        if (parcel != NULL) {
            deliver(courier, parcel, &reply);
        }
    }
    post_waiting(courier);
    if (courier->observer.polled != NULL) {
        courier->observer.polled(courier->observer.context);
    }
}

void srv_courier_observe(struct srv_courier *courier, const struct srv_courier_observer *observer)
{
    courier->observer = *observer;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    srv_courier_poll(poll->data);
}

enum oto_status srv_courier_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_courier **courier,
                                   struct oto_error *error)
{
    struct srv_courier *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the queue of commands");
    }
    made->engine = engine;
    made->next_id = 1;
    for (struct parcel *spare; made->spare_count < SPARES && (spare = malloc(sizeof *spare)) != NULL;) {
        give_back(made, spare);
    }
    made->poll.data = made;
    int failed = uv_poll_init(loop, &made->poll, srv_engine_notify_fd(engine));
    if (failed == 0) {
        failed = uv_poll_start(&made->poll, UV_READABLE, on_readable);
    }
    if (failed != 0) {
        srv_courier_destroy(made);
        return oto_fail(error, OTO_IO, "the engine's replies cannot be watched: %s", uv_strerror(failed));
    }
    *courier = made;
    return OTO_OK;
}

/* The engine owns what was posted; what was not goes back to its sender. */
static void answer_closed(struct srv_courier *courier, struct parcel_list *list, bool posted)
{
    for (struct parcel *parcel = take_first(list); parcel != NULL; parcel = take_first(list)) {
        const struct srv_reply reply = {.id = parcel->command.id,
                                        .kind = parcel->command.kind,
                                        .status = OTO_CLOSED,
                                        .change = posted ? NULL : parcel->command.change,
                                        .faults = posted ? NULL : parcel->command.fault,
                                        .mailbox = posted ? NULL : parcel->command.mailbox,
                                        .reason = "the server ends"};
        if (parcel->done != NULL) {
            deliver(courier, parcel, &reply);
        } else {
            courier->count--;
            give_back(courier, parcel);
        }
    }
}

void srv_courier_stop(struct srv_courier *courier)
{
    if (courier->stopped) {
        return;
    }
    courier->stopped = true;
    srv_courier_poll(courier);
    answer_closed(courier, &courier->posted, true);
    answer_closed(courier, &courier->waiting, false);
    uv_close((uv_handle_t *)&courier->poll, NULL);
}

void srv_courier_destroy(struct srv_courier *courier)
{
    while (courier != NULL && courier->spares != NULL) {
        struct parcel *parcel = courier->spares;
        courier->spares = parcel->next;
        free(parcel);
    }
    free(courier);
}

/* Commands that end something are never refused: there is at most one for each that started something. */
static bool must_arrive(enum srv_command_kind kind)
{
    return kind == SRV_COMMAND_STOP || kind == SRV_COMMAND_LEAVE || kind == SRV_COMMAND_SETTLE;
}

struct srv_reply srv_courier_refusal(const struct srv_courier *courier, struct srv_node_change *change)
{
    return (struct srv_reply){.status = courier->stopped ? OTO_CLOSED : OTO_LIMIT,
                              .change = change,
                              .reason = courier->stopped ? "the server ends" : "too many commands are waiting for the tick"};
}

bool srv_courier_send(struct srv_courier *courier, const struct srv_command *command, srv_reply_function done,
                      void *context)
{
    if (courier->stopped || (courier->count >= MAX_WAITING && !must_arrive(command->kind))) {
        return false;
    }
    struct parcel *parcel = take_parcel(courier);
    if (parcel == NULL) {
        return false;
    }
    *parcel = (struct parcel){.command = *command, .done = done, .context = context};
    parcel->command.id = courier->next_id++;
    if (courier->observer.sent != NULL) {
        courier->observer.sent(courier->observer.context, &parcel->command);
    }
    parcel->command.key = parcel->command.text = NULL; /* the sender's */
    courier->count++;
    append(&courier->waiting, parcel);
    post_waiting(courier);
    return true;
}

void srv_courier_event(struct srv_courier *courier, enum oto_event_kind kind, uint32_t severity, int64_t value,
                       const char *source, const char *text)
{
    struct srv_command command = {.kind = SRV_COMMAND_EVENT};
    command.event.kind = kind;
    command.event.severity = severity;
    command.event.value = value;
    (void)snprintf(command.event.source, sizeof command.event.source, "%s", source);
    (void)snprintf(command.event.text, sizeof command.event.text, "%s", text);
    (void)srv_courier_send(courier, &command, NULL, NULL);
}
