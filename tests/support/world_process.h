/*
 * A real otolithd with a runtime directory of its own, for tests of whole programs. Every function fails the test at a
 * deadline; nothing is waited for by time.
 */
#ifndef WORLD_PROCESS_H
#define WORLD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "otolith/client.h"

#define WORLD_NAME "w"

struct world_process {
    char root[64]; /* XDG_RUNTIME_DIR */
    char file[128];
    char log[128]; /* what it said on stderr and stdout */
    pid_t pid;     /* 0: not running */
    int exit_code; /* 128 + signal when it was killed */
};

/* A car on motion_script with an IMU (200 Hz) and a magnetometer (50 Hz); ipc and a tcp port that the kernel chooses. */
extern const char *const world_yaml;

/* Before and after a test whose state is a world_process: a directory with this world file (NULL: world_yaml). */
int world_set_up(void **state, const char *yaml);
int world_tear_down(void **state);

/* Before and after a test whose state is a running world with a client; the server must end in order and leave nothing. */
struct world_attached {
    struct world_process world;
    struct oto_client *client;
    char ipc[256], tcp[256]; /* for the test */
};
struct world_attached *world_attached_set_up(void **state, const char *yaml, const char *const *arguments);
int world_attached_tear_down(void **state);

/* Makes the directory and writes the world file (yaml NULL: world_yaml). */
void world_make(struct world_process *world, const char *yaml);
/* Starts otolithd FILE arguments… (a list that ends with NULL; NULL: none) and returns at once. */
void world_start(struct world_process *world, const char *const *arguments);
/* Waits for the control socket and attaches. */
struct oto_client *world_attach(struct world_process *world, const char *name);
/* Waits for its end and returns the exit code. */
int world_wait(struct world_process *world);
/* SIGTERM, and the end. */
int world_stop(struct world_process *world);
/* Whether anything stands in the runtime directory. */
bool world_left_something(const struct world_process *world);
/* Ends what still runs and removes all. */
void world_remove(struct world_process *world);

/* The log so far; the caller frees it. */
char *world_log(const struct world_process *world);
bool world_log_says(const struct world_process *world, const char *text);
/* Fails, with the log, unless the log contains the text. */
void world_assert_said(const struct world_process *world, const char *text);
uint64_t world_tick(const struct oto_client *client);
/* Waits until the world has made that many more ticks. Fails if it makes none for TEST_DEADLINE_MS. */
void world_advance(const struct oto_client *client, uint64_t ticks);
uint64_t world_counter(const struct oto_client *client, enum oto_counter counter);
/* A member of the server's `info` as text ("" where absent). */
void world_info(struct oto_client *client, const char *key, char *text, size_t bytes);
/* A member of the plugin host of that name as text. */
void world_host_info(struct oto_client *client, const char *name, const char *key, char *text, size_t bytes);
/* URL i of the endpoints at which the world listens, once there are so many. */
void world_endpoint(struct world_process *world, struct oto_client *client, unsigned index, char *url, size_t bytes);

int64_t test_now_ms(void);
/* Yields the processor for a moment: inside loops that watch a condition with a deadline. */
void test_yield(void);
#define TEST_DEADLINE_MS 300000 /* ends what hangs; a sanitized build on a busy machine may need minutes */

#define wait_for(condition)                                                                                            \
    do {                                                                                                               \
        const int64_t end_ms_ = test_now_ms() + TEST_DEADLINE_MS;                                                      \
        while (!(condition)) {                                                                                         \
            if (test_now_ms() > end_ms_) {                                                                             \
                print_error("waited too long for: %s\n", #condition);                                                  \
                fail();                                                                                                \
            }                                                                                                          \
            test_yield();                                                                                              \
        }                                                                                                              \
    } while (0)

#endif
