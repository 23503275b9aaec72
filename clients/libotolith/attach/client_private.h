/* The state of a client. One thread at a time. */
#ifndef OTO_CLIENT_PRIVATE_H
#define OTO_CLIENT_PRIVATE_H

#include "attach/control_socket.h"
#include "attach/runtime.h"
#include "attach/segment_check.h"

/* How the client was opened, so that it can reattach in the same way. */
struct oto_client_origin {
    char socket_path[OTO_SOCKET_PATH_BYTES]; /* "": found by the world's name */
    char name[128];
    char role[16]; /* "": no role was requested */
};

/*
 * The channels of a client. A channel stays at the address at which it was first returned, in the directory of the
 * first run that had it. `now` are the channels of the current run, by index.
 */
struct oto_channel_book {
    struct oto_segment_directory *directories;
    uint32_t directory_count;
    struct oto_channel **now;
    uint32_t count;
};

struct oto_mirror;

struct oto_client {
    const struct oto_segment_header *header; /* the mapping */
    struct oto_segment_header *remote_header; /* header of a world on another machine, in memory of the client; else NULL */
    struct oto_mirror *mirror; /* attach/mirror.h; NULL: the channels are those of a segment */
    const struct oto_segment_channel *entries; /* in the mapping, at the offset that was checked at attach */
    uint64_t segment_bytes;
    char world[OTO_WORLD_NAME_BYTES];
    uint64_t epoch;
    struct oto_client_origin origin;
    struct oto_channel_book book;
    bool wake_asked;
    bool wakes; /* the server wakes the tick futex for this client */
    uint32_t lossless_count;
    struct oto_control_socket control;
};

/*
 * Replaces the channels by those of a new run's directory; a known channel is updated at its address. Takes ownership of
 * the directory. On OTO_NO_MEMORY book and directory are unchanged.
 */
enum oto_status oto_channel_book_turn(struct oto_channel_book *book, struct oto_segment_directory *directory);
void oto_channel_book_finish(struct oto_channel_book *book); /* zeroed is allowed */

/* ---- mirror.c: what the functions of a client do for a mirror ---- */

enum oto_status oto_mirror_clock(const struct oto_client *client, struct oto_clock *clock);
bool oto_mirror_is_over(const struct oto_client *client);
void oto_mirror_close(struct oto_mirror *mirror); /* NULL is allowed */

#endif
