#include "daemon/control/watch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_MS 50 /* time between two checks; a file is swapped in when two checks find it unchanged */

struct watched {
    uv_fs_event_t folder;
    uv_timer_t look;
    struct srv_watch *watch;
    uint32_t node;
    char *path;       /* path of the plugin's file without links; NULL: not in use */
    const char *name; /* last part of `path` */
    struct stat seen; /* the file at the last check; st_ino 0: there was none */
    struct stat swapped; /* the file of the running plugin, if known */
};

struct srv_watch {
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    struct srv_loader *loader;
    uint32_t count;
    struct watched watched[];
};

static void tell(const struct watched *watched, uint32_t severity, const char *what)
{
    char text[152];
    (void)snprintf(text, sizeof text, "%.70s: %.78s", watched->path != NULL ? watched->path : "its file", what);
    srv_command_queue_event(watched->watch->command_queue, OTO_EVENT_SWAP_REFUSED, severity, 0,
                            srv_engine_node_setup(watched->watch->engine, watched->node)->node, text);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool runs_this_file(const struct watched *watched)
{
    char *now = realpath(srv_engine_node_plugin_path(watched->watch->engine, watched->node), NULL);
    const bool same = now != NULL && strcmp(now, watched->path) == 0;
    free(now);
    return same;
}

static void swap(struct watched *watched)
{
    const struct srv_swap_options options = {
        .plugin = watched->path, .probation_ns = SRV_SWAP_PROBATION_NS, .budget_ns = -1};
    watched->swapped = watched->seen;
    if (runs_this_file(watched)) {
        srv_loader_swap(watched->watch->loader, NULL, watched->node, &options, false);
    } else {
        tell(watched, 0, "was replaced, and the node runs another plugin by now: nothing is swapped");
    }
}

/* Swaps only when two checks in a row found the same file, so that a file that is still being written is not loaded. */
static void on_look(uv_timer_t *timer)
{
    struct watched *watched = timer->data;
    struct stat now;
    if (stat(watched->path, &now) != 0 || !S_ISREG(now.st_mode)) {
        watched->seen.st_ino = 0; /* the file was removed; when a new file appears, it is checked again */
        return;
    }
    if (!is_same(&now, &watched->seen) || srv_loader_is_swapping(watched->watch->loader, watched->node)) {
        watched->seen = now;
        (void)uv_timer_start(timer, on_look, LOOK_MS, 0);
    } else if (!is_same(&now, &watched->swapped)) {
        swap(watched);
    }
}

static void on_folder(uv_fs_event_t *folder, const char *name, int events, int status)
{
    struct watched *watched = folder->data;
    if (status == 0 && (events & UV_RENAME) != 0 && (name == NULL || strcmp(name, watched->name) == 0)) {
        watched->seen.st_ino = 0;
        (void)uv_timer_start(&watched->look, on_look, LOOK_MS, 0);
    }
}

static void begin(uv_loop_t *loop, struct watched *watched)
{
    (void)uv_fs_event_init(loop, &watched->folder);
    (void)uv_timer_init(loop, &watched->look);
    watched->folder.data = watched->look.data = watched;
    watched->path = realpath(srv_engine_node_plugin_path(watched->watch->engine, watched->node), NULL);
    char *slash = watched->path != NULL ? strrchr(watched->path, '/') : NULL;
    if (slash == NULL || stat(watched->path, &watched->swapped) != 0) {
        tell(watched, 1, "cannot be watched: the file is not there");
        return;
    }
    watched->name = slash + 1;
    *slash = '\0';
    const int failed = uv_fs_event_start(&watched->folder, on_folder, slash == watched->path ? "/" : watched->path, 0);
    *slash = '/';
    if (failed != 0) {
        tell(watched, 1, uv_strerror(failed));
    }
}

static bool is_watched(const struct srv_engine *engine, uint32_t node)
{
    const struct srv_node_config *config = srv_engine_node_config(engine, node);
    return config != NULL && config->watch;
}

struct srv_watch *srv_watch_create(struct srv_engine *engine, struct srv_command_queue *command_queue,
                                   struct srv_loader *loader)
{
    const uint32_t nodes = srv_engine_node_count(engine);
    uint32_t count = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        count += is_watched(engine, i);
    }
    struct srv_watch *watch = calloc(1, sizeof *watch + count * sizeof *watch->watched);
    if (watch != NULL) {
        watch->engine = engine;
        watch->command_queue = command_queue;
        watch->loader = loader;
    }
    return watch;
}

void srv_watch_start(struct srv_watch *watch, uv_loop_t *loop)
{
    for (uint32_t i = 0; i < srv_engine_node_count(watch->engine); i++) {
        if (is_watched(watch->engine, i)) {
            struct watched *watched = &watch->watched[watch->count++];
            watched->watch = watch;
            watched->node = i;
            begin(loop, watched);
        }
    }
}

void srv_watch_stop(struct srv_watch *watch)
{
    for (uint32_t i = 0; watch != NULL && i < watch->count; i++) {
        uv_close((uv_handle_t *)&watch->watched[i].folder, NULL);
        uv_close((uv_handle_t *)&watch->watched[i].look, NULL);
    }
}

void srv_watch_destroy(struct srv_watch *watch)
{
    for (uint32_t i = 0; watch != NULL && i < watch->count; i++) {
        free(watch->watched[i].path);
    }
    free(watch);
}
