/*
 * A plugin's tables as bytes: read by a process that loaded it, for one that must not. Offsets stand in place of pointers;
 * what comes out of unpacking is checked reference by reference, whoever wrote it. Pure. [loop]
 */
#ifndef PLUGIN_DESCRIBED_H
#define PLUGIN_DESCRIBED_H

#include "otolith/plugin.h"

/* Writes descriptor and all that it refers to into `room`, aligned to 8. OTO_LIMIT when it does not fit. */
enum oto_status oto_descriptor_pack(const struct oto_plugin_descriptor *descriptor, void *room, size_t room_bytes,
                                    size_t *used, struct oto_error *error);
/* In place. The descriptor points into `packed`, which is to live as long; its values are still to be checked. */
enum oto_status oto_descriptor_unpack(void *packed, size_t bytes, const struct oto_plugin_descriptor **descriptor,
                                      struct oto_error *error);

#endif
