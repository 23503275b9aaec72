/* Descriptors with one error each: every refusal names the offending entry. */
#include "oto_test.h"
#include "plugin/descriptor_check.h"

struct block {
    double gain[3];
    int64_t on;
    char name[16];
};

/* A descriptor that passes, in memory that a case may spoil. */
struct subject {
    struct oto_named_value names[2];
    struct oto_param params[4];
    struct oto_field fields[2];
    struct oto_record_type type;
    struct oto_port ports[2];
    struct oto_plugin_descriptor descriptor;
    struct oto_plugin_ops ops;
};

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    (void)instance;
    (void)now;
    return OTO_STEP_OK;
}

static void make(struct subject *s)
{
    memset(s, 0, sizeof *s);
    s->names[0] = (struct oto_named_value){"off", 0};
    s->names[1] = (struct oto_named_value){"on", 1};
    s->params[0] = (struct oto_param){.key = "triad.gain", .type = OTO_PARAM_F64, .count = 3, .minimum = 0, .maximum = 2,
                                      .default_value = 1, .unit = "1", .text = "gain", .alias = "Triad/Gain"};
    s->params[1] = (struct oto_param){.key = "on", .type = OTO_PARAM_I64, .count = 1,
                                      .offset = offsetof(struct block, on), .unit = "", .text = "switch",
                                      .names = s->names, .name_count = 2};
    s->params[2] = (struct oto_param){.key = "name", .type = OTO_PARAM_TEXT, .count = 16,
                                      .offset = offsetof(struct block, name), .unit = "", .text = "a name"};
    s->params[3] = (struct oto_param){.type = OTO_PARAM_IGNORED, .alias = "Other"};
    s->fields[0] = (struct oto_field){"a.x", OTO_FIELD_F64, 1, 0, "m", "body", "x"};
    s->fields[1] = (struct oto_field){"b", OTO_FIELD_U32, 2, 8, "", "", "b"};
    s->type = (struct oto_record_type){"thing", 16, 2, s->fields};
    s->ports[0] = (struct oto_port){"", &s->type, OTO_PORT_ALWAYS, 0};
    s->ports[1] = (struct oto_port){"taps", &s->type, offsetof(struct block, on), 0};
    s->descriptor = (struct oto_plugin_descriptor){
        .size = sizeof s->descriptor, .id = "thing", .kind = "sensor", .version = "1.0", .text = "a thing",
        .outputs = s->ports, .output_count = 2, .param_count = 4, .params = s->params,
        .params_bytes = sizeof(struct block), .state_bytes = 8, .state_version = 2, .migrates_from = 2};
    s->ops = (struct oto_plugin_ops){.size = sizeof s->ops, .step = step};
}

static void a_sound_descriptor_passes(void **state)
{
    (void)state;
    struct subject s;
    struct oto_error error;
    make(&s);
    assert_ok(oto_descriptor_check(&s.descriptor, &s.ops, &error), error);
}

