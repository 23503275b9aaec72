/*
 * A vehicle on a circle with a slow heave, in closed form; compiled with and without the promise that any instant may
 * be asked for. With `fail_at` its step reports an error at that tick.
 */
#include "otolith/plugin.h"

struct params {
    double radius_m;
    double rate_rad_s;
    double heave_m;
    int64_t fail_at;
};
static const struct oto_param params[] = {
    {.key = "radius_m", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, radius_m),
     .maximum = 1e6, .default_value = 20, .unit = "m", .text = "radius; 0: stands still"},
    {.key = "rate_rad_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, rate_rad_s),
     .maximum = 100, .default_value = 0.5, .unit = "rad/s", .text = "turn rate"},
    {.key = "heave_m", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, heave_m),
     .maximum = 10, .default_value = 0.1, .unit = "m", .text = "up and down once a second"},
    {.key = "fail_at", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, fail_at),
     .default_value = -1, .unit = "", .text = "tick at which step reports an error"},
};

struct state {
    uint64_t ticks;
};

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    const struct params *p = instance->params;
    const double t_s = ((double)at.t_ns + at.sub_ns) * 1e-9;
    const double w = p->rate_rad_s, r = p->radius_m, v = OTO_TWO_PI;
    double s, c, sv, cv;
    oto_sincos(w * t_s, &s, &c);
    oto_sincos(v * t_s, &sv, &cv);
    truth->position_enu_m = oto_vec3_make(r * s, r * (1.0 - c), p->heave_m * sv);
    truth->velocity_enu_m_s = oto_vec3_make(r * w * c, r * w * s, p->heave_m * v * cv);
    truth->accel_enu_m_s2 = oto_vec3_make(-r * w * w * s, r * w * w * c, -p->heave_m * v * v * sv);
    truth->q_enu_from_body = oto_quat_from_rpy(0.0, 0.0, w * t_s);
    truth->angular_rate_body_rad_s = oto_vec3_make(0.0, 0.0, w);
    truth->longitudinal_speed_m_s = r * w;
    return OTO_STEP_OK;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct params *p = instance->params;
    struct state *state = instance->state;
    state->ticks++;
    return (int64_t)now->tick == p->fail_at ? OTO_STEP_ERROR : OTO_STEP_OK;
}

static const struct oto_motion_extension motion = {
    .size = sizeof motion, .flags = CIRCLE_FLAGS, .evaluate = evaluate};

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_MOTION) == 0 ? &motion : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "circle", .kind = OTO_KIND_MOTION, .version = "1.0.0", .text = "drives a circle",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct state), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, extension);
