/* Faults on demand: each kind has its documented effect and its label, and the stream after it is unchanged. */
#include "fixture.h"

#include <math.h>

#include "sim/fault.h"

#define SAMPLES 400
#define TOPIC "demo/car/witness"

struct run {
    struct fixture fixture;
    uint32_t count; /* of published samples */
    struct witness_record records[SAMPLES];
    struct oto_sample_head heads[SAMPLES];
};

static void begin(struct run *run)
{
    memset(run, 0, sizeof *run);
    fixture_begin(&run->fixture, 1000, 1);
    fixture_vehicle(&run->fixture, "car", "circle");
    fixture_sensor(&run->fixture, "witness", "witness", 1000, 1)->labels = SRV_LABELS_ON;
    (void)fixture_sensor(&run->fixture, "count", "counter", 100, 1);
}

static enum oto_status read_spec(const struct run *run, const char *yaml, struct srv_fault_spec *spec,
                                 struct oto_error *error)
{
    struct oto_document *document = NULL;
    enum oto_status status = oto_document_parse("spec", yaml, strlen(yaml), NULL, &document, error);
    if (status == OTO_OK) {
        status = srv_fault_spec_read(oto_document_root(document),
                                     oto_plugin_descriptor(run->fixture.config.nodes[1].plugin), 1000.0, spec, error);
    }
    oto_document_close(document);
    return status;
}

static struct srv_reply inject(struct run *run, const char *yaml)
{
    struct srv_fault_spec spec;
    struct oto_error error = {0};
    assert_ok(read_spec(run, yaml, &spec, &error), error);
    const struct srv_reply reply = fixture_command(
        &run->fixture,
        (struct srv_command){.kind = SRV_COMMAND_FAULT, .fault = srv_engine_fault_make(run->fixture.engine, 1, &spec)});
    srv_fault_free(reply.faults);
    return reply;
}

static void collect(struct run *run)
{
    const struct oto_ring_view view = fixture_ring(&run->fixture, fixture_channel(&run->fixture, TOPIC));
    run->count = (uint32_t)oto_ring_newest(&view);
    assert_true(run->count <= SAMPLES);
    for (uint32_t i = 0; i < run->count; i++) {
        run->heads[i] = fixture_record(&run->fixture, TOPIC, i + 1, &run->records[i]);
        assert_int_equal(run->heads[i].seq, i + 1);
    }
}

static struct oto_fault_label_record label(struct run *run, uint64_t seq)
{
    struct oto_fault_label_record record;
    (void)fixture_record(&run->fixture, TOPIC ".label", seq, &record);
    return record;
}

/* A run of SAMPLES; with a fault from sample 101 to sample 200. */
static void run_with(struct run *run, const char *yaml)
{
    begin(run);
    fixture_start(&run->fixture);
    fixture_step(&run->fixture, 100);
    if (yaml != NULL) {
        assert_int_equal(inject(run, yaml).status, OTO_OK);
    }
    fixture_step(&run->fixture, SAMPLES - 100);
    collect(run);
}

static struct run clean, faulty; /* large; each test fills them anew */

static void run_both(const char *yaml)
{
    run_with(&clean, NULL);
    run_with(&faulty, yaml);
}

static void end_both(void)
{
    fixture_end(&clean.fixture);
    fixture_end(&faulty.fixture);
}

/* Before and after: the same bits, stamps and flags; the sequence without a gap. */
static void expect_restored(uint32_t lost)
{
    assert_int_equal(clean.count, SAMPLES);
    assert_int_equal(faulty.count, SAMPLES - lost);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const bool inside = i >= 100 && i < 200;
        const uint32_t k = i < 200 ? i : i - lost;
        if (!inside) {
            assert_memory_equal(&clean.records[i], &faulty.records[k], sizeof clean.records[i]);
            assert_int_equal(clean.heads[i].t_ns, faulty.heads[k].t_ns);
            assert_int_equal(faulty.heads[k].flags, clean.heads[i].flags);
        }
    }
}

static void expect_flagged(void)
{
    for (uint32_t i = 100; i < 200; i++) {
        assert_true((faulty.heads[i].flags & OTO_SAMPLE_FAULT) != 0);
        assert_int_equal(faulty.records[i].n, i + 1);
    }
}

