/* Evaluates the models that `environment:` names at the origin and its date. */
#include "otolith/environment.h"

#include <string.h>

#include "environment/gravity.h"
#include "world/binder.h"

/* The value of a key in the file; NULL if the default applies. */
static const struct oto_value *value_at(const struct srv_raw_world *raw, const char *section, const char *key)
{
    return oto_value_get(oto_value_get(oto_document_root(raw->config.document), section), key);
}

static oto_geodetic origin_of(const struct srv_world_config *config)
{
    return (oto_geodetic){config->origin_latitude_rad, config->origin_longitude_rad, config->origin_altitude_m};
}

/* Reports a model's error at the key of the origin that caused it, or at the name of the model. */
static enum oto_status refuse(const struct srv_raw_world *raw, const char *origin_key, const char *asked,
                              enum oto_status status, const struct oto_error *why, struct oto_error *error)
{
    const struct oto_value *cause = value_at(raw, "origin", origin_key);
    if (cause == NULL)
        cause = value_at(raw, "environment", asked);
    return oto_value_fail(cause, error, status, "%s: %s", asked, why->text);
}

/* Distance from the origin of the places for the field's central differences. */
#define FIELD_STEP_M 20000.0

/* The model's field at a place near the origin, in the origin's ENU axes. */
static enum oto_status field_at(const struct oto_wmm *model, oto_geodetic origin, double east_m, double north_m,
                                double year, oto_vec3 *field_enu_ut, struct oto_error *why)
{
    const oto_geodetic place = oto_geodetic_from_enu(origin, oto_vec3_make(east_m, north_m, 0));
    const oto_quat q_there_from_ecef = oto_q_enu_from_ecef(place.lat_rad, place.lon_rad);
    struct oto_magnetic_field field;
    enum oto_status status = oto_wmm_field(model, place, year, &field, why);
    if (status != OTO_OK)
        return status;
    const oto_vec3 ecef = oto_quat_rotate_inv(q_there_from_ecef, oto_magnetic_field_enu_ut(&field));
    *field_enu_ut = oto_quat_rotate(oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad), ecef);
    return OTO_OK;
}

static oto_vec3 second_difference(oto_vec3 before, oto_vec3 at, oto_vec3 after)
{
    return oto_vec3_add_scaled(oto_vec3_add(before, after), at, -2);
}

/*
 * Central differences along east and north. The upward derivatives follow, because the field is the gradient of a
 * potential (its derivatives are symmetric) and has no sources (their trace is zero). b[1 + i][1 + j] is the field i
 * steps east and j steps north.
 */
static void fill_field_change(oto_vec3 b[3][3], struct srv_field_change *change)
{
    const oto_vec3 dx = oto_vec3_scale(oto_vec3_sub(b[2][1], b[0][1]), 0.5 / FIELD_STEP_M);
    const oto_vec3 dy = oto_vec3_scale(oto_vec3_sub(b[1][2], b[1][0]), 0.5 / FIELD_STEP_M);
    const double half = 0.5 / (FIELD_STEP_M * FIELD_STEP_M);
    const oto_vec3 xx = oto_vec3_scale(second_difference(b[0][1], b[1][1], b[2][1]), half);
    const oto_vec3 yy = oto_vec3_scale(second_difference(b[1][0], b[1][1], b[1][2]), half);
    const oto_vec3 across = oto_vec3_sub(oto_vec3_sub(b[2][2], b[2][0]), oto_vec3_sub(b[0][2], b[0][0]));
    const oto_vec3 xy = oto_vec3_scale(across, 0.25 * half);
    const oto_vec3 zz = oto_vec3_make(-(xx.x + yy.x), -(xx.y + yy.y), -(xx.z + yy.z));
    const double first[6] = {dx.x, 0.5 * (dx.y + dy.x), dx.z, dy.y, dy.z, -(dx.x + dy.y)};
    const oto_vec3 second[6] = {xx,
                                oto_vec3_make(xx.y, yy.x, xy.z),
                                oto_vec3_make(xx.z, xy.z, zz.x),
                                yy,
                                oto_vec3_make(xy.z, yy.z, zz.y),
                                zz};
    memcpy(change->first_ut_m, first, sizeof first);
    memcpy(change->second_ut_m2, second, sizeof second);
}

