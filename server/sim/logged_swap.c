#include "sim/logged_swap.h"

#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

struct reading {
    const struct srv_sim *sim;
    const struct srv_node *node;
    const struct oto_run_log_reader *log;
    const struct oto_run_log_line *line;
    struct srv_previous *previous;
};

static enum oto_status missing(const struct reading *reading, const char *what, struct oto_error *error)
{
    return oto_run_log_wrong(reading->log, error, OTO_CORRUPT, "'%s' of '%s' is missing, or is of another kind", what,
                             reading->line->entry);
}

static int64_t ns_of_ticks(const struct reading *reading, uint64_t ticks)
{
    const struct srv_clock_config *clock = &reading->sim->config->clock;
    const double ns = (double)ticks * 1e9 * (double)clock->rate_den / (double)clock->rate_num;
    return ns < 4e18 ? (int64_t)(ns + 0.5) : INT64_MAX / 2;
}

static enum oto_status open_plugin(const struct reading *reading, const char *file, const char *unlike,
                                   struct oto_error *error)
{
    const char *logged = oto_run_log_text(reading->line, "file");
    uint64_t hash;
    if (logged == NULL || !oto_run_log_word(reading->line, "file_hash", &hash)) {
        return missing(reading, logged == NULL ? "file" : "file_hash", error);
    }
    struct oto_plugin **plugin = &reading->previous->plugin;
    const enum oto_status status = reading->sim->config->open_plugin(
        file != NULL ? file : logged, reading->node->config->isolation.process, plugin, error);
    return status != OTO_OK || unlike == NULL || oto_plugin_content_hash(*plugin) == hash
               ? status
               : oto_fail(error, OTO_CONFLICT, "'%.300s' is not the build that was swapped in%s", logged, unlike);
}

static enum oto_status bind_params(const struct reading *reading, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(reading->previous->plugin);
    struct oto_params *params = &reading->previous->params;
    const char *text = oto_run_log_text(reading->line, "params");
    struct oto_document *document = NULL;
    enum oto_status status =
        text != NULL ? oto_params_default(descriptor, params, error) : missing(reading, "params", error);
    if (status == OTO_OK && text[0] != '\0') {
        status = oto_document_parse("params", text, strlen(text), NULL, &document, error);
    }
    if (status == OTO_OK && document != NULL) {
        status = oto_params_apply(descriptor, oto_document_root(document), params, error);
    }
    oto_document_close(document);
    params->rate_hz = reading->node->config->params.rate_hz;
    return status;
}

static void bind_setup(const struct reading *reading)
{
    uint64_t unit[2];
    struct srv_previous *previous = reading->previous;
    previous->setup = *reading->node->setup;
    previous->has_setup = oto_run_log_words(reading->line, "unit", unit, 2);
    if (previous->has_setup) {
        previous->setup.unit_key = (struct oto_rng_key){unit[0], unit[1]};
    }
}

static enum oto_status read_options(const struct reading *reading, struct srv_swap_options *options,
                                    struct oto_error *error)
{
    const struct oto_run_log_line *line = reading->line;
    uint64_t probation = 0, shadow = 0;
    const char *tolerance = oto_run_log_text(line, "shadow_tolerance");
    if (!oto_run_log_number(line, "probation_ticks", &probation) ||
        !oto_run_log_number(line, "shadow_ticks", &shadow)) {
        return missing(reading, "probation_ticks or shadow_ticks", error);
    }
    *options = (struct srv_swap_options){.previous = reading->previous,
                                         .probation_ns = ns_of_ticks(reading, probation),
                                         .shadow_ns = ns_of_ticks(reading, shadow),
                                         .shadow_tolerance = tolerance != NULL ? strtod(tolerance, NULL) : 0.0,
                                         .reset_state = oto_run_log_truth(line, "begins_anew"),
                                         .pace = oto_run_log_truth(line, "paced") ? SRV_SWAP_PACED : SRV_SWAP_AT_ONCE};
    return OTO_OK;
}

enum oto_status srv_logged_swap_read(const struct srv_sim *sim, uint32_t node, const struct oto_run_log_reader *log,
                                     const struct oto_run_log_line *line, const char *file, const char *unlike,
                                     struct srv_previous *previous, struct srv_swap_options *options,
                                     struct oto_error *error)
{
    const struct reading reading = {sim, &sim->nodes[node], log, line, previous};
    *previous = (struct srv_previous){.plugin = NULL};
    enum oto_status status = open_plugin(&reading, file, unlike, error);
    if (status == OTO_OK) {
        status = bind_params(&reading, error);
    }
    bind_setup(&reading);
    return status == OTO_OK ? read_options(&reading, options, error) : status;
}
