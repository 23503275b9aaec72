/* A copy of a record type that outlives the library of the original. [loop] */
#ifndef OTOLITH_PLUGIN_RECORD_COPY_H
#define OTOLITH_PLUGIN_RECORD_COPY_H

#include "otolith/channel.h"

/* One block with fields and texts; free() releases it. NULL if out of memory. */
struct oto_record_type *oto_record_type_copy(const struct oto_record_type *type);

#endif
