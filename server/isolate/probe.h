/*
 * Runs the probe of a swap in a child process, `otolith-plugin-host --probe`. [loop], from the loader's worker thread: may
 * block for `timeout_ns`, and touches nothing of the world.
 */
#ifndef SRV_ISOLATE_PROBE_H
#define SRV_ISOLATE_PROBE_H

#include "sim/probe.h"

/*
 * OTO_OK: both runs gave the same finite outputs and states, and the plugin did nothing that it may not. OTO_UNSUPPORTED:
 * there is no plugin host to probe with; nothing was tried. OTO_TIMEOUT, or OTO_PLUGIN with a sentence that says what
 * the candidate did: the signal it died of and where, the operation that refused, a NaN and its field, outputs that
 * differ between two runs, memory allocated in a step, a changed floating-point mode.
 */
enum oto_status srv_probe_run(const struct srv_probe_request *request, struct srv_probe_result *result,
                              struct oto_error *error);

#endif
