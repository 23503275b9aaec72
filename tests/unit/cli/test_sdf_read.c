/* IMUs from SDF XML: rows C11 and C22, and XML that means harm. */
#include "sdf_reading.h"

static void assert_refused(const char *text, const char *expected)
{
    struct oto_sdf_world world;
    struct oto_error error;
    struct warnings warnings;
    assert_true(read_text(text, strlen(text), &warnings, &world, &error) != OTO_OK);
    if (strstr(error.text, expected) == NULL) {
        print_error("expected '%s' in '%s'\n", expected, error.text);
        fail();
    }
    assert_null(world.imus);
}

#define SENSOR(inside) "<sensor name=\"s\" type=\"imu\">" inside "</sensor>"
#define NOISE_X(inside) SENSOR("<imu><angular_velocity><x>" inside "</x></angular_velocity></imu>")

/* ---- C11 ---- */

static void C11_two_sensors_with_one_topic_are_refused(void **state)
{
    (void)state;
    assert_refused("<sdf version='1.9'><model name='car'><link name='l'>\n"
                   "<sensor name='a' type='imu'><topic>/imu</topic></sensor>\n"
                   "<sensor name='b' type='imu'><topic>/imu</topic></sensor></link></model></sdf>",
                   "x.sdf:3:1: error: two sensors have the topic '/imu', the first at 2:1; each needs its own");
    assert_refused("<sdf><model name='car'><link name='l'><sensor name='a' type='imu'/><sensor name='a' type='imu'/>"
                   "</link></model></sdf>",
                   "two sensors of 'car' are called 'a', the first at 1:39");
}

/* ---- C22 ---- */

static void read_file(const char *name, char *text, size_t bytes, size_t *length)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/configs/sensors/%s", OTO_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *length = fread(text, 1, bytes - 1, file);
    text[*length] = '\0';
    (void)fclose(file);
}

static void C22_the_example_of_the_manual_is_read(void **state)
{
    char text[4096];
    size_t length;
    struct warnings warnings;
    (void)state;
    read_file("unity_imu.xml", text, sizeof text, &length);
    const struct oto_sdf_imu imu = read_one(text, 0, &warnings);
    assert_string_equal(imu.name, "imu_sensor");
    assert_string_equal(imu.topic, "/unity/imu");
    assert_near(imu.update_rate_hz, 100, 0);
    assert_int_equal(imu.discard_redundant_data, 0);
    assert_int_equal(imu.noise[0].type, 0);
}

static void C22_the_full_example_is_read_in_every_property(void **state)
{
    char text[8192];
    size_t length;
    struct warnings warnings;
    (void)state;
    read_file("unity_imu.sdf", text, sizeof text, &length);
    const struct oto_sdf_imu imu = read_one(text, 0, &warnings);
    assert_string_equal(imu.vehicle, "car");
    assert_string_equal(imu.frame_id, "imu_link");
    assert_near(imu.position_m[0], 0.2, 0);
    assert_near(imu.rpy_deg[2], 90, 0);
    assert_int_equal(imu.offset_start_time + imu.discard_redundant_data + imu.orientation_enable, 3);
    assert_int_equal(imu.offset_start_max_samples, 5);
    assert_int_equal(imu.localization, 4);
    assert_int_equal(imu.custom_rpy_parent_frame + imu.grav_dir_x_parent_frame, 2);
    assert_near(imu.custom_rpy_rad[2], M_PI_2, 0);
    assert_near(imu.grav_dir_x[1], 1, 0);
    assert_near(imu.gravity_m_s2, 9.81, 0);
    assert_near(imu.orientation_covariance[8], 0.04, 0);
    assert_near(imu.angular_velocity_covariance[4], 1e-6, 0);
    assert_near(imu.linear_acceleration_covariance[0], OTO_SDF_COVARIANCE_WHITE, 0);
    assert_near(imu.noise[0].stddev, 0.017, 0);
    assert_int_equal(imu.noise[2].type, 2);
    assert_near(imu.noise[2].dynamic_bias_stddev, 0.004, 0);
    assert_near(imu.noise[2].precision, 0.001, 0);
    assert_near(imu.noise[3].mean, 0.0001, 0);
    assert_near(imu.noise[3].bias_stddev, 0.0005, 0);
    assert_near(imu.noise[3].dynamic_bias_correlation_time, 400, 0);
    assert_int_equal(imu.noise[5].type, 2);
}