static void a_bias_reaches_the_named_field_alone(void **unused)
{
    (void)unused;
    struct oto_event_record event;
    run_both("{kind: bias, value: 0.25, fields: angular_rate_rad_s, for_s: 0.1}");
    expect_restored(0);
    expect_flagged();
    for (uint32_t i = 100; i < 200; i++) {
        assert_true(faulty.records[i].angular_rate_rad_s.z == clean.records[i].angular_rate_rad_s.z + 0.25);
        assert_true(faulty.records[i].specific_force_m_s2.x == clean.records[i].specific_force_m_s2.x);
        assert_true(faulty.records[i].walk == clean.records[i].walk);
    }
    assert_true(fixture_event(&faulty.fixture, OTO_EVENT_FAULT, "fault 1 (bias) begins", &event));
    assert_true(fixture_event(&faulty.fixture, OTO_EVENT_FAULT, "fault 1 (bias) is over", &event));
    end_both();
}

static void the_label_tells_the_truth_of_each_sample(void **unused)
{
    (void)unused;
    run_both("{kind: ramp, value: 100, for_s: 0.1}");
    expect_restored(0);
    const struct oto_ring_view view = fixture_ring(&faulty.fixture, fixture_channel(&faulty.fixture, TOPIC ".label"));
    assert_int_equal(oto_ring_newest(&view), 100);
    for (uint64_t seq = 1; seq <= 100; seq++) {
        const struct oto_fault_label_record truth = label(&faulty, seq);
        const struct witness_record *record = &faulty.records[99 + seq];
        assert_int_equal(truth.sample, 100 + seq);
        assert_int_equal(truth.sample_seq, 100 + seq);
        assert_int_equal(truth.count, 1);
        assert_int_equal(truth.id[0], 1);
        assert_int_equal(truth.kind[0], OTO_FAULT_RAMP);
        assert_int_equal(truth.kinds, UINT64_C(1) << OTO_FAULT_RAMP);
        assert_near(truth.amount[0], 100.0 * (double)seq * 1e-3, 1e-6);
        assert_true(truth.clean[0] == clean.records[99 + seq].specific_force_m_s2.x);
        assert_near(record->specific_force_m_s2.x, truth.clean[0] + truth.amount[0], 1e-12);
    }
    end_both();
}

static void stuck_numbers_stay_and_their_stamps_go_on(void **unused)
{
    (void)unused;
    run_both("{kind: stuck, fields: position_enu_m, for_s: 0.1}");
    expect_restored(0);
    for (uint32_t i = 100; i < 200; i++) {
        assert_true(faulty.records[i].position_enu_m.x == clean.records[100].position_enu_m.x);
        assert_true(faulty.records[i].velocity_enu_m_s.x == clean.records[i].velocity_enu_m_s.x);
        assert_int_equal(faulty.heads[i].t_ns, clean.heads[i].t_ns);
    }
    assert_true(clean.records[150].position_enu_m.x != clean.records[100].position_enu_m.x);
    end_both();
}

static void lost_samples_leave_no_gap_in_seq_and_are_labelled(void **unused)
{
    (void)unused;
    run_both("{kind: dropout, for_s: 0.1}");
    expect_restored(100);
    for (uint64_t seq = 1; seq <= 100; seq++) {
        const struct oto_fault_label_record truth = label(&faulty, seq);
        assert_int_equal(truth.lost, 1);
        assert_int_equal(truth.sample_seq, 0);
        assert_int_equal(truth.sample, 100 + seq);
        assert_true(truth.clean[0] == clean.records[99 + seq].specific_force_m_s2.x);
    }
    end_both();
}

static void an_intermittent_link_loses_whole_periods(void **unused)
{
    (void)unused;
    run_both("{kind: intermittent, period_s: 0.01, probability: 0.5, for_s: 0.1}");
    uint32_t lost = 0;
    for (uint64_t period = 0; period < 10; period++) {
        const uint64_t first = 10 * period + 1;
        const bool gone = label(&faulty, first).lost != 0;
        for (uint64_t seq = first; seq < first + 10; seq++) {
            assert_int_equal(label(&faulty, seq).lost, gone);
        }
        lost += gone ? 1 : 0;
    }
    assert_in_range(lost, 1, 9);
    end_both();
}

