#include "isolate/describe.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "isolate/plugin_host.h"
#include "plugin/isolated.h"
#include "plugin/stage.h"

#define DESCRIPTION_BYTES (UINT64_C(1) << 20)
#define PAGE_BYTES UINT64_C(4096)
#define TRIED_COUNT 64u

/* Describes how a child ended: by the crash that it recorded, or by its exit code. */
static enum oto_status fail_with_end(const struct srv_host_mailbox *head, const struct srv_host_process *process, int fd,
                                   const char *path, struct oto_error *error)
{
    const struct srv_host_crash crash = head->crash;
    char how[240];
    if (crash.signal != 0) {
        srv_crash_describe(&crash, fd, how, sizeof how);
    } else {
        srv_host_end_text(process, how, sizeof how);
    }
    return oto_fail(error, OTO_PLUGIN, "plugin '%.200s' is refused: the plugin host that loaded it %s", path, how);
}

/* Copies the description once, before any of it is read. */
static enum oto_status take(const struct srv_host_mailbox *head, const struct srv_host_message *message, int fd,
                            const char *path, struct oto_plugin **plugin, struct oto_error *error)
{
    const size_t bytes = message->bytes;
    void *packed = bytes <= DESCRIPTION_BYTES ? malloc(bytes + 8) : NULL;
    if (packed == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the description of plugin '%.200s'", path);
    }
    memcpy(packed, (const unsigned char *)head + SRV_HOST_HEAD_BYTES, bytes);
    return oto_plugin_make_described(fd, path, packed, bytes, plugin, error);
}

/*
 * Contents that a plugin host has loaded: the same bytes are not tried again, so that a swap back costs no process. The
 * worker and the main thread may both write; a lost entry costs one more process.
 */
static uint64_t tried_hashes[TRIED_COUNT];
static uint32_t tried_next;

static bool was_tried(uint64_t content_hash)
{
    for (uint32_t i = 0; i < TRIED_COUNT; i++) {
        if (__atomic_load_n(&tried_hashes[i], __ATOMIC_RELAXED) == content_hash) {
            return true;
        }
    }
    return false;
}

static void keep_tried(uint64_t content_hash)
{
    const uint32_t at = __atomic_fetch_add(&tried_next, 1, __ATOMIC_RELAXED) % TRIED_COUNT;
    __atomic_store_n(&tried_hashes[at], content_hash, __ATOMIC_RELAXED);
}

static enum oto_status open_here(struct oto_stage *stage, const char *path, struct oto_plugin **plugin, struct oto_error *error)
{
    enum oto_status status = oto_plugin_load_stage(stage, path, plugin, error);
    if (status == OTO_OK && (status = oto_plugin_begin(*plugin, error)) != OTO_OK) {
        (void)oto_plugin_close(*plugin);
        *plugin = NULL;
    }
    return status;
}

/* Starts a child that loads the copy `fd`, and describes it if `isolated`. `message` gets the child's answer. */
static enum oto_status try_copy(struct srv_host_mailbox *head, uint64_t bytes, int memory_fd, int fd, const char *path,
                                bool isolated, struct srv_host_message *message, struct oto_error *error)
{
    struct srv_host_process process;
    const struct srv_host_spawn_options order = {.work = isolated ? SRV_HOST_DESCRIBE : SRV_HOST_LOAD,
                                                 .memory_fd = memory_fd,
                                                 .bytes = bytes,
                                                 .plugin_fds = &fd,
                                                 .plugin_count = 1};
    enum oto_status status = srv_host_spawn(&order, &process, error);
    if (status != OTO_OK) {
        return status;
    }
    const enum oto_status received = srv_host_receive(&process, srv_now_ns() + SRV_HOST_START_TIMEOUT_NS, message);
    if (received == OTO_TIMEOUT) {
        status = oto_fail(error, OTO_TIMEOUT, "plugin '%.200s' is refused: loading it did not end within %d s", path,
                          (int)(SRV_HOST_START_TIMEOUT_NS / 1000000000));
    } else if (received != OTO_OK) {
        status = fail_with_end(head, &process, fd, path, error);
    } else if (message->kind != SRV_HOST_READY) {
        status = oto_fail(error, OTO_PLUGIN, "%s", message->text);
    }
    srv_host_process_end(&process);
    return status;
}

/* Loads the staged copy in a child. `isolated`: then makes the plugin from the description that the child returned. */
static enum oto_status try_stage(const struct oto_stage *stage, const char *path, bool isolated,
                                 struct oto_plugin **plugin, struct oto_error *error)
{
    const uint64_t bytes = SRV_HOST_HEAD_BYTES + (isolated ? DESCRIPTION_BYTES : PAGE_BYTES);
    struct srv_host_message message = {0};
    int memory_fd = -1;
    struct srv_host_mailbox *head = srv_host_memory("otolith-description", bytes, &memory_fd, error);
    if (head == NULL) {
        return OTO_NO_MEMORY;
    }
    (void)snprintf(srv_host_slot_at(head, 0)->path, sizeof srv_host_slot_at(head, 0)->path, "%s", path);
    enum oto_status status = try_copy(head, bytes, memory_fd, stage->fd, path, isolated, &message, error);
    if (status == OTO_OK && isolated) {
        status = take(head, &message, stage->fd, path, plugin, error);
    }
    (void)munmap(head, bytes);
    (void)close(memory_fd);
    return status;
}

enum oto_status srv_plugin_open_checked(const char *path, bool isolated, struct oto_plugin **plugin,
                                        struct oto_error *error)
{
    struct oto_stage stage;
    *plugin = NULL;
    enum oto_status status = oto_stage_open(path, &stage, error);
    if (status != OTO_OK) {
        return status;
    }
    isolated = isolated || stage.host_only;
    status = isolated ? oto_stage_check_isolated(&stage, path, error) : oto_stage_keep(&stage, path, NULL, error);
    const bool tried = !isolated && was_tried(stage.content_hash);
    if (status == OTO_OK && !tried) {
        status = try_stage(&stage, path, isolated, plugin, error);
    }
    if (status == OTO_OK && !isolated) {
        if (!tried) {
            keep_tried(stage.content_hash);
        }
        status = open_here(&stage, path, plugin, error);
    }
    oto_stage_close(&stage);
    return status;
}
