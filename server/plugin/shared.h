/*
 * Constant bytes that several instances hold, of any worlds of this process: equal bytes have one copy, which is freed with
 * its last holder. [any thread, not the tick thread]
 */
#ifndef OTOLITH_PLUGIN_SHARED_H
#define OTOLITH_PLUGIN_SHARED_H

#include <stddef.h>

struct plugin_shared;

/* The copy of these bytes, made if there is none; NULL when out of memory. */
struct plugin_shared *plugin_shared_hold(const void *bytes, size_t count);
const void *plugin_shared_bytes(const struct plugin_shared *shared);
void plugin_shared_drop(struct plugin_shared *shared);

#endif
