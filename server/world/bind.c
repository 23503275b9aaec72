#include "world/binder.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/schedule.h"
#include "plugin/params.h"

void srv_binder_warn(const struct srv_binder *binder, const struct oto_value *place, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    int used = place->line > 0 ? snprintf(sentence, sizeof sentence, "%.200s:%u:%u: warning: ", place->file,
                                          place->line, place->column)
                               : snprintf(sentence, sizeof sentence, "%.200s: warning: ", place->file);
    if (binder->warn == NULL)
        return;
    va_start(arguments, format);
    (void)vsnprintf(sentence + used, sizeof sentence - (size_t)used, format, arguments);
    va_end(arguments);
    binder->warn(binder->warn_context, sentence);
}

static enum oto_status check_kind(struct srv_binder *binder, const struct srv_raw_node *raw, bool is_motion,
                                  const struct oto_plugin *plugin)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    const struct oto_value *place = raw->plugin;
    if ((strcmp(descriptor->kind, OTO_KIND_MOTION) == 0) != is_motion)
        return oto_value_fail(place, binder->error, OTO_INVALID, "plugin '%s' is of kind %s, expected a %s here",
                              descriptor->id, descriptor->kind, is_motion ? "motion" : "sensor or estimator");
    if (raw->inputs != NULL && strcmp(descriptor->kind, OTO_KIND_ESTIMATOR) != 0)
        return oto_value_fail_key(raw->inputs, binder->error, OTO_INVALID,
                                  "plugin '%s' is a %s and has no inputs; only estimators have inputs",
                                  descriptor->id, descriptor->kind);
    if (is_motion && oto_plugin_motion(plugin) == NULL)
        return oto_value_fail(place, binder->error, OTO_PLUGIN, "motion plugin '%s' does not offer the extension '%s'",
                              descriptor->id, OTO_EXTENSION_MOTION);
    return OTO_OK;
}

static enum oto_status apply_file(struct srv_binder *binder, const struct srv_raw_node *raw,
                                  struct srv_node_config *node)
{
    const struct oto_value *value = raw->params_file;
    struct oto_document *document = NULL;
    struct oto_error inner = {0};
    char *path = srv_resolve_path(value);
    if (path == NULL)
        return oto_value_fail(value, binder->error, OTO_NO_MEMORY, "out of memory");
    enum oto_status status = oto_document_read(path, NULL, &document, &inner);
    free(path);
    if (status == OTO_NOT_FOUND || status == OTO_IO)
        return oto_value_fail(value, binder->error, status, "params_file: %.400s", inner.text);
    if (status == OTO_OK)
        status = oto_params_apply_all(oto_plugin_descriptor(node->plugin), oto_document_root(document), &node->params,
                                      &binder->problems);
    else
        (void)oto_fail(binder->error, status, "%s", inner.text);
    oto_document_close(document);
    return status;
}

static enum oto_status check_missing(struct srv_binder *binder, const struct srv_raw_node *raw, const struct oto_value *map,
                                     const struct srv_node_config *node)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    const struct oto_param *missing =
        param_missing((struct param_table){descriptor->params, descriptor->param_count}, node->params.block);
    return missing == NULL ? OTO_OK
                           : oto_value_fail(raw->params != NULL ? raw->params : map, binder->error, OTO_INVALID,
                                            "plugin '%s' needs the parameter '%s': %s", descriptor->id, missing->key, missing->text);
}

static enum oto_status bind_params(struct srv_binder *binder, const struct srv_raw_node *raw,
                                   const struct oto_value *map, struct srv_node_config *node)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    const uint32_t problems = binder->problems.count;
    enum oto_status status = oto_params_default(descriptor, &node->params, binder->error);
    if (status != OTO_OK)
        return status;
    status = srv_apply_part(binder, raw, node);
    if (srv_binder_goes_on(binder, status) && raw->params_file != NULL)
        status = apply_file(binder, raw, node);
    if (srv_binder_goes_on(binder, status) && raw->params != NULL)
        status = oto_params_apply_all(descriptor, raw->params, &node->params, &binder->problems);
    status = srv_binder_result(binder, problems, status);
    return status == OTO_OK ? check_missing(binder, raw, map, node) : status;
}

/* The exact fraction of the shortest decimal for this double: 59.94 is 2997/50. */
static enum oto_status rate_of_params(double rate_hz, const struct oto_value *place, struct srv_node_config *node,
                                      struct oto_error *error)
{
    char text[OTO_DECIMAL_BYTES];
    struct oto_value value = {.kind = OTO_VALUE_SCALAR, .file = place->file, .line = place->line, .column = place->column,
                              .text = oto_shortest_decimal(rate_hz, text)};
    return oto_value_rational(&value, &node->rate_num, &node->rate_den, error);
}

static enum oto_status check_rate(struct srv_binder *binder, const struct oto_value *place,
                                  const struct srv_node_config *node)
{
    const struct srv_clock_config *clock = &binder->config->clock;
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    double rate_hz = (double)node->rate_num / (double)node->rate_den;
    double base_hz = (double)clock->rate_num / (double)clock->rate_den;
    if (node->rate_num == 0 || node->rate_num > SRV_RATE_MAX_TERM || node->rate_den > SRV_RATE_MAX_TERM)
        return oto_value_fail(place, binder->error, OTO_RANGE,
                              "the rate of '%s' is %.10g Hz, expected more than 0 and at most the clock's %.10g Hz",
                              node->name, rate_hz, base_hz);
    bool above = (__uint128_t)node->rate_num * clock->rate_den > (__uint128_t)clock->rate_num * node->rate_den;
    if (above && (descriptor->flags & OTO_PLUGIN_ANY_RATE) == 0)
        return oto_value_fail(place, binder->error, OTO_RANGE,
                              "the rate of '%s' is %.10g Hz, expected at most the clock's %.10g Hz (clock.rate_hz)",
                              node->name, rate_hz, base_hz);
    if (strcmp(descriptor->kind, OTO_KIND_ESTIMATOR) == 0 && rate_hz < 1.0)
        return oto_value_fail(place, binder->error, OTO_RANGE,
                              "the rate of '%s' is %.10g Hz, expected at least 1 Hz of an estimator: its inputs are kept for "
                              "one second", node->name, rate_hz);
    return OTO_OK;
}

