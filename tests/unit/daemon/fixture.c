#include "fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "world_file.h"
#include "plain_swap.h"

int64_t fixture_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Between two looks at a condition that has a deadline. */
static void look_again(int64_t deadline_ns)
{
    const struct timespec moment = {0, 200000};
    if (fixture_now_ns() > deadline_ns) {
        fail_msg("what was waited for did not come within %g s", (double)FIXTURE_PATIENCE_NS * 1e-9);
    }
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

const char *fixture_plugin(char *path, size_t bytes, const char *name)
{
    (void)snprintf(path, bytes, "%s/%s.so", OTO_TEST_PLUGIN_DIR, name);
    if (access(path, R_OK) != 0) {
        (void)snprintf(path, bytes, "%s/%s.so", OTO_PLUGIN_DIR, name);
    }
    return path;
}

void fixture_begin(struct fixture *fixture, uint64_t rate_num, uint64_t rate_den)
{
    memset(fixture, 0, sizeof *fixture);
    struct srv_world_config *config = &fixture->config;
    (void)snprintf(config->name, sizeof config->name, "demo");
    config->seed = UINT64_C(18446744073709551615);
    config->clock = (struct srv_clock_config){.rate_num = rate_num,
                                              .rate_den = rate_den,
                                              .mode = OTO_MODE_REALTIME,
                                              .scale = 1.0,
                                              .catchup_max_burst = 4,
                                              .catchup_max_lag_ns = 20000000,
                                              .fault_max_overruns = 10};
    config->environment.gravity_enu_m_s2 = oto_vec3_make(0.0, 0.0, -9.80665);
    config->environment.mag_field_enu_ut = oto_vec3_make(1.0, 20.0, -43.0);
    config->environment.temperature_degc = 25.0;
    config->environment.pressure_pa = 101325.0;
    config->vehicles = fixture->vehicles;
    config->nodes = fixture->nodes;
    config->ring_capacity = 1024;
    config->open_plugin = world_file_open_plugin;
    fixture->options.start_paused = true;
    fixture->options.epoch = 77;
    fixture->next_id = 1;
}

static struct srv_node_config *add_node(struct fixture *fixture, const char *name, const char *plugin)
{
    char path[512];
    struct oto_error error = {0};
    struct srv_node_config *node = &fixture->nodes[fixture->config.node_count++];
    (void)snprintf(node->name, sizeof node->name, "%s", name);
    assert_ok(oto_plugin_open(fixture_plugin(path, sizeof path, plugin), NULL, &node->plugin, &error), error);
    assert_ok(oto_params_default(oto_plugin_descriptor(node->plugin), &node->params, &error), error);
    node->vehicle = fixture->config.vehicle_count - 1;
    node->rate_num = fixture->config.clock.rate_num;
    node->rate_den = fixture->config.clock.rate_den;
    node->q_body_from_sensor = oto_quat_identity();
    return node;
}

void fixture_vehicle(struct fixture *fixture, const char *name, const char *motion)
{
    struct srv_vehicle_config *vehicle = &fixture->vehicles[fixture->config.vehicle_count++];
    (void)snprintf(vehicle->name, sizeof vehicle->name, "%s", name);
    vehicle->motion = fixture->config.node_count;
    vehicle->first_node = vehicle->motion + 1;
    (void)add_node(fixture, "motion", motion);
}

struct srv_node_config *fixture_sensor(struct fixture *fixture, const char *name, const char *plugin, uint64_t rate_num,
                                       uint64_t rate_den)
{
    struct srv_node_config *node = add_node(fixture, name, plugin);
    node->rate_num = rate_num;
    node->rate_den = rate_den;
    node->isolation.process = FIXTURE_ISOLATED;
    fixture->vehicles[node->vehicle].node_count++;
    return node;
}

void fixture_input(struct fixture *fixture, const char *name, uint32_t node, uint32_t port)
{
    struct srv_node_config *estimator = &fixture->nodes[fixture->config.node_count - 1];
    struct srv_input_config *grown =
        realloc(estimator->inputs, (estimator->input_count + 1) * sizeof *estimator->inputs);
    assert_non_null(grown);
    estimator->inputs = grown;
    struct srv_input_config *input = &estimator->inputs[estimator->input_count++];
    *input = (struct srv_input_config){.node = node, .port = port};
    (void)snprintf(input->name, sizeof input->name, "%s", name);
}

void fixture_set(struct srv_node_config *node, const char *key, const char *yaml)
{
    struct oto_error error = {0};
    assert_ok(oto_params_set(oto_plugin_descriptor(node->plugin), key, yaml, false, &node->params, &error), error);
}

void fixture_create(struct fixture *fixture)
{
    struct oto_error error = {0};
    assert_ok(srv_engine_create(&fixture->config, &fixture->options, NULL, NULL, &fixture->engine, &error), error);
}

void fixture_start(struct fixture *fixture)
{
    struct oto_error error = {0};
    if (fixture->engine == NULL) {
        fixture_create(fixture);
    }
    assert_ok(srv_engine_start(fixture->engine, fixture->privileges, sizeof fixture->privileges, &error), error);
}

void fixture_end(struct fixture *fixture)
{
    for (uint32_t i = 0; i < fixture->kept_count; i++) {
        (void)srv_change_free(fixture->kept[i].settling ? NULL : fixture->kept[i].change);
    }
    srv_engine_destroy(fixture->engine);
    for (uint32_t i = 0; i < fixture->config.node_count; i++) {
        free(fixture->nodes[i].inputs);
        oto_params_free(&fixture->nodes[i].params);
        (void)oto_plugin_close(fixture->nodes[i].plugin);
    }
    memset(fixture, 0, sizeof *fixture);
}

void fixture_expect_refusal(struct fixture *fixture, const char *words)
{
    struct oto_error error = {0};
    assert_int_not_equal(srv_engine_create(&fixture->config, &fixture->options, NULL, NULL, &fixture->engine, &error),
                         OTO_OK);
    if (strstr(error.text, words) == NULL) {
        fail_msg("'%s' is not said in: %s", words, error.text);
    }
    fixture_end(fixture);
}

uint64_t fixture_post(struct fixture *fixture, struct srv_command command)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    command.id = fixture->next_id++;
    while (!srv_engine_post(fixture->engine, &command)) {
        look_again(deadline_ns);
    }
    return command.id;
}

