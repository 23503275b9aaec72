/* Sends a message over a Unix socket, with descriptors (SCM_RIGHTS). [any] */
#ifndef SRV_BASE_PASS_FD_H
#define SRV_BASE_PASS_FD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#define SRV_MOST_PASSED_FDS 65

/* As send(); `fds` gets to the receiver with the first byte. Does not wait if `flags` has MSG_DONTWAIT. */
static inline ssize_t srv_send_with_fds(int socket, const void *data, size_t bytes, const int *fds, uint32_t count, int flags)
{
    union {
        struct cmsghdr align;
        unsigned char room[CMSG_SPACE(SRV_MOST_PASSED_FDS * sizeof(int))];
    } ancillary = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = bytes};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        header.msg_control = ancillary.room;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    return sendmsg(socket, &header, flags | MSG_NOSIGNAL);
}

#endif