static enum oto_status bind_rate(struct srv_binder *binder, const struct srv_raw_node *raw, const struct oto_value *map,
                                 bool is_motion, struct srv_node_config *node)
{
    const struct oto_value *given = oto_value_get(map, "rate_hz");
    const struct oto_value *place = given != NULL ? given : raw->params != NULL ? raw->params : map;
    enum oto_status status = OTO_OK;
    node->rate_num = raw->rate_num;
    node->rate_den = raw->rate_den;
    if (node->rate_den == 0 && !is_motion && node->params.rate_hz != 0)
        status = rate_of_params(node->params.rate_hz, place, node, binder->error);
    if (node->rate_den == 0) {
        node->rate_num = binder->config->clock.rate_num;
        node->rate_den = binder->config->clock.rate_den;
    }
    return status == OTO_OK && binder->is_world_sound ? check_rate(binder, place, node) : status;
}

static void bind_isolation(const struct srv_raw_node *raw, struct srv_node_config *node)
{
    node->isolation = (struct srv_isolation_config){
        .process = true, .async = raw->isolation_async != 0, .budget_ns = raw->isolation_budget_ns};
    memcpy(node->isolation.group, raw->isolation_group, sizeof node->isolation.group);
}

static bool wants_isolation(const struct srv_raw_node *raw)
{
    return raw->isolation != 0 || raw->isolation_group[0] != '\0';
}

static bool is_isolated(const struct srv_binder *binder, const struct srv_raw_node *raw)
{
    return wants_isolation(raw) && binder->source->open_plugin != NULL;
}

static bool is_host_only(const struct srv_node_config *node)
{
    return (oto_plugin_descriptor(node->plugin)->flags & OTO_PLUGIN_HOST_ONLY) != 0;
}

static enum oto_status open_plugin(struct srv_binder *binder, const struct srv_raw_node *raw, bool is_motion,
                                   struct srv_node_config *node)
{
    const enum oto_status status =
        raw->plugin == NULL ? oto_plugin_wrap(binder->source->given_motion, &node->plugin, binder->error)
                            : srv_plugin_cache_open(&binder->plugins, raw->plugin, binder->config->open_plugin,
                                                    is_isolated(binder, raw), &node->plugin, binder->error);
    return status == OTO_OK ? check_kind(binder, raw, is_motion, node->plugin) : status;
}

enum oto_status srv_check_node(struct srv_binder *binder, const struct srv_raw_node *raw, bool is_motion,
                               struct srv_node_config *node)
{
    enum oto_status status = open_plugin(binder, raw, is_motion, node);
    if (status == OTO_OK)
        status = oto_params_default(oto_plugin_descriptor(node->plugin), &node->params, binder->error);
    return status == OTO_OK && raw->params != NULL
               ? oto_params_apply_all(oto_plugin_descriptor(node->plugin), raw->params, &node->params, &binder->problems)
               : status;
}

/* Binds parameters, rate and faults of a node, and reports the errors of each. */
static enum oto_status bind_values(struct srv_binder *binder, const struct srv_raw_node *raw, const struct oto_value *map,
                                   bool is_motion, struct srv_node_config *node)
{
    const uint32_t problems = binder->problems.count;
    enum oto_status status = bind_params(binder, raw, map, node);
    if (srv_binder_goes_on(binder, status))
        status = bind_rate(binder, raw, map, is_motion, node);
    if (srv_binder_goes_on(binder, status))
        status = srv_bind_faults(binder, raw->faults, node);
    return srv_binder_result(binder, problems, status);
}

enum oto_status srv_bind_node(struct srv_binder *binder, const struct srv_raw_node *raw, const struct oto_value *map,
                              bool is_motion, struct srv_node_config *node)
{
    if (wants_isolation(raw) && raw->plugin == NULL)
        return oto_value_fail(oto_value_get(map, "isolation"), binder->error, OTO_UNSUPPORTED,
                              "a participant gives the truth here, in a process of its own: there is no plugin to isolate");
    enum oto_status status = open_plugin(binder, raw, is_motion, node);
    if (status == OTO_OK)
        status = bind_values(binder, raw, map, is_motion, node);
    if (status != OTO_OK)
        return status;
    if (is_isolated(binder, raw) || (is_host_only(node) && binder->source->open_plugin != NULL))
        bind_isolation(raw, node);
    if (!is_motion)
        node->labels = oto_value_get(map, "labels") == NULL ? SRV_LABELS_AUTO
                       : raw->labels                        ? SRV_LABELS_ON
                                                            : SRV_LABELS_OFF;
    const double rad = OTO_PI / 180;
    node->place = map;
    node->watch = raw->watch;
    node->fifo_samples = raw->fifo_samples;
    node->mount_position_body_m = oto_vec3_from_array(raw->position_m);
    node->q_body_from_sensor = oto_quat_from_rpy(raw->rpy_deg[0] * rad, raw->rpy_deg[1] * rad, raw->rpy_deg[2] * rad);
    memcpy(node->alias, raw->topic, sizeof node->alias);
    srv_check_plausible(binder, raw->params != NULL ? raw->params : map, node);
    return OTO_OK;
}
