/* Shared by the files of this folder: an estimator over logs. [loop] */
#ifndef OTOLITH_ESTIMATE_PRIVATE_H
#define OTOLITH_ESTIMATE_PRIVATE_H

#include "offline/estimate.h"
#include "sim/instance.h"

/* An input of the plugin, or an open input. */
struct estimate_input {
    char name[32];
    const struct oto_log *log; /* NULL: not bound */
    oto_vec3 mount_position_body_m;
    oto_quat q_body_from_sensor;
};

struct oto_estimate {
    struct oto_plugin *plugin;
    const struct oto_estimator_extension *extension;
    struct oto_params params;
    struct oto_setup setup;
    struct estimate_input inputs[OTO_ESTIMATOR_MAX_INPUTS]; /* inputs of the plugin, then open inputs */
    uint32_t input_count;
    /* Inputs and parameters of the current run. */
    struct oto_input_binding bindings[OTO_ESTIMATOR_MAX_INPUTS];
    const struct oto_log *logs[OTO_ESTIMATOR_MAX_INPUTS]; /* logs of the bindings, in the same order */
    struct srv_instance instance; /* plugin NULL: no run yet */
    uint64_t seq[OTO_PLUGIN_MAX_PORTS]; /* records published so far */
};

#endif
