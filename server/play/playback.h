/*
 * Serves a recording from a segment. The channels are those of the recorded world. The records keep their seq and times, and
 * are published when the simulated clock of the playback has reached them. Readers count a sample that the file lacks as
 * lost. There is no thread here; the caller passes the time. [loop]
 */
#ifndef SRV_PLAYBACK_H
#define SRV_PLAYBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/segment/segment.h"
#include "recording/recorded.h"
#include "sim/ring_writer.h"

struct srv_playback {
    struct recorded *recorded;
    char world[OTO_WORLD_NAME_BYTES];
    struct srv_channel_spec *specs; /* one for each channel */
    struct srv_ring *rings;
    uint64_t rate_num, rate_den; /* base rate of the recorded world */
    struct srv_segment segment;
    int64_t t_ns;                /* simulated time of the playback: everything before it is published */
    int64_t start_ns, end_ns;    /* first and last simulated time of the recording */
    struct recorded_sample next; /* the next sample of the file, not published yet */
    bool has_next;
    uint64_t published, out_of_order; /* numbers of samples; out_of_order: older than a published one of the channel, and dropped */
};

/* Opens a recording. `name`: name of the served world; NULL: the name of the recorded world. */
enum oto_status srv_playback_open(struct srv_playback *playback, const char *path, const char *name, struct oto_error *error);
/* Makes a new segment, whose run begins with the first sample at or after t_ns. The previous one is marked as closed. */
enum oto_status srv_playback_start(struct srv_playback *playback, int64_t t_ns, struct oto_error *error);
/* Whether a record may be written to a channel now; called before each record. */
typedef bool srv_playback_room_function(void *context, uint32_t channel);
/*
 * Publishes up to `most` samples that are not after t_ns, as far as has_room allows, then the clock. OTO_CLOSED: the file has
 * no more samples; OTO_AGAIN: more samples are due.
 */
enum oto_status srv_playback_advance(struct srv_playback *playback, int64_t t_ns, uint32_t most,
                                     srv_playback_room_function *has_room, void *context, struct oto_error *error);
/* Writes state, mode and scale to the segment header, for readers. */
void srv_playback_state(const struct srv_playback *playback, enum oto_server_state state, enum oto_clock_mode mode,
                        double scale);
void srv_playback_close(struct srv_playback *playback); /* zeroed is allowed */

#endif
