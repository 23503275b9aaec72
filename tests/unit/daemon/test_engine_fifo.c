/* Samples that wait in a part's FIFO: handed out together, each as it was measured. */
#include "fixture.h"

#include "plugin/host.h"

#include "world/fault_spec.h"

#define COUNT "demo/car/count"

static void begin(struct fixture *fixture, uint32_t fifo_samples)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    fixture_sensor(fixture, "witness", "witness", 1000, 1)->fifo_samples = fifo_samples;
    struct srv_node_config *count = fixture_sensor(fixture, "count", "counter", 3000, 7);
    count->fifo_samples = fifo_samples;
    count->labels = SRV_LABELS_ON;
    fixture->config.clock.mode = OTO_MODE_STEP;
}

static uint64_t newest(struct fixture *fixture, const char *topic)
{
    const struct oto_ring_view view = fixture_ring(fixture, fixture_channel(fixture, topic));
    return oto_ring_newest(&view);
}

static void samples_come_together_in_order_each_with_its_own_time(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture, 5);
    fixture_start(&fixture);
    fixture_step(&fixture, 4);
    assert_int_equal(newest(&fixture, "demo/car/witness"), 0);
    fixture_step(&fixture, 1);
    assert_int_equal(newest(&fixture, "demo/car/witness"), 5);
    fixture_step(&fixture, 4);
    assert_int_equal(newest(&fixture, "demo/car/witness"), 5);
    fixture_step(&fixture, 1);
    assert_int_equal(newest(&fixture, "demo/car/witness"), 10);
    for (uint64_t seq = 1; seq <= 10; seq++) {
        struct witness_record record;
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/witness", seq, &record);
        assert_int_equal(head.seq, seq);
        assert_int_equal(head.t_ns, (int64_t)seq * 1000000);
        assert_int_equal(head.sensor_time_ns, head.t_ns);
        assert_int_equal(record.n, seq);
    }
    fixture_end(&fixture);
}

static void a_rate_that_is_no_divisor_of_the_clocks_waits_by_samples_not_by_ticks(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture, 256);
    fixture_start(&fixture);
    fixture_step(&fixture, 597); /* sample 256 stands at 256 * 7/3000 s = 597.33 ms */
    assert_int_equal(newest(&fixture, COUNT), 0);
    fixture_step(&fixture, 1);
    assert_int_equal(newest(&fixture, COUNT), 256);
    struct counter_record record;
    assert_int_equal(fixture_record(&fixture, COUNT, 3, &record).t_ns, 7000000);
    assert_int_equal(record.n, 3);
    fixture_end(&fixture);
}

static uint64_t chain_of(uint32_t fifo_samples, enum oto_clock_mode mode, double scale)
{
    struct fixture fixture;
    begin(&fixture, fifo_samples);
    fixture.config.clock.mode = mode;
    fixture.config.clock.scale = scale;
    fixture.config.clock.until_ns = INT64_C(1000000000);
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    if (mode == OTO_MODE_STEP) {
        fixture_step(&fixture, 333);
        fixture_step(&fixture, 667);
    }
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    const uint64_t chain = fixture_clock(&fixture).state_hash;
    fixture_end(&fixture);
    return chain;
}

static void the_hash_chain_is_that_of_samples_that_do_not_wait_in_every_mode(void **unused)
{
    (void)unused;
    const uint64_t chain = chain_of(0, OTO_MODE_ASAP, 1);
    assert_int_equal(chain_of(1, OTO_MODE_ASAP, 1), chain);
    assert_int_equal(chain_of(7, OTO_MODE_ASAP, 1), chain);
    assert_int_equal(chain_of(256, OTO_MODE_STEP, 1), chain);
    assert_int_equal(chain_of(7, OTO_MODE_REALTIME, 20), chain);
}

static void labels_wait_with_their_samples_and_name_them(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct srv_fault_spec spec;
    struct oto_error error = {0};
    struct oto_document *document = NULL;
    const char *yaml = "{kind: bias, fields: value, value: 1, at_s: 0.02, for_s: 0.01}";
    begin(&fixture, 4);
    fixture_create(&fixture);
    assert_ok(oto_document_parse("spec", yaml, strlen(yaml), NULL, &document, &error), error);
    assert_ok(srv_fault_spec_read(oto_document_root(document), oto_plugin_descriptor(fixture.config.nodes[2].plugin),
                                  3000.0 / 7, &spec, &error), error);
    oto_document_close(document);
    fixture_start(&fixture);
    (void)fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_FAULT,
                                                         .fault = srv_engine_fault_make(fixture.engine, 2, &spec)});
    uint64_t labels = 0;
    for (int tick = 1; tick <= 60; tick++) {
        fixture_step(&fixture, 1);
        assert_int_equal(newest(&fixture, COUNT) % 4, 0);
        for (uint64_t seq = labels + 1; seq <= newest(&fixture, COUNT ".label"); seq++) {
            struct oto_fault_label_record label;
            struct counter_record record;
            (void)fixture_record(&fixture, COUNT ".label", seq, &label);
            assert_in_range(label.sample_seq, newest(&fixture, COUNT) - 3, newest(&fixture, COUNT));
            const struct oto_sample_head head = fixture_record(&fixture, COUNT, label.sample_seq, &record);
            assert_int_equal(record.n, label.sample);
            assert_true((head.flags & OTO_SAMPLE_FAULT) != 0);
            labels = seq;
        }
    }
    assert_in_range(labels, 4, 5); /* 10 ms at 428.57 Hz */
    fixture_end(&fixture);
}

static void what_waits_outlives_a_swap(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture, 5);
    fixture_start(&fixture);
    fixture_step(&fixture, 3);
    (void)fixture_swap(&fixture, 1, "witness_again");
    fixture_step(&fixture, 2);
    assert_int_equal(newest(&fixture, "demo/car/witness"), 5);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        struct witness_record record;
        assert_int_equal(fixture_record(&fixture, "demo/car/witness", seq, &record).t_ns, (int64_t)seq * 1000000);
        assert_int_equal(record.n, seq);
    }
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_together_in_order_each_with_its_own_time),
        cmocka_unit_test(a_rate_that_is_no_divisor_of_the_clocks_waits_by_samples_not_by_ticks),
        cmocka_unit_test(the_hash_chain_is_that_of_samples_that_do_not_wait_in_every_mode),
        cmocka_unit_test(labels_wait_with_their_samples_and_name_them),
        cmocka_unit_test(what_waits_outlives_a_swap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