static bool was_kept(struct fixture *fixture, uint64_t id, struct srv_reply *reply)
{
    for (uint32_t i = 0; i < fixture->kept_count; i++) {
        if (fixture->kept[i].id == id) {
            *reply = fixture->kept[i];
            fixture->kept[i] = fixture->kept[--fixture->kept_count];
            return true;
        }
    }
    return false;
}

struct srv_reply fixture_await(struct fixture *fixture, uint64_t id)
{
    struct srv_reply reply;
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    if (was_kept(fixture, id, &reply)) {
        return reply;
    }
    for (;;) {
        struct pollfd ready = {.fd = srv_engine_notify_fd(fixture->engine), .events = POLLIN};
        while (srv_engine_take_reply(fixture->engine, &reply)) {
            if (reply.id == id) {
                return reply;
            }
            assert_true(fixture->kept_count < FIXTURE_KEPT);
            fixture->kept[fixture->kept_count++] = reply;
        }
        if (poll(&ready, 1, 1000) == 0 && fixture_now_ns() > deadline_ns) {
            fail_msg("a command was not answered");
        }
    }
}

struct srv_reply fixture_command(struct fixture *fixture, struct srv_command command)
{
    return fixture_await(fixture, fixture_post(fixture, command));
}

struct srv_reply fixture_do(struct fixture *fixture, enum srv_command_kind kind)
{
    return fixture_command(fixture, (struct srv_command){.kind = kind});
}

void fixture_step(struct fixture *fixture, uint64_t ticks)
{
    const struct srv_reply reply =
        fixture_command(fixture, (struct srv_command){.kind = SRV_COMMAND_STEP, .ticks = ticks});
    assert_int_equal(reply.status, OTO_OK);
}

void fixture_wait_state(struct fixture *fixture, enum oto_server_state state)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    const struct oto_segment_header *header = srv_engine_segment(fixture->engine);
    while (__atomic_load_n(&header->state, __ATOMIC_ACQUIRE) != (uint32_t)state) {
        look_again(deadline_ns);
    }
}

void fixture_wait_counter(struct fixture *fixture, enum oto_counter counter, uint64_t value)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (fixture_counter(fixture, counter) < value) {
        look_again(deadline_ns);
    }
}

void fixture_wait_tick(struct fixture *fixture, uint64_t tick)
{
    fixture_wait_counter(fixture, OTO_COUNTER_TICKS, tick);
}

struct srv_reply fixture_change(struct fixture *fixture, uint32_t node, const char *key, const char *yaml)
{
    struct oto_error error = {0};
    struct srv_command command = {.kind = SRV_COMMAND_PARAMS};
    assert_ok(srv_sim_change_parameter(srv_engine_sim(fixture->engine), node, key, yaml, &command.change, &error), error);
    const struct srv_reply reply = fixture_command(fixture, command);
    (void)srv_change_free(reply.change);
    return reply;
}

struct srv_reply fixture_swap(struct fixture *fixture, uint32_t node, const char *plugin)
{
    char path[512];
    struct oto_error error = {0};
    struct srv_command command = {.kind = SRV_COMMAND_SWAP};
    (void)fixture_plugin(path, sizeof path, plugin);
    assert_ok(make_plain_swap(fixture->engine, node, path, &command.change, &error), error);
    const struct srv_reply reply = fixture_command(fixture, command);
    (void)srv_change_free(reply.change);
    return reply;
}

