/* The state of a world as a diagnostic_msgs/msg/DiagnosticArray, for the recorder and the page's server. One thread. */
#ifndef OTO_DIAGNOSTICS_H
#define OTO_DIAGNOSTICS_H

#include "otolith/client.h"
#include "otolith/frame.h"

/*
 * The state at the time of `clock`, which is the stamp of the message. The first status has the counters and the lateness of the ticks of this run, and `lost`, the samples that the caller has
 * lost. Each further status describes a node by its newest samples. The message has at most 256 nodes; in a larger world nodes
 * that are not OK have priority. Replaces the contents of `message`.
 */
enum oto_status oto_diagnostics_encode(const struct oto_client *client, const struct oto_clock *clock, uint64_t lost,
                                       struct oto_buffer *message);

/* The quantile p in (0, 1) of a histogram, in us; 0 if it is empty. Another thread may write the histogram meanwhile. */
double oto_histogram_quantile_us(const struct oto_histogram *histogram, double p);

#endif
