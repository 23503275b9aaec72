/* What `environment:` says in words becomes numbers at the origin and date. */
#include "otolith/environment.h"

#include "config/raw.h"

/* The values of the file that a model's answer rests on, NULL where the default stands. */
static const struct oto_value *value_at(const struct srv_raw_world *raw, const char *section, const char *key)
{
    return oto_value_get(oto_value_get(oto_document_root(raw->config.document), section), key);
}

static oto_geodetic origin_of(const struct srv_world_config *config)
{
    return (oto_geodetic){config->origin_latitude_rad, config->origin_longitude_rad, config->origin_altitude_m};
}

/* A model's refusal stands at the origin's key that caused it, or at the word that asked for the model. */
static enum oto_status refuse(const struct srv_raw_world *raw, const char *origin_key, const char *asked,
                              enum oto_status status, const struct oto_error *why, struct oto_error *error)
{
    const struct oto_value *cause = value_at(raw, "origin", origin_key);
    if (cause == NULL)
        cause = value_at(raw, "environment", asked);
    return oto_value_fail(cause, error, status, "%s: %s", asked, why->text);
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
    if (status != OTO_OK) {
        const bool covered =
            model != NULL && year >= model->epoch_year && year <= model->epoch_year + OTO_WMM_VALID_YEARS;
        return refuse(raw, covered ? "altitude_m" : "date", "magnetic_field", status, &why, error);
    }
    config->environment.mag_field_enu_ut = oto_magnetic_field_enu_ut(&field);
    return OTO_OK;
}

/* What the file gives itself stands; the atmosphere fills in the rest. */
static enum oto_status resolve_air(struct srv_raw_world *raw, struct oto_error *error)
{
    struct srv_environment_config *environment = &raw->config.environment;
    struct oto_air air;
    struct oto_error why = {0};
    if (raw->atmosphere != SRV_ATMOSPHERE_ISA)
        return OTO_OK;
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
        config->environment.gravity_enu_m_s2 =
            oto_vec3_make(0, 0, -oto_gravity_wgs84(config->origin_latitude_rad, config->origin_altitude_m));
    enum oto_status status = resolve_field(raw, error);
    return status == OTO_OK ? resolve_air(raw, error) : status;
}