static void numbers_are_changed_as_the_kind_says(void **unused)
{
    (void)unused;
    run_both("{kind: scale, value: -3, fields: walk, for_s: 0.1}");
    for (uint32_t i = 100; i < 200; i++) {
        assert_true(faulty.records[i].walk == -3.0 * clean.records[i].walk);
    }
    end_both();
    run_both("{kind: sign, fields: 'velocity_enu_m_s, gain', for_s: 0.1}");
    for (uint32_t i = 100; i < 200; i++) {
        assert_true(faulty.records[i].velocity_enu_m_s.y == -clean.records[i].velocity_enu_m_s.y);
        assert_true(faulty.records[i].gain == -clean.records[i].gain);
    }
    end_both();
    run_both("{kind: saturation, value: 0.5, fields: position_enu_m, for_s: 0.1}");
    for (uint32_t i = 100; i < 200; i++) {
        assert_true(faulty.records[i].position_enu_m.x == fmax(-0.5, fmin(0.5, clean.records[i].position_enu_m.x)));
    }
    end_both();
    run_both("{kind: nan, fields: walk, for_s: 0.1}");
    expect_restored(0);
    for (uint32_t i = 100; i < 200; i++) {
        assert_true(isnan(faulty.records[i].walk));
        assert_true((faulty.heads[i].flags & OTO_SAMPLE_NON_FINITE) != 0);
    }
    /* It is not the plugin's doing. */
    assert_int_equal(fixture_counter(&faulty.fixture, OTO_COUNTER_NON_FINITE), 0);
    end_both();
}

static void axes_are_exchanged(void **unused)
{
    (void)unused;
    run_both("{kind: axes, axes: z-xy, fields: specific_force_m_s2, for_s: 0.1}");
    for (uint32_t i = 100; i < 200; i++) {
        const oto_vec3 was = clean.records[i].specific_force_m_s2, is = faulty.records[i].specific_force_m_s2;
        assert_true(is.x == was.z && is.y == -was.x && is.z == was.y);
    }
    end_both();
}

static void a_delay_shows_what_was(void **unused)
{
    (void)unused;
    run_both("{kind: delay, value: 0.02, fields: position_enu_m, for_s: 0.1}");
    expect_restored(0);
    for (uint32_t i = 100; i < 200; i++) {
        const uint32_t shown = i < 120 ? 100 : i - 20;
        assert_true(faulty.records[i].position_enu_m.x == clean.records[shown].position_enu_m.x);
        assert_int_equal(faulty.heads[i].t_ns, clean.heads[i].t_ns);
    }
    end_both();
}

static void stamps_jump_shake_and_repeat(void **unused)
{
    (void)unused;
    run_both("{kind: time_jump, value: 0.5, for_s: 0.1}");
    expect_restored(0);
    for (uint32_t i = 100; i < 200; i++) {
        assert_int_equal(faulty.heads[i].t_ns, clean.heads[i].t_ns + 500000000);
        assert_int_equal(faulty.heads[i].sensor_time_ns, clean.heads[i].sensor_time_ns + 500000000);
        assert_memory_equal(&clean.records[i], &faulty.records[i], sizeof clean.records[i]);
    }
    end_both();
    run_both("{kind: time_jitter, value: 0.0001, for_s: 0.1}");
    double sum = 0;
    for (uint32_t i = 100; i < 200; i++) {
        const double shift_s = (double)(faulty.heads[i].t_ns - clean.heads[i].t_ns) * 1e-9;
        sum += shift_s * shift_s;
        assert_near(shift_s, label(&faulty, i - 99).amount[0], 1e-9);
    }
    /* chi² with 100 degrees of freedom, both tails 1e-6 */
    assert_true(sum > 40.8 * 1e-8 && sum < 185.6 * 1e-8);
    end_both();
    run_both("{kind: repeat, count: 4, for_s: 0.1}");
    expect_restored(0);
    for (uint32_t i = 100; i < 200; i++) {
        const uint32_t shown = i - (i - 100) % 4;
        assert_true(faulty.records[i].velocity_enu_m_s.x == clean.records[shown].velocity_enu_m_s.x);
        assert_int_equal(faulty.heads[i].t_ns, clean.heads[shown].t_ns);
    }
    end_both();
}

