/* Converts the `vibration:` of a vehicle to sines: given sines, an engine's orders, and the lines of a spectrum. */
#include <stdlib.h>

#include "world/binder.h"
#include "world/section.h"
#include "otolith/geodesy.h"
#include "otolith/rng.h"

enum { MAX_SOURCES = 64, MAX_ORDERS = 64, MAX_LINES = 1000000 /* limit for a world, 104 bytes each */ };

#define GOLDEN_RATIO 0.6180339887498949

struct maker {
    struct srv_binder *binder;
    struct srv_vibration *vibration;
    uint32_t source; /* index of the current source */
};

static enum oto_status no_memory(const struct maker *maker, const struct oto_value *place)
{
    return oto_value_fail(place, maker->binder->error, OTO_NO_MEMORY, "out of memory for vibration");
}

/* Makes room for more lines, zeroed. */
static enum oto_status add_lines(struct maker *maker, const struct oto_value *place, uint32_t count,
                                 struct srv_vibration_line **added)
{
    struct srv_vibration *vibration = maker->vibration;
    maker->binder->vibration_lines += count;
    if (maker->binder->vibration_lines > MAX_LINES)
        return oto_value_fail(place, maker->binder->error, OTO_LIMIT,
                              "more than %d lines of vibration in a world, the most that is accepted", MAX_LINES);
    const size_t all = (size_t)vibration->line_count + count;
    struct srv_vibration_line *lines = realloc(vibration->lines, all * sizeof *lines);
    if (lines == NULL)
        return no_memory(maker, place);
    vibration->lines = lines;
    oto_vec3 *amplitudes = realloc(vibration->amplitudes_m_s2, all * sizeof *amplitudes);
    if (amplitudes == NULL)
        return no_memory(maker, place);
    vibration->amplitudes_m_s2 = amplitudes;
    *added = lines + vibration->line_count;
    memset(*added, 0, count * sizeof *lines);
    vibration->line_count += count;
    return OTO_OK;
}

/* A sin(θ + φ) = A cos φ sin θ + A sin φ cos θ, for each axis. */
static void split(const double amplitude[3], const double phase_rad[3], oto_vec3 *of_sin, oto_vec3 *of_cos)
{
    double sines[3], cosines[3];
    for (int i = 0; i < 3; i++) {
        oto_sincos(phase_rad[i], &sines[i], &cosines[i]);
        sines[i] *= amplitude[i];
        cosines[i] *= amplitude[i];
    }
    *of_sin = oto_vec3_from_array(cosines);
    *of_cos = oto_vec3_from_array(sines);
}

/* Returns true if the line rotates the body. */
static bool fill_line(const struct srv_raw_sine *raw, double factor, struct srv_vibration_line *line)
{
    const double phase_rad[3] = {raw->phase_deg[0] * OTO_DEG, raw->phase_deg[1] * OTO_DEG, raw->phase_deg[2] * OTO_DEG};
    line->factor = factor;
    split(raw->accel_body_m_s2, phase_rad, &line->accel_sin_m_s2, &line->accel_cos_m_s2);
    split(raw->rate_body_rad_s, phase_rad, &line->rate_sin_rad_s, &line->rate_cos_rad_s);
    return raw->rate_body_rad_s[0] != 0 || raw->rate_body_rad_s[1] != 0 || raw->rate_body_rad_s[2] != 0;
}

static enum oto_status make_sine(struct maker *maker, const struct oto_value *map, struct srv_vibration_source *source)
{
    struct srv_raw_sine raw = {0};
    srv_section_defaults(&srv_section_sine, &raw);
    enum oto_status status = srv_section_read(&srv_section_sine, map, &raw, maker->binder->error);
    struct srv_vibration_line *line = NULL;
    if (status == OTO_OK)
        status = add_lines(maker, map, 1, &line);
    if (status == OTO_OK)
        source->turns = fill_line(&raw, raw.frequency_hz, line);
    return status;
}

static enum oto_status make_order(struct maker *maker, const struct oto_value *map, struct srv_vibration_source *source,
                                  struct srv_vibration_line *line)
{
    struct srv_raw_sine raw = {0};
    srv_section_defaults(&srv_section_order, &raw);
    enum oto_status status = srv_section_read(&srv_section_order, map, &raw, maker->binder->error);
    if (status == OTO_OK && fill_line(&raw, raw.order, line))
        source->turns = true;
    return status;
}

