/*
 * Checks a record type before any record is read by it. The type comes from a plugin, a segment or a schema frame, none
 * of which is trusted. Pure: any thread.
 */
#ifndef OTO_RECORD_CHECK_H
#define OTO_RECORD_CHECK_H

#include "otolith/channel.h"
#include "otolith/status.h"

/*
 * Checks the size, and type, bounds, alignment and name of each field. A name is segments of [A-Za-z0-9_] joined by
 * dots. Names are unique, none is both a value and a map, the members of a map are adjacent, and none begins with
 * `header` or `otolith`, which the wire format adds. Returns OTO_OK, or OTO_INVALID or OTO_LIMIT with a sentence.
 */
enum oto_status oto_wire_type_check(const struct oto_record_type *type, struct oto_error *error);

/* "f64", "text", …; "" for an unknown type. */
const char *oto_field_type_text(uint32_t type);
/* The type with that name, 0 if there is none. `name` has `bytes` bytes without a NUL. */
uint32_t oto_field_type_by_text(const char *name, size_t bytes);

#endif