static void C22_the_flat_form_of_unity_gives_all_axes_one_noise(void **state)
{
    struct warnings warnings;
    (void)state;
    const struct oto_sdf_imu imu = read_one(
        SENSOR("<output><discard_redundant_data>1</discard_redundant_data></output><offset_start_time>TRUE</"
               "offset_start_time>"
               "<noise><type>Gaussian_Quantized</type><mean>1</mean><stddev>2</stddev><bias_mean>3</bias_mean>"
               "<bias_stddev>4</bias_stddev><precision>5</precision><dynamic_bias_stddev>6</dynamic_bias_stddev>"
               "<dynamic_bias_correlation_time>7</dynamic_bias_correlation_time></noise>"),
        0, &warnings);
    assert_int_equal(imu.discard_redundant_data + imu.offset_start_time, 2);
    for (int axis = 0; axis < OTO_SDF_AXES; axis++) {
        const struct oto_sdf_noise *noise = &imu.noise[axis];
        assert_int_equal(noise->type, 2);
        assert_near(noise->mean, 1, 0);
        assert_near(noise->stddev, 2, 0);
        assert_near(noise->bias_mean, 3, 0);
        assert_near(noise->bias_stddev, 4, 0);
        assert_near(noise->precision, 5, 0);
        assert_near(noise->dynamic_bias_stddev, 6, 0);
        assert_near(noise->dynamic_bias_correlation_time, 7, 0);
    }
}

static void C22_a_noise_without_a_type_is_none_in_sdf_and_gaussian_in_unitys_form(void **state)
{
    struct warnings warnings;
    (void)state;
    struct oto_sdf_imu imu = read_one(NOISE_X("<noise><stddev>1</stddev></noise>"), 1, &warnings);
    assert_int_equal(imu.noise[3].type, 0);
    assert_near(imu.noise[3].stddev, 1, 0);
    assert_non_null(strstr(warnings.first, "<noise> has no type: it is none"));
    imu = read_one(SENSOR("<noise><stddev>1</stddev></noise>"), 1, &warnings);
    assert_int_equal(imu.noise[3].type, 1);
    assert_non_null(strstr(warnings.first, "it is gaussian"));
}

static void C22_what_is_unknown_is_warned_of_with_its_place(void **state)
{
    struct warnings warnings;
    (void)state;
    const struct oto_sdf_imu imu = read_one("<sdf>\n <light/>\n <model name='my car'>\n  <link name='l'>\n   "
                                            "<sensor name='cam' type='camera'/>\n"
                                            "   <sensor name='s' type='imu' color='red'>\n"
                                            "    <update_rat>5</update_rat></sensor></link></model></sdf>",
                                            5, &warnings);
    assert_string_equal(warnings.first, "x.sdf:2:2: warning: <light> is not known in <sdf> and is left out");
    assert_string_equal(warnings.last,
                        "x.sdf:7:5: warning: <update_rat> is not known in <sensor> and is left out; did you "
                        "mean <update_rate>?");
    assert_string_equal(imu.vehicle, "my_car");
    assert_near(imu.update_rate_hz, 0, 0);
}

static void C22_warnings_of_a_foreign_document_do_not_flood(void **state)
{
    static char text[20000];
    struct warnings warnings;
    size_t used = 0;
    (void)state;
    used += (size_t)snprintf(text, sizeof text, "<sdf><model name='c'><link name='l'>" SENSOR(""));
    for (int i = 0; i < 1000; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "<visual/>");
    }
    (void)snprintf(text + used, sizeof text - used, "</link></model></sdf>");
    (void)read_one(text, 51, &warnings);
    assert_non_null(strstr(warnings.last, "and more that is left out"));
}

