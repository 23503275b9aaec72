/* A world whose vehicle is moved by participant `physics`, and this program once more as that participant. */
#ifndef HOSTILE_PLAYER_H
#define HOSTILE_PLAYER_H

#include "player.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "otolith/records.h"

#define WORLD(mode, policy)                                                                                            \
    "world: w\nseed: 7\npublish: false\nclock: {rate_hz: 1000, mode: " mode "}\n"                                      \
    "participants: [{name: physics, " policy "}]\n"                                                                    \
    "vehicles:\n  - name: car\n    motion: {participant: physics}\n    nodes:\n"                                       \
    "      - {name: imu, plugin: mems_imu, rate_hz: 200}\n"

struct fixture {
    struct world_process world;
    struct oto_client *client;
    struct oto_cursor events;
    pid_t players[4];
};

static inline int set_up(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return 0;
}

static inline void begin(struct fixture *f, const char *yaml)
{
    world_make(&f->world, yaml);
    world_start(&f->world, NULL);
    f->client = world_attach(&f->world, "test");
}

static inline void end_players(struct fixture *f)
{
    for (size_t i = 0; i < sizeof f->players / sizeof *f->players; i++) {
        if (f->players[i] != 0) {
            (void)kill(f->players[i], SIGKILL);
            (void)waitpid(f->players[i], NULL, 0);
        }
        f->players[i] = 0;
    }
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    end_players(f);
    oto_client_close(f->client);
    world_remove(&f->world);
    free(f);
    return 0;
}

/* This program once more, as a participant. */
static inline pid_t play(struct fixture *f, size_t slot, const char *name)
{
    char self[] = "/proc/self/exe", flag[] = "--play", own[32];
    (void)snprintf(own, sizeof own, "%s", name);
    char *argv[] = {self, flag, own, NULL};
    assert_int_equal(posix_spawn(&f->players[slot], self, NULL, NULL, argv, environ), 0);
    return f->players[slot];
}

static inline void reap(struct fixture *f, size_t slot, int *how)
{
    wait_for(waitpid(f->players[slot], how, WNOHANG) == f->players[slot]);
    f->players[slot] = 0;
}

static inline uint32_t state_of(const struct fixture *f)
{
    return __atomic_load_n(&oto_client_header(f->client)->state, __ATOMIC_ACQUIRE);
}

/* Whether an event of participant physics holds the words. */
static inline bool told(struct fixture *f, const char *words)
{
    struct oto_error error = {0};
    struct oto_event_record event;
    struct oto_sample_head head;
    const struct oto_channel *channel = oto_client_find(f->client, "@events", &error);
    assert_ok(channel == NULL, error);
    struct oto_reader reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
    while (oto_reader_next(&reader, &head, &event, sizeof event) == OTO_OK) {
        if (event.kind == OTO_EVENT_PARTICIPANT && strcmp(event.source, "participant physics") == 0 &&
            strstr(event.text, words) != NULL) {
            return true;
        }
    }
    return false;
}

static inline uint32_t truth_flags(const struct fixture *f)
{
    struct oto_truth_record truth;
    struct oto_sample_head head = {0};
    (void)oto_channel_latest(oto_client_find(f->client, "car/motion", NULL), &head, &truth, sizeof truth);
    return head.flags;
}

static inline void assert_answers(struct fixture *f)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    assert_ok(oto_control_info(f->client, &reply, &error), error);
}

#define fault_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
