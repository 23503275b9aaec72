#include "attach/diagnostics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ros.h"

#define NODES_MAX 256u
#define SILENT_PERIODS 4
#define SILENT_NS INT64_C(1000000000) /* added to these periods, because sensors may publish with a latency */
#define NS_PER_S 1e9
enum { NODE_FACTS = 4, WORLD_FACTS = OTO_COUNTER_COUNT + 6 };

struct node {
    struct oto_ros_fact facts[NODE_FACTS];
};

struct report {
    struct oto_ros_fact world[WORLD_FACTS];
    uint32_t world_count;
    struct node nodes[NODES_MAX];
    struct oto_ros_status statuses[1 + NODES_MAX];
    uint32_t count;
    _Alignas(8) unsigned char payload[OTO_RECORD_MAX_BYTES];
};

/* ---- the world ---- */

double oto_histogram_quantile_us(const struct oto_histogram *histogram, double p)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < OTO_HISTOGRAM_BUCKETS; i++) {
        total += __atomic_load_n(&histogram->count[i], __ATOMIC_RELAXED);
    }
    const double wanted = p * (double)total;
    uint64_t below = 0;
    for (uint32_t i = 0; i < OTO_HISTOGRAM_BUCKETS && total > 0; i++) {
        below += __atomic_load_n(&histogram->count[i], __ATOMIC_RELAXED);
        if ((double)below >= wanted) {
            return oto_histogram_value_ns(i) * 1e-3;
        }
    }
    return 0.0;
}

__attribute__((format(printf, 3, 4))) static void add(struct report *report, const char *key, const char *format, ...)
{
    va_list arguments;
    struct oto_ros_fact *fact = &report->world[report->world_count++];
    fact->key = key;
    va_start(arguments, format);
    (void)vsnprintf(fact->value, sizeof fact->value, format, arguments);
    va_end(arguments);
}

static void add_world(struct report *report, const struct oto_client *client, const struct oto_clock *clock, uint64_t lost)
{
    static const enum oto_counter troubles[] = {OTO_COUNTER_OVERRUNS, OTO_COUNTER_ERRORS, OTO_COUNTER_STALE,
                                                OTO_COUNTER_QUARANTINED};
    const struct oto_segment_header *header = oto_client_header(client);
    struct oto_ros_status *status = &report->statuses[report->count++];
    *status = (struct oto_ros_status){.name = header->world, .message = "no trouble", .facts = report->world};
    for (uint32_t i = 0; i < OTO_COUNTER_COUNT; i++) {
        add(report, oto_counter_text(i), "%" PRIu64, __atomic_load_n(&header->counter[i], __ATOMIC_RELAXED));
    }
    add(report, "lateness_p50_us", "%.3f", oto_histogram_quantile_us(&header->lateness, 0.5));
    add(report, "lateness_p99_us", "%.3f", oto_histogram_quantile_us(&header->lateness, 0.99));
    add(report, "lateness_max_us", "%.3f", (double)__atomic_load_n(&header->lateness.max_ns, __ATOMIC_RELAXED) * 1e-3);
    add(report, "work_p99_us", "%.3f", oto_histogram_quantile_us(&header->work, 0.99));
    add(report, "real_time_factor", "%.4f", clock->real_time_factor);
    add(report, "samples_lost_here", "%" PRIu64, lost);
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        if (__atomic_load_n(&header->counter[troubles[i]], __ATOMIC_RELAXED) > 0) {
            status->level = OTO_ROS_WARN;
            status->message = "overruns, plugin errors, stale samples or quarantined nodes: see the values";
        }
    }
    if (lost > 0 && status->level == OTO_ROS_OK) {
        status->level = OTO_ROS_WARN;
        status->message = "samples were lost on their way here";
    }
    status->count = report->world_count;
}

/* ---- nodes ---- */

static bool is_silent(const struct oto_channel *channel, int64_t age_ns)
{
    return channel->rate_num > 0 &&
           (double)age_ns > SILENT_PERIODS * NS_PER_S * (double)channel->rate_den / (double)channel->rate_num + (double)SILENT_NS;
}