static enum oto_status make_engine(struct maker *maker, const struct oto_value *map,
                                   struct srv_vibration_source *source)
{
    struct srv_raw_engine raw = {0};
    srv_section_defaults(&srv_section_engine, &raw);
    enum oto_status status = srv_section_read(&srv_section_engine, map, &raw, maker->binder->error);
    source->is_engine = true;
    source->rpm_along_time = raw.rpm; /* stored also if the map is refused: the rows are freed with the vehicle */
    source->reference_rpm = raw.reference_rpm;
    if (status != OTO_OK)
        return status;
    if (raw.orders->count == 0 || raw.orders->count > MAX_ORDERS)
        return oto_value_fail(raw.orders, maker->binder->error, OTO_LIMIT, "expected 1 to %d orders, got %u",
                              MAX_ORDERS, raw.orders->count);
    struct srv_vibration_line *lines = NULL;
    status = add_lines(maker, map, raw.orders->count, &lines);
    for (uint32_t i = 0; i < raw.orders->count && status == OTO_OK; i++)
        status = make_order(maker, raw.orders->items[i], source, &lines[i]);
    return status;
}

/* The power between two frequencies of one segment with level (f/f0)^m. */
static double segment_power(double f0, double level, double m, double from_hz, double to_hz)
{
    if (oto_fabs(m + 1) < 1e-9)
        return level * f0 * oto_log(to_hz / from_hz);
    return level * f0 / (m + 1) * (oto_pow(to_hz / f0, m + 1) - oto_pow(from_hz / f0, m + 1));
}

/* The integral of the breakpoints' spectrum over a band within them. */
static double band_power(const struct srv_table *levels, double from_hz, double to_hz)
{
    double power = 0;
    for (uint32_t i = 0; i + 1 < levels->count; i++) {
        const struct srv_table_row *a = &levels->rows[i], *b = a + 1;
        const double low = a->x > from_hz ? a->x : from_hz, high = b->x < to_hz ? b->x : to_hz;
        const double m = oto_log(b->value / a->value) / oto_log(b->x / a->x);
        if (low < high)
            power += segment_power(a->x, a->value, m, low, high);
    }
    return power;
}

/*
 * Bands of equal width on a logarithmic axis, each with one sine that has the power of the band: a² / 2. The position
 * of the sine in its band is a multiple of the golden ratio, so that no two frequencies have a simple ratio. Each axis
 * has its own phase.
 */
static void fill_spectrum(const struct srv_raw_psd *raw, const struct srv_table *levels, double unit,
                          struct srv_vibration_line *lines, oto_vec3 *amplitudes_m_s2)
{
    const double first_hz = levels->rows[0].x, last_hz = levels->rows[levels->count - 1].x;
    const double width = oto_log(last_hz / first_hz) / raw->lines;
    for (uint32_t k = 0; k < raw->lines; k++) {
        const double share = (k + 1) * GOLDEN_RATIO - (double)(uint32_t)((k + 1) * GOLDEN_RATIO);
        const double from_hz = first_hz * oto_exp(k * width);
        const double to_hz = k + 1 < raw->lines ? first_hz * oto_exp((k + 1) * width) : last_hz;
        const double amplitude = unit * oto_sqrt(2 * band_power(levels, from_hz, to_hz));
        lines[k].factor = from_hz * oto_exp(share * width);
        amplitudes_m_s2[k] =
            oto_vec3_make(amplitude * raw->axes[0], amplitude * raw->axes[1], amplitude * raw->axes[2]);
    }
}

static void draw_phases(struct srv_vibration *vibration, uint32_t source)
{
    const struct srv_vibration_source *spectrum = &vibration->sources[source];
    for (uint32_t k = 0; k < spectrum->line_count; k++) {
        const oto_philox_block block = oto_rng_block(vibration->key, k, source, 0, OTO_RNG_DOMAIN_WORLD);
        const uint32_t at = spectrum->first_line + k;
        double amplitudes[3], phases_rad[3];
        oto_vec3_to_array(vibration->amplitudes_m_s2[at], amplitudes);
        for (int i = 0; i < 3; i++)
            phases_rad[i] = OTO_TWO_PI * oto_u01(block.v[i]);
        split(amplitudes, phases_rad, &vibration->lines[at].accel_sin_m_s2, &vibration->lines[at].accel_cos_m_s2);
    }
}

void srv_vibration_seed(struct srv_vibration *vibration, const char *vehicle, uint64_t seed)
{
    char stream[SRV_NAME_BYTES + 16];
    (void)snprintf(stream, sizeof stream, "%s/vibration", vehicle);
    vibration->key = oto_rng_key_make(seed, stream);
    for (uint32_t i = 0; i < vibration->source_count; i++)
        if (vibration->sources[i].is_spectrum)
            draw_phases(vibration, i);
}

