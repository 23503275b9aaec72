/*
 * Vehicles of one entry of a world file: `count`, `spread` and "{i}". The entry is parsed and bound once. For the other
 * vehicles only the values that depend on the index are written again, in the same tree, and only the nodes that hold one of
 * them are bound again. [loop]
 */
#ifndef SRV_CONFIG_COPIES_H
#define SRV_CONFIG_COPIES_H

#include "world/raw.h"

#define SRV_INDEX_DIGITS 4 /* digits of the index in car_0000: enough for the limit of vehicles */

/* A rule of `spread`: first + step · (index / every mod wrap). */
struct srv_spread_rule {
    double first, step;
    uint32_t every, wrap; /* wrap 0: none */
};

struct srv_copies_slot;

struct srv_copies {
    const struct oto_value *map; /* the entry of `vehicles` */
    uint32_t count;              /* number of vehicles; 0: one vehicle, named as in the file */
    uint32_t slot_count;
    struct srv_copies_slot *slots;
};

/* Moves the values of `spread` to their places and finds every value that depends on the index. */
enum oto_status srv_copies_make(struct oto_document *document, const struct oto_value *map, const struct srv_raw_vehicle *raw,
                                struct srv_copies *copies, struct oto_error *error);
void srv_copies_finish(struct srv_copies *copies); /* zeroed is allowed */
/* The number of vehicles of the entry: at least one. */
uint32_t srv_copies_count(const struct srv_copies *copies);
void srv_copies_name(const struct srv_copies *copies, const char *name, uint32_t index, char text[SRV_NAME_BYTES]);
/* Writes the values of vehicle `index` into the tree. */
void srv_copies_select(const struct srv_copies *copies, uint32_t index);
/* Whether anything in a part of the entry depends on the index. */
bool srv_copies_vary(const struct srv_copies *copies, const struct oto_value *part);

#endif
