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

/* The record types of a run: the first channel of each. Channels of further types are not described. */
#define WEB_TYPES_MAX 256u
struct web_types {
    const struct oto_channel *first[WEB_TYPES_MAX];
    uint32_t count;
};
void web_describe_types(struct web_types *types, const struct oto_client *client);

/*
 * Makes {"op":"world",…}: record types, and channels in as many messages as they need, so that a world of any size costs a
 * connection a bounded queue. *next is set to the index of the first channel that the message does not have.
 */
void web_describe_world(struct oto_json *json, struct web_world *world, const struct web_types *types, bool may_control,
                        uint32_t *next);
/* Makes {"op":"channels",…}: the channels from *next on. */
void web_describe_channels(struct oto_json *json, const struct oto_client *client, const struct web_types *types, uint32_t *next);
/* Makes {"op":"status",…}: clock, counters, times of the ticks since the last call. */
void web_describe_status(struct oto_json *json, const struct oto_client *client, struct web_tick_times *times, bool over);
/* Makes {"op":"records",…}: [index, newest seq, plugin] of some channels. A swap changes the plugin. */
void web_describe_records(struct oto_json *json, const struct oto_client *client, const uint32_t *channels, uint32_t count);
/* Makes one event as a JSON object. */
void web_describe_event(struct oto_json *json, const struct oto_sample_head *head, const struct oto_event_record *event);

#endif
