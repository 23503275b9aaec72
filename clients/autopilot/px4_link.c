#include "px4_link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "listen_address.h"

enum oto_status px4_link_open(struct px4_link *link, struct srv_program *program, const char *listen_at, struct oto_error *error)
{
    struct sockaddr_in address;
    const int yes = 1;
    if (!listen_address(listen_at, &address)) {
        return oto_fail(error, OTO_INVALID, "--listen %s: an IPv4 address and a port are accepted, as 127.0.0.1:4560", listen_at);
    }
    link->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)setsockopt(link->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (link->listener < 0 || bind(link->listener, (const struct sockaddr *)&address, sizeof address) != 0 || listen(link->listener, 1) != 0) {
        return oto_fail(error, OTO_IO, "cannot listen on TCP %s (%s)", listen_at, strerror(errno));
    }
    socklen_t bytes = sizeof address;
    (void)getsockname(link->listener, (struct sockaddr *)&address, &bytes);
    srv_program_print(program, "listening on TCP port %u", ntohs(address.sin_port));
    return OTO_OK;
}

void px4_link_disconnect(struct px4_link *link)
{
    if (link->fd >= 0) {
        (void)close(link->fd);
    }
    link->fd = -1;
    link->out_count = 0;
    link->in.count = 0;
    link->in.is_lost = false;
}

void px4_link_close(struct px4_link *link)
{
    px4_link_disconnect(link);
    if (link->listener >= 0) {
        (void)close(link->listener);
    }
    link->listener = -1;
}

bool px4_link_accept(struct px4_link *link, struct srv_program *program, int64_t wait_ns)
{
    const int yes = 1;
    if (!srv_program_wait(program, link->listener, wait_ns)) {
        return false;
    }
    link->fd = accept4(link->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (link->fd < 0) {
        return false;
    }
    (void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    link->connections++;
    return true;
}

void px4_link_flush(struct px4_link *link)
{
    const ssize_t took = link->fd >= 0 && link->out_count > 0 ? send(link->fd, link->out, link->out_count, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
    if (took > 0) {
        link->out_count -= (size_t)took;
        memmove(link->out, link->out + took, link->out_count);
    } else if (took < 0 && errno != EAGAIN && errno != EINTR) {
        px4_link_disconnect(link);
    }
}

void px4_link_send(struct px4_link *link, const struct mavlink_message *message)
{
    unsigned char frame[MAVLINK_FRAME_BYTES];
    if (sizeof link->out - link->out_count < sizeof frame) {
        px4_link_flush(link);
    }
    if (link->fd < 0 || sizeof link->out - link->out_count < sizeof frame) {
        link->dropped++;
        return;
    }
    const size_t bytes = mavlink_write(message, link->sequence++, frame);
    memcpy(link->out + link->out_count, frame, bytes);
    link->out_count += bytes;
    link->sent++;
}

bool px4_link_receive(struct px4_link *link, struct srv_program *program, int64_t wait_ns, struct mavlink_message *message)
{
    if (mavlink_read(&link->in, message)) {
        return true;
    }
    if (link->fd < 0 || !srv_program_wait(program, link->fd, wait_ns)) {
        return false;
    }
    const ssize_t got = recv(link->fd, link->in.bytes + link->in.count, mavlink_room(&link->in), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        px4_link_disconnect(link);
        return false;
    }
    link->in.count += got > 0 ? (size_t)got : 0;
    return mavlink_read(&link->in, message);
}
