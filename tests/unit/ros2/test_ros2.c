/* The parts of otolith-ros2 that need no DDS: SHA-256, type hashes, the discovery message, driving. */
#include "oto_test.h"

#include "otolith/records.h"
#include "otolith/vecmath.h"
#include "ros2/discovery.h"
#include "ros2/sha256.h"
#include "ros2/twist.h"
#include "ros2/type_hash.h"
#include "wire/ros.h"

static void assert_digest(const char *text, const char *expected)
{
    unsigned char digest[ROS2_SHA256_BYTES];
    char hex[2 * ROS2_SHA256_BYTES + 1];
    ros2_sha256(text, strlen(text), digest);
    for (int i = 0; i < ROS2_SHA256_BYTES; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    assert_string_equal(hex, expected);
}

/* FIPS 180-4 examples (NIST CSRC, "Examples with intermediate values"), and the lengths around the padding's edge by sha256sum. */
static void sha256_has_the_published_values(void **state)
{
    (void)state;
    assert_digest("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_digest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
}

static void assert_hash(const char *name, const char *definition, const char *expected)
{
    char hash[ROS2_TYPE_HASH_BYTES];
    struct oto_error error = {0};
    assert_ok(ros2_type_hash(name, definition, hash, &error), error);
    assert_string_equal(hash, expected);
}

static void assert_record_hash(const struct oto_record_type *type, const char *expected)
{
    struct oto_ros_type *ros = NULL;
    struct oto_error error = {0};
    assert_ok(oto_ros_type_make(type, &ros, &error), error);
    assert_hash(oto_ros_type_name(ros), oto_ros_type_definition(ros), expected);
    oto_ros_type_free(ros);
}

static void assert_view_hash(enum oto_ros_view view, const char *expected)
{
    assert_hash(oto_ros_view_name(view), oto_ros_view_definition(view), expected);
}

/* As ROS 2 Jazzy publishes them (ros2 topic info --verbose). */
static void type_hashes_are_those_of_ros_2(void **state)
{
    (void)state;
    assert_record_hash(&oto_imu_type, "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b");
    assert_record_hash(&oto_mag_type, "RIHS01_e80f32f56a20486c9923008fc1a1db07bbb273cbbf6a5b3bfa00835ee00e4dff");
    assert_view_hash(OTO_ROS_CLOCK, "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564");
    assert_view_hash(OTO_ROS_TRANSFORM, "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087");
    assert_view_hash(OTO_ROS_ODOMETRY, "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0");
    assert_view_hash(OTO_ROS_FIX, "RIHS01_62223ab3fe210a15976021da7afddc9e200dc9ec75231c1b6a557fc598a65404");
    assert_view_hash(OTO_ROS_PRESSURE, "RIHS01_22dfb2b145a0bd5a31a1ac3882a1b32148b51d9b2f3bab250290d66f3595bc32");
    assert_view_hash(OTO_ROS_LOG, "RIHS01_e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac");
    assert_hash("std_srvs/srv/SetBool_Request", "bool data\n", "RIHS01_c62fbb99d94e1b25e8ef9e109f9581956bb1b3361a45a4e5810c36a90d29932e");
    assert_hash("std_srvs/srv/SetBool_Response", "bool success\nstring message\n",
                "RIHS01_d0814e7f7b4880ab77e9c57426c7aa1562ab69f11eef8e2e968812f9cbd0b059");
}

static void a_text_that_is_no_definition_has_no_hash(void **state)
{
    (void)state;
    char hash[ROS2_TYPE_HASH_BYTES];
    struct oto_error error = {0};
    assert_int_equal(ros2_type_hash("imu", "float64 x\n", hash, &error), OTO_CORRUPT);
    assert_int_equal(ros2_type_hash("a/msg/B", "float64 x\n====\nfloat64 y\n", hash, &error), OTO_CORRUPT);
    assert_int_equal(ros2_type_hash("a/msg/B", "unknown x\n", hash, &error), OTO_CORRUPT);
    assert_int_equal(ros2_type_hash("a/msg/B", "float64[x] y\n", hash, &error), OTO_CORRUPT);
    assert_non_null(strstr(error.text, "a/msg/B"));
}

/* A message without fields has the one that IDL requires; constants and comments are not part of a type. */
static void constants_and_comments_do_not_change_a_hash(void **state)
{
    (void)state;
    char a[ROS2_TYPE_HASH_BYTES], b[ROS2_TYPE_HASH_BYTES];
    struct oto_error error = {0};
    assert_ok(ros2_type_hash("a/msg/B", "uint8 K=1\n# text\n\nfloat64 x  # m\n", a, &error), error);
    assert_ok(ros2_type_hash("a/msg/B", "float64 x\n", b, &error), error);
    assert_string_equal(a, b);
    assert_ok(ros2_type_hash("a/msg/B", "uint8 K=1\n", a, &error), error);
    assert_ok(ros2_type_hash("a/msg/B", "uint8 structure_needs_at_least_one_member\n", b, &error), error);
    assert_string_equal(a, b);
}

/* GIDs, the namespace, the name, and the counts of readers and writers: rmw_dds_common/msg/ParticipantEntitiesInfo. */
static void the_discovery_message_is_one_node_with_its_gids(void **state)
{
    (void)state;
    static const unsigned char expected[] = {0,   1, 0, 0, 1, 2,   3,   4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 0, 0, 0, 2, 0, 0, 0,
                                             '/', 0, 0, 0, 2, 0,   0,   0, 'n', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
                                             9, 10, 11, 12, 13, 14, 15, 16};
    static const unsigned char guid[ROS2_GUID_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    struct ros2_discovery message = {0};
    assert_int_equal(ros2_discovery_begin(&message, 2), OTO_OK);
    ros2_discovery_put_gid(&message, guid, 16);
    ros2_discovery_put_node(&message, "/", "n");
    ros2_discovery_put_count(&message, 0);
    ros2_discovery_put_count(&message, 1);
    ros2_discovery_put_gid(&message, guid, 16);
    assert_int_equal(message.writer.at, sizeof expected);
    assert_memory_equal(message.buffer.data, expected, sizeof expected);
    ros2_discovery_free(&message);
}

/* ---- driving ---- */

static void a_commanded_circle_closes_and_its_truth_is_consistent(void **state)
{
    (void)state;
    struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}}, last;
    struct ros2_motion motion = ros2_motion_from(&truth);
    const struct ros2_twist command = {2.0, 0.0, 0.5};
    const double dt_s = 0.001;
    for (int i = 0; i < 2000; i++) { /* until the ramps are over */
        ros2_motion_step(&motion, &command, dt_s, &truth);
    }
    assert_near(truth.longitudinal_speed_m_s, 2.0, 1e-12);
    const oto_vec3 from = truth.position_enu_m;
    const int turn = 12566; /* 4 pi s */
    for (int i = 0; i < turn; i++) {
        last = truth;
        ros2_motion_step(&motion, &command, dt_s, &truth);
        assert_near((truth.position_enu_m.x - last.position_enu_m.x) / dt_s, 0.5 * (truth.velocity_enu_m_s.x + last.velocity_enu_m_s.x), 1e-6);
        assert_near((truth.velocity_enu_m_s.y - last.velocity_enu_m_s.y) / dt_s, 0.5 * (truth.accel_enu_m_s2.y + last.accel_enu_m_s2.y), 1e-6);
    }
    assert_near(truth.position_enu_m.x, from.x, 2e-3); /* the last step ends 0.37 ms before the circle closes: 0.8 mm */
    assert_near(truth.position_enu_m.y, from.y, 2e-3);
    truth.q_enu_from_body = oto_quat_make(-truth.q_enu_from_body.w, 0, 0, -truth.q_enu_from_body.z); /* the same attitude */
    assert_near(remainder(ros2_motion_from(&truth).heading_rad - motion.heading_rad, 2 * 3.14159265358979323846), 0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_has_the_published_values),
        cmocka_unit_test(type_hashes_are_those_of_ros_2),
        cmocka_unit_test(a_text_that_is_no_definition_has_no_hash),
        cmocka_unit_test(constants_and_comments_do_not_change_a_hash),
        cmocka_unit_test(the_discovery_message_is_one_node_with_its_gids),
        cmocka_unit_test(a_commanded_circle_closes_and_its_truth_is_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
