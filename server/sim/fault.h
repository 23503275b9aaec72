/*
 * Injected faults: modifications of samples between a node and its channel. The plugin's state and noise do not depend on
 * faults, so after a fault the stream is bit-identical to a stream without it. The effect on a sample is a function of the
 * fault, the sample's number and the samples since the fault began. Its random numbers use the node's key in a domain of
 * their own (A18).
 *
 * The main thread makes and frees a fault [loop]; the tick thread applies it [tick].
 */
#ifndef SRV_HOST_FAULT_H
#define SRV_HOST_FAULT_H

#include "world/world_config.h"
#include "otolith/records.h"
#include "otolith/rng.h"

/* A number of the record that the fault changes. */
struct srv_fault_element {
    uint32_t offset;
    uint32_t bytes; /* 4 or 8 */
};

/* One fault of one node. Plain data, except the list and the memory of past records. */
struct srv_fault {
    struct srv_fault *next;
    struct srv_fault_spec spec;
    uint32_t node;
    int64_t from_ns, until_ns; /* active in [from, until) of simulated time */
    bool begun;
    uint64_t samples; /* samples since the fault began, without the present one */
    uint64_t slot_bytes, slot_count;
    unsigned char *memory; /* past records with their times */
    uint32_t element_count;
    struct srv_fault_element elements[]; /* numbers of the port's record that change, in the record's order */
};

/* The sample to which faults are applied. */
struct srv_fault_moment {
    struct oto_rng_key key;
    uint64_t n;
    int64_t t_ns;
    double rate_hz;
};

/* `descriptor` and `rate_hz` are those of the node's plugin, against which the spec was checked. NULL: no memory. */
struct srv_fault *srv_fault_make(const struct srv_fault_spec *spec, uint32_t node,
                                 const struct oto_plugin_descriptor *descriptor, double rate_hz);
/* Sets the fault's start and end, when it is accepted at an instant. */
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

/* The disturbance that an active fault is at an instant; the fault's kind is one of the disturbances. */
struct oto_disturbance srv_fault_disturbance(const struct srv_fault *fault, int64_t t_ns);

/* Applies the fault to the output of its port. Returns the amount for the label. */
double srv_fault_apply(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output);

#endif
