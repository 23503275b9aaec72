#include "daemon/control/node_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"

enum { AT_ONCE = 64 };

struct srv_node_list {
    struct srv_pending_request *whole;
    struct srv_node_work work; /* its texts are the members `key` and `text` of the list */
    char *key, *text;
    uint32_t *nodes;
    uint32_t count, begun, ended, changed;
    uint64_t tick; /* tick of the last change */
    enum oto_status status;
    char reason[400];
    bool beginning; /* begin_next is running: a node that is refused at once must not free the list */
};

static void free_list(struct srv_node_list *list)
{
    free(list->key);
    free(list->text);
    free(list->nodes);
    free(list);
}

static void finish(struct srv_node_list *list)
{
    char text[480];
    if (list->status == OTO_OK) {
        (void)snprintf(text, sizeof text, "%u nodes", list->changed);
    } else {
        (void)snprintf(text, sizeof text, "%s; %u of %u nodes were changed", list->reason, list->changed, list->count);
    }
    srv_pending_request_finish(list->whole, list->status, list->tick, text);
    free_list(list);
}

static void refuse(struct srv_node_list *list, enum oto_status status, const char *node, const char *reason)
{
    if (list->status == OTO_OK) {
        list->status = status;
        (void)snprintf(list->reason, sizeof list->reason, "node '%.90s': %.280s", node, reason);
    }
}

static void begin_next(struct srv_node_list *list)
{
    list->beginning = true;
    while (list->status == OTO_OK && list->begun < list->count &&
           list->begun - list->ended < (list->changed == 0 ? 1 : AT_ONCE)) {
        const uint32_t node = list->nodes[list->begun++];
        struct srv_pending_request *member = calloc(1, sizeof *member);
        if (member == NULL) {
            srv_node_list_take(list, node, OTO_NO_MEMORY, 0, "the server is out of memory");
        } else {
            member->list = list;
            member->node = node;
            list->work.begin(&list->work, member, node);
        }
    }
    list->beginning = false;
    if (list->ended == list->begun) {
        finish(list);
    }
}

void srv_node_list_take(struct srv_node_list *list, uint32_t node, enum oto_status status, uint64_t tick, const char *text)
{
    list->ended++;
    if (status == OTO_OK) {
        list->changed++;
        list->tick = tick > list->tick ? tick : list->tick;
    } else {
        refuse(list, status, srv_engine_node_setup(list->work.engine, node)->node, text);
    }
    if (!list->beginning) {
        begin_next(list);
    }
}

static bool find_nodes(struct srv_node_list *list, const char *pattern)
{
    const char *world = srv_engine_segment(list->work.engine)->world;
    const uint32_t count = srv_engine_node_count(list->work.engine);
    list->nodes = calloc((size_t)count + 1, sizeof *list->nodes);
    for (uint32_t i = 0; i < count && list->nodes != NULL; i++) {
        char full[OTO_TOPIC_BYTES + OTO_WORLD_NAME_BYTES];
        (void)snprintf(full, sizeof full, "%s/%s", world, srv_engine_node_setup(list->work.engine, i)->node);
        if (srv_pattern_matches_in(pattern, world, full)) {
            list->nodes[list->count++] = i;
        }
    }
    return list->nodes != NULL;
}

static struct srv_node_list *make_list(const struct srv_node_work *work, const char *pattern)
{
    struct srv_node_list *list = calloc(1, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    list->work = *work;
    list->key = work->key != NULL ? strdup(work->key) : NULL;
    list->text = work->text != NULL ? strdup(work->text) : NULL;
    list->work.key = list->key;
    list->work.text = list->text;
    const bool copied = (work->key == NULL) == (list->key == NULL) && (work->text == NULL) == (list->text == NULL);
    if (!copied || !find_nodes(list, pattern)) {
        free_list(list);
        return NULL;
    }
    return list;
}

static bool permits_all(struct srv_request *request, const struct srv_node_list *list)
{
    uint32_t i = 0;
    while (i < list->count && srv_request_permits(request, list->nodes[i])) {
        i++;
    }
    return i == list->count;
}

static void do_list(struct srv_request *request, const struct srv_node_work *work, const char *pattern, const char *what)
{
    struct oto_error error = {0};
    struct srv_node_list *list = make_list(work, pattern);
    if (list == NULL) {
        srv_reply_text(request, OTO_NO_MEMORY, "the server is out of memory");
        return;
    }
    if (list->count == 0) {
        (void)oto_fail(&error, OTO_NOT_FOUND, "no node matches '%.200s'", pattern);
        srv_reply_error(request, &error);
    } else if (permits_all(request, list)) {
        list->whole = srv_pending_request_open(request, "%s", what);
    }
    if (list->whole == NULL) {
        free_list(list);
        return;
    }
    begin_next(list);
}

void srv_nodes_do(struct srv_request *request, const struct srv_node_work *work, const char *what)
{
    struct oto_error error = {0};
    struct srv_node_work filled = *work;
    const char *name;
    filled.control = request->control;
    filled.engine = request->engine;
    filled.command_queue = request->command_queue;
    if (oto_message_text(request->message, "node", &name, &error) != OTO_OK) {
        srv_reply_error(request, &error);
        return;
    }
    if (srv_is_pattern(name)) {
        do_list(request, &filled, name, what);
        return;
    }
    const uint32_t node = srv_request_node(request);
    struct srv_pending_request *pending = node != UINT32_MAX ? srv_pending_request_open(request, "%s", what) : NULL;
    if (pending != NULL) {
        filled.begin(&filled, pending, node);
    }
}