static void random_faults_have_their_law_and_are_the_same_each_time(void **unused)
{
    (void)unused;
    double sum = 0, hits = 0;
    run_both("{kind: noise, value: 2, fields: 'walk, gain, sub_ns, specific_force_m_s2', for_s: 0.1}");
    const double first = faulty.records[100].walk;
    for (uint32_t i = 100; i < 200; i++) {
        const double a = (faulty.records[i].walk - clean.records[i].walk) / 2, b = (faulty.records[i].gain - 1) / 2;
        assert_true(a != b);
        sum += a * a + b * b;
    }
    /* chi² with 200 degrees of freedom, both tails 1e-6 */
    assert_true(sum > 111.6 && sum < 317.9);
    end_both();
    run_both("{kind: noise, value: 2, fields: 'walk, gain, sub_ns, specific_force_m_s2', for_s: 0.1}");
    assert_true(faulty.records[100].walk == first);
    end_both();
    run_both("{kind: spikes, value: 7, rate_hz: 200, fields: gain, for_s: 0.1}");
    for (uint32_t i = 100; i < 200; i++) {
        const double spike = faulty.records[i].gain - clean.records[i].gain;
        assert_true(spike == 0.0 || fabs(spike) == 7.0);
        assert_true(label(&faulty, i - 99).amount[0] == spike);
        hits += spike != 0.0 ? 1 : 0;
    }
    /* binomial(100, 0.2), both tails below 1e-5 */
    assert_true(hits >= 4 && hits <= 40);
    end_both();
}

static void several_faults_add_up_and_are_cleared_apart(void **unused)
{
    (void)unused;
    begin(&faulty);
    fixture_start(&faulty.fixture);
    assert_int_equal(inject(&faulty, "{kind: bias, value: 1, fields: gain}").status, OTO_OK);
    assert_int_equal(inject(&faulty, "{kind: scale, value: 10, fields: gain}").status, OTO_OK);
    fixture_step(&faulty.fixture, 1);
    struct srv_command clear = {.kind = SRV_COMMAND_CLEAR_FAULTS, .node = 1, .fault_id = 1};
    struct srv_reply reply = fixture_command(&faulty.fixture, clear);
    assert_int_equal(reply.status, OTO_OK);
    assert_non_null(reply.faults);
    srv_fault_free(reply.faults);
    fixture_step(&faulty.fixture, 1);
    reply = fixture_command(&faulty.fixture, clear);
    assert_int_equal(reply.status, OTO_NOT_FOUND);
    clear.fault_id = 0;
    reply = fixture_command(&faulty.fixture, clear);
    assert_int_equal(reply.status, OTO_OK);
    srv_fault_free(reply.faults);
    fixture_step(&faulty.fixture, 1);
    collect(&faulty);
    assert_near(faulty.records[0].gain, 20.0, 0.0);
    assert_near(faulty.records[1].gain, 10.0, 0.0);
    assert_near(faulty.records[2].gain, 1.0, 0.0);
    fixture_end(&faulty.fixture);
}

/* A plugin gets four disturbances at an instant; a fifth would have had no effect and a label that claims one. */
static void more_disturbances_at_once_than_a_plugin_gets_are_refused(void **unused)
{
    struct srv_fault_spec spec;
    struct oto_error error = {0};
    (void)unused;
    begin(&faulty);
    fixture_start(&faulty.fixture);
    assert_ok(read_spec(&faulty, "{kind: bias, value: 1, fields: gain, for_s: 0.05}", &spec, &error), error);
    spec.kind = OTO_FAULT_OUTAGE; /* the witness is no receiver */
    for (uint64_t i = 1; i <= 6; i++) {
        spec.id = i;
        spec.at_ns = i < 6 ? 20000000 : 80000000; /* the last begins when the others are over */
        const struct srv_reply reply = fixture_command(
            &faulty.fixture, (struct srv_command){.kind = SRV_COMMAND_FAULT,
                                                  .fault = srv_engine_fault_make(faulty.fixture.engine, 1, &spec)});
        srv_fault_free(reply.faults);
        assert_int_equal(reply.status, i == 5 ? OTO_LIMIT : OTO_OK);
    }
    fixture_step(&faulty.fixture, 30);
    assert_int_equal(label(&faulty, 5).count, 4); /* labels begin with the faults */
    fixture_end(&faulty.fixture);
}

