/* Makes NATS subjects from the names of a world. Pure: any thread. */
#ifndef NATS_SUBJECT_H
#define NATS_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/client.h"

/* Room for "otolith." and four escaped tokens. */
enum { NATS_SUBJECT_BYTES = 512 };

/*
 * Writes `text` as one token of a subject: A-Z, a-z, 0-9, '_', '-' and '@' stay, every other byte becomes %XX. False: it does
 * not fit.
 */
bool nats_token(const char *text, size_t length, char *token, size_t bytes);

/*
 * The subject of a channel, otolith.WORLD.VEHICLE.NODE.CHANNEL; otolith.WORLD.@events for one without a vehicle. CHANNEL is
 * "main" for the first channel of a node, else the part of the topic behind the node's name, else (an alias) the name of the
 * record. `is_first`: no channel with a smaller index belongs to the node.
 */
bool nats_subject(const struct oto_channel *channel, bool is_first, char *subject, size_t bytes);

#endif
