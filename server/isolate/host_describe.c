/* Loads a plugin before the server does, or in its place; then also describes its tables. */
#include <stdlib.h>

#include "host_crash.h"
#include "host.h"
#include "plugin/described.h"
#include "plugin/isolated.h"

static struct oto_description description_of(const struct oto_plugin *plugin)
{
    const struct oto_motion_extension *motion = oto_plugin_motion(plugin);
    const struct oto_estimator_extension *estimator = oto_plugin_estimator(plugin);
    return (struct oto_description){.descriptor = oto_plugin_descriptor(plugin),
                                    .estimator = estimator,
                                    .estimators = estimator != NULL,
                                    .facts = (motion != NULL ? OTO_DESCRIBED_MOTION : 0) |
                                             (oto_motion_adopts(motion) ? OTO_DESCRIBED_ADOPT : 0) |
                                             (oto_plugin_control(plugin) != NULL ? OTO_DESCRIBED_CONTROL : 0),
                                    .motion_flags = motion != NULL ? motion->flags : 0};
}

int host_describe(struct host_job *job)
{
    struct srv_host_mailbox *head = job->memory;
    struct oto_error error = {0};
    struct oto_plugin *plugin = NULL;
    size_t used = 0;
    head->current_operation = SRV_OPERATION_LOAD;
    enum oto_status status = host_crash_watch(&head->crash, &error);
    if (status == OTO_OK && (job->start.plugin_count != 1 || job->start.bytes <= SRV_HOST_HEAD_BYTES)) {
        status = oto_fail(&error, OTO_INVALID, "one plugin is loaded at a time");
    }
    if (status == OTO_OK) {
        status = oto_plugin_load_copy(job->plugin_fds[0], srv_host_slot_at(head, 0)->path, &plugin, &error);
    }
    if (status == OTO_OK) {
        host_crash_know(0, plugin);
        status = oto_plugin_begin(plugin, &error);
    }
    if (status == OTO_OK && job->start.work == SRV_HOST_DESCRIBE) {
        const struct oto_description description = description_of(plugin);
        status = oto_description_pack(&description, (unsigned char *)head + SRV_HOST_HEAD_BYTES,
                                      (size_t)(job->start.bytes - SRV_HOST_HEAD_BYTES), &used, &error);
    }
    if (status == OTO_OK && job->start.work == SRV_HOST_LOAD) {
        (void)oto_plugin_close(plugin); /* the server will also unload it one day */
    }
    struct srv_host_message message = {
        .kind = status == OTO_OK ? SRV_HOST_READY : SRV_HOST_FAILED, .status = status, .bytes = (uint32_t)used};
    (void)snprintf(message.text, sizeof message.text, "%.399s", error.text);
    return host_send(&message) ? EXIT_SUCCESS : EXIT_FAILURE;
}
