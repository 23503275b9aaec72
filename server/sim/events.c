#include <string.h>

#include "sim/sim.h"
#include "base/text.h"

void srv_count(struct srv_sim *sim, enum oto_counter counter, uint64_t delta)
{
    srv_count_shared(sim->store.header, counter, (int64_t)delta);
}

/* Events are not hashed, because they may contain wall-clock times. */
void srv_event_push(struct srv_sim *sim, struct oto_event_record *event)
{
    struct oto_sample_head head = {.t_ns = sim->schedule.t_ns, .sensor_time_ns = sim->schedule.t_ns};
    event->tick = sim->tick;
    srv_ring_push(&sim->events, &head, event);
}

void srv_event_write(struct srv_sim *sim, enum oto_event_kind kind, uint32_t severity, int64_t value,
                     const char *source, const char *text)
{
    struct oto_event_record event;
    memset(&event, 0, sizeof event);
    event.kind = (uint32_t)kind;
    event.severity = severity;
    event.value = value;
    struct srv_text words = srv_text_begin(event.source, sizeof event.source);
    srv_text_add(&words, source);
    words = srv_text_begin(event.text, sizeof event.text);
    srv_text_add(&words, text);
    srv_event_push(sim, &event);
}