/* Sets the status of a node from the newest sample of a channel, if it is worse than that of its other channels. */
static void judge(struct oto_ros_status *status, const struct oto_channel *channel, const struct oto_sample_head *head, int64_t now_ns)
{
    static const struct {
        uint32_t flag;
        uint8_t level;
        const char *message;
    } table[] = {{OTO_SAMPLE_NON_FINITE, OTO_ROS_ERROR, "its last sample contains a NaN or an infinity"},
                 {OTO_SAMPLE_STALE, OTO_ROS_WARN, "its plugin host did not answer: the last sample is repeated"},
                 {OTO_SAMPLE_FAULT, OTO_ROS_WARN, "a fault is injected"},
                 {OTO_SAMPLE_SATURATED_MASK, OTO_ROS_WARN, "saturated"},
                 {OTO_SAMPLE_WARN, OTO_ROS_WARN, "its plugin warns"}};
    if (is_silent(channel, now_ns - head->t_ns) && status->level < OTO_ROS_ERROR) {
        status->level = OTO_ROS_ERROR;
        status->message = "it has not published for several periods";
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if ((head->flags & table[i].flag) != 0 && status->level < table[i].level) {
            status->level = table[i].level;
            status->message = table[i].message;
        }
    }
}

static void put_facts(struct oto_ros_fact facts[NODE_FACTS], const struct oto_client *client, const struct oto_channel *channel,
                      const struct oto_sample_head *head)
{
    struct oto_channel_identity identity;
    const bool known = oto_client_channel_identity(client, channel, &identity) == OTO_OK;
    const char *const keys[NODE_FACTS] = {"plugin", "plugin_version", "samples", "last_sample_s"};
    for (uint32_t i = 0; i < NODE_FACTS; i++) {
        facts[i].key = keys[i];
    }
    (void)snprintf(facts[0].value, sizeof facts[0].value, "%.40s", known ? identity.plugin : channel->plugin);
    (void)snprintf(facts[1].value, sizeof facts[1].value, "%.40s", known ? identity.plugin_version : channel->plugin_version);
    (void)snprintf(facts[2].value, sizeof facts[2].value, "%" PRIu64, head->seq);
    (void)snprintf(facts[3].value, sizeof facts[3].value, "%.9f", (double)head->t_ns / NS_PER_S);
}

/* The index for the status of one more node. A full report replaces a node that is OK; 0: there is no place. */
static uint32_t place_of(const struct report *report, uint8_t level)
{
    if (report->count <= NODES_MAX) {
        return report->count;
    }
    for (uint32_t i = 1; i < report->count && level > OTO_ROS_OK; i++) {
        if (report->statuses[i].level == OTO_ROS_OK) {
            return i;
        }
    }
    return 0;
}

/* Adds the status of the node whose first channel is `first`. Returns the index of the next node's first channel. */
static uint32_t add_node(struct report *report, const struct oto_client *client, uint32_t first, int64_t now_ns)
{
    const struct oto_channel *main = oto_client_channel(client, first);
    struct oto_ros_status status = {.name = main->node, .message = "publishes"};
    struct oto_sample_head newest = {.t_ns = 0};
    uint32_t i = first;
    for (; i < oto_client_channel_count(client) && strcmp(oto_client_channel(client, i)->node, main->node) == 0; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        struct oto_sample_head head = {.t_ns = 0};
        if ((channel->flags & OTO_CHANNEL_ENABLED) == 0 || channel->view.ring == NULL) {
            continue;
        }
        (void)oto_channel_latest(channel, &head, report->payload, sizeof report->payload);
        judge(&status, channel, &head, now_ns);
        newest = head.seq > newest.seq ? head : newest;
    }
    const uint32_t place = place_of(report, status.level);
    if (place > 0 && (main->flags & OTO_CHANNEL_EVENTS) == 0) {
        put_facts(report->nodes[place - 1].facts, client, main, &newest);
        status.facts = report->nodes[place - 1].facts;
        status.count = NODE_FACTS;
        report->statuses[place] = status;
        report->count += place == report->count;
    }
    return i;
}

enum oto_status oto_diagnostics_encode(const struct oto_client *client, const struct oto_clock *clock, uint64_t lost,
                                       struct oto_buffer *message)
{
    struct report *report = calloc(1, sizeof *report);
    if (report == NULL) {
        return OTO_NO_MEMORY;
    }
    add_world(report, client, clock, lost);
    for (uint32_t i = 0; i < oto_client_channel_count(client);) {
        i = add_node(report, client, i, clock->sim_time_ns);
    }
    const struct oto_ros_diagnostics diagnostics = {.statuses = report->statuses, .count = report->count};
    const struct oto_sample_head head = {.t_ns = clock->sim_time_ns};
    const enum oto_status status = oto_ros_view_encode(OTO_ROS_DIAGNOSTICS, NULL, "", &head, &diagnostics, message);
    free(report);
    return status;
}
