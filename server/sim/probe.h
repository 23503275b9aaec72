/*
 * The probe of a swap (A16): a child process runs the candidate on a copy of the live state and on inputs of the last
 * ticks, before any of its code runs in this process. Here are the request and the result; the shell runs the child
 * (isolate/probe.h).
 */
#ifndef SRV_SIM_PROBE_H
#define SRV_SIM_PROBE_H

#include <stdint.h>

#include "otolith/estimator.h"
#include "plugin/host.h"

/* How the candidate gets its first state; see server/sim/SWAP.md. */
enum srv_start {
    SRV_START_COLD = 0,  /* init */
    SRV_START_COPY = 1,  /* copy of the live state: same plugin, same state version */
    SRV_START_MIGRATE = 2, /* init, then migrate from the live state */
    SRV_START_ADOPT = 3    /* motions: init, then adopt the truth at the boundary */
};

/*
 * The input of one step. Sensors: one sample; input_at reads the inputs before it. Motions: one tick, only the truth is
 * set. Estimators: the next `sample_count` samples of the request.
 */
struct srv_probe_input {
    uint64_t tick, n;
    struct oto_instant at;
    struct oto_sensor_input input;
    uint32_t sample_count;
    uint32_t reserved;
};

#define SRV_PROBE_INPUTS 100 /* number of inputs; the newest truth is repeated if the run is younger */

struct srv_probe_request {
    int plugin_fd;           /* the sealed copy to load; it belongs to the caller */
    const char *plugin_path; /* original path, for messages */
    const struct oto_setup *setup;
    const struct oto_params *params; /* bound to the parameter table of the candidate */
    enum srv_start start;
    const void *state; /* COPY, MIGRATE: the live state at a tick boundary; otherwise NULL */
    uint64_t state_bytes;
    uint32_t state_version;
    struct oto_truth_record truth; /* ADOPT: truth at the boundary; `at` is its instant */
    struct oto_instant at;
    const struct srv_probe_input *inputs; /* in order of time */
    uint32_t input_count;
    uint32_t sample_count;
    const struct oto_input_sample *samples; /* estimators: the samples of all steps, in order */
    int64_t timeout_ns; /* timeout of the whole probe, after which the child is killed */
};

struct srv_probe_result {
    uint32_t steps;
};

typedef enum oto_status srv_probe_function(const struct srv_probe_request *request, struct srv_probe_result *result,
                                           struct oto_error *error);

#endif
