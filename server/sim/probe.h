/*
 * The probe of a swap (A16): the candidate is run in a child process on a copy of the live state and on inputs of the last
 * ticks, before any of its code runs here. These are its questions and answers; who runs the child is the shell's choice
 * (isolate/probe.h).
 */
#ifndef SRV_SIM_PROBE_H
#define SRV_SIM_PROBE_H

#include <stdint.h>

#include "otolith/estimator.h"
#include "plugin/host.h"

/* How the candidate comes to its first state; see server/sim/SWAP.md. */
enum srv_start {
    SRV_START_COLD = 0,  /* init */
    SRV_START_COPY = 1,  /* the live state as it is: same plugin, same state version */
    SRV_START_MIGRATE = 2, /* init, then migrate from the live state */
    SRV_START_ADOPT = 3    /* motions: init, then adopt the truth at the boundary */
};

/*
 * What one step gets. Sensors: one sample, input_at is made from the inputs before it. Motions: one tick, truth only. Estimators:
 * the next `sample_count` samples of the request.
 */
struct srv_probe_input {
    uint64_t tick, n;
    struct oto_instant at;
    struct oto_sensor_input input;
    uint32_t sample_count;
    uint32_t reserved;
};

#define SRV_PROBE_INPUTS 100 /* at least so many, made up from the oldest truth where the run is younger */

struct srv_probe_request {
    int plugin_fd;           /* the sealed copy that will be loaded, the caller's */
    const char *plugin_path; /* where it came from, for messages */
    const struct oto_setup *setup;
    const struct oto_params *params; /* bound to the candidate's table */
    enum srv_start start;
    const void *state; /* COPY, MIGRATE: the live state at a tick boundary; else NULL */
    uint64_t state_bytes;
    uint32_t state_version;
    struct oto_truth_record truth; /* ADOPT: at the boundary, with its instant */
    struct oto_instant at;
    const struct srv_probe_input *inputs; /* in order of time */
    uint32_t input_count;
    uint32_t sample_count;
    const struct oto_input_sample *samples; /* estimators: of all steps, in their order */
    int64_t timeout_ns; /* of the whole; then the child is killed */
};

struct srv_probe_result {
    int64_t step_p50_ns, step_max_ns; /* over all steps; of this machine, for the record only */
    uint32_t steps;
    char backtrace[2048]; /* of a crash, one frame a line; "" otherwise */
};

typedef enum oto_status srv_probe_function(const struct srv_probe_request *request, struct srv_probe_result *result,
                                           struct oto_error *error);

#endif
