/* What a client holds. One thread at a time. */
#ifndef OTO_CLIENT_PRIVATE_H
#define OTO_CLIENT_PRIVATE_H

#include "attach/control_socket.h"
#include "attach/runtime.h"
#include "attach/segment_check.h"

/* With what it was opened, to attach in the same way again. */
struct oto_client_origin {
    char socket_path[OTO_SOCKET_PATH_BYTES]; /* "": by the world's name */
    char name[128];
    char role[16]; /* "": none was asked for */
};

/*
 * Channels as they were given out, which stay where they are for good: each lies in the directory of the first run that
 * had it. `now` are those of the run attached to, by their index.
 */
struct oto_channel_book {
    struct oto_segment_directory *directories;
    uint32_t directory_count;
    struct oto_channel **now;
    uint32_t count;
};

struct oto_client {
    const struct oto_segment_header *header; /* the mapping */
    const struct oto_segment_channel *entries; /* in it, where they were found sound: its header may change */
    uint64_t segment_bytes;
    char world[OTO_WORLD_NAME_BYTES];
    uint64_t epoch;
    struct oto_client_origin origin;
    struct oto_channel_book book;
    bool wake_asked;
    bool wakes; /* the server wakes the tick futex for us */
    uint32_t lossless_count;
    struct oto_control_socket control;
};

/*
 * The channels of a directory become those of the run attached to; what is known already is renewed in its place. Takes
 * the directory over; on OTO_NO_MEMORY neither is changed.
 */
enum oto_status oto_channel_book_turn(struct oto_channel_book *book, struct oto_segment_directory *directory);
void oto_channel_book_finish(struct oto_channel_book *book); /* zeroed is allowed */

#endif
