/*
 * Faults of nodes: they begin and end by the time of the samples, change records between a node and its channels, and are
 * labelled.
 */
#include <string.h>

#include "sim/fault.h"
#include "sim/fifo.h"
#include "sim/sim.h"
#include "base/text.h"

static void say(struct srv_sim *sim, const struct srv_node *node, const struct srv_fault *fault, const char *what)
{
    char sentence[96];
    struct srv_text words = srv_text_begin(sentence, sizeof sentence);
    srv_text_add(&words, "fault ");
    srv_text_add_u64(&words, fault->spec.id);
    srv_text_add(&words, " (");
    srv_text_add(&words, oto_fault_kind_text(fault->spec.kind));
    srv_text_add(&words, ") ");
    srv_text_add(&words, what);
    srv_event_write(sim, OTO_EVENT_FAULT, 0, (int64_t)fault->spec.id, node->topic, sentence);
}

/* Moves an ended fault to a list. A reply takes the list to the main thread, which may free it. */
static void retire(struct srv_sim *sim, const struct srv_node *node, struct srv_fault **link)
{
    struct srv_fault *fault = *link;
    *link = fault->next;
    fault->next = sim->retired_faults;
    sim->retired_faults = fault;
    say(sim, node, fault, fault->begun ? "is over" : "was taken back");
}

/* Adds an active fault to the sample's label. The label names the first few; further faults are applied too. */
static void note(struct srv_sim *sim, const struct srv_node *node, const struct srv_fault *fault)
{
    struct oto_fault_label_record *label = &sim->label;
    if (!fault->begun) {
        say(sim, node, fault, "begins");
    }
    label->kinds |= UINT64_C(1) << fault->spec.kind;
    if (label->count < OTO_FAULT_LABELS) {
        label->id[label->count] = (uint32_t)fault->spec.id;
        label->kind[label->count] = fault->spec.kind;
        label->count++;
    }
}

void srv_faults_begin_sample(struct srv_sim *sim, struct srv_node *node)
{
    struct oto_fault_label_record *label = &sim->label;
    memset(label, 0, sizeof *label);
    for (struct srv_fault **link = &node->faults; *link != NULL;) {
        struct srv_fault *fault = *link;
        if (node->schedule.t_ns >= fault->until_ns) {
            retire(sim, node, link);
            continue;
        }
        if (srv_fault_is_active(fault, node->schedule.t_ns)) {
            note(sim, node, fault);
        }
        link = &fault->next;
    }
}

void srv_faults_disturb(const struct srv_node *node, struct oto_sensor_input *input)
{
    for (const struct srv_fault *fault = node->faults; fault != NULL; fault = fault->next) {
        if (oto_fault_is_disturbance(fault->spec.kind) && srv_fault_is_active(fault, node->schedule.t_ns) &&
            input->disturbance_count < OTO_DISTURBANCES) { /* the limit is checked when a fault is added */
            input->disturbances[input->disturbance_count++] = srv_fault_disturbance(fault, node->schedule.t_ns);
        }
    }
}

/* Copies the floating-point numbers of a record, as many as fit. */
static void copy_clean(const struct srv_port *port, const void *payload, double *clean)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < port->run_count; i++) {
        const struct oto_float_run *run = &port->runs[i];
        const unsigned char *from = (const unsigned char *)payload + run->offset;
        for (uint32_t k = 0; k < run->count && count < OTO_FAULT_CLEAN_NUMBERS; k++, count++) {
            float half;
            if (run->bytes == sizeof(double)) {
                memcpy(&clean[count], from + k * sizeof(double), sizeof(double));
            } else {
                memcpy(&half, from + k * sizeof half, sizeof half);
                clean[count] = (double)half;
            }
        }
    }
}

void srv_faults_inject(struct srv_sim *sim, struct srv_node *node, uint32_t port, uint32_t *flags)
{
    struct oto_output *output = &node->live.outputs[port];
    struct oto_fault_label_record *label = &sim->label;
    const struct srv_fault_moment moment = {.key = node->setup->noise_key,
                                            .n = node->schedule.n,
                                            .t_ns = node->schedule.t_ns,
                                            .rate_hz = node->setup->rate_hz};
    const uint32_t channel = node->live.ports[port].channel - node->first_channel; /* the port's number in fault specifications */
    uint32_t index = 0;
    if (port == 0) {
        copy_clean(&node->live.ports[0], output->payload, label->clean);
    }
    for (struct srv_fault *fault = node->faults; fault != NULL; fault = fault->next) {
        if (!srv_fault_is_active(fault, node->schedule.t_ns)) {
            continue;
        }
        if (fault->spec.port == channel) {
            const double amount = srv_fault_apply(fault, &moment, output);
            *flags |= OTO_SAMPLE_FAULT | (fault->spec.kind == OTO_FAULT_NAN ? OTO_SAMPLE_NON_FINITE : 0);
            if (index < OTO_FAULT_LABELS) {
                label->amount[index] = amount;
            }
        }
        index++;
    }
}

