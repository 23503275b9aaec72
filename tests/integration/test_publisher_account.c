/* Two hundred thousand samples to each of two subscribers: every one is received, or counted as lost, whatever the machine does. */
#include "oto_test.h"

#include "world_process.h"

#define SENSORS 20u
#define TOPICS (SENSORS + 1u) /* and the motion */
#define SUBSCRIBERS 2u
#define SAMPLES 10000u /* of each topic; a sensor gives 2000 a second */
#define PATIENCE_MS 200000

struct account {
    uint64_t first, last, got, lost;
};

/* Sensors and motion give a sample each tick, and each tick is published. */
static int set_up(void **state)
{
    char yaml[4096];
    size_t used = (size_t)snprintf(yaml, sizeof yaml,
                                   "world: w\nclock: {rate_hz: 2000}\n"
                                   "publish: {listen: [\"ipc\", \"tcp://127.0.0.1:0\"], coalesce_ms: 0, format: packed}\n"
                                   "vehicles:\n  - name: car\n    motion: {plugin: motion_script}\n    nodes:\n");
    for (unsigned i = 0; i < SENSORS; i++) {
        used += (size_t)snprintf(yaml + used, sizeof yaml - used,
                                 "      - {name: mag%u, plugin: magnetometer, rate_hz: 2000}\n", i);
    }
    assert_true(used < sizeof yaml);
    return world_set_up(state, yaml);
}

static unsigned index_of(const char *topic)
{
    unsigned index = SENSORS;
    return strcmp(topic, "w/car/motion") == 0 || sscanf(topic, "w/car/mag%u", &index) == 1 ? index : TOPICS;
}

/* Takes what has come to a subscriber, but not for ever. */
static void take(struct oto_subscriber *subscriber, struct account accounts[TOPICS])
{
    struct oto_wire_sample sample;
    struct oto_error error = {0};
    enum oto_status status = OTO_OK;
    for (unsigned i = 0; i < 1000 && (status = oto_subscriber_next(subscriber, 1, &sample, &error)) == OTO_OK; i++) {
        const unsigned index = index_of(sample.topic);
        assert_true(index < TOPICS);
        struct account *account = &accounts[index];
        assert_true(account->got == 0 || sample.head.seq > account->last);
        account->first = account->got == 0 ? sample.head.seq : account->first;
        account->lost += account->got == 0 ? 0 : sample.lost;
        account->last = sample.head.seq;
        account->got++;
    }
    assert_true(status == OTO_OK || status == OTO_TIMEOUT);
}

static bool have_all_seen(const struct account accounts[SUBSCRIBERS][TOPICS], uint64_t samples)
{
    for (unsigned s = 0; s < SUBSCRIBERS; s++) {
        for (unsigned i = 0; i < TOPICS; i++) {
            if (accounts[s][i].last < samples + accounts[s][i].first) {
                return false;
            }
        }
    }
    return true;
}

static void each_sample_is_received_or_told(void **state)
{
    struct world_process *world = *state;
    struct oto_subscriber *subscribers[SUBSCRIBERS];
    struct account accounts[SUBSCRIBERS][TOPICS] = {0};
    struct oto_error error = {0};
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    for (unsigned s = 0; s < SUBSCRIBERS; s++) {
        char url[256];
        world_endpoint(world, client, s, url, sizeof url);
        assert_ok(oto_subscriber_open(url, "w/car/", &subscribers[s], &error), error);
    }
    const int64_t end_ms = test_now_ms() + PATIENCE_MS;
    while (!have_all_seen(accounts, SAMPLES) && test_now_ms() < end_ms) {
        for (unsigned s = 0; s < SUBSCRIBERS; s++) {
            take(subscribers[s], accounts[s]);
        }
    }
    assert_true(have_all_seen(accounts, SAMPLES));
    for (unsigned s = 0; s < SUBSCRIBERS; s++) {
        uint64_t got = 0, lost = 0, sent = 0;
        for (unsigned i = 0; i < TOPICS; i++) {
            sent += accounts[s][i].last - accounts[s][i].first + 1;
            got += accounts[s][i].got;
            lost += accounts[s][i].lost;
        }
        print_message("of %llu samples %llu were received and %llu told to be lost\n", (unsigned long long)sent,
                      (unsigned long long)got, (unsigned long long)lost);
        assert_int_equal(got + lost, sent);
        assert_true(sent > TOPICS * SAMPLES && got > 0);
        oto_subscriber_close(subscribers[s]);
    }
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_sample_is_received_or_told, set_up, world_tear_down),
    };
    return cmocka_run_group_tests_name("publisher_account", tests, NULL, NULL);
}
