/*
 * Contact with the ground: a spring and a damper along the normal, and along the plane a spring between the point and its anchor
 * with Coulomb's limit. The anchor makes a vehicle at rest stay at rest: friction that depends on velocity only would let it creep.
 */
#include "multirotor.h"

#include "otolith/detmath.h"

struct touch {
    oto_vec3 arm_enu_m;    /* from the origin of the vehicle to the contact point */
    double x_m, y_m;       /* of the point */
    double normal_n;       /* 0: the point does not touch the ground */
    double tangent_x_n, tangent_y_n; /* before the friction limit */
};

static struct touch touch_of(const struct multirotor *vehicle, const struct multirotor_state *state, uint32_t i)
{
    const struct multirotor_ground *ground = &vehicle->ground;
    const struct multirotor_anchor *anchor = &state->anchors[i];
    const oto_vec3 spin_enu = oto_quat_rotate(state->q_enu_from_body, state->angular_rate_body_rad_s);
    struct touch touch = {.arm_enu_m = oto_quat_rotate(state->q_enu_from_body, ground->contacts_body_m[i])};
    const oto_vec3 point = oto_vec3_add(state->position_enu_m, touch.arm_enu_m);
    const double depth_m = ground->height_m - point.z;
    touch.x_m = point.x;
    touch.y_m = point.y;
    if (depth_m <= 0.0) {
        return touch;
    }
    const oto_vec3 velocity = oto_vec3_add(state->velocity_enu_m_s, oto_vec3_cross(spin_enu, touch.arm_enu_m));
    const double normal_n = ground->stiffness_n_m * depth_m - ground->damping_n_s_m * velocity.z;
    touch.normal_n = normal_n > 0.0 ? normal_n : 0.0;
    const double spring_n_m = anchor->holds != 0.0 ? ground->stiffness_n_m : 0.0;
    touch.tangent_x_n = -spring_n_m * (point.x - anchor->x_m) - ground->damping_n_s_m * velocity.x;
    touch.tangent_y_n = -spring_n_m * (point.y - anchor->y_m) - ground->damping_n_s_m * velocity.y;
    return touch;
}

/* The part of the tangential force that friction can transmit, 0 to 1. */
static double sticking_part(const struct multirotor_ground *ground, const struct touch *touch)
{
    const double limit_n = ground->friction * touch->normal_n;
    const double tangent_n = oto_hypot(touch->tangent_x_n, touch->tangent_y_n);
    return tangent_n > limit_n ? limit_n / tangent_n : 1.0;
}

void multirotor_ground_force(const struct multirotor *vehicle, const struct multirotor_state *state, oto_vec3 *force_enu_n,
                             oto_vec3 *moment_body_nm)
{
    oto_vec3 force = oto_vec3_zero(), moment_enu = oto_vec3_zero();
    for (uint32_t i = 0; i < vehicle->ground.contact_count; i++) {
        const struct touch touch = touch_of(vehicle, state, i);
        if (touch.normal_n > 0.0) {
            const double part = sticking_part(&vehicle->ground, &touch);
            const oto_vec3 contact =
                oto_vec3_make(part * touch.tangent_x_n, part * touch.tangent_y_n, touch.normal_n);
            force = oto_vec3_add(force, contact);
            moment_enu = oto_vec3_add(moment_enu, oto_vec3_cross(touch.arm_enu_m, contact));
        }
    }
    *force_enu_n = force;
    *moment_body_nm = oto_quat_rotate_inv(state->q_enu_from_body, moment_enu);
}

void multirotor_ground_settle(const struct multirotor *vehicle, struct multirotor_state *state)
{
    for (uint32_t i = 0; i < vehicle->ground.contact_count; i++) {
        struct multirotor_anchor *anchor = &state->anchors[i];
        const struct touch touch = touch_of(vehicle, state, i);
        const double part = touch.normal_n > 0.0 ? sticking_part(&vehicle->ground, &touch) : 0.0;
        if (touch.normal_n <= 0.0) {
            *anchor = (struct multirotor_anchor){0.0, 0.0, 0.0};
        } else if (anchor->holds == 0.0) {
            *anchor = (struct multirotor_anchor){touch.x_m, touch.y_m, 1.0};
        } else if (part < 1.0) { /* the point slides: the anchor follows it, so that the spring force stays at the friction limit */
            anchor->x_m = touch.x_m + part * (anchor->x_m - touch.x_m);
            anchor->y_m = touch.y_m + part * (anchor->y_m - touch.y_m);
        }
    }
}

double multirotor_rest_height_m(const struct multirotor *vehicle, uint32_t foot_count)
{
    const struct multirotor_ground *ground = &vehicle->ground;
    const double weight_n = vehicle->mass_kg * oto_vec3_norm(vehicle->gravity_enu_m_s2);
    double lowest_m = 0.0;
    uint32_t standing = 0;
    for (uint32_t i = 0; i < foot_count; i++) {
        const double z_m = ground->contacts_body_m[i].z;
        standing = z_m < lowest_m ? 1 : standing + (z_m == lowest_m);
        lowest_m = z_m < lowest_m ? z_m : lowest_m;
    }
    return ground->height_m - lowest_m - (standing > 0 ? weight_n / (standing * ground->stiffness_n_m) : 0.0);
}