struct srv_node_change *fixture_make_swap(struct fixture *fixture, uint32_t node, const char *plugin,
                                          struct srv_swap_options options)
{
    char path[512];
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    options.plugin = plugin != NULL ? fixture_plugin(path, sizeof path, plugin) : NULL;
    assert_ok(srv_sim_swap_load(srv_engine_sim(fixture->engine), node, &options, &change, &error), error);
    if (srv_swap_wants_snapshot(change)) {
        const struct srv_command snapshot = {.kind = SRV_COMMAND_SNAPSHOT, .change = change};
        assert_int_equal(fixture_command(fixture, snapshot).status, OTO_OK);
    }
    assert_ok(srv_sim_swap_ready(srv_engine_sim(fixture->engine), change, &error), error);
    return change;
}

struct srv_reply fixture_flip(struct fixture *fixture, struct srv_node_change *change)
{
    const struct srv_reply reply =
        fixture_command(fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    assert_int_equal(reply.status, OTO_OK);
    return reply;
}

struct srv_reply fixture_settle(struct fixture *fixture, struct srv_node_change *change, uint64_t ticks)
{
    const uint64_t id = fixture_post(fixture, (struct srv_command){.kind = SRV_COMMAND_SETTLE, .change = change});
    fixture_step(fixture, ticks);
    struct srv_reply reply = fixture_await(fixture, id);
    assert_ptr_equal(reply.change, change);
    (void)srv_change_free(reply.change);
    reply.change = NULL;
    return reply;
}

const char *fixture_params(char *path, size_t bytes, const char *yaml)
{
    (void)snprintf(path, bytes, "%s/otolith-params-XXXXXX", P_tmpdir);
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
    (void)close(fd);
    return path;
}

struct oto_clock fixture_clock(struct fixture *fixture)
{
    struct oto_clock clock = {0};
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (oto_segment_clock(srv_engine_segment(fixture->engine), &clock) != OTO_OK) {
        look_again(deadline_ns);
    }
    return clock;
}

uint64_t fixture_counter(struct fixture *fixture, enum oto_counter counter)
{
    return __atomic_load_n(&srv_engine_segment(fixture->engine)->counter[counter], __ATOMIC_RELAXED);
}

static const struct oto_segment_channel *directory(struct fixture *fixture)
{
    const struct oto_segment_header *header = srv_engine_segment(fixture->engine);
    return (const void *)((const unsigned char *)header + header->directory_offset);
}

uint32_t fixture_channel(struct fixture *fixture, const char *topic)
{
    const uint32_t count = srv_engine_segment(fixture->engine)->channel_count;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(directory(fixture)[i].topic, topic) == 0) {
            return i;
        }
    }
    fail_msg("there is no channel '%s'", topic);
    return 0;
}

struct oto_ring_view fixture_ring(struct fixture *fixture, uint32_t channel)
{
    return oto_ring_view_make(srv_engine_segment(fixture->engine), &directory(fixture)[channel]);
}

struct oto_sample_head fixture_record(struct fixture *fixture, const char *topic, uint64_t seq, void *payload)
{
    struct oto_sample_head head = {0};
    const struct oto_ring_view view = fixture_ring(fixture, fixture_channel(fixture, topic));
    assert_int_equal(oto_ring_read_at(&view, seq, &head, payload), OTO_OK);
    return head;
}

struct oto_sample_head fixture_latest(struct fixture *fixture, const char *topic, void *payload)
{
    const struct oto_ring_view view = fixture_ring(fixture, fixture_channel(fixture, topic));
    return fixture_record(fixture, topic, oto_ring_newest(&view), payload);
}

bool fixture_event(struct fixture *fixture, enum oto_event_kind kind, const char *words,
                   struct oto_event_record *event)
{
    const struct oto_ring_view view = fixture_ring(fixture, fixture_channel(fixture, "demo/@events"));
    struct oto_event_record candidate;
    struct oto_sample_head head;
    for (uint64_t seq = oto_ring_newest(&view); seq > 0; seq--) {
        if (oto_ring_read_at(&view, seq, &head, &candidate) == OTO_OK && candidate.kind == (uint32_t)kind &&
            strstr(candidate.text, words) != NULL) {
            *event = candidate;
            return true;
        }
    }
    return false;
}

struct srv_group_facts fixture_host(struct fixture *fixture, const char *name)
{
    struct srv_group_facts facts;
    for (uint32_t i = 0; srv_engine_group(fixture->engine, i, &facts); i++) {
        if (strcmp(facts.name, name) == 0) {
            return facts;
        }
    }
    fail_msg("there is no plugin host '%s'", name);
    return facts;
}

int32_t fixture_other_host(struct fixture *fixture, const char *name, int32_t pid)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    int32_t now = fixture_host(fixture, name).pid;
    while (now == pid || now == 0) {
        look_again(deadline_ns);
        now = fixture_host(fixture, name).pid;
    }
    return now;
}
