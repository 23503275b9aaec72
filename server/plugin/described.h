/*
 * The tables of a plugin as bytes. A process that loaded the plugin packs them for a process that must not load it.
 * Offsets replace pointers. Unpacking checks every reference and trusts no writer. Pure. [loop]
 */
#ifndef PLUGIN_DESCRIBED_H
#define PLUGIN_DESCRIBED_H

#include "otolith/estimator.h"
#include "otolith/plugin.h"

#define OTO_DESCRIBED_MOTION (1u << 0) /* it has the motion extension */
#define OTO_DESCRIBED_ADOPT (1u << 1)  /* its motion extension has `adopt` */
#define OTO_DESCRIBED_CONTROL (1u << 2) /* it takes controls */

/* The tables of a plugin without its code. */
struct oto_description {
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_estimator_extension *estimator; /* NULL where there is none */
    uint32_t estimators;                             /* 1 or 0 */
    uint32_t facts;                                  /* bits OTO_DESCRIBED_… */
    uint32_t motion_flags;                           /* bits OTO_MOTION_… */
    uint32_t reserved;
};

/*
 * Writes the description and everything it refers to into `room`, which is aligned to 8. OTO_LIMIT if it does not fit.
 */
enum oto_status oto_description_pack(const struct oto_description *description, void *room, size_t room_bytes,
                                     size_t *used, struct oto_error *error);
/* Unpacks in place. The description points into `packed`, which must live as long. Its values are not checked here. */
enum oto_status oto_description_unpack(void *packed, size_t bytes, const struct oto_description **description,
                                       struct oto_error *error);

/* Packs the inputs of an estimator in the same way. Returns the number of bytes; `room` is NULL or has that many. */
size_t oto_bindings_pack(const struct oto_input_binding *bindings, uint32_t count, void *room);
/* Unpacks the inputs. NULL if a reference leads out of the bytes. */
const struct oto_input_binding *oto_bindings_unpack(void *packed, size_t bytes, uint32_t count);

#endif
