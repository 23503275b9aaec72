/*
 * Whether a record type can be trusted: what a plugin declares, a segment holds or a schema frame says, before anything
 * is read by it. Pure: any thread.
 */
#ifndef OTO_RECORD_CHECK_H
#define OTO_RECORD_CHECK_H

#include "otolith/channel.h"
#include "otolith/status.h"

/*
 * Size, and each field's type, bounds, alignment and name. Names are segments of [A-Za-z0-9_] joined by dots, each once,
 * none both a value and a map, the members of a map side by side, none under `header` or `otolith`, which the wire
 * adds. OTO_OK, OTO_INVALID or OTO_LIMIT with a sentence.
 */
enum oto_status oto_wire_type_check(const struct oto_record_type *type, struct oto_error *error);

/* "f64", "text", …; "" for an unknown type. */
const char *oto_field_type_text(uint32_t type);
/* The type of that name, 0 if there is none. `name` of `bytes` bytes without a NUL. */
uint32_t oto_field_type_by_text(const char *name, size_t bytes);

#endif
