/* Records as ROS messages: byte for byte as another encoder writes them (tests/golden/ros_messages.csv), and back. */
#include "oto_test.h"

#include "otolith/records.h"
#include "wire/ros.h"

static const struct oto_sample_head HEAD = {.t_ns = 12345678901, .sensor_time_ns = -5, .seq = 7, .flags = 9};

/* The message of a row of the golden file. */
static size_t golden(const char *name, unsigned char *bytes, size_t room)
{
    char line[8192];
    size_t count = 0;
    FILE *file = fopen(OTO_SOURCE_DIR "/tests/golden/ros_messages.csv", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const size_t length = strlen(name);
        if (strncmp(line, name, length) == 0 && line[length] == ',') {
            unsigned int byte;
            for (const char *at = line + length + 1; count < room && sscanf(at, "%2x", &byte) == 1; at += 2) {
                bytes[count++] = (unsigned char)byte;
            }
        }
    }
    (void)fclose(file);
    assert_true(count > 0);
    return count;
}

static void assert_golden(const char *name, const struct oto_buffer *message)
{
    unsigned char bytes[4096];
    const size_t count = golden(name, bytes, sizeof bytes);
    assert_int_equal(message->bytes, count);
    assert_memory_equal(message->data, bytes, count);
}

static struct oto_ros_type *make(const struct oto_record_type *type)
{
    struct oto_ros_type *ros = NULL;
    struct oto_error error;
    assert_ok(oto_ros_type_make(type, &ros, &error), error);
    return ros;
}

/* Encodes a record, compares it with the golden message, and decodes it again. */
static void check_record(const char *name, const struct oto_record_type *type, const void *payload)
{
    struct oto_ros_type *ros = make(type);
    struct oto_buffer message = {0};
    struct oto_sample_head head;
    _Alignas(8) unsigned char again[OTO_RECORD_MAX_BYTES];
    assert_int_equal(oto_ros_encode(ros, "car/imu", &HEAD, payload, &message), OTO_OK);
    assert_golden(name, &message);
    assert_int_equal(oto_ros_decode(ros, message.data, message.bytes, &head, again), OTO_OK);
    assert_memory_equal(again, payload, type->bytes);
    assert_int_equal(head.t_ns, HEAD.t_ns);
    if (oto_ros_type_has_sample_head(ros)) {
        assert_int_equal(head.seq, HEAD.seq);
        assert_int_equal(head.sensor_time_ns, HEAD.sensor_time_ns);
        assert_int_equal(head.flags, HEAD.flags);
    }
    oto_buffer_free(&message);
    oto_ros_type_free(ros);
}

static void count_up(double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (double)(i + 1);
    }
}

static void an_imu_record_is_the_bytes_of_sensor_msgs_imu(void **state)
{
    (void)state;
    double numbers[sizeof(struct oto_imu_record) / 8];
    count_up(numbers, sizeof numbers / 8);
    check_record("imu", &oto_imu_type, numbers);
    struct oto_ros_type *ros = make(&oto_imu_type);
    assert_string_equal(oto_ros_type_name(ros), "sensor_msgs/msg/Imu");
    oto_ros_type_free(ros);
}

static void a_mag_record_is_the_bytes_of_sensor_msgs_magnetic_field(void **state)
{
    (void)state;
    double numbers[sizeof(struct oto_mag_record) / 8];
    count_up(numbers, sizeof numbers / 8);
    check_record("mag", &oto_mag_type, numbers);
}

/* A record of every alignment, in another order than its fields have in memory. */
struct odd {
    uint64_t large[2];
    double wide;
    float real;
    int16_t two;
    uint8_t small;
    int8_t byte;
    char words[8];
};
/* clang-format off */
static const struct oto_field odd_fields[] = {
    {"Small", OTO_FIELD_U8, 1, offsetof(struct odd, small), "", "", ""},
    {"two", OTO_FIELD_I16, 1, offsetof(struct odd, two), "", "", ""},
    {"words", OTO_FIELD_TEXT, 8, offsetof(struct odd, words), "", "", "a text\nof two lines"},
    {"wide", OTO_FIELD_F64, 1, offsetof(struct odd, wide), "m", "enu", ""},
    {"inner.real", OTO_FIELD_F32, 1, offsetof(struct odd, real), "", "", ""},
    {"inner.byte", OTO_FIELD_I8, 1, offsetof(struct odd, byte), "", "", ""},
    {"large", OTO_FIELD_U64, 2, offsetof(struct odd, large), "", "", ""},
};
/* clang-format on */
static const struct oto_record_type odd_type = {"odd", sizeof(struct odd), sizeof odd_fields / sizeof *odd_fields, odd_fields};
static const struct odd ODD = {.large = {1, UINT64_MAX}, .wide = 0.5, .real = 1.5f, .two = -300, .small = 200, .byte = -2,
                               .words = "abc"};

