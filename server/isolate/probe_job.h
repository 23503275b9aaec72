/*
 * The job of a probe: shared memory with the inputs of the server and the answer of the host. The server reads the
 * answer after the process has ended, and uses only numbers of it.
 */
#ifndef SRV_PLUGIN_HOST_PROBE_JOB_H
#define SRV_PLUGIN_HOST_PROBE_JOB_H

#include "isolate/probe.h"
#include "host_mailbox.h"

struct srv_probe_job {
    uint64_t magic;          /* SRV_HOST_MAGIC */
    uint32_t version, start; /* enum srv_start */
    uint64_t bytes;
    struct oto_setup setup;
    char path[256];
    uint64_t params_offset, params_bytes;
    uint64_t state_offset, state_bytes; /* the live state; 0 bytes: none */
    uint32_t state_version, input_count;
    uint64_t inputs_offset; /* offset of struct srv_probe_input[input_count] */
    uint64_t bindings_offset, bindings_bytes; /* estimators: of setup.estimator.inputs, by oto_bindings_pack */
    uint64_t samples_offset, payloads_offset; /* estimators: the samples of all steps, and their payloads in the same order */
    uint32_t sample_count, payload_stride;
    struct oto_truth_record truth;
    struct oto_instant at;
    /* written by the plugin host */
    uint32_t current_operation; /* enum srv_host_operation */
    uint32_t current_step;
    struct srv_host_crash crash;
    uint32_t steps;
    uint32_t reserved;
};

#endif