/* Each case spoils one thing of a fresh subject and expects a sentence with these words. */
#define CASES(X)                                                                                                       \
    X(s.descriptor.size -= 8, "has size")                                                                              \
    X(s.ops.size = 0, "operations 0")                                                                                  \
    X(s.ops.step = NULL, "no `step`")                                                                                  \
    X(s.descriptor.id = NULL, "id '(NULL)'")                                                                           \
    X(s.descriptor.id = "a b", "id 'a b'")                                                                             \
    X(s.descriptor.id = "an_identifier_that_is_far_too_long", "1 to 31")                                               \
    X(s.descriptor.kind = "actuator", "kind 'actuator'")                                                               \
    X(s.descriptor.kind = NULL, "kind '(NULL)'")                                                                       \
    X(s.descriptor.version = "", "version ''")                                                                         \
    X(s.descriptor.text = NULL, "no text")                                                                             \
    X(s.descriptor.flags = 4, "flags 0x4")                                                                             \
    X(s.descriptor.params_bytes = 12, "block of 12 bytes")                                                             \
    X(s.descriptor.params_bytes = 8, "'triad.gain': it is not aligned")                                                  \
    X(s.descriptor.params = NULL, "a table of them")                                                                   \
    X(s.descriptor.param_count = 100000, "100000 parameters")                                                          \
    X(s.descriptor.state_bytes = 1u << 30, "state has 1073741824 bytes")                                               \
    X(s.descriptor.migrates_from = 1, "without a `migrate`")                                                           \
    X(s.descriptor.migrates_from = 3, "from version 3 to 2")                                                           \
    X(s.descriptor.output_count = 0, "0 outputs")                                                                      \
    X(s.descriptor.output_count = 9, "9 outputs")                                                                      \
    X(s.descriptor.outputs = NULL, "no table")                                                                         \
    X(s.descriptor.kind = "motion", "a motion node has none")                                                          \
    X(s.ports[0].name = "first", "output 0 is called 'first'")                                                         \
    X(s.ports[1].name = "a/b", "output 1 is called 'a/b'")                                                             \
    X(s.ports[1].name = NULL, "output 1 is called '(NULL)'")                                                           \
    X(s.ports[1].enable_offset = 8, "output 'taps' is enabled by offset 8")                                            \
    X(s.ports[1].type = NULL, "output 'taps'")                                                                         \
    X(s.type.bytes = 12, "record 'thing' has 12 bytes")                                                                \
    X(s.type.bytes = 8192, "record 'thing' has 8192 bytes")                                                            \
    X(s.type.bytes = 8, "field 'b'")                                                                                   \
    X(s.type.name = "", "name of 1 to 31")                                                                             \
    X(s.type.fields = NULL, "its fields")                                                                              \
    X(s.type.field_count = 0, "0 fields")                                                                              \
    X(s.type.field_count = 1000, "1000 fields")                                                                        \
    X(s.fields[0].name = NULL, "field 0 is called '(NULL)'")                                                           \
    X(s.fields[0].name = "a..x", "field 0 is called 'a..x'")                                                           \
    X(s.fields[1].name = "a.x", "fields 'a.x' and 'a.x' clash")                                                        \
    X(s.fields[1].name = "a", "fields 'a.x' and 'a' clash")                                                            \
    X(s.fields[1].type = 12, "field 'b' (type 12")                                                                     \
    X(s.fields[1].count = 0, "count 0")                                                                                \
    X(s.fields[1].count = UINT32_MAX, "field 'b'")                                                                     \
    X(s.fields[1].offset = 6, "offset 6")                                                                              \
    X(s.fields[1].offset = 4, "field 'b' overlaps")                                                                    \
    X(s.fields[1].offset = UINT32_MAX - 3, "field 'b'")                                                                \
    X(s.fields[0].unit = "a unit that is too long", "field 'a.x' has a unit")                                          \
    X(s.fields[0].frame = NULL, "field 'a.x' has a unit or frame")                                                     \
    X(s.params[0].key = "a b", "'a b': its key")                                                                       \
    X(s.params[0].key = NULL, "its key")                                                                               \
    X(s.params[1].key = "triad.gain", "'triad.gain': its key equals another")                                              \
    X(s.params[1].key = "triad", "'triad': its key equals another")                                                        \
    X(s.params[1].type = 0, "'on': its type")                                                                          \
    X(s.params[1].type = 99, "'on': its type")                                                                         \
    X(s.params[0].count = 0, "'triad.gain': it has no count")                                                          \
    X(s.params[0].count = UINT32_MAX, "'triad.gain': it is not aligned")                                                 \
    X(s.params[0].flags = 1u << 20, "unknown flag")                                                                    \
    X(s.params[0].unit = NULL, "no unit")                                                                              \
    X(s.params[0].flags = OTO_PARAM_RATE, "a rate is one F64")                                                         \
    X(s.params[0].minimum = NAN, "its range")                                                                          \
    X(s.params[0].minimum = 3, "its range")                                                                            \
    X(s.params[0].default_value = 3, "its default is out of its range")                                                \
    X(s.params[0].default_value = INFINITY, "its default is not finite")                                               \
    X((s.params[0].default_value = 0, s.params[0].flags = OTO_PARAM_OPEN_MIN), "out of its range")                     \
    X(s.params[1].default_value = 2, "none of its named values")                                                       \
    X(s.params[1].default_value = 0.5, "not whole")                                                                    \
    X(s.params[1].names = NULL, "no table of them")                                                                    \
    X(s.names[1].name = "off", "the same name")                                                                        \
    X(s.names[1].value = 0.5, "not a whole number")                                                                    \
    X(s.params[1].offset = 12, "'on': it is not aligned")                                                        \
    X(s.params[1].offset = 16, "'on': it overlaps")                                                                    \
    X(s.params[1].offset = UINT32_MAX - 7, "'on': it is not aligned")                                                    \
    X(s.params[2].default_text = "sixteen letters.", "default text is longer")                                         \
    X(s.params[1].alias = "Triad", "its alias equals another")                                                             \
    X(s.params[3].alias = NULL, "has none")                                                                            \
    X(s.params[3].alias = "Triad/Gain", "its alias equals another")                                                        \
    X((s.params[2].type = OTO_PARAM_LIST, s.params[2].item_bytes = 4), "'name': it is not aligned")                      \
    X((s.params[2].type = OTO_PARAM_LIST, s.params[2].count = 1), "'name': a list has a table")                        \
    X((s.params[2].type = OTO_PARAM_LIST, s.params[2].item_bytes = UINT64_MAX), "'name': it is not aligned")             \
    X((s.params[2].type = OTO_PARAM_LIST, s.params[2].count = 1, s.params[2].item_bytes = 8,                           \
       s.params[2].item_count = 1, s.params[2].items = s.params), "'name[].triad.gain': it is not aligned")