static void a_record_of_a_plugin_is_aligned_as_cdr_wants(void **state)
{
    (void)state;
    check_record("odd", &odd_type, &ODD);
}

static void the_definition_names_every_field_with_its_unit(void **state)
{
    (void)state;
    struct oto_ros_type *ros = make(&odd_type);
    const char *text = oto_ros_type_definition(ros);
    assert_string_equal(oto_ros_type_name(ros), "otolith_msgs/msg/Odd");
    assert_non_null(strstr(text, "uint8 small\n"));
    assert_non_null(strstr(text, "string words  # a text?of two lines\n"));
    assert_non_null(strstr(text, "float64 wide  # m; enu\n"));
    assert_non_null(strstr(text, "otolith_msgs/OddInner inner\n"));
    assert_non_null(strstr(text, "uint64[2] large\n"));
    oto_ros_type_free(ros);
}

static void a_quaternion_is_reordered_as_geometry_msgs_has_it(void **state)
{
    (void)state;
    struct oto_ros_type *ros = make(&oto_truth_type);
    struct oto_truth_record truth = {.q_enu_from_body = {.w = 4, .x = 1, .y = 2, .z = 3}}, again;
    struct oto_buffer message = {0};
    struct oto_sample_head head;
    const double xyzw[] = {1, 2, 3, 4};
    assert_non_null(strstr(oto_ros_type_definition(ros), "geometry_msgs/Quaternion q_enu_from_body"));
    assert_int_equal(oto_ros_encode(ros, "", &HEAD, &truth, &message), OTO_OK);
    assert_non_null(memmem(message.data, message.bytes, xyzw, sizeof xyzw));
    assert_int_equal(oto_ros_decode(ros, message.data, message.bytes, &head, &again), OTO_OK);
    assert_memory_equal(&again, &truth, sizeof truth);
    oto_buffer_free(&message);
    oto_ros_type_free(ros);
}

static void names_that_ros_does_not_allow_are_replaced_and_stay_apart(void **state)
{
    (void)state;
    static const struct oto_field fields[] = {{"2nd value", OTO_FIELD_F64, 1, 0, "", "", ""},
                                              {"Sigma__x_", OTO_FIELD_F64, 1, 8, "", "", ""},
                                              {"sigma_x", OTO_FIELD_F64, 1, 16, "", "", ""}};
    static const struct oto_record_type type = {"a b", 24, 3, fields};
    struct oto_ros_type *ros = make(&type);
    assert_string_equal(oto_ros_type_name(ros), "otolith_msgs/msg/AB");
    assert_non_null(strstr(oto_ros_type_definition(ros), "float64 f2nd_value\nfloat64 sigma_x\nfloat64 f2\n"));
    oto_ros_type_free(ros);
}

static void a_message_that_is_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct oto_ros_type *ros = make(&odd_type);
    struct oto_buffer message = {0};
    struct oto_sample_head head;
    struct odd again;
    assert_int_equal(oto_ros_encode(ros, "car/imu", &HEAD, &ODD, &message), OTO_OK);
    for (size_t bytes = 0; bytes < message.bytes; bytes++) {
        unsigned char *copy = malloc(bytes + 1); /* of its exact size, so that a sanitizer sees a read beyond it */
        memcpy(copy, message.data, bytes);
        assert_int_equal(oto_ros_decode(ros, copy, bytes, &head, &again), OTO_CORRUPT);
        free(copy);
    }
    oto_buffer_free(&message);
    oto_ros_type_free(ros);
}

static void a_time_beyond_the_seconds_of_ros_is_refused(void **state)
{
    (void)state;
    struct oto_ros_type *ros = make(&odd_type);
    struct oto_buffer message = {0};
    const struct oto_sample_head head = {.t_ns = INT64_C(3000000000) * 1000000000};
    assert_int_equal(oto_ros_encode(ros, "", &head, &ODD, &message), OTO_RANGE);
    oto_buffer_free(&message);
    oto_ros_type_free(ros);
}

static void check_view(const char *name, enum oto_ros_view view, const struct oto_record_type *type, const char *frame_id,
                       const void *payload)
{
    struct oto_buffer message = {0};
    assert_int_equal(oto_ros_view_encode(view, type, frame_id, &HEAD, payload, &message), OTO_OK);
    assert_golden(name, &message);
    oto_buffer_free(&message);
}

