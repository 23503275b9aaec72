#include "isolate/probe.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "isolate/plugin_host.h"
#include "isolate/probe_job.h"
#include "plugin/described.h"

#define MAX_BYTES (UINT64_C(256) << 20)

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static uint64_t take(uint64_t *end, uint64_t bytes)
{
    const uint64_t start = *end;
    *end += (bytes + SRV_HOST_ALIGN) / SRV_HOST_ALIGN * SRV_HOST_ALIGN;
    return start;
}

static void put(struct srv_probe_job *job, uint64_t offset, const void *from, uint64_t bytes)
{
    if (bytes > 0) {
        memcpy((unsigned char *)job + offset, from, bytes);
    }
}

/* Bytes from one sample's payload to the next. */
static uint32_t payload_stride(const struct oto_estimator_setup *estimator)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < estimator->input_count; i++) {
        bytes = estimator->inputs[i].type->bytes > bytes ? estimator->inputs[i].type->bytes : bytes;
    }
    return (bytes + SRV_HOST_ALIGN - 1) / SRV_HOST_ALIGN * SRV_HOST_ALIGN;
}

static struct srv_probe_job *make_job(const struct srv_probe_request *request, int *fd, struct oto_error *error)
{
    uint64_t end = 0;
    const uint64_t inputs_bytes = request->input_count * sizeof(struct srv_probe_input);
    const uint64_t state_bytes = request->state != NULL ? request->state_bytes : 0;
    (void)take(&end, sizeof(struct srv_probe_job));
    const uint64_t params = take(&end, request->params->bytes), state = take(&end, state_bytes);
    const uint64_t inputs = take(&end, inputs_bytes);
    const struct oto_estimator_setup *estimator = &request->setup->estimator;
    const uint32_t stride = payload_stride(estimator);
    const uint64_t bindings_bytes = estimator->input_count > 0 ? oto_bindings_pack(estimator->inputs, estimator->input_count, NULL) : 0;
    const uint64_t bindings = take(&end, bindings_bytes);
    const uint64_t samples = take(&end, request->sample_count * sizeof(struct oto_input_sample));
    const uint64_t payloads = take(&end, (uint64_t)request->sample_count * stride);
    if (end > MAX_BYTES) {
        (void)oto_fail(error, OTO_LIMIT, "state, parameters and inputs of a probe take %llu bytes; at most %llu are "
                       "accepted", (unsigned long long)end, (unsigned long long)MAX_BYTES);
        return NULL;
    }
    struct srv_probe_job *job = srv_host_memory("otolith-probe", end, fd, error);
    if (job == NULL) {
        return NULL;
    }
    *job = (struct srv_probe_job){.magic = SRV_HOST_MAGIC,
                                  .version = SRV_HOST_VERSION,
                                  .start = request->start,
                                  .bytes = end,
                                  .setup = *request->setup,
                                  .params_offset = params,
                                  .params_bytes = request->params->bytes,
                                  .state_offset = state,
                                  .state_bytes = state_bytes,
                                  .state_version = request->state_version,
                                  .input_count = request->input_count,
                                  .inputs_offset = inputs,
                                  .bindings_offset = bindings,
                                  .bindings_bytes = bindings_bytes,
                                  .samples_offset = samples,
                                  .payloads_offset = payloads,
                                  .sample_count = request->sample_count,
                                  .payload_stride = stride,
                                  .truth = request->truth,
                                  .at = request->at};
    job->setup.estimator.inputs = NULL; /* the host makes its own from the packed bindings */
    if (bindings_bytes > 0) {
        (void)oto_bindings_pack(estimator->inputs, estimator->input_count, (unsigned char *)job + bindings);
    }
    (void)snprintf(job->path, sizeof job->path, "%s", request->plugin_path);
    put(job, params, request->params->block, request->params->bytes);
    put(job, state, request->state, state_bytes);
    put(job, inputs, request->inputs, inputs_bytes);
    put(job, samples, request->samples, request->sample_count * sizeof *request->samples);
    for (uint32_t i = 0; i < request->sample_count; i++) {
        const struct oto_input_sample *sample = &request->samples[i];
        put(job, payloads + (uint64_t)i * stride, sample->payload, estimator->inputs[sample->input].type->bytes);
    }
    return job;
}

/* ---- result ------------------------------------------------------------------------------------------------------ */

static const char *operation(const struct srv_probe_job *job, char *text, size_t bytes)
{
    const uint32_t at = job->current_operation;
    if (at == SRV_OPERATION_STEP) {
        (void)snprintf(text, bytes, "step %u", job->current_step);
    } else {
        (void)snprintf(text, bytes, "%s", srv_host_operation_text(at));
    }
    return text;
}

static enum oto_status fail_with_end(const struct srv_probe_request *request, const struct srv_host_process *process,
                                   const struct srv_probe_job *job, struct oto_error *error)
{
    struct srv_host_crash crash = job->crash;
    char how[240], where[32];
    if (crash.signal != 0) {
        srv_crash_describe(&crash, request->plugin_fd, how, sizeof how);
    } else {
        srv_host_end_text(process, how, sizeof how);
    }
    return oto_fail(error, OTO_PLUGIN, "the probe of %.200s %s, in %s", request->plugin_path, how,
                    operation(job, where, sizeof where));
}

static enum oto_status await_verdict(const struct srv_probe_request *request, struct srv_host_process *process,
                              const struct srv_probe_job *job, struct oto_error *error)
{
    const int64_t deadline_ns = srv_now_ns() + request->timeout_ns;
    struct srv_host_message message;
    char where[32];
    for (;;) {
        const enum oto_status status = srv_host_receive(process, deadline_ns, &message);
        if (status == OTO_TIMEOUT) {
            return oto_fail(error, OTO_TIMEOUT, "the probe of %.200s was ended after %lld ms, in %s",
                            request->plugin_path, (long long)(request->timeout_ns / 1000000),
                            operation(job, where, sizeof where));
        }
        if (status != OTO_OK) {
            return fail_with_end(request, process, job, error);
        }
        if (message.kind == SRV_HOST_FAILED) {
            return oto_fail(error, OTO_PLUGIN, "the probe of %.120s failed: %s", request->plugin_path, message.text);
        }
        if (message.kind == SRV_HOST_READY) {
            return OTO_OK;
        }
    }
}

enum oto_status srv_probe_run(const struct srv_probe_request *request, struct srv_probe_result *result,
                              struct oto_error *error)
{
    struct srv_host_process process;
    int fd = -1;
    memset(result, 0, sizeof *result);
    struct srv_probe_job *job = make_job(request, &fd, error);
    if (job == NULL) {
        return OTO_NO_MEMORY;
    }
    const uint64_t bytes = job->bytes;
    const struct srv_host_spawn_options order = {
        .work = SRV_HOST_PROBE, .memory_fd = fd, .bytes = bytes, .plugin_fds = &request->plugin_fd, .plugin_count = 1};
    enum oto_status status = srv_host_spawn(&order, &process, error);
    (void)close(fd);
    if (status == OTO_OK) {
        status = await_verdict(request, &process, job, error);
        srv_host_process_end(&process);
        result->steps = job->steps;
    }
    (void)munmap(job, bytes);
    return status;
}
