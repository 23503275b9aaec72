/* Attaches a client to the next run of its world. */
#include <poll.h>
#include <unistd.h>

#include "attach/client_private.h"
#include "attach/segment_map.h"
#include "base/monotonic.h"

#define POLL_MS 5 /* polling period for the next run */

/* True for errors that a world may cause while it ends, dies or starts. */
static bool may_pass(enum oto_status status)
{
    return status == OTO_CONFLICT || status == OTO_NOT_FOUND || status == OTO_CLOSED || status == OTO_TIMEOUT ||
           status == OTO_IO || status == OTO_LIMIT;
}

/*
 * Attaches to the current run of that name. OTO_NOT_FOUND if it is still the run that ended; CONFLICT if that run has
 * not ended.
 */
static enum oto_status open_next(const struct oto_client *client, int64_t left_ms, struct oto_client **next,
                                 struct oto_error *error)
{
    if (client->remote_header != NULL) {
        return oto_fail(error, OTO_UNSUPPORTED, "a client of another machine does not reattach: open another one");
    }
    if (!oto_client_run_is_over(client)) {
        return oto_fail(error, OTO_CONFLICT, "world '%s' still runs: there is no other run to attach to", client->world);
    }
    const struct oto_client_origin *origin = &client->origin;
    const int64_t timeout_ms = left_ms < client->control.timeout_ms ? left_ms : client->control.timeout_ms;
    const struct oto_client_options options = {.size = sizeof options,
                                               .timeout_ms = timeout_ms > 0 ? (int32_t)timeout_ms : 1,
                                               .world = client->world,
                                               .socket_path = origin->socket_path[0] != '\0' ? origin->socket_path : NULL,
                                               .name = origin->name,
                                               .role = origin->role[0] != '\0' ? origin->role : NULL};
    const enum oto_status status = oto_client_open(&options, next, error);
    if (status == OTO_OK && (*next)->epoch == client->epoch) {
        oto_client_close(*next);
        return oto_fail(error, OTO_NOT_FOUND, "the previous run has not ended yet");
    }
    return status;
}

/* Moves the mapping and the connection of `next` to `client`. */
static enum oto_status take_over(struct oto_client *client, struct oto_client *next, struct oto_error *error)
{
    if (oto_channel_book_turn(&client->book, &next->book.directories[0]) != OTO_OK) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the channels of world '%s'", client->world);
    }
    next->book.directory_count = 0;
    oto_segment_unmap(client->header, client->segment_bytes);
    client->header = next->header;
    client->entries = next->entries;
    client->segment_bytes = next->segment_bytes;
    client->epoch = next->epoch;
    next->header = NULL;
    if (client->control.fd >= 0) {
        (void)close(client->control.fd);
    }
    client->control.fd = next->control.fd;
    client->control.next_id = next->control.next_id;
    next->control.fd = -1;
    client->wake_asked = client->wakes = false;
    client->lossless_count = 0;
    return OTO_OK;
}

enum oto_status oto_client_reattach(struct oto_client *client, int32_t timeout_ms, struct oto_error *error)
{
    const int64_t deadline_ms = srv_now_ms() + timeout_ms;
    struct oto_client *next = NULL;
    struct oto_error why = {.status = OTO_OK};
    enum oto_status status = open_next(client, timeout_ms, &next, &why);
    for (int64_t left_ms = deadline_ms - srv_now_ms(); may_pass(status) && left_ms > 0; left_ms = deadline_ms - srv_now_ms()) {
        (void)poll(NULL, 0, left_ms < POLL_MS ? (int)left_ms : POLL_MS);
        status = open_next(client, deadline_ms - srv_now_ms(), &next, &why);
    }
    if (status != OTO_OK && (status == OTO_CONFLICT || !may_pass(status))) {
        return oto_fail(error, status, "%s", why.text);
    }
    if (status != OTO_OK) {
        return oto_fail(error, OTO_TIMEOUT, "world '%s' did not restart within %d ms: %.400s", client->world, timeout_ms,
                        why.text);
    }
    status = take_over(client, next, error);
    oto_client_close(next);
    return status;
}
