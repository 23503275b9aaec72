/* The state of a world as a diagnostic_msgs/msg/DiagnosticArray, for the recorder and the page's server. One thread. */
#ifndef OTO_DIAGNOSTICS_H
#define OTO_DIAGNOSTICS_H

#include "otolith/client.h"
#include "otolith/frame.h"

/*
 * The first status has the counters and the lateness of the ticks of this run, and `lost`, the samples that the caller has
 * lost; each further one is that of a node, from its newest samples. At most 256 nodes: in a larger world those that are not
 * OK come first. Replaces the contents of `message`.
 */
enum oto_status oto_diagnostics_encode(const struct oto_client *client, uint64_t lost, struct oto_buffer *message);

/* The quantile p in (0, 1) of a histogram that somebody writes meanwhile, in us; 0 if it is empty. */
double oto_histogram_quantile_us(const struct oto_histogram *histogram, double p);

#endif
