/* Rotations, matrices and vectors: identities with bounds of a few roundings (2^-52 is one at 1). */
#include "oto_test.h"

#include "otolith/rng.h"
#include "otolith/vecmath.h"

#define ROUNDINGS 0x1p-50

static const struct oto_rng_key key = {1, 2};

static oto_vec3 random_vec3(uint64_t n)
{
    double z[3];
    oto_normals(key, n, 0, 0, z, 3);
    return oto_vec3_make(z[0], z[1], z[2]);
}

static oto_quat random_quat(uint64_t n)
{
    double z[4];
    oto_normals(key, n, 1, 0, z, 4);
    return oto_quat_normalize(oto_quat_make(z[0], z[1], z[2], z[3]));
}

#define assert_vec3_near(a, b, tolerance)                                                                              \
    do {                                                                                                               \
        oto_vec3 a_ = (a), b_ = (b);                                                                                   \
        assert_near(a_.x, b_.x, tolerance);                                                                            \
        assert_near(a_.y, b_.y, tolerance);                                                                            \
        assert_near(a_.z, b_.z, tolerance);                                                                            \
    } while (0)

#define assert_quat_near(a, b, tolerance)                                                                              \
    do {                                                                                                               \
        oto_quat p_ = (a), q_ = (b);                                                                                   \
        if (oto_quat_dot(p_, q_) < 0.0) {                                                                              \
            q_ = oto_quat_neg(q_);                                                                                     \
        }                                                                                                              \
        assert_near(p_.w, q_.w, tolerance);                                                                            \
        assert_vec3_near(oto_vec3_make(p_.x, p_.y, p_.z), oto_vec3_make(q_.x, q_.y, q_.z), tolerance);                 \
    } while (0)

static void vectors_follow_the_usual_identities(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 1000; n++) {
        oto_vec3 a = random_vec3(n), b = random_vec3(n + 5000), c = oto_vec3_cross(a, b);
        double size = oto_vec3_norm(a) * oto_vec3_norm(b);
        assert_near(oto_vec3_dot(c, a), 0.0, ROUNDINGS * size * oto_vec3_norm(a));
        assert_near(oto_vec3_norm_sq(c) + oto_vec3_dot(a, b) * oto_vec3_dot(a, b), size * size,
                    ROUNDINGS * size * size);
        assert_near(oto_vec3_norm(oto_vec3_normalize(a)), 1.0, ROUNDINGS);
        assert_vec3_near(oto_mat3_mul_vec(oto_mat3_skew(a), b), c, ROUNDINGS * size);
        assert_vec3_near(oto_vec3_lerp(a, b, 1.0), b, 0.0);
    }
    assert_vec3_near(oto_vec3_normalize(oto_vec3_zero()), oto_vec3_zero(), 0.0);
}

static void only_finite_vectors_are_called_finite(void **state)
{
    (void)state;
    assert_true(oto_vec3_is_finite(oto_vec3_make(1e308, -1e308, 0.0)));
    assert_false(oto_vec3_is_finite(oto_vec3_make(0.0, NAN, 0.0)));
    assert_false(oto_vec3_is_finite(oto_vec3_make(INFINITY, 0.0, -INFINITY)));
    assert_false(oto_quat_is_finite(oto_quat_make(1.0, 0.0, NAN, 0.0)));
    assert_false(oto_quat_is_unit(oto_quat_make(NAN, 0.0, 0.0, 0.0), 1e-6));
    assert_true(oto_quat_is_unit(oto_quat_make(1.0 + 0.9e-6, 0.0, 0.0, 0.0), 1e-6));
    assert_false(oto_quat_is_unit(oto_quat_make(1.0 + 1.1e-6, 0.0, 0.0, 0.0), 1e-6));
}

static void inverse_times_matrix_is_the_identity_and_singular_ones_are_refused(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 500; n++) {
        oto_mat3 m = oto_mat3_from_rows(random_vec3(3 * n), random_vec3(3 * n + 1), random_vec3(3 * n + 2)), inverse = {0};
        assert_true(oto_mat3_inverse(m, &inverse));
        oto_mat3 product = oto_mat3_mul(inverse, m);
        double det = oto_mat3_det(m);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                /* cofactors of numbers below 5 carry 50 roundings of 2^-53 x 5^2, divided by the determinant, times 5
                 */
                assert_near(product.m[i][j], i == j ? 1.0 : 0.0, 1e-12 / fabs(det));
            }
        }
    }
    oto_mat3 singular = oto_mat3_diagonal(1.0, 2.0, 0.0), kept = oto_mat3_identity();
    assert_false(oto_mat3_inverse(singular, &kept));
    assert_false(oto_mat3_inverse(oto_mat3_diagonal(NAN, 1.0, 1.0), &kept));
    assert_true(kept.m[0][0] == 1.0 && kept.m[2][2] == 1.0);
}

