#include <stdlib.h>

#include "base/monotonic.h"
#include "transport/link.h"
#include "transport/subscriber.h"
#include "transport/stream.h"

/* Frames of other topics that have already arrived are skipped for this long after the deadline. */
#define DRAIN_MS 20

struct oto_subscriber {
    struct oto_link *link;
    char url[256];
    struct oto_stream stream;
};

enum oto_status oto_subscriber_open(const char *url, const char *topic, struct oto_subscriber **subscriber,
                                    struct oto_error *error)
{
    return oto_subscriber_open_tls(url, topic, NULL, subscriber, error);
}

enum oto_status oto_subscriber_open_tls(const char *url, const char *topic, const struct oto_tls_files *tls,
                                        struct oto_subscriber **subscriber, struct oto_error *error)
{
    *subscriber = NULL;
    struct oto_subscriber *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a subscriber");
    }
    (void)snprintf(made->url, sizeof made->url, "%s", url);
    enum oto_status status = oto_stream_init(&made->stream, topic, error);
    if (status == OTO_OK) {
        status = oto_link_open(url, tls, &made->link, error);
    }
    if (status != OTO_OK) {
        oto_subscriber_close(made);
        return status;
    }
    *subscriber = made;
    return OTO_OK;
}

void oto_subscriber_close(struct oto_subscriber *subscriber)
{
    if (subscriber != NULL) {
        oto_link_close(subscriber->link);
        oto_stream_finish(&subscriber->stream);
        free(subscriber);
    }
}

bool oto_subscriber_is_up(const struct oto_subscriber *subscriber)
{
    return oto_link_is_up(subscriber->link);
}

const struct oto_topics *oto_subscriber_topics(const struct oto_subscriber *subscriber)
{
    return &subscriber->stream.topics;
}

/* Explains why no sample arrived. */
static enum oto_status explain(const struct oto_subscriber *subscriber, int32_t timeout_ms, struct oto_error *error)
{
    const struct oto_stream *stream = &subscriber->stream;
    if (!oto_link_is_up(subscriber->link)) {
        return oto_fail(error, OTO_TIMEOUT, "no publisher answers at %s: %s", subscriber->url,
                        oto_link_reason(subscriber->link));
    }
    if (!stream->topics.has_schema) {
        return oto_fail(error, OTO_TIMEOUT, "%s has sent no schema within %d ms", subscriber->url, timeout_ms);
    }
    if (stream->wanted_count > 0) {
        return oto_fail(error, OTO_TIMEOUT, "no sample of '%s' within %d ms", stream->asked, timeout_ms);
    }
    if (stream->topics.count < stream->topics.total) {
        return oto_fail(error, OTO_TIMEOUT, "%s has announced %u of its %u topics within %d ms, but not '%s'",
                        subscriber->url, stream->topics.count, stream->topics.total, timeout_ms, stream->asked);
    }
    const char *near = oto_stream_nearest(stream);
    return oto_fail(error, OTO_NOT_FOUND, "world '%s' publishes no topic '%s'%s%s%s", stream->topics.world, stream->asked,
                    near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

enum oto_status oto_subscriber_next(struct oto_subscriber *subscriber, int32_t timeout_ms,
                                    struct oto_wire_sample *sample, struct oto_error *error)
{
    const int64_t deadline_ms = srv_now_ms() + timeout_ms;
    for (;;) {
        enum oto_status status = oto_stream_take(&subscriber->stream, sample);
        if (status == OTO_OK) {
            return OTO_OK;
        }
        if (status == OTO_AGAIN) {
            const unsigned char *data;
            size_t bytes;
            status = oto_link_receive(subscriber->link, deadline_ms, &data, &bytes);
            if (status == OTO_AGAIN) {
                return explain(subscriber, timeout_ms, error);
            }
            status = status != OTO_OK ? status : oto_stream_give(&subscriber->stream, data, bytes);
        }
        if (status != OTO_OK && status != OTO_AGAIN) {
            return oto_fail(error, status == OTO_NO_MEMORY ? OTO_NO_MEMORY : OTO_CORRUPT,
                            "a frame from %s cannot be decoded: %s", subscriber->url, oto_status_text(status));
        }
        if (status == OTO_AGAIN && srv_now_ms() >= deadline_ms + DRAIN_MS) {
            return explain(subscriber, timeout_ms, error);
        }
    }
}