void srv_faults_end_sample(struct srv_sim *sim, struct srv_node *node)
{
    struct oto_fault_label_record *label = &sim->label;
    const struct srv_port *first = &node->live.ports[0];
    if (label->count == 0 || !node->labelled) {
        return;
    }
    label->sample = node->schedule.n;
    label->lost = !(first->enabled && node->live.outputs[0].emit != 0);
    label->sample_seq = label->lost ? 0 : srv_fifo_newest(node, &first->ring, first->channel);
    struct oto_sample_head head = {
        .t_ns = node->schedule.t_ns, .sensor_time_ns = node->schedule.t_ns, .flags = OTO_SAMPLE_FAULT};
    uint32_t *shown = &sim->store.directory[node->label_channel].flags;
    __atomic_store_n(shown, __atomic_load_n(shown, __ATOMIC_RELAXED) | OTO_CHANNEL_ENABLED, __ATOMIC_RELAXED);
    srv_fifo_push(node, &node->label_ring, node->label_channel, &head, label);
    srv_sim_absorb(sim, node->vehicle, &head, sizeof head);
    srv_sim_absorb(sim, node->vehicle, label, sizeof *label);
}

/* ---- commands ---- */

static uint32_t count_faults(const struct srv_node *node)
{
    uint32_t count = 0;
    for (const struct srv_fault *fault = node->faults; fault != NULL; fault = fault->next) {
        count++;
    }
    return count;
}

static void append(struct srv_node *node, struct srv_fault *fault)
{
    struct srv_fault **link = &node->faults;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    fault->next = NULL;
    *link = fault;
}

static uint32_t count_disturbances(const struct srv_node *node, int64_t t_ns)
{
    uint32_t count = 0;
    for (const struct srv_fault *fault = node->faults; fault != NULL; fault = fault->next) {
        count += oto_fault_is_disturbance(fault->spec.kind) && srv_fault_is_active(fault, t_ns);
    }
    return count;
}

/*
 * Whether the new fault would exceed the number of disturbances that a plugin gets at an instant. The number is largest
 * when one of them begins.
 */
static bool is_crowded(const struct srv_node *node, const struct srv_fault *added)
{
    bool crowded = count_disturbances(node, added->from_ns) >= OTO_DISTURBANCES;
    for (const struct srv_fault *fault = node->faults; fault != NULL; fault = fault->next) {
        crowded = crowded || (srv_fault_is_active(added, fault->from_ns) &&
                              count_disturbances(node, fault->from_ns) >= OTO_DISTURBANCES);
    }
    return crowded && oto_fault_is_disturbance(added->spec.kind);
}

enum oto_status srv_fault_begin(struct srv_sim *sim, struct srv_fault *fault, const char **reason)
{
    struct srv_node *node = &sim->nodes[fault->node];
    if (count_faults(node) >= SRV_FAULTS_OF_A_NODE) {
        *reason = "the node has 1024 faults already; clear some";
        return OTO_LIMIT;
    }
    srv_fault_start(fault, sim->schedule.t_ns + 1); /* the sample of the present instant is already published */
    if (is_crowded(node, fault)) {
        *reason = "the node has 4 disturbances at that time already, which is the limit; clear some";
        return OTO_LIMIT;
    }
    sim->newest_fault = fault->spec.id > sim->newest_fault ? fault->spec.id : sim->newest_fault;
    append(node, fault);
    return OTO_OK;
}

enum oto_status srv_faults_load(struct srv_sim *sim, struct srv_node *node, struct oto_error *error)
{
    const double rate_hz = (double)node->config->rate_num / (double)node->config->rate_den;
    for (uint32_t i = 0; i < node->config->fault_count; i++) {
        struct srv_fault_spec spec = node->config->faults[i];
        spec.id = sim->newest_fault + 1;
        struct srv_fault *fault = srv_fault_make(&spec, node->index, oto_plugin_descriptor(node->config->plugin), rate_hz);
        if (fault == NULL) {
            return oto_fail(error, OTO_NO_MEMORY, "no memory for the faults of '%s'", node->topic);
        }
        sim->newest_fault = spec.id;
        srv_fault_start(fault, 0);
        append(node, fault);
    }
    return OTO_OK;
}

enum oto_status srv_fault_clear(struct srv_sim *sim, uint32_t node_index, uint64_t id, const char **reason)
{
    struct srv_node *node = &sim->nodes[node_index];
    uint32_t cleared = 0;
    for (struct srv_fault **link = &node->faults; *link != NULL;) {
        if (id == 0 || (*link)->spec.id == id) {
            retire(sim, node, link);
            cleared++;
        } else {
            link = &(*link)->next;
        }
    }
    if (cleared == 0 && id != 0) {
        *reason = "the node has no fault of that number, or it is over";
        return OTO_NOT_FOUND;
    }
    return OTO_OK;
}
