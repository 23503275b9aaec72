/* Shared by the files of this folder: an estimator over logs. [loop] */
#ifndef OTOLITH_ESTIMATE_PRIVATE_H
#define OTOLITH_ESTIMATE_PRIVATE_H

#include "offline/estimate.h"
#include "plugin/finite.h"

/* An input of the plugin, or an open input. */
struct estimate_input {
    char name[32];
    const struct oto_log *log; /* NULL: not bound */
    oto_vec3 mount_position_body_m;
    oto_quat q_body_from_sensor;
};

struct estimate_port {
    unsigned char *payload;
    struct oto_float_run *runs;
    uint32_t run_count;
    int64_t enable_offset; /* offset in the parameters, or -1 */
    uint64_t seq;
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
    struct oto_params bound; /* the parameters at the start of the run */
    struct oto_prepared prepared;
    struct oto_instance instance; /* state NULL: no run yet */
    struct estimate_port ports[OTO_PLUGIN_MAX_PORTS];
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
};

#endif
