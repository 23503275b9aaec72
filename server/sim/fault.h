/*
 * Faults on demand: what goes wrong between a node and its channel. The plugin does not know: its state and noise go on
 * as without, so that the stream after a fault is the un-faulted one to the last bit. What a fault does to a sample is a
 * function of the fault, the sample's number and the samples since it began; its random numbers are the node's, in a
 * domain of their own (A18).
 *
 * A fault is made and freed by the main thread [loop]; applied by the tick thread [tick].
 */
#ifndef SRV_HOST_FAULT_H
#define SRV_HOST_FAULT_H

#include "world/world_config.h"
#include "otolith/records.h"
#include "otolith/rng.h"

/* A number of the record that the fault reaches. */
struct srv_fault_element {
    uint32_t offset;
    uint32_t bytes; /* 4 or 8 */
};

/* One fault of one node. Plain data, but for the list and the memory of past records. */
struct srv_fault {
    struct srv_fault *next;
    struct srv_fault_spec spec;
    uint32_t node;
    int64_t from_ns, until_ns; /* active in [from, until) of simulated time */
    bool begun;
    uint64_t samples; /* since it began, this one not counted */
    uint64_t slot_bytes, slot_count;
    unsigned char *memory; /* of records with their stamps */
    uint32_t element_count;
    struct srv_fault_element elements[]; /* of the port's record, in the record's order */
};

/* The sample that is taken. */
struct srv_fault_moment {
    struct oto_rng_key key;
    uint64_t n;
    int64_t t_ns;
    double rate_hz;
};

/* `descriptor` and the rate are those of the node's plugin; the spec was checked against them. NULL: no memory. */
struct srv_fault *srv_fault_make(const struct srv_fault_spec *spec, uint32_t node,
                                 const struct oto_plugin_descriptor *descriptor, double rate_hz);
/* Its times, when it is taken on at an instant. */
static inline void srv_fault_start(struct srv_fault *fault, int64_t now_ns)
{
    fault->from_ns = fault->spec.at_ns > now_ns ? fault->spec.at_ns : now_ns;
    fault->until_ns = fault->spec.for_ns < SRV_FAULT_FOR_EVER - fault->from_ns ? fault->from_ns + fault->spec.for_ns
                                                                               : SRV_FAULT_FOR_EVER;
}
void srv_fault_free(struct srv_fault *list); /* a whole list; NULL is allowed */

static inline bool srv_fault_is_active(const struct srv_fault *fault, int64_t t_ns)
{
    return t_ns >= fault->from_ns && t_ns < fault->until_ns;
}

/* The disturbance that an active fault of such a kind is at an instant. */
struct oto_disturbance srv_fault_disturbance(const struct srv_fault *fault, int64_t t_ns);

/* Does to the output of its port what the fault does; returns the label's amount. */
double srv_fault_apply(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output);

#endif