static void C22_wrong_values_are_errors_with_their_place(void **state)
{
    static const char *const cases[][2] = {
        {SENSOR("\n <update_rate>fast</update_rate>"),
         "x.sdf:2:2: error: expected a finite number for <update_rate>, got 'fast'"},
        {SENSOR("<update_rate/>"), "<update_rate> has 0 values, expected 1"},
        {SENSOR("<update_rate>1 2</update_rate>"), "<update_rate> has 2 values, expected 1"},
        {SENSOR("<update_rate>-1</update_rate>"), "<update_rate> is -1; 0 to 1e+06 is accepted"},
        {SENSOR("<update_rate>nan</update_rate>"), "expected a finite number"},
        {SENSOR("<update_rate>1e999</update_rate>"), "expected a finite number"},
        {SENSOR("<topic>two words</topic>"), "expected printable ASCII without spaces"},
        {SENSOR("<topic> </topic>"), "<topic> has 0 characters; 1 to 95 are accepted"},
        {SENSOR("<offset_start_time>maybe</offset_start_time>"),
         "expected true, false, 1 or 0 for <offset_start_time>, got 'maybe'"},
        {SENSOR("<pose>1 2 3</pose>"), "<pose> has 3 values, expected 6"},
        {SENSOR("<pose rotation_format='matrix'>1</pose>"), "expected euler_rpy or quat_xyzw"},
        {SENSOR("<pose rotation_format='quat_xyzw'>0 0 0 1 1 1 1</pose>"), "has not the length 1"},
        {SENSOR("<pose>2000 0 0 0 0 0</pose>"), "up to 1000 m"},
        {SENSOR("<topic>/a</topic><topic>/b</topic>"), "<topic> occurs twice, first at 1:"},
        {NOISE_X("<noise type='loud'/>"),
         "expected one of none, gaussian, gaussian_quantized for <type>, got the text \"loud\""},
        {NOISE_X("<noise type='gaussian'><type>none</type></noise>"), "<noise> has its type twice"},
        {NOISE_X("<noise type='gaussian'><stddev>-1</stddev></noise>"), "<stddev> is -1; 0 to 1e+12 is accepted"},
        {NOISE_X("<noise type='gaussian'><precision>-0.1</precision></noise>"), "<precision> is -0.1"},
        {SENSOR(
             "<imu><orientation_reference_frame><localization>UP</localization></orientation_reference_frame></imu>"),
         "expected one of CUSTOM, ENU, NED, NWU, GRAV_UP, GRAV_DOWN for <localization>, got 'UP'"},
        {SENSOR("<imu><orientation_reference_frame><custom_rpy parent_frame='hood'>0 0 0</custom_rpy>"
                "</orientation_reference_frame></imu>"),
         "expected one of '', world for <parent_frame>, got the text \"hood\""},
        {SENSOR("<otolith:offset_start_max_samples>1.5</otolith:offset_start_max_samples>"), "expected a whole number"},
        {"<sensor type='imu'/>", "<sensor> has no name"},
        {"<sensor name='s'/>", "<sensor> has no type"},
        {"<sensor name='motion' type='imu'/>", "the name of a vehicle's motion"},
        {"<robot/>", "the document is a <robot>, expected <sensor> or <sdf>"},
        {"<sdf><model name='m'/></sdf>", "there is no sensor of type imu in <sdf>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i][0], cases[i][1]);
    }
}

static void C22_poses_are_read_in_radians_degrees_and_quaternions(void **state)
{
    struct warnings warnings;
    (void)state;
    struct oto_sdf_imu imu =
        read_one(SENSOR("<pose relative_to='base'>1 2 3 0 0 1.5707963267948966</pose>"), 1, &warnings);
    assert_near(imu.position_m[2], 3, 0);
    assert_near(imu.rpy_deg[2], 90, 1e-13);
    assert_non_null(strstr(warnings.first, "the pose is taken on the vehicle, not relative to 'base'"));
    imu = read_one(SENSOR("<pose degrees='true'>0 0 0 10 20 30</pose>"), 0, &warnings);
    assert_near(imu.rpy_deg[1], 20, 0);
    imu = read_one(SENSOR("<pose rotation_format='quat_xyzw'>0 0 0 0 0 0.7071067811865476 0.7071067811865476</pose>"),
                   0, &warnings);
    assert_near(imu.rpy_deg[2], 90, 1e-13);
    imu = read_one(SENSOR("<pose/>"), 0, &warnings);
    assert_near(imu.rpy_deg[2], 0, 0);
}

/* ---- XML that means harm ---- */

static void C22_malformed_xml_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused("", "x.sdf:1:1: error: no element found");
    assert_refused("<sensor>\n<a></b>", "x.sdf:2:6: error: mismatched tag, expected well-formed XML");
    assert_refused("<a/><b/>", "junk after document element");
    assert_refused("<sensor name='a' name='b'/>", "duplicate attribute");
    assert_refused("world: demo\n", "x.sdf:1:1: error: syntax error");
    assert_refused("<a>&bomb;</a>", "undefined entity");
    assert_refused("<a>\x01</a>", "not well-formed");
    assert_refused("<a>\xff</a>", "not well-formed");
}

