/* What the page knows of a world, as messages in JSON: description, status, events. [loop] */
#ifndef WEB_DESCRIBE_H
#define WEB_DESCRIBE_H

#include "otolith/client.h"
#include "otolith/records.h"
#include "page/text.h"

/* Durations of the ticks since the last look, from the segment's histograms. */
struct web_tick_times {
    uint64_t lateness[OTO_HISTOGRAM_BUCKETS], work[OTO_HISTOGRAM_BUCKETS]; /* counts at the last look */
};

/* {"op":"world",…}: channels with their record types. Sent after the connection and for each run. */
void web_describe_world(struct web_text *text, const struct oto_client *client, uint32_t run, bool may_control);
/* {"op":"status",…}: clock, counters, times of the ticks since the last call, records of each channel. */
void web_describe_status(struct web_text *text, const struct oto_client *client, struct web_tick_times *times, bool over);
/* One event as a JSON object. */
void web_describe_event(struct web_text *text, const struct oto_sample_head *head, const struct oto_event_record *event);

#endif
