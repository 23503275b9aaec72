/* The parts of otolith-ros2 that need no DDS: SHA-256 and type hashes. */
#include "oto_test.h"

#include "otolith/records.h"
#include "ros2/sha256.h"
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

/* As ROS 2 Jazzy publishes them (ros2 topic info --verbose). */
static void type_hashes_are_those_of_ros_2(void **state)
{
    (void)state;
    assert_record_hash(&oto_imu_type, "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b");
    assert_record_hash(&oto_mag_type, "RIHS01_e80f32f56a20486c9923008fc1a1db07bbb273cbbf6a5b3bfa00835ee00e4dff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_has_the_published_values),
        cmocka_unit_test(type_hashes_are_those_of_ros_2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
