/* What a client holds. One thread at a time. */
#ifndef OTO_CLIENT_PRIVATE_H
#define OTO_CLIENT_PRIVATE_H

#include "attach/control_socket.h"
#include "attach/segment_check.h"

struct oto_client {
    const struct oto_segment_header *header; /* the mapping */
    uint64_t segment_bytes;
    struct oto_segment_directory directory;
    bool wake_asked;
    bool wakes; /* the server wakes the tick futex for us */
    uint32_t lossless_count;
    struct oto_control_socket control;
};

#endif
