/*
 * A mirror: a client whose channels are filled by a publisher on another machine. Its rings and header are in the memory of
 * this process; readers, oto_client_find and oto_channel_latest work as with a segment. The wire has samples only: there is no
 * control, no lossless reading and no statistics of ticks, the clock has the newest time of a sample and the number of
 * samples as its tick, and the base rate is the greatest rate of a channel. A mirror ends with the run. One thread at a time.
 */
#ifndef OTO_MIRROR_H
#define OTO_MIRROR_H

#include "otolith/client.h"

/*
 * Subscribes to `topic` ("": all) at `url` and waits for the publisher's schema, at most timeout_ms. OTO_NOT_FOUND: it publishes
 * no such topic; OTO_TIMEOUT: no publisher, or no complete schema. oto_client_close() closes it.
 */
enum oto_status oto_mirror_open(const char *url, const char *topic, const struct oto_tls_files *tls, int32_t timeout_ms,
                                struct oto_client **client, struct oto_error *error);

bool oto_client_is_mirror(const struct oto_client *client);
/*
 * oto_client_clock() takes samples that have arrived, at most a quarter of a ring: a reader that reads all rings after each call
 * loses none. This function takes all that have arrived, for a client that wants the newest ones.
 */
void oto_mirror_catch_up(const struct oto_client *client);
/* Why oto_client_run_is_over() is true. */
const char *oto_mirror_reason(const struct oto_client *client);

#endif
