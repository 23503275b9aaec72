#include "sim/external.h"

#include <string.h>

#include "base/schedule.h"
#include "sim/interpolate.h"
#include "otolith/mailbox.h"

struct params {
    oto_vec3 position_enu_m;
    double rpy_deg[3];
    double speed_m_s;
};

struct instant {
    uint64_t tick;
    struct oto_instant at;
};

struct state {
    struct instant from_at, to_at;
    uint32_t flags;
    uint32_t alone;
    uint32_t held;
    uint32_t reserved;
    struct oto_truth_record from, to;
};

/* clang-format off */
static const struct oto_param params[] = {
    {.key = "position_enu_m", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct params, position_enu_m),
     .minimum = -OTO_MAILBOX_MAX_POSITION_M, .maximum = OTO_MAILBOX_MAX_POSITION_M, .unit = "m",
     .text = "where the vehicle stands until its participant moves it"},
    {.key = "rpy_deg", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct params, rpy_deg),
     .minimum = -360, .maximum = 360, .unit = "deg", .text = "its attitude there: fixed-axis roll, pitch, yaw"},
    {.key = "speed_m_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, speed_m_s),
     .minimum = -100, .maximum = 100, .unit = "m/s", .text = "its speed there, along body x"},
};
/* clang-format on */

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    const struct params *p = instance->params;
    struct state *state = instance->state;
    (void)error;
    state->to.position_enu_m = p->position_enu_m;
    state->to.q_enu_from_body =
        oto_quat_from_rpy(p->rpy_deg[0] * OTO_DEG, p->rpy_deg[1] * OTO_DEG, p->rpy_deg[2] * OTO_DEG);
    state->to.velocity_enu_m_s = oto_quat_rotate(state->to.q_enu_from_body, oto_vec3_make(p->speed_m_s, 0.0, 0.0));
    state->to.longitudinal_speed_m_s = p->speed_m_s;
    state->from = state->to;
    state->flags = OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL;
    return OTO_OK;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct state *state = instance->state;
    return state->held != 0 || now->n > state->to_at.tick ? OTO_STEP_DISCARD : OTO_STEP_OK;
}

static double seconds_between(const struct instant *from, struct oto_instant at)
{
    return oto_instant_span_ns(from->at, at) * 1e-9;
}

/* The truth at dt_s <= 0 before the end of the span, computed backwards from it with constant accelerations. */
static void from_end_alone(const struct oto_truth_record *end, double dt_s, struct oto_truth_record *truth)
{
    const oto_vec3 moved =
        oto_vec3_add(end->velocity_enu_m_s, oto_vec3_scale(end->accel_enu_m_s2, 0.5 * dt_s));
    const oto_vec3 turned =
        oto_vec3_add(end->angular_rate_body_rad_s, oto_vec3_scale(end->angular_accel_body_rad_s2, 0.5 * dt_s));
    *truth = *end;
    truth->position_enu_m = oto_vec3_add(end->position_enu_m, oto_vec3_scale(moved, dt_s));
    truth->velocity_enu_m_s = oto_vec3_add(end->velocity_enu_m_s, oto_vec3_scale(end->accel_enu_m_s2, dt_s));
    truth->q_enu_from_body =
        oto_quat_mul(end->q_enu_from_body, oto_quat_from_rotvec(oto_vec3_scale(turned, dt_s)));
    truth->angular_rate_body_rad_s =
        oto_vec3_add(end->angular_rate_body_rad_s, oto_vec3_scale(end->angular_accel_body_rad_s2, dt_s));
}

/* If the record has no acceleration, the velocity is linear between the ends and the position is a cubic. */
static void without_accel(const struct state *state, double span_s, double s, struct oto_truth_record *truth)
{
    const struct oto_truth_record *a = &state->from, *b = &state->to;
    const double s2 = s * s, s3 = s2 * s;
    const oto_vec3 ends = oto_vec3_lerp(a->position_enu_m, b->position_enu_m, 3.0 * s2 - 2.0 * s3);
    const oto_vec3 first = oto_vec3_scale(a->velocity_enu_m_s, span_s * (s3 - 2.0 * s2 + s));
    const oto_vec3 second = oto_vec3_scale(b->velocity_enu_m_s, span_s * (s3 - s2));
    truth->position_enu_m = oto_vec3_add(ends, oto_vec3_add(first, second));
    truth->velocity_enu_m_s = oto_vec3_lerp(a->velocity_enu_m_s, b->velocity_enu_m_s, s);
    truth->accel_enu_m_s2 = b->accel_enu_m_s2;
}

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    const struct state *state = instance->state;
    const struct instant *end = &state->to_at;
    if (oto_instant_is_equal(at, end->at) && state->held == 0) {
        *truth = state->to;
        return OTO_STEP_OK;
    }
    const double before_end_s = seconds_between(end, at);
    if (state->held != 0 || before_end_s > 0.0) {
        return OTO_STEP_DISCARD;
    }
    if (state->alone != 0) {
        from_end_alone(&state->to, before_end_s, truth);
        return OTO_STEP_OK;
    }
    const double span_s = seconds_between(&state->from_at, end->at);
    const double s = seconds_between(&state->from_at, at) / span_s;
    srv_truth_interpolate(&state->from, &state->to, span_s, s, truth);
    if ((state->flags & OTO_TRUTH_HAS_ACCEL) == 0) {
        without_accel(state, span_s, s, truth);
    }
    if ((state->flags & OTO_TRUTH_HAS_ANGULAR_ACCEL) == 0) {
        truth->angular_accel_body_rad_s2 = state->to.angular_accel_body_rad_s2;
    }
    return OTO_STEP_OK;
}

