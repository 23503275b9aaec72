/* Packets of ArduPilot's JSON interface, the order of its frames, and axes. */
#include "oto_test.h"

#include "ardupilot_wire.h"
#include "axes.h"
#include "frames.h"

static size_t packet_of(unsigned char *packet, uint16_t magic, uint16_t rate, uint32_t count, uint32_t channels)
{
    const uint16_t head[] = {magic, rate, (uint16_t)count, (uint16_t)(count >> 16)};
    for (size_t i = 0; i < 4 + channels; i++) {
        const uint16_t value = i < 4 ? head[i] : (uint16_t)(1000 + (i - 4));
        packet[2 * i] = (unsigned char)value;
        packet[2 * i + 1] = (unsigned char)(value >> 8);
    }
    return 8 + 2 * (size_t)channels;
}

static void packets_of_both_lengths_are_decoded(void **state)
{
    (void)state;
    unsigned char packet[ARDUPILOT_PACKET_BYTES];
    struct ardupilot_servos servos;
    assert_true(ardupilot_servos_decode(packet, packet_of(packet, 18458, 400, 70000, 16), &servos));
    assert_int_equal(servos.channel_count, 16);
    assert_int_equal(servos.frame_rate_hz, 400);
    assert_int_equal(servos.frame_count, 70000);
    assert_int_equal(servos.pwm_us[15], 1015);
    assert_true(ardupilot_servos_decode(packet, packet_of(packet, 29569, 1200, 1, 32), &servos));
    assert_int_equal(servos.channel_count, 32);
    assert_int_equal(servos.pwm_us[31], 1031);
}

static void packets_of_another_form_are_refused(void **state)
{
    (void)state;
    unsigned char packet[ARDUPILOT_PACKET_BYTES];
    struct ardupilot_servos servos;
    for (size_t bytes = 0; bytes < 40; bytes++) {
        (void)packet_of(packet, 18458, 400, 0, 16);
        assert_false(ardupilot_servos_decode(packet, bytes, &servos));
    }
    (void)packet_of(packet, 29569, 400, 0, 32);
    assert_false(ardupilot_servos_decode(packet, 40, &servos)); /* magic of 32, length of 16 */
    assert_false(ardupilot_servos_decode(packet, packet_of(packet, 18459, 400, 0, 16), &servos));
    assert_false(ardupilot_servos_decode(packet, packet_of(packet, 18458, 0, 0, 16), &servos));
}

static void pulses_are_controls_from_0_to_1(void **state)
{
    (void)state;
    assert_near(ardupilot_control_of(1000), 0.0, 0.0);
    assert_near(ardupilot_control_of(1500), 0.5, 1e-12);
    assert_near(ardupilot_control_of(2000), 1.0, 0.0);
    assert_near(ardupilot_control_of(0), 0.0, 0.0);
    assert_near(ardupilot_control_of(65535), 1.0, 0.0);
}

static void a_line_has_the_fields_in_north_east_down(void **state)
{
    (void)state;
    char line[ARDUPILOT_LINE_BYTES];
    const struct ardupilot_state now = {.t_ns = 12002500000,
                                        .gyro_flu_rad_s = {0.1, 0.2, 0.3},
                                        .specific_force_flu_m_s2 = {1, 2, 9.8},
                                        .truth = {.position_enu_m = {10, 20, 30}, .velocity_enu_m_s = {1, 2, 3}, .q_enu_from_body = {1, 0, 0, 0}}};
    const size_t length = ardupilot_state_encode(&now, line);
    assert_int_equal(length, strlen(line));
    assert_string_equal(line, "\n{\"timestamp\":12.002500000,\"imu\":{\"gyro\":[0.1,-0.2,-0.3],\"accel_body\":[1,-2,-9.8]},"
                              "\"position\":[20,10,-30],\"quaternion\":[0.707106781,0,0,0.707106781],\"velocity\":[2,1,-3]}\n");
}

static void the_longest_line_fits(void **state)
{
    (void)state;
    char line[ARDUPILOT_LINE_BYTES];
    const double most = -1.23456789012e-300;
    const oto_vec3 v = {most, most, most};
    const struct ardupilot_state now = {.t_ns = INT64_MAX, .gyro_flu_rad_s = v, .specific_force_flu_m_s2 = v,
                                        .truth = {.position_enu_m = v, .velocity_enu_m_s = v, .q_enu_from_body = {most, most, most, most}}};
    assert_true(ardupilot_state_encode(&now, line) < sizeof line);
}

/* A nose to the north, level, is the identity in NED; a nose to the east is a yaw of 90 degrees. */
static void attitudes_are_those_of_the_body_forward_right_down(void **state)
{
    (void)state;
    const oto_quat north = axes_q_ned_from_frd(oto_quat_from_rpy(0.0, 0.0, OTO_PI / 2));
    assert_near(north.w, 1.0, 1e-12);
    const oto_quat banked = axes_q_ned_from_frd(oto_quat_from_rpy(0.2, 0.0, OTO_PI / 2)); /* left side up: a roll to the right */
    const oto_vec3 rpy = oto_rpy_from_quat(banked);
    assert_near(rpy.x, 0.2, 1e-12);
    assert_near(rpy.z, 0.0, 1e-12);
    const oto_vec3 pitched = oto_rpy_from_quat(axes_q_ned_from_frd(oto_quat_from_rpy(0.0, 0.3, 0.0))); /* nose down */
    assert_near(pitched.y, -0.3, 1e-12);
    assert_near(pitched.z, OTO_PI / 2, 1e-12);
}

static void frames_are_new_resent_late_or_of_a_restarted_autopilot(void **state)
{
    (void)state;
    const int64_t ms = 1000000;
    struct frames frames = {0};
    assert_int_equal(frames_take(&frames, 1, 0, 0), FRAME_NEW);
    assert_int_equal(frames_take(&frames, 1, 1, 1 * ms), FRAME_NEW);
    assert_int_equal(frames_take(&frames, 1, 1, 2000 * ms), FRAME_RESENT);
    assert_int_equal(frames_take(&frames, 1, 5, 2001 * ms), FRAME_NEW);
    assert_int_equal(frames_take(&frames, 1, 4, 2002 * ms), FRAME_LATE);
    assert_int_equal(frames_take(&frames, 1, 0, 2003 * ms), FRAME_LATE);
    assert_int_equal(frames_take(&frames, 1, 0, 2602 * ms), FRAME_RESTARTED); /* after a silence */
    assert_int_equal(frames_take(&frames, 2, 0, 2603 * ms), FRAME_RESTARTED); /* of another port */
    assert_int_equal(frames.lost, 3);
    assert_int_equal(frames.late, 2);
    assert_int_equal(frames.resent, 1);
    assert_int_equal(frames.restarts, 2);
}

static void the_count_may_wrap(void **state)
{
    (void)state;
    struct frames frames = {0};
    assert_int_equal(frames_take(&frames, 1, UINT32_MAX, 0), FRAME_NEW);
    assert_int_equal(frames_take(&frames, 1, 0, 1), FRAME_NEW);
    assert_int_equal(frames.lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_both_lengths_are_decoded),
        cmocka_unit_test(packets_of_another_form_are_refused),
        cmocka_unit_test(pulses_are_controls_from_0_to_1),
        cmocka_unit_test(a_line_has_the_fields_in_north_east_down),
        cmocka_unit_test(the_longest_line_fits),
        cmocka_unit_test(attitudes_are_those_of_the_body_forward_right_down),
        cmocka_unit_test(frames_are_new_resent_late_or_of_a_restarted_autopilot),
        cmocka_unit_test(the_count_may_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