static void quaternions_and_matrices_rotate_alike(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 1000; n++) {
        oto_quat p = random_quat(n), q = random_quat(n + 5000);
        oto_vec3 v = random_vec3(n);
        oto_mat3 m = oto_mat3_from_quat(q);
        assert_vec3_near(oto_quat_rotate(q, v), oto_mat3_mul_vec(m, v), 8 * ROUNDINGS);
        assert_vec3_near(oto_quat_rotate(oto_quat_mul(p, q), v), oto_quat_rotate(p, oto_quat_rotate(q, v)),
                         8 * ROUNDINGS);
        assert_vec3_near(oto_quat_rotate_inv(q, oto_quat_rotate(q, v)), v, 8 * ROUNDINGS);
        assert_vec3_near(oto_quat_rotate_inv(q, v), oto_mat3_mul_vec(oto_mat3_transpose(m), v), 8 * ROUNDINGS);
        assert_quat_near(oto_quat_from_mat3(m), q, 4 * ROUNDINGS);
        assert_near(oto_mat3_det(m), 1.0, 8 * ROUNDINGS);
    }
}

static void matrices_of_half_turns_give_their_quaternions(void **state)
{
    (void)state;
    const oto_quat half_turns[] = {{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 0.6, 0.8, 0}};
    for (size_t i = 0; i < sizeof half_turns / sizeof half_turns[0]; i++) {
        assert_quat_near(oto_quat_from_mat3(oto_mat3_from_quat(half_turns[i])), half_turns[i], ROUNDINGS);
    }
}

static void exponential_map_and_its_inverse_agree_from_tiny_angles_to_half_turns(void **state)
{
    (void)state;
    for (int e = -1000; e <= 1; e++) {
        oto_vec3 axis = oto_vec3_normalize(random_vec3((uint64_t)(e + 1000)));
        double angle = e == 1 ? 3.141592 : 1.9 * ldexp(1.0, e - 1);
        oto_vec3 r = oto_vec3_scale(axis, angle), back = oto_quat_to_rotvec(oto_quat_from_rotvec(r));
        assert_vec3_near(back, r, ROUNDINGS * angle);
        assert_true(oto_quat_is_unit(oto_quat_from_rotvec(r), ROUNDINGS));
        assert_quat_near(oto_quat_from_rotvec(r), oto_quat_from_axis_angle(axis, angle), ROUNDINGS);
    }
    assert_vec3_near(oto_quat_to_rotvec(oto_quat_from_rotvec(oto_vec3_zero())), oto_vec3_zero(), 0.0);
    /* 4 rad about x is the same as 4 - 2 pi, and that is shorter */
    assert_near(oto_quat_to_rotvec(oto_quat_from_rotvec(oto_vec3_make(4.0, 0.0, 0.0))).x, 4.0 - OTO_TWO_PI,
                ROUNDINGS * 4);
}

/* Where the Taylor branch begins the two formulas agree. */
static void exponential_map_has_no_step_where_its_branches_meet(void **state)
{
    (void)state;
    double angle = 0x1p-13;
    oto_quat below = oto_quat_from_rotvec(oto_vec3_make(angle * (1.0 - 0x1p-40), 0.0, 0.0));
    oto_quat above = oto_quat_from_rotvec(oto_vec3_make(angle * (1.0 + 0x1p-40), 0.0, 0.0));
    assert_near(above.x - below.x, angle * 0x1p-40, 0x1p-65);
    assert_near(above.w, below.w, 0x1p-53);
}

static void roll_pitch_yaw_are_fixed_axis_turns_in_that_order(void **state)
{
    (void)state;
    oto_vec3 x = oto_vec3_make(1, 0, 0), y = oto_vec3_make(0, 1, 0), z = oto_vec3_make(0, 0, 1);
    assert_vec3_near(oto_quat_rotate(oto_quat_from_rpy(0, 0, OTO_HALF_PI), x), y, ROUNDINGS);
    assert_vec3_near(oto_quat_rotate(oto_quat_from_rpy(0, OTO_HALF_PI, 0), x), oto_vec3_neg(z), ROUNDINGS);
    assert_vec3_near(oto_quat_rotate(oto_quat_from_rpy(OTO_HALF_PI, 0, 0), y), z, ROUNDINGS);
    for (uint64_t n = 0; n < 500; n++) {
        oto_vec3 a = random_vec3(n);
        oto_quat product =
            oto_quat_mul(oto_quat_from_axis_angle(z, a.z),
                         oto_quat_mul(oto_quat_from_axis_angle(y, a.y), oto_quat_from_axis_angle(x, a.x)));
        assert_quat_near(oto_quat_from_rpy(a.x, a.y, a.z), product, 2 * ROUNDINGS);
    }
}

