/* Makes the messages (JSON) that describe a world to the page: description, status, events. [loop] */
#ifndef WEB_DESCRIBE_H
#define WEB_DESCRIBE_H

#include "base/json.h"
#include "otolith/client.h"
#include "otolith/records.h"
#include "source/world.h"

/* The histograms of the ticks at the previous status; differences to them are the durations since then. */
struct web_tick_times {
    uint64_t lateness[OTO_HISTOGRAM_BUCKETS], work[OTO_HISTOGRAM_BUCKETS]; /* counts at the previous status */
};

/* Makes {"op":"world",…}: channels with their record types. A page gets it after connecting and at each run. */
void web_describe_world(struct oto_json *json, struct web_world *world, bool may_control);
/* Makes {"op":"status",…}: clock, counters, times of the ticks since the last call, records of each channel. */
void web_describe_status(struct oto_json *json, const struct oto_client *client, struct web_tick_times *times, bool over);
/* Makes one event as a JSON object. */
void web_describe_event(struct oto_json *json, const struct oto_sample_head *head, const struct oto_event_record *event);

#endif
