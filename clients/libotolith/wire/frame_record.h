/* Decodes one record of a map frame by its type into a head and a payload. Pure: any thread. */
#ifndef OTO_FRAME_RECORD_H
#define OTO_FRAME_RECORD_H

#include "otolith/channel.h"
#include "wire/pack_read.h"

/*
 * Every field must occur once and fit. Keys that the type does not have are skipped. `type` has been checked
 * (base/record_check.h), `payload` has type->bytes; frame_id may be NULL.
 */
bool oto_frame_record(struct oto_pack_reader *reader, const struct oto_record_type *type, struct oto_sample_head *head,
                      void *payload, char *frame_id, size_t frame_id_bytes);

#endif
