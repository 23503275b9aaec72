/*
 * The player: a playback, its pace, and its control socket. One thread, one loop over poll(). [loop]
 */
#ifndef SRV_PLAYER_H
#define SRV_PLAYER_H

#include "daemon/control/runtime_dir.h"
#include "play/playback.h"
#include "publish/supervisor.h"
#include "wire/control_message.h"

enum { SRV_PLAYER_MOST_CLIENTS = 64 };

/* Channels that a client reads without loss, and for each the seq of the first unread record. */
struct srv_play_lossless {
    uint32_t count;
    uint32_t *channels;
    uint64_t *next;
};

struct srv_play_client {
    int fd;
    bool attached;
    struct srv_play_lossless lossless;
};

struct srv_player {
    struct srv_playback playback;
    struct srv_runtime_dir runtime;
    struct srv_supervisor *publisher, *page; /* NULL: not started */
    int listen_fd;
    const char *file;
    /* pace */
    double scale; /* simulated seconds per real second; 0: as fast as lossless readers read */
    bool paused, over, ended;
    int64_t base_ns, base_real_ns; /* the playback was at simulated time base_ns at real time base_real_ns */
    int64_t stalled_ns;            /* real time since which the playback waits for a lossless reader; 0: it does not wait */
    bool has_seek;
    int64_t seek_ns;
    /* control */
    struct srv_play_client clients[SRV_PLAYER_MOST_CLIENTS];
    uint32_t client_count;
    struct oto_message message;
    unsigned char received[OTO_MESSAGE_MAX_BYTES], reply[OTO_MESSAGE_MAX_BYTES];
};

/* Sets pause and scale from now on. */
void srv_player_pace(struct srv_player *player, bool paused, double scale);
/* Publishes the samples up to simulated time until_ns. */
enum oto_status srv_player_publish(struct srv_player *player, int64_t until_ns, struct oto_error *error);

/* ---- control.c ---- */

void srv_player_accept(struct srv_player *player);
/* Handles the requests of a client that has sent something. */
void srv_player_serve(struct srv_player *player, uint32_t client);
/* Closes the clients that are attached to the run. The others have not read anything of it: they attach to the next one. */
void srv_player_end_run(struct srv_player *player);
void srv_player_close_clients(struct srv_player *player);
/* Whether every lossless reader has taken the record that would be overwritten. */
bool srv_player_has_room(void *player, uint32_t channel);

#endif
