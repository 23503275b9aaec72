/* The children of a player: the publisher and the page. Both are readers of the playback, started again when they end. [loop] */
#ifndef SRV_PLAY_CHILDREN_H
#define SRV_PLAY_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SRV_PLAY_LISTEN_MAX 8
#define SRV_PLAY_LINK_BYTES 256

struct srv_play_child {
    const char *program; /* file name beside that of the player; NULL: not wanted, or it cannot run here */
    pid_t pid;           /* 0: not running */
    int64_t started_ns;
    int64_t pause_ns; /* from a start to the next one */
    int report_fd; /* its standard output; -1: not read */
};

struct srv_play_children {
    const char *directory; /* the runtime directory */
    const char *const *listen;
    uint32_t listen_count;
    struct srv_play_child publisher, page;
    char line[512]; /* the unfinished line of the page's reports */
    uint32_t line_bytes;
    char link[SRV_PLAY_LINK_BYTES]; /* of the page; "": it does not listen yet */
};

/* Starts the children that do not run, and reads the reports of the page. True if the page's link has become known. */
bool srv_play_children_keep(struct srv_play_children *children);
void srv_play_children_stop(struct srv_play_children *children);

#endif