/* The timeline of a world's file is the same as the command at that time. */
static void a_timeline_does_what_commands_do(void **unused)
{
    (void)unused;
    struct srv_fault_spec spec;
    struct oto_error error = {0};
    begin(&clean);
    assert_ok(read_spec(&clean, "{kind: noise, value: 3, at_s: 0.1, for_s: 0.1}", &spec, &error), error);
    clean.fixture.config.nodes[1].faults = &spec;
    clean.fixture.config.nodes[1].fault_count = 1;
    fixture_start(&clean.fixture);
    fixture_step(&clean.fixture, SAMPLES);
    collect(&clean);
    run_with(&faulty, "{kind: noise, value: 3, for_s: 0.1}");
    /* At 0.1 s itself the timeline's fault has begun; the command comes after that sample. */
    for (uint32_t i = 0; i < SAMPLES; i++) {
        if (i != 99 && i != 199) {
            assert_memory_equal(&clean.records[i], &faulty.records[i], sizeof clean.records[i]);
        }
    }
    clean.fixture.config.nodes[1].faults = NULL;
    end_both();
}

static void what_makes_no_sense_is_refused_with_its_place(void **unused)
{
    (void)unused;
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"{kind: stuk}", "spec:1:8: error: expected stuck or dropout"},
        {"{value: 1}", "kind"},
        {"{kind: bias}", "a fault of kind bias needs a value"},
        {"{kind: stuck, value: 1}", "a fault of kind stuck takes no value"},
        {"{kind: noise, value: -1}", "expected 0 to"},
        {"{kind: bias, value: .nan}", "spec:1:21: error: expected a finite number"},
        {"{kind: delay, value: 11}", "expected 0 to 10"},
        {"{kind: delay, value: 0.0001}", "less than half a sample"},
        {"{kind: bias, value: 1, fields: gian}", "did you mean 'gain'?"},
        {"{kind: bias, value: 1, fields: tick}", "has no field 'tick' of floating-point numbers"},
        {"{kind: bias, value: 1, channel: extr}", "did you mean 'extra'?"},
        {"{kind: bias, value: 1, for_s: 0}", "for_s"},
        {"{kind: axes, axes: xyy, fields: specific_force_m_s2}", "is not each of x, y and z once"},
        {"{kind: axes, fields: gain}", "or in threes"},
        {"{kind: repeat, count: 1}", "count"},
        {"{kind: bias, value: 1, fro_s: 1}", "did you mean 'for_s'?"},
        {"{kind: bias, value: 1, channel: extra}", "name its fields"},
        {"[kind, bias]", "expected"},
        {"{kind: outage}", "does not simulate faults of kind outage"},
    };
    begin(&clean);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct srv_fault_spec spec;
        struct oto_error error = {0};
        assert_int_not_equal(read_spec(&clean, cases[i].yaml, &spec, &error), OTO_OK);
        if (strstr(error.text, cases[i].words) == NULL) {
            print_error("%s: '%s' does not say '%s'\n", cases[i].yaml, error.text, cases[i].words);
        }
        assert_non_null(strstr(error.text, cases[i].words));
    }
    fixture_create(&clean.fixture);
    fixture_end(&clean.fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bias_reaches_the_named_field_alone),
        cmocka_unit_test(the_label_tells_the_truth_of_each_sample),
        cmocka_unit_test(stuck_numbers_stay_and_their_stamps_go_on),
        cmocka_unit_test(lost_samples_leave_no_gap_in_seq_and_are_labelled),
        cmocka_unit_test(an_intermittent_link_loses_whole_periods),
        cmocka_unit_test(numbers_are_changed_as_the_kind_says),
        cmocka_unit_test(axes_are_exchanged),
        cmocka_unit_test(a_delay_shows_what_was),
        cmocka_unit_test(stamps_jump_shake_and_repeat),
        cmocka_unit_test(random_faults_have_their_law_and_are_the_same_each_time),
        cmocka_unit_test(several_faults_add_up_and_are_cleared_apart),
        cmocka_unit_test(more_disturbances_at_once_than_a_plugin_gets_are_refused),
        cmocka_unit_test(a_timeline_does_what_commands_do),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
