#include "sweep/gauge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_KEPT_NS INT64_C(2000000000) /* points are kept for samples that are older than the newest point by up to this time */

/* ---- finding fields ---- */

static bool find_field(const struct oto_record_type *type, const char *name, struct sweep_source *source)
{
    char column[OTO_FIELD_NAME_BYTES + 16];
    for (uint32_t i = 0; i < type->field_count; i++) {
        const uint32_t elements = type->fields[i].type != OTO_FIELD_TEXT ? type->fields[i].count : 0;
        for (uint32_t k = 0; k < elements; k++) {
            (void)oto_field_column(&type->fields[i], k, column, sizeof column);
            if (strcmp(column, name) == 0) {
                source->field = &type->fields[i];
                source->element = k;
                return true;
            }
        }
    }
    return false;
}

static enum oto_status find_source(const struct oto_sim *sim, const char *channel, const char *field,
                                   const struct oto_value *channel_place, const struct oto_value *field_place,
                                   struct sweep_source *source, struct oto_error *error)
{
    struct oto_error why = {0};
    const char *names[OTO_RECORD_MAX_FIELDS];
    if (oto_sim_channel(sim, channel, &source->channel, &why) != OTO_OK) {
        return oto_value_fail(channel_place, error, why.status, "%s", why.text);
    }
    const struct oto_record_type *type = source->channel.type;
    if (find_field(type, field, source)) {
        return OTO_OK;
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        names[i] = type->fields[i].name;
    }
    const char *near = oto_nearest_word(field, names, type->field_count);
    return oto_value_fail(field_place, error, OTO_NOT_FOUND, "'%s' has no number '%.80s'%s%s%s; `otolith info` lists the fields",
                          channel, field, near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

static double turn_of(const struct oto_field *field)
{
    return strcmp(field->unit, "deg") == 0 ? 360.0 : strcmp(field->unit, "rad") == 0 ? 6.283185307179586 : 0.0;
}

static bool wants_only_last(const struct sweep_metric *metric)
{
    bool only = metric->reference.kind != SWEEP_FIELD && metric->from_ns == 0;
    for (uint32_t i = 0; i < metric->compute_count; i++) {
        only = only && metric->computes[i].statistic == SWEEP_LAST;
    }
    return only;
}

enum oto_status sweep_gauge_bind(struct sweep_gauge *gauge, const struct sweep_spec *spec, const struct oto_sim *sim,
                                 const struct sweep_case *made, struct oto_error *error)
{
    const struct sweep_metric *metric = gauge->sum.metric;
    const struct sweep_reference *reference = &metric->reference;
    enum oto_status status =
        find_source(sim, metric->channel, metric->field, metric->channel_place, metric->field_place, &gauge->source, error);
    if (status == OTO_OK && reference->kind == SWEEP_FIELD) {
        status = find_source(sim, reference->channel, reference->field, reference->place, reference->place, &gauge->reference, error);
    }
    gauge->number = reference->kind == SWEEP_NUMBER ? reference->number : 0.0;
    if (status == OTO_OK && reference->kind == SWEEP_WORLD_VALUE) {
        status = sweep_world_number(spec, made, reference, &gauge->number, error);
    }
    if (status == OTO_OK) {
        gauge->turn = reference->kind != SWEEP_NO_REFERENCE ? turn_of(gauge->source.field) : 0.0;
        gauge->only_last = wants_only_last(metric);
    }
    return status;
}

bool sweep_gauge_reads(const struct sweep_gauge *gauge, uint32_t channel)
{
    return (!gauge->only_last && gauge->source.channel.index == channel) ||
           (gauge->sum.metric->reference.kind == SWEEP_FIELD && gauge->reference.channel.index == channel);
}

/* ---- points over time ---- */

static void forget_old(struct sweep_track *track, int64_t before_ns)
{
    size_t old = 0;
    while (old < track->count && track->t_ns[old] < before_ns) {
        old++;
    }
    if (old > track->count / 2) {
        track->count -= old;
        memmove(track->t_ns, track->t_ns + old, track->count * sizeof *track->t_ns);
        memmove(track->values, track->values + old, track->count * sizeof *track->values);
        track->at = 0;
    }
}

static enum oto_status extend(struct sweep_track *track, int64_t t_ns, double value, struct oto_error *error)
{
    if (track->count == track->capacity) {
        const size_t capacity = track->capacity > 0 ? 2 * track->capacity : 4096;
        int64_t *times = realloc(track->t_ns, capacity * sizeof *times);
        track->t_ns = times != NULL ? times : track->t_ns;
        double *values = realloc(track->values, capacity * sizeof *values);
        track->values = values != NULL ? values : track->values;
        if (times == NULL || values == NULL) {
            return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu points of a reference", capacity);
        }
        track->capacity = capacity;
    }
    track->t_ns[track->count] = t_ns;
    track->values[track->count++] = value;
    return OTO_OK;
}

/* The value at a time: linear between the two points around it; outside the points, that of the end point. */
static double value_at(struct sweep_track *track, int64_t t_ns)
{
    size_t i = track->at;
    if (track->count == 0) {
        return NAN;
    }
    while (i > 0 && track->t_ns[i] > t_ns) {
        i--;
    }
    while (i + 1 < track->count && track->t_ns[i + 1] <= t_ns) {
        i++;
    }
    track->at = i;
    if (t_ns <= track->t_ns[i] || i + 1 == track->count) {
        return track->values[i];
    }
    const double share = (double)(t_ns - track->t_ns[i]) / (double)(track->t_ns[i + 1] - track->t_ns[i]);
    return track->values[i] + share * (track->values[i + 1] - track->values[i]);
}

/* ---- records ---- */

enum oto_status sweep_gauge_begin(struct sweep_gauge *gauge, struct oto_error *error)
{
    gauge->points.count = gauge->points.at = 0;
    gauge->waiting.count = 0;
    return sweep_sum_reset(&gauge->sum, error);
}

static enum oto_status add(struct sweep_gauge *gauge, double error_value, struct oto_error *error)
{
    return sweep_sum_add(&gauge->sum, gauge->turn > 0.0 ? remainder(error_value, gauge->turn) : error_value, error);
}

static enum oto_status take_sample(struct sweep_gauge *gauge, int64_t t_ns, double value, struct oto_error *error)
{
    if (t_ns < gauge->sum.metric->from_ns) {
        return OTO_OK;
    }
    return gauge->sum.metric->reference.kind == SWEEP_FIELD ? extend(&gauge->waiting, t_ns, value, error)
                                                            : add(gauge, value - gauge->number, error);
}

enum oto_status sweep_gauge_take(struct sweep_gauge *gauge, const struct oto_sim_channel *channel,
                                 const struct oto_sample_head *heads, const unsigned char *payloads, size_t count,
                                 struct oto_error *error)
{
    const struct sweep_source *source = &gauge->source, *reference = &gauge->reference;
    const bool is_source = !gauge->only_last && source->channel.index == channel->index;
    const bool is_reference = gauge->sum.metric->reference.kind == SWEEP_FIELD && reference->channel.index == channel->index;
    enum oto_status status = OTO_OK;
    for (size_t i = 0; status == OTO_OK && i < count; i++) {
        const unsigned char *payload = payloads + i * channel->type->bytes;
        if (is_reference) {
            status = extend(&gauge->points, heads[i].t_ns, oto_field_number(reference->field, payload, reference->element), error);
        }
        if (is_source && status == OTO_OK) {
            status = take_sample(gauge, heads[i].t_ns, oto_field_number(source->field, payload, source->element), error);
        }
    }
    return status;
}

enum oto_status sweep_gauge_settle(struct sweep_gauge *gauge, struct oto_error *error)
{
    struct sweep_track *waiting = &gauge->waiting, *points = &gauge->points;
    enum oto_status status = OTO_OK;
    for (size_t i = 0; status == OTO_OK && i < waiting->count; i++) {
        status = add(gauge, waiting->values[i] - value_at(points, waiting->t_ns[i]), error);
    }
    waiting->count = 0;
    if (points->count > 0) {
        forget_old(points, points->t_ns[points->count - 1] - POINTS_KEPT_NS);
    }
    return status;
}

static enum oto_status take_newest(struct sweep_gauge *gauge, const struct oto_sim *sim, struct oto_error *error)
{
    struct oto_sample_head head;
    unsigned char payload[OTO_RECORD_MAX_BYTES] __attribute__((aligned(16)));
    const enum oto_status status = oto_sim_latest(sim, gauge->source.channel.index, &head, payload, error);
    if (status == OTO_AGAIN) {
        return OTO_OK;
    }
    const double value = oto_field_number(gauge->source.field, payload, gauge->source.element);
    return status == OTO_OK ? add(gauge, value - gauge->number, error) : status;
}

enum oto_status sweep_gauge_results(struct sweep_gauge *gauge, const struct oto_sim *sim, double *results, struct oto_error *error)
{
    const enum oto_status status = gauge->only_last ? take_newest(gauge, sim, error) : OTO_OK;
    if (status == OTO_OK) {
        sweep_sum_results(&gauge->sum, sweep_rate_hz(&gauge->source.channel), results);
    }
    return status;
}

void sweep_gauge_finish(struct sweep_gauge *gauge)
{
    sweep_sum_finish(&gauge->sum);
    free(gauge->points.t_ns);
    free(gauge->points.values);
    free(gauge->waiting.t_ns);
    free(gauge->waiting.values);
    *gauge = (struct sweep_gauge){.number = 0.0};
}
