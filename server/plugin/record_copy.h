/* A record type that does not end with the library it came from. [loop] */
#ifndef OTOLITH_PLUGIN_RECORD_COPY_H
#define OTOLITH_PLUGIN_RECORD_COPY_H

#include "otolith/channel.h"

/* One block with the fields and all texts: free() drops it. NULL when out of memory. */
struct oto_record_type *oto_record_type_copy(const struct oto_record_type *type);

#endif
