/*
 * A plugin's tables as bytes: read by a process that loaded it, for one that must not. Offsets stand in place of pointers;
 * what comes out of unpacking is checked reference by reference, whoever wrote it. Pure. [loop]
 */
#ifndef PLUGIN_DESCRIBED_H
#define PLUGIN_DESCRIBED_H

#include "otolith/estimator.h"
#include "otolith/plugin.h"

#define OTO_DESCRIBED_MOTION (1u << 0) /* it has the extension of motions */
#define OTO_DESCRIBED_ADOPT (1u << 1)  /* and that has `adopt` */

/* What a plugin says of itself, without its code. */
struct oto_description {
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_estimator_extension *estimator; /* NULL where there is none */
    uint32_t estimators;                             /* 1, or 0 */
    uint32_t facts;                                  /* OTO_DESCRIBED_… */
    uint32_t motion_flags;                           /* OTO_MOTION_… */
    uint32_t reserved;
};

/* Writes the description and all that it refers to into `room`, aligned to 8. OTO_LIMIT when it does not fit. */
enum oto_status oto_description_pack(const struct oto_description *description, void *room, size_t room_bytes,
                                     size_t *used, struct oto_error *error);
/* In place. The description points into `packed`, which is to live as long; its values are still to be checked. */
enum oto_status oto_description_unpack(void *packed, size_t bytes, const struct oto_description **description,
                                       struct oto_error *error);

/* What an estimator listens to, likewise. Returns the bytes that it takes; `room` is NULL or has as many. */
size_t oto_bindings_pack(const struct oto_input_binding *bindings, uint32_t count, void *room);
/* NULL where a reference leads out of the bytes. */
const struct oto_input_binding *oto_bindings_unpack(void *packed, size_t bytes, uint32_t count);

#endif
