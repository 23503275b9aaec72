#include "isolate/describe.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "isolate/plugin_host.h"
#include "plugin/isolated.h"
#include "plugin/stage.h"

#define MEMORY_BYTES (SRV_HOST_HEAD_BYTES + (UINT64_C(1) << 20))
#define TIMEOUT_NS INT64_C(5000000000)

/* A child that ended: how, as the crash it recorded or as its exit code says. */
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
    void *packed = bytes <= MEMORY_BYTES - SRV_HOST_HEAD_BYTES ? malloc(bytes + 8) : NULL;
    if (packed == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the description of plugin '%.200s'", path);
    }
    memcpy(packed, (const unsigned char *)head + SRV_HOST_HEAD_BYTES, bytes);
    return oto_plugin_make_described(fd, path, packed, bytes, plugin, error);
}

static enum oto_status open_here(int fd, const char *path, struct oto_plugin **plugin, struct oto_error *error)
{
    enum oto_status status = oto_plugin_load_copy(fd, path, plugin, error);
    if (status == OTO_OK && (status = oto_plugin_begin(*plugin, error)) != OTO_OK) {
        (void)oto_plugin_close(*plugin);
        *plugin = NULL;
    }
    return status;
}

/* Has a child load the copy `fd`, and describe it if the plugin is `isolated`. */
static enum oto_status try_copy(struct srv_host_mailbox *head, int memory_fd, int fd, const char *path, bool isolated,
                                struct oto_plugin **plugin, struct oto_error *error)
{
    struct srv_host_process process;
    struct srv_host_message message;
    const struct srv_host_spawn_options order = {.work = isolated ? SRV_HOST_DESCRIBE : SRV_HOST_LOAD,
                                         .memory_fd = memory_fd,
                                         .bytes = MEMORY_BYTES,
                                         .plugin_fds = &fd,
                                         .plugin_count = 1};
    enum oto_status status = srv_host_spawn(&order, &process, error);
    if (status != OTO_OK) {
        return status;
    }
    const enum oto_status heard = srv_host_receive(&process, srv_now_ns() + TIMEOUT_NS, &message);
    if (heard == OTO_TIMEOUT) {
        status = oto_fail(error, OTO_TIMEOUT, "plugin '%.200s' is refused: loading it did not end within %d s", path,
                          (int)(TIMEOUT_NS / 1000000000));
    } else if (heard != OTO_OK) {
        status = fail_with_end(head, &process, fd, path, error);
    } else if (message.kind != SRV_HOST_READY) {
        status = oto_fail(error, OTO_PLUGIN, "%s", message.text);
    } else {
        status = isolated ? take(head, &message, fd, path, plugin, error) : open_here(fd, path, plugin, error);
    }
    srv_host_process_end(&process);
    return status;
}

enum oto_status srv_plugin_open_checked(const char *path, bool isolated, struct oto_plugin **plugin,
                                        struct oto_error *error)
{
    struct oto_stage stage;
    int memory_fd = -1;
    *plugin = NULL;
    enum oto_status status = oto_stage_open(path, &stage, error);
    if (status != OTO_OK) {
        return status;
    }
    status = isolated ? oto_stage_check_isolated(&stage, path, error) : oto_stage_keep(&stage, path, NULL, error);
    struct srv_host_mailbox *head =
        status == OTO_OK ? srv_host_memory("otolith-description", MEMORY_BYTES, &memory_fd, error) : NULL;
    if (head != NULL) {
        (void)snprintf(srv_host_slot_at(head, 0)->path, sizeof srv_host_slot_at(head, 0)->path, "%s", path);
        status = try_copy(head, memory_fd, stage.fd, path, isolated, plugin, error);
        (void)munmap(head, MEMORY_BYTES);
        (void)close(memory_fd);
    } else if (status == OTO_OK) {
        status = OTO_NO_MEMORY;
    }
    oto_stage_close(&stage);
    return status;
}
