/*
 * Requests of pages that the server answers: parameters, and with the control token changes of the run. Each request is
 * made in a worker thread with its own client, so that a slow request does not stop the data. They run one at a time, in order.
 * [loop]
 */
#ifndef WEB_CONTROL_H
#define WEB_CONTROL_H

#include <stdbool.h>
#include <uv.h>

#include "otolith/status.h"

#define WEB_CONTROL_ARGUMENTS 4u /* the first ones of a verb that a page may send */
#define WEB_CONTROL_WAITING 16u /* waiting requests of all pages together */

struct web_control;

/* Gets the reply to a request as JSON, {"op":"reply",…}. `viewer` is the argument of the request. */
typedef void (*web_control_reply)(void *context, uint64_t viewer, const char *text, size_t bytes);

enum oto_status web_control_open(uv_loop_t *loop, const char *socket_path, web_control_reply reply, void *context,
                                 struct web_control **control, struct oto_error *error);
/* OTO_NOT_FOUND: no such verb; OTO_DENIED: needs the control token; OTO_LIMIT: too many requests; OTO_INVALID: wrong arguments. */
enum oto_status web_control_request(struct web_control *control, uint64_t viewer, bool may_control, const char *number,
                                    const char *verb, const char *const *arguments, uint32_t argument_count,
                                    struct oto_error *error);

#endif
