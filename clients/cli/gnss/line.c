#include "gnss/line.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

/* ---- terminal ---- */

static enum oto_status fail_errno(struct oto_error *error, const char *what, const char *where)
{
    return oto_fail(error, OTO_IO, "%s '%.200s': %s", what, where, strerror(errno));
}

/* A serial line without echo and without translation of line ends. */
static void make_raw(int terminal)
{
    struct termios settings;
    if (tcgetattr(terminal, &settings) == 0) {
        cfmakeraw(&settings);
        (void)tcsetattr(terminal, TCSANOW, &settings);
    }
}

/* Makes the symbolic link to the terminal. An existing link is replaced; any other file at that path is an error. */
static enum oto_status make_link(struct gnss_line *line, const char *where, const char *terminal, struct oto_error *error)
{
    char old[256];
    if (readlink(where, old, sizeof old) >= 0) {
        (void)unlink(where);
    }
    if (symlink(terminal, where) != 0) {
        return fail_errno(error, "cannot make the link", where);
    }
    line->link = where;
    return OTO_OK;
}

static enum oto_status open_terminal(struct gnss_line *line, const char *where, char *place, size_t place_bytes,
                                     struct oto_error *error)
{
    line->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (line->fd < 0 || grantpt(line->fd) != 0 || unlockpt(line->fd) != 0 || ptsname_r(line->fd, place, place_bytes) != 0) {
        return fail_errno(error, "cannot open", "/dev/ptmx");
    }
    line->terminal = open(place, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (line->terminal < 0) {
        return fail_errno(error, "cannot open", place);
    }
    make_raw(line->terminal);
    return where != NULL ? make_link(line, where, place, error) : OTO_OK;
}

/* ---- sockets ---- */

static enum oto_status resolve(const char *where, bool tcp, struct addrinfo **found, struct oto_error *error)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = tcp ? SOCK_STREAM : SOCK_DGRAM,
                                   .ai_flags = AI_NUMERICSERV | (tcp ? AI_PASSIVE : 0)};
    char host[256];
    const char *colon = strrchr(where, ':');
    const size_t host_bytes = colon != NULL ? (size_t)(colon - where) : 0;
    if (host_bytes >= sizeof host || (colon == NULL && !tcp)) {
        return oto_fail(error, OTO_INVALID, "'%.200s' is not %s", where, tcp ? "[HOST:]PORT" : "HOST:PORT");
    }
    (void)snprintf(host, sizeof host, "%.*s", (int)host_bytes, where);
    const int code = getaddrinfo(host_bytes > 0 ? host : "127.0.0.1", colon != NULL ? colon + 1 : where, &hints, found);
    return code == 0 ? OTO_OK : oto_fail(error, OTO_INVALID, "'%.200s': %s", where, gai_strerror(code));
}

/* Writes the address of the socket in numbers, with the port that the kernel chose. */
static void name_socket(int fd, char *place, size_t place_bytes)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    char host[64] = "", port[16] = "";
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) == 0) {
        (void)getnameinfo((struct sockaddr *)&address, bytes, host, sizeof host, port, sizeof port,
                          NI_NUMERICHOST | NI_NUMERICSERV);
    }
    (void)snprintf(place, place_bytes, "%s:%s", host, port);
}

static enum oto_status open_socket(struct gnss_line *line, const char *where, char *place, size_t place_bytes,
                                   struct oto_error *error)
{
    const bool tcp = line->kind == GNSS_LINE_TCP;
    const int on = 1;
    struct addrinfo *found = NULL;
    const enum oto_status status = resolve(where, tcp, &found, error);
    if (status != OTO_OK) {
        return status;
    }
    line->fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol);
    bool good = line->fd >= 0;
    if (good && tcp) {
        (void)setsockopt(line->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        good = bind(line->fd, found->ai_addr, found->ai_addrlen) == 0 && listen(line->fd, GNSS_LINE_CLIENTS) == 0;
        name_socket(line->fd, place, place_bytes);
    } else if (good) {
        good = connect(line->fd, found->ai_addr, found->ai_addrlen) == 0;
        (void)snprintf(place, place_bytes, "%s", where);
    }
    const int why = errno;
    freeaddrinfo(found);
    errno = why;
    return good ? OTO_OK : fail_errno(error, tcp ? "cannot listen on" : "cannot send to", where);
}

static void accept_clients(struct gnss_line *line)
{
    for (;;) {
        const int client = accept4(line->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0) {
            return;
        }
        if (line->client_count == GNSS_LINE_CLIENTS) {
            (void)close(client);
        } else {
            line->clients[line->client_count++] = client;
        }
    }
}

/* A client that cannot take a whole message is disconnected: half a message would corrupt its stream. */
static void send_to_clients(struct gnss_line *line, const void *bytes, size_t count)
{
    uint32_t kept = 0;
    accept_clients(line);
    for (uint32_t i = 0; i < line->client_count; i++) {
        if (send(line->clients[i], bytes, count, MSG_NOSIGNAL) == (ssize_t)count) {
            line->clients[kept++] = line->clients[i];
        } else {
            line->dropped++;
            (void)close(line->clients[i]);
        }
    }
    line->client_count = kept;
}

/* ---- the line ---- */

enum oto_status gnss_line_open(struct gnss_line *line, enum gnss_line_kind kind, const char *where, char *place,
                               size_t place_bytes, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    memset(line, 0, sizeof *line);
    line->kind = kind;
    line->fd = line->terminal = -1;
    if (kind == GNSS_LINE_STDOUT) {
        line->fd = STDOUT_FILENO;
        (void)snprintf(place, place_bytes, "standard output");
    } else if (kind == GNSS_LINE_PTY) {
        status = open_terminal(line, where, place, place_bytes, error);
    } else {
        status = open_socket(line, where, place, place_bytes, error);
    }
    if (status != OTO_OK) {
        gnss_line_close(line);
    }
    return status;
}

void gnss_line_close(struct gnss_line *line)
{
    for (uint32_t i = 0; i < line->client_count; i++) {
        (void)close(line->clients[i]);
    }
    if (line->link != NULL) {
        (void)unlink(line->link);
    }
    if (line->terminal >= 0) {
        (void)close(line->terminal);
    }
    if (line->fd >= 0 && line->kind != GNSS_LINE_STDOUT) {
        (void)close(line->fd);
    }
    memset(line, 0, sizeof *line);
    line->fd = line->terminal = -1;
}

static enum oto_status write_all(struct gnss_line *line, const char *bytes, size_t count, struct oto_error *error)
{
    for (size_t done = 0; done < count;) {
        const ssize_t written = write(line->fd, bytes + done, count - done);
        if (written < 0 && errno != EINTR) {
            return oto_fail(error, OTO_IO, "the output could not be written: %s", strerror(errno));
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return OTO_OK;
}

enum oto_status gnss_line_send(struct gnss_line *line, const void *bytes, size_t count, struct oto_error *error)
{
    switch (line->kind) {
    case GNSS_LINE_TCP:
        send_to_clients(line, bytes, count);
        return OTO_OK;
    case GNSS_LINE_UDP: /* without a receiver the kernel reports ECONNREFUSED for an earlier datagram */
        line->dropped += send(line->fd, bytes, count, MSG_NOSIGNAL) != (ssize_t)count;
        return OTO_OK;
    case GNSS_LINE_PTY:
        line->dropped += write(line->fd, bytes, count) != (ssize_t)count;
        return OTO_OK;
    default:
        return write_all(line, (const char *)bytes, count, error);
    }
}