static void C22_entities_cannot_be_declared(void **state)
{
    static const char laughs[] =
        "<?xml version='1.0'?>\n<!DOCTYPE lolz [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>"
        "<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;'>]>"
        "<sensor name='s' type='imu'><topic>&d;</topic></sensor>";
    (void)state;
    assert_refused(laughs, "x.sdf:2:16: error: a document type declaration (<!DOCTYPE>) is not accepted");
    assert_refused(
        "<!DOCTYPE s [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><sensor name='s' type='imu'><topic>&x;</topic></sensor>",
        "is not accepted");
    assert_refused("<!DOCTYPE s SYSTEM 'http://localhost/s.dtd'><sensor name='s' type='imu'/>", "is not accepted");
}

static void fill(char *text, size_t bytes, const char *part)
{
    const size_t length = strlen(part);
    for (size_t i = 0; i + length < bytes; i += length) {
        memcpy(text + i, part, length + 1);
    }
}

static void C22_depth_size_text_and_number_of_elements_are_bounded(void **state)
{
    const size_t bytes = (4u << 20) + 100;
    char *text = calloc(1, bytes + 1);
    struct oto_sdf_world world;
    struct oto_error error;
    struct warnings warnings;
    (void)state;
    assert_non_null(text);
    fill(text, 100000, "<a>");
    assert_refused(text, "nested more than 32 deep");
    memset(text, ' ', bytes);
    assert_int_equal(read_text(text, bytes, &warnings, &world, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "longer than 4 MiB"));
    memset(text, 'x', 70000);
    memcpy(text, "<a>", 3);
    assert_int_equal(read_text(text, 70000, &warnings, &world, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "longer than 64 KiB"));
    memcpy(text, "<r>", 4);
    fill(text + 3, 600000, "<a/>");
    assert_refused(text, "more than 100000 elements");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C11_two_sensors_with_one_topic_are_refused),
        cmocka_unit_test(C22_the_example_of_the_manual_is_read),
        cmocka_unit_test(C22_the_full_example_is_read_in_every_property),
        cmocka_unit_test(C22_the_flat_form_of_unity_gives_all_axes_one_noise),
        cmocka_unit_test(C22_a_noise_without_a_type_is_none_in_sdf_and_gaussian_in_unitys_form),
        cmocka_unit_test(C22_what_is_unknown_is_warned_of_with_its_place),
        cmocka_unit_test(C22_warnings_of_a_foreign_document_do_not_flood),
        cmocka_unit_test(C22_wrong_values_are_errors_with_their_place),
        cmocka_unit_test(C22_poses_are_read_in_radians_degrees_and_quaternions),
        cmocka_unit_test(C22_malformed_xml_is_refused_with_its_place),
        cmocka_unit_test(C22_entities_cannot_be_declared),
        cmocka_unit_test(C22_depth_size_text_and_number_of_elements_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