static void roll_pitch_yaw_come_back_even_next_to_the_poles(void **state)
{
    (void)state;
    const double pitches[] = {0.0, 0.5, -1.2, 1.57, -1.57, OTO_HALF_PI - 1e-5, OTO_HALF_PI, -OTO_HALF_PI, 1e-9};
    for (size_t p = 0; p < sizeof pitches / sizeof pitches[0]; p++) {
        for (int i = -6; i <= 6; i++) {
            for (int j = -6; j <= 6; j++) {
                double roll = (double)i * 0.52, yaw = (double)j * 0.51;
                oto_quat q = oto_quat_from_rpy(roll, pitches[p], yaw);
                oto_vec3 rpy = oto_rpy_from_quat(q);
                double distance = OTO_HALF_PI - fabs(pitches[p]);
                assert_near(rpy.y, pitches[p], 4 * ROUNDINGS);
                if (distance > 1e-6) { /* rounding of q turns roll and yaw against each other by 1/cos(pitch) */
                    assert_near(oto_wrap_pi(rpy.x - roll), 0.0, 8 * ROUNDINGS / distance);
                    assert_near(oto_wrap_pi(rpy.z - yaw), 0.0, 8 * ROUNDINGS / distance);
                }
                assert_quat_near(oto_quat_from_rpy(rpy.x, rpy.y, rpy.z), q, 1e-14);
                assert_true(fabs(rpy.x) <= OTO_PI && fabs(rpy.z) <= OTO_PI);
            }
        }
    }
}

static void slerp_turns_at_a_constant_rate_along_the_shorter_arc(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 300; n++) {
        oto_quat a = random_quat(n), b = random_quat(n + 5000);
        double whole = oto_quat_angle_between(a, b);
        assert_true(whole <= OTO_PI);
        for (int i = 0; i <= 10; i++) {
            oto_quat q = oto_quat_slerp(a, b, 0.1 * i);
            assert_near(oto_quat_angle_between(a, q), 0.1 * i * whole, 16 * ROUNDINGS);
            assert_near(oto_quat_angle_between(q, b), (1.0 - 0.1 * i) * whole, 16 * ROUNDINGS);
            assert_quat_near(oto_quat_slerp(a, oto_quat_neg(b), 0.1 * i), q, 8 * ROUNDINGS);
        }
    }
}

static void normalising_keeps_direction_and_turns_zero_into_the_identity(void **state)
{
    (void)state;
    oto_quat q = random_quat(3), scaled = oto_quat_make(q.w * 7.5, q.x * 7.5, q.y * 7.5, q.z * 7.5);
    assert_quat_near(oto_quat_normalize(scaled), q, ROUNDINGS);
    assert_quat_near(oto_quat_normalize(oto_quat_make(0, 0, 0, 0)), oto_quat_identity(), 0.0);
    assert_false(oto_quat_is_finite(oto_quat_normalize(oto_quat_make(NAN, 0, 0, 0))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_follow_the_usual_identities),
        cmocka_unit_test(only_finite_vectors_are_called_finite),
        cmocka_unit_test(inverse_times_matrix_is_the_identity_and_singular_ones_are_refused),
        cmocka_unit_test(quaternions_and_matrices_rotate_alike),
        cmocka_unit_test(matrices_of_half_turns_give_their_quaternions),
        cmocka_unit_test(exponential_map_and_its_inverse_agree_from_tiny_angles_to_half_turns),
        cmocka_unit_test(exponential_map_has_no_step_where_its_branches_meet),
        cmocka_unit_test(roll_pitch_yaw_are_fixed_axis_turns_in_that_order),
        cmocka_unit_test(roll_pitch_yaw_come_back_even_next_to_the_poles),
        cmocka_unit_test(slerp_turns_at_a_constant_rate_along_the_shorter_arc),
        cmocka_unit_test(normalising_keeps_direction_and_turns_zero_into_the_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
