/*
 * Samples as PlotJuggler reads them from UDP, with the message protocol MessagePack: an array of maps {stamp, TOPIC: record},
 * where `stamp` is the simulated time in seconds and the record is that of otolith/frame.h without its header. Pure.
 */
#ifndef OTO_FRAME_PLOTJUGGLER_H
#define OTO_FRAME_PLOTJUGGLER_H

#include "otolith/frame.h"

enum oto_status oto_frame_encode_plotjuggler(struct oto_buffer *buffer, const struct oto_channel *channel,
                                             const struct oto_sample_head *heads, const void *payloads, uint32_t count);

#endif