static bool is_plausible(const struct oto_truth_record *truth)
{
    return oto_vec3_is_finite(truth->position_enu_m) && oto_vec3_is_finite(truth->velocity_enu_m_s) &&
           oto_vec3_is_finite(truth->accel_enu_m_s2) && oto_vec3_is_finite(truth->angular_rate_body_rad_s) &&
           oto_vec3_is_finite(truth->angular_accel_body_rad_s2) && oto_quat_is_unit(truth->q_enu_from_body, 1e-6);
}

/* Checks a state that was loaded from a checkpoint. */
static enum oto_status validate(const struct oto_instance *instance)
{
    const struct state *state = instance->state;
    const uint64_t span = state->to_at.tick - state->from_at.tick;
    const bool good = span <= OTO_MAILBOX_MAX_STEP_N && is_plausible(&state->from) && is_plausible(&state->to);
    return good ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_motion_extension motion = {.size = sizeof motion, .evaluate = evaluate};

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_MOTION) == 0 ? &motion : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "external", .kind = OTO_KIND_MOTION, .version = "1.0.0",
    .text = "a truth that a participant gives through its mailbox",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct state), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .init = init, .step = step, .validate = validate};
static const struct oto_plugin_entry entry = {sizeof entry, 0, OTO_ABI_BLOCK_INITIALIZER, &descriptor, &ops, extension};

const struct oto_plugin_entry *srv_external_entry(void)
{
    return &entry;
}

bool srv_external_is(const struct oto_plugin *plugin)
{
    return oto_plugin_descriptor(plugin)->params == params;
}

/* ---- what the participant gives ---- */

static struct instant instant_of(const struct oto_setup *setup, uint64_t tick)
{
    uint64_t rest = 0;
    const int64_t t_ns = srv_instant_ns(tick, setup->base_rate_num, setup->base_rate_den, &rest);
    return (struct instant){tick, {t_ns, rest == 0 ? 0.0 : (double)rest / (double)setup->base_rate_num}};
}

/* Computes what the record leaves out: mean accelerations over the span, and the speed from the velocity. */
static void complete(struct state *state)
{
    struct oto_truth_record *to = &state->to;
    const struct oto_truth_record *from = &state->from;
    const double span_s = seconds_between(&state->from_at, state->to_at.at);
    const double per_s = state->alone != 0 ? 0.0 : 1.0 / span_s;
    if ((state->flags & OTO_TRUTH_HAS_ACCEL) == 0) {
        to->accel_enu_m_s2 = oto_vec3_scale(oto_vec3_sub(to->velocity_enu_m_s, from->velocity_enu_m_s), per_s);
    }
    if ((state->flags & OTO_TRUTH_HAS_ANGULAR_ACCEL) == 0) {
        const oto_vec3 gained = oto_vec3_sub(to->angular_rate_body_rad_s, from->angular_rate_body_rad_s);
        to->angular_accel_body_rad_s2 = oto_vec3_scale(gained, per_s);
    }
    if ((state->flags & OTO_TRUTH_HAS_SPEED) == 0) {
        to->longitudinal_speed_m_s = oto_quat_rotate_inv(to->q_enu_from_body, to->velocity_enu_m_s).x;
    }
}

void srv_external_give(const struct oto_instance *instance, const struct oto_truth_record *from,
                       const struct srv_external_input *input)
{
    struct state *state = instance->state;
    state->from = *from;
    state->from_at =
        input->from_tick == state->to_at.tick ? state->to_at : instant_of(instance->setup, input->from_tick);
    state->to = input->truth;
    state->to_at = instant_of(instance->setup, input->to_tick);
    state->flags = input->flags;
    state->alone = input->alone;
    state->held = 0;
    complete(state);
}

uint64_t srv_external_reach(const struct oto_instance *instance)
{
    const struct state *state = instance->state;
    return state->held == 0 ? state->to_at.tick : 0;
}

void srv_external_hold(const struct oto_instance *instance)
{
    struct state *state = instance->state;
    state->held = 1;
}