static void views_are_the_bytes_of_the_standard_messages(void **state)
{
    (void)state;
    const struct oto_truth_record truth = {.position_enu_m = {1, 2, 3},
                                           .velocity_enu_m_s = {4, 5, 6},
                                           .q_enu_from_body = {.w = 1},
                                           .angular_rate_body_rad_s = {7, 8, 9}};
    const struct oto_event_record event = {
        .kind = OTO_EVENT_OVERRUN, .severity = 1, .source = "demo/car/imu", .text = "late"};
    const struct oto_ros_fact numbers[] = {{"ticks", "1000"}, {"overruns", "3"}}, names[] = {{"plugin", "mems_imu"}};
    const struct oto_ros_status statuses[] = {
        {.name = "demo", .message = "two", .level = OTO_ROS_WARN, .facts = numbers, .count = 2},
        {.name = "demo/car/imu", .message = "publishes", .level = OTO_ROS_OK, .facts = names, .count = 1}};
    const struct oto_ros_diagnostics facts = {.statuses = statuses, .count = 2};
    const struct oto_navsat_record fix = {.latitude_deg = 48, .longitude_deg = 11, .altitude_m = 520, .service = 9, .status = -1,
                                          .position_covariance = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .position_covariance_type = 2};
    const struct oto_pressure_record pressure = {.fluid_pressure_pa = 95000, .variance_pa2 = 4};
    check_view("fix", OTO_ROS_FIX, &oto_navsat_type, "car/imu", &fix);
    check_view("pressure", OTO_ROS_PRESSURE, &oto_pressure_type, "car/imu", &pressure);
    check_view("clock", OTO_ROS_CLOCK, NULL, "", NULL);
    check_view("transform", OTO_ROS_TRANSFORM, &oto_truth_type, "car", &truth);
    check_view("odometry", OTO_ROS_ODOMETRY, &oto_truth_type, "car", &truth);
    check_view("log", OTO_ROS_LOG, &oto_event_type, "car", &event);
    check_view("diagnostics", OTO_ROS_DIAGNOSTICS, NULL, "car", &facts);
}

static double number_at(const struct oto_buffer *message, size_t offset)
{
    double number;
    memcpy(&number, message->data + offset, sizeof number);
    return number;
}

/* Offsets: 4 encapsulation, 8 stamp, 8 "map", 8 "car" and padding; then 56 of the pose, 288 of its covariance, 48 of the twist. */
static void the_covariance_of_an_estimates_velocity_is_turned_into_body_axes(void **state)
{
    (void)state;
    enum { POSE_COVARIANCE = 4 + 8 + 8 + 8 + 56, TWIST_COVARIANCE = POSE_COVARIANCE + 288 + 48 };
    const struct oto_estimate_record estimate = {.q_enu_from_body = oto_quat_from_rpy(0, 0, 1.5707963267948966),
                                                 .velocity_enu_m_s = {0, 2, 0},
                                                 .position_sigma_enu_m = {3, -1, 5},
                                                 .velocity_sigma_enu_m_s = {0.1, 0.2, 0.3}};
    struct oto_buffer message = {0};
    assert_int_equal(oto_ros_view_encode(OTO_ROS_ODOMETRY, &oto_estimate_type, "car", &HEAD, &estimate, &message), OTO_OK);
    assert_near(number_at(&message, POSE_COVARIANCE), 9, 0);
    assert_near(number_at(&message, POSE_COVARIANCE + 8 * 7), -1, 0); /* not estimated */
    assert_near(number_at(&message, POSE_COVARIANCE + 288), 2, 1e-15); /* north is forward */
    assert_near(number_at(&message, TWIST_COVARIANCE), 0.04, 1e-15);
    assert_near(number_at(&message, TWIST_COVARIANCE + 8 * 7), 0.01, 1e-15);
    assert_near(number_at(&message, TWIST_COVARIANCE + 8 * 14), 0.09, 1e-15);
    oto_buffer_free(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_imu_record_is_the_bytes_of_sensor_msgs_imu),
        cmocka_unit_test(a_mag_record_is_the_bytes_of_sensor_msgs_magnetic_field),
        cmocka_unit_test(a_record_of_a_plugin_is_aligned_as_cdr_wants),
        cmocka_unit_test(the_definition_names_every_field_with_its_unit),
        cmocka_unit_test(a_quaternion_is_reordered_as_geometry_msgs_has_it),
        cmocka_unit_test(names_that_ros_does_not_allow_are_replaced_and_stay_apart),
        cmocka_unit_test(a_message_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(a_time_beyond_the_seconds_of_ros_is_refused),
        cmocka_unit_test(views_are_the_bytes_of_the_standard_messages),
        cmocka_unit_test(the_covariance_of_an_estimates_velocity_is_turned_into_body_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