static enum oto_status check_psd(const struct maker *maker, const struct oto_value *map, const struct srv_raw_psd *raw)
{
    const struct srv_table *levels = raw->g2_hz.count > 0 ? &raw->g2_hz : &raw->m2_s4_hz;
    struct oto_error *error = maker->binder->error;
    if ((raw->g2_hz.count > 0) == (raw->m2_s4_hz.count > 0))
        return oto_value_fail(map, error, OTO_INVALID, "psd: expected either level_g2_hz or level_m2_s4_hz");
    if (levels->count < 2)
        return oto_value_fail(map, error, OTO_INVALID, "psd: expected two breakpoints or more, got one");
    if (!(levels->rows[0].x > 0))
        return oto_value_fail(map, error, OTO_RANGE, "psd: expected frequencies of more than 0 Hz");
    return OTO_OK;
}

static enum oto_status make_psd(struct maker *maker, const struct oto_value *map, struct srv_vibration_source *source)
{
    struct srv_raw_psd raw = {0};
    source->is_spectrum = true;
    srv_section_defaults(&srv_section_psd, &raw);
    enum oto_status status = srv_section_read(&srv_section_psd, map, &raw, maker->binder->error);
    if (status == OTO_OK)
        status = check_psd(maker, map, &raw);
    struct srv_vibration_line *lines = NULL;
    if (status == OTO_OK)
        status = add_lines(maker, map, raw.lines, &lines);
    if (status == OTO_OK) {
        const bool in_g = raw.g2_hz.count > 0;
        fill_spectrum(&raw, in_g ? &raw.g2_hz : &raw.m2_s4_hz, in_g ? OTO_STANDARD_GRAVITY_M_S2 : 1, lines,
                      maker->vibration->amplitudes_m_s2 + source->first_line);
    }
    free(raw.g2_hz.rows);
    free(raw.m2_s4_hz.rows);
    return status;
}

static enum oto_status make_noise(const struct maker *maker, const struct oto_value *map,
                                  struct srv_vibration_source *source)
{
    struct srv_raw_noise raw = {0};
    srv_section_defaults(&srv_section_noise, &raw);
    const enum oto_status status = srv_section_read(&srv_section_noise, map, &raw, maker->binder->error);
    source->noise_rate_hz = raw.rate_hz;
    source->noise_rms_m_s2 = oto_vec3_from_array(raw.accel_body_m_s2);
    source->is_differenced = raw.differenced;
    return status;
}

static enum oto_status make_source(struct maker *maker, const struct oto_value *map)
{
    struct srv_vibration *vibration = maker->vibration;
    struct srv_vibration_source *source = &vibration->sources[vibration->source_count++];
    struct srv_raw_vibration raw = {0};
    enum oto_status status = srv_section_read(&srv_section_vibration, map, &raw, maker->binder->error);
    if (status != OTO_OK)
        return status;
    if (map->count != 1)
        return oto_value_fail(map, maker->binder->error, OTO_INVALID,
                              "expected one of sine, psd, noise and engine in an entry of vibration, got %u keys", map->count);
    source->first_line = vibration->line_count;
    if (raw.sine != NULL)
        status = make_sine(maker, raw.sine, source);
    else if (raw.psd != NULL)
        status = make_psd(maker, raw.psd, source);
    else if (raw.noise != NULL)
        status = make_noise(maker, raw.noise, source);
    else
        status = make_engine(maker, raw.engine, source);
    source->line_count = vibration->line_count - source->first_line;
    return status;
}

enum oto_status srv_load_vibration(struct srv_binder *binder, const struct oto_value *list,
                                   struct srv_vehicle_config *vehicle)
{
    struct maker maker = {binder, &vehicle->vibration, 0};
    const uint32_t problems = binder->problems.count;
    enum oto_status status = OTO_OK;
    if (list->count > MAX_SOURCES)
        return oto_value_fail(list, binder->error, OTO_LIMIT, "%u sources of vibration, at most %d are accepted",
                              list->count, MAX_SOURCES);
    vehicle->vibration.sources = calloc(list->count + (size_t)1, sizeof *vehicle->vibration.sources);
    if (vehicle->vibration.sources == NULL)
        return no_memory(&maker, list);
    for (; maker.source < list->count && srv_binder_goes_on(binder, status); maker.source++)
        status = make_source(&maker, list->items[maker.source]);
    status = srv_binder_result(binder, problems, status);
    if (status == OTO_OK)
        srv_vibration_seed(&vehicle->vibration, vehicle->name, binder->config->seed);
    return status;
}

void srv_vibration_finish(struct srv_vibration *vibration)
{
    for (uint32_t i = 0; i < vibration->source_count; i++)
        free(vibration->sources[i].rpm_along_time.rows);
    free(vibration->sources);
    free(vibration->lines);
    free(vibration->amplitudes_m_s2);
    *vibration = (struct srv_vibration){0};
}
