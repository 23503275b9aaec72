/*
 * The line over which a receiver's messages leave: standard output, a pseudo-terminal, TCP clients or UDP datagrams.
 * Nothing blocks: what a reader does not take is dropped, as on a serial line.
 */
#ifndef CLI_GNSS_LINE_H
#define CLI_GNSS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"

enum gnss_line_kind { GNSS_LINE_STDOUT, GNSS_LINE_PTY, GNSS_LINE_TCP, GNSS_LINE_UDP };
enum { GNSS_LINE_CLIENTS = 16 };

struct gnss_line {
    enum gnss_line_kind kind;
    int fd;               /* master of the terminal, listening or sending socket */
    int terminal;         /* of a pty: its other side, kept open so that writing works without a reader */
    const char *link;     /* of a pty: a symbolic link to the terminal, or NULL */
    int clients[GNSS_LINE_CLIENTS];
    uint32_t client_count;
    uint64_t dropped; /* number of dropped messages, summed over the readers */
};

/*
 * `where`: for a pty the path of the link or NULL; for TCP [HOST:]PORT, default host 127.0.0.1, port 0 for any;
 * for UDP HOST:PORT. `place` receives the name of the terminal or the address.
 */
enum oto_status gnss_line_open(struct gnss_line *line, enum gnss_line_kind kind, const char *where, char *place,
                               size_t place_bytes, struct oto_error *error);
void gnss_line_close(struct gnss_line *line);
/* OTO_IO if standard output cannot be written. */
enum oto_status gnss_line_send(struct gnss_line *line, const void *bytes, size_t count, struct oto_error *error);

#endif
