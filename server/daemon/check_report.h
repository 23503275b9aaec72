/* What `otolithd --check` prints: sentences on standard error, or one JSON object on standard output. [loop] */
#ifndef SRV_CHECK_REPORT_H
#define SRV_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "world/world_config.h"

struct srv_check_report {
    bool json;
    struct oto_json out;
    uint32_t count; /* errors so far */
};

/* Prints an error: a struct srv_check_report is the context of srv_world_source.report. */
void srv_check_report_error(void *report, const struct oto_error *error);
/* Ends the report of a world with errors. Returns an exit code. */
int srv_check_report_failed(struct srv_check_report *report);
/* Prints the facts of a world without errors. Returns an exit code. */
int srv_check_report_good(const struct srv_check_report *report, const struct srv_world_config *config, uint32_t channels);

#endif