static enum oto_status resolve_field_change(struct srv_world_config *config, const struct oto_wmm *model, double year,
                                            struct oto_error *why)
{
    oto_vec3 b[3][3];
    enum oto_status status = OTO_OK;
    for (int i = 0; i < 9 && status == OTO_OK; i++)
        status = field_at(model, origin_of(config), (i / 3 - 1) * FIELD_STEP_M, (i % 3 - 1) * FIELD_STEP_M, year,
                          &b[i / 3][i % 3], why);
    if (status != OTO_OK)
        return status;
    fill_field_change(b, &config->environment.mag_field_change);
    config->environment.field_follows_place = true;
    return OTO_OK;
}

static enum oto_status resolve_field(struct srv_raw_world *raw, struct oto_error *error)
{
    static const char *const names[] = {[SRV_FIELD_WMM2020] = "wmm2020", [SRV_FIELD_WMM2025] = "wmm2025"};
    struct srv_world_config *config = &raw->config;
    const double year = oto_decimal_year(config->date_days);
    const struct oto_wmm *model = NULL;
    struct oto_magnetic_field field;
    struct oto_error why = {0};
    if (raw->magnetic_field == SRV_FIELD_VECTOR)
        return OTO_OK;
    enum oto_status status = oto_wmm_find(names[raw->magnetic_field], &model, &why);
    if (status == OTO_OK)
        status = oto_wmm_field(model, origin_of(config), year, &field, &why);
    if (status == OTO_OK)
        status = resolve_field_change(config, model, year, &why);
    if (status != OTO_OK) {
        const bool covered =
            model != NULL && year >= model->epoch_year && year <= model->epoch_year + OTO_WMM_VALID_YEARS;
        return refuse(raw, covered ? "altitude_m" : "date", "magnetic_field", status, &why, error);
    }
    config->environment.mag_field_enu_ut = oto_magnetic_field_enu_ut(&field);
    return OTO_OK;
}

/* Values in the file have precedence; the atmosphere sets the others. */
static enum oto_status resolve_air(struct srv_raw_world *raw, struct oto_error *error)
{
    struct srv_environment_config *environment = &raw->config.environment;
    struct oto_air air;
    struct oto_error why = {0};
    environment->temperature_degc = srv_table_value(&environment->temperature_along_time_degc, 0);
    environment->pressure_pa = srv_table_value(&environment->pressure_along_time_pa, 0);
    if (raw->atmosphere != SRV_ATMOSPHERE_ISA)
        return OTO_OK;
    environment->air_follows_altitude = true;
    enum oto_status status = oto_isa(raw->config.origin_altitude_m, &air, &why);
    if (status != OTO_OK)
        return refuse(raw, "altitude_m", "atmosphere", status, &why, error);
    if (value_at(raw, "environment", "temperature_degc") == NULL)
        environment->temperature_degc = air.temperature_degc;
    if (value_at(raw, "environment", "pressure_pa") == NULL)
        environment->pressure_pa = air.pressure_pa;
    return OTO_OK;
}

enum oto_status srv_resolve_environment(struct srv_raw_world *raw, struct oto_error *error)
{
    struct srv_world_config *config = &raw->config;
    config->environment.gravity_wgs84 = raw->gravity == SRV_GRAVITY_WGS84;
    if (config->environment.gravity_wgs84)
        config->environment.gravity_enu_m_s2 = srv_gravity_enu_at((oto_geodetic){
            config->origin_latitude_rad, config->origin_longitude_rad, config->origin_altitude_m});
    enum oto_status status = resolve_field(raw, error);
    return status == OTO_OK ? resolve_air(raw, error) : status;
}

void srv_check_field(const struct srv_binder *binder, const struct srv_raw_world *raw)
{
    const struct oto_value *place = value_at(raw, "environment", "magnetic_field");
    const oto_vec3 given = binder->config->environment.mag_field_enu_ut;
    const double year = oto_decimal_year(binder->config->date_days);
    const struct oto_wmm *model = NULL;
    struct oto_magnetic_field field;
    oto_vec3 there = oto_vec3_zero();
    if (place == NULL || raw->magnetic_field != SRV_FIELD_VECTOR)
        return;
    if (oto_wmm_for_year(year, &model, NULL) == OTO_OK &&
        oto_wmm_field(model, origin_of(binder->config), year, &field, NULL) == OTO_OK)
        there = oto_magnetic_field_enu_ut(&field);
    if (oto_field_looks_like_ned(given, there))
        srv_binder_warn(binder, place,
                        "magnetic_field [%g, %g, %g] is probably in NED axes, but it is read as ENU; the same field in ENU axes would be [%g, %g, %g]",
                        given.x, given.y, given.z, given.y, given.x, -given.z);
}