static void every_spoilt_descriptor_is_refused_by_name(void **state)
{
    (void)state;
    struct subject s;
    struct oto_error error;
#define X(change, says)                                                                                                \
    make(&s);                                                                                                          \
    (void)(change);                                                                                                    \
    error.text[0] = '\0';                                                                                              \
    if (oto_descriptor_check(&s.descriptor, &s.ops, &error) == OTO_OK || strstr(error.text, says) == NULL) {           \
        print_error("%s: '%s' does not say \"%s\"\n", #change, error.text, says);                                      \
        fail();                                                                                                        \
    }
    CASES(X)
#undef X
}

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    (void)instance;
    (void)at;
    (void)truth;
    return OTO_STEP_OK;
}

static void a_motion_node_needs_its_extension(void **state)
{
    (void)state;
    struct subject s;
    struct oto_error error;
    struct oto_motion_extension motion = {.size = sizeof motion, .evaluate = evaluate};
    make(&s);
    assert_int_equal(oto_motion_check(&s.descriptor, NULL, &error), OTO_OK);
    s.descriptor.kind = OTO_KIND_MOTION;
    assert_int_equal(oto_motion_check(&s.descriptor, NULL, &error), OTO_PLUGIN);
    assert_non_null(strstr(error.text, OTO_EXTENSION_MOTION));
    assert_int_equal(oto_motion_check(&s.descriptor, &motion, &error), OTO_OK);
    motion.evaluate = NULL;
    assert_int_equal(oto_motion_check(&s.descriptor, &motion, &error), OTO_PLUGIN);
}

static void the_standard_records_pass(void **state)
{
    (void)state;
    static const struct oto_record_type *const types[] = {&oto_truth_type, &oto_imu_type, &oto_mag_type,
                                                          &oto_odometry_type, &oto_estimate_type, &oto_event_type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct oto_error error;
        assert_ok(oto_record_type_check(types[i], "record", &error), error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_descriptor_passes),
        cmocka_unit_test(every_spoilt_descriptor_is_refused_by_name),
        cmocka_unit_test(a_motion_node_needs_its_extension),
        cmocka_unit_test(the_standard_records_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
