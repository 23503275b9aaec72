#include "host/probe.h"

enum oto_status srv_probe_run(const struct srv_probe_request *request, struct srv_probe_result *result,
                              struct oto_error *error)
{
    memset(result, 0, sizeof *result);
    return oto_fail(error, OTO_UNSUPPORTED, "there is no plugin host beside the server to probe %s with",
                    request->plugin_path);
}
