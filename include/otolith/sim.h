/*
 * The simulator as a library (libotolith-sim): worlds that run in your own process. There is no thread, socket, lock,
 * clock or global behind these functions: a process may hold any number of worlds, and each is used by one thread at a
 * time. The same world, seed and inputs give the same bits as `otolithd`, in every build, with any number of worlds beside.
 *
 *     struct oto_sim_options options = {.size = sizeof options, .path = "configs/worlds/city_drive.yaml"};
 *     oto_sim_open(&options, &sim, &error);
 *     oto_sim_channel(sim, "car/imu", &imu, &error);
 *     oto_sim_step(sim, 1000, &error);
 *     count = oto_sim_read(sim, imu.index, heads, records, 1000, &lost);
 *     oto_sim_close(sim);
 *
 * Functions that can fail return enum oto_status and fill *error (NULL is allowed) with one sentence. All of them are [loop]:
 * they may allocate and read files, except oto_sim_step, which only runs the [tick] operations of plugins.
 */
#ifndef OTOLITH_SIM_H
#define OTOLITH_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/channel.h"
#include "otolith/records.h"
#include "otolith/segment.h"
#include "otolith/status.h"
#include "otolith/swap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A world with all of its vehicles, sensors and estimators, at a tick boundary. */
struct oto_sim;

/* What a world is made of; zeroed but for `size` and one of `path` and `text`. Everything is copied. */
struct oto_sim_options {
    uint32_t size;           /* sizeof(struct oto_sim_options) */
    uint32_t override_count;
    const char *path;        /* a world file */
    const char *text;        /* or the text of a world file, YAML or JSON; relative paths in it start at the working directory */
    const char *const *overrides; /* "path=value" as `--set` takes it: "vehicles.car.nodes.imu.params.law=mavs" */
    bool has_seed;           /* `seed` replaces the seed of the file */
    bool no_state_hash;      /* saves the time of hashing large states; oto_sim_state_hash is then not meaningful */
    uint64_t seed;
    oto_warn_function warn;  /* receives warnings about implausible values, as `otolith check` prints them; NULL: none */
    void *warn_context;
};

/*
 * Reads, binds and checks the world, loads its plugins and makes every instance; the world is then at tick 0. Keys that
 * only a server needs (clock.mode, publish, control, isolation, checkpoint) are checked and have no effect: every node runs
 * in this process, as fast as oto_sim_step is called. On failure *sim is NULL.
 */
OTO_API enum oto_status oto_sim_open(const struct oto_sim_options *options, struct oto_sim **sim, struct oto_error *error);
/*
 * Closes *sim and opens a world by other options, for many runs of which each has parameters of its own: plugins that both
 * worlds have are kept, and their files are not read again. *sim may be NULL, and is NULL after a failure.
 */
OTO_API enum oto_status oto_sim_reopen(const struct oto_sim_options *options, struct oto_sim **sim, struct oto_error *error);
OTO_API void oto_sim_close(struct oto_sim *sim); /* NULL is allowed */

/*
 * Makes `ticks` ticks. OTO_AGAIN: a vehicle whose truth the caller gives (oto_sim_drive) has none for the next tick; the
 * ticks before it are made. OTO_CLOSED: the world has reached its end (clock.until_s).
 */
OTO_API enum oto_status oto_sim_step(struct oto_sim *sim, uint64_t ticks, struct oto_error *error);
/*
 * Returns to tick 0 with another seed, as if the world had been opened with it: the file is not read again, parameters,
 * plugins and faults are those of the file. Records that were not read are dropped; channels keep their indices. On failure
 * the world is at tick 0 with its previous seed.
 */
OTO_API enum oto_status oto_sim_reset(struct oto_sim *sim, uint64_t seed, struct oto_error *error);

OTO_API uint64_t oto_sim_tick(const struct oto_sim *sim);       /* ticks made */
OTO_API int64_t oto_sim_time_ns(const struct oto_sim *sim);     /* simulated, since time zero */
OTO_API uint64_t oto_sim_seed(const struct oto_sim *sim);
/* The hash chain over all states, truths and samples up to this tick: two runs with equal chains are equal. */
OTO_API uint64_t oto_sim_state_hash(const struct oto_sim *sim);
/* The name of the world: "demo" for `world: demo`. */
OTO_API const char *oto_sim_world(const struct oto_sim *sim);

/* ---- channels ---- */

/* One output of a node. Texts and the type live until oto_sim_close. */
struct oto_sim_channel {
    uint32_t index;
    uint32_t flags;                     /* OTO_CHANNEL_… of otolith/segment.h; ENABLED: a plugin fills it */
    const char *topic;                  /* "world/vehicle/node", "world/vehicle/node.taps", or its alias */
    const char *node;                   /* "world/vehicle/node" */
    const char *frame_id;
    const struct oto_record_type *type; /* name, bytes and fields of a record */
    uint64_t rate_num, rate_den;        /* records per second; 0/1 for events */
    uint32_t capacity;                  /* records that are kept unread; then the oldest are lost */
};

OTO_API uint32_t oto_sim_channel_count(const struct oto_sim *sim);
/* Gets the description of a channel by its index. OTO_NOT_FOUND: there is no such index. */
OTO_API enum oto_status oto_sim_channel_at(const struct oto_sim *sim, uint32_t index, struct oto_sim_channel *channel,
                                           struct oto_error *error);
/*
 * Finds a channel by topic or node, with or without the leading "world/"; a node means its first channel. The error
 * suggests the nearest name.
 */
OTO_API enum oto_status oto_sim_channel(const struct oto_sim *sim, const char *topic, struct oto_sim_channel *channel,
                                        struct oto_error *error);

/*
 * Takes up to `count` records that have not been read yet, oldest first: heads[] and, in `payloads`, channel->type->bytes
 * each. Either may be NULL. Returns how many. *lost (NULL is allowed) gets how many were overwritten unread before the first
 * of them, exactly: the channel's ring holds `capacity` records, at least one second in a world of up to about 80 vehicles (history_s).
 */
OTO_API size_t oto_sim_read(struct oto_sim *sim, uint32_t channel, struct oto_sample_head *heads, void *payloads,
                            size_t count, uint64_t *lost);
/* As oto_sim_read; each head stands directly before its record, sizeof(struct oto_sample_head) + channel->type->bytes together. */
OTO_API size_t oto_sim_read_samples(struct oto_sim *sim, uint32_t channel, void *samples, size_t count, uint64_t *lost);
/* The number of records that wait to be read; *lost gets the number of records that were overwritten unread. */
OTO_API uint64_t oto_sim_unread(const struct oto_sim *sim, uint32_t channel, uint64_t *lost);
/* The newest record, read or not. OTO_AGAIN: there is none yet. */
OTO_API enum oto_status oto_sim_latest(const struct oto_sim *sim, uint32_t channel, struct oto_sample_head *head,
                                       void *payload, struct oto_error *error);

/* ---- changes; each holds from the next tick on ---- */

/* Sets a parameter of a node; `yaml` as in a world file: ("car/imu", "gyroscope.constant_bias_rad_s", "[0, 0, 0.01]"). */
OTO_API enum oto_status oto_sim_set(struct oto_sim *sim, const char *node, const char *param, const char *yaml,
                                    struct oto_error *error);
/* Writes a parameter of a node as YAML into `text`. */
OTO_API enum oto_status oto_sim_get(const struct oto_sim *sim, const char *node, const char *param, char *text,
                                    size_t bytes, struct oto_error *error);
/*
 * Replaces a node's plugin; initialise `swap` with OTO_SWAP_DEFAULTS. There is no probe in another process. With
 * `shadow_ns` the flip follows at the end of the shadow. With `probation_ns` the swap is rolled back if a step fails, and
 * an event reports it. `undo` rolls back a swap on probation, `cancel` ends one in its shadow.
 */
OTO_API enum oto_status oto_sim_swap(struct oto_sim *sim, const char *node, const struct oto_swap *swap,
                                     struct oto_error *error);
/*
 * Injects a fault into a sensor's samples: YAML, one item of `faults:` of a world, "{kind: bias, value: 0.1, for_s: 5}".
 * *id (NULL is allowed) gets its number.
 */
OTO_API enum oto_status oto_sim_fault(struct oto_sim *sim, const char *node, const char *spec, uint64_t *id,
                                      struct oto_error *error);
/* Ends the fault with this number; number 0 ends all faults of the node. */
OTO_API enum oto_status oto_sim_clear_faults(struct oto_sim *sim, const char *node, uint64_t id, struct oto_error *error);
/*
 * Gives the truth of a vehicle that the caller moves (`motion: {participant: NAME}` in the world file). It is the truth at
 * the boundary that is `ticks` ticks (at least 1) after oto_sim_tick. `flags` are OTO_TRUTH_… of otolith/mailbox.h, as for
 * a participant's record. NULL truth: the vehicle holds its last truth for one tick, flagged stale.
 */
OTO_API enum oto_status oto_sim_drive(struct oto_sim *sim, const char *vehicle, const struct oto_truth_record *truth,
                                      uint32_t flags, uint64_t ticks, struct oto_error *error);
/*
 * Gives a vehicle its controls (otolith/controls.h), such as the rotors of motion_multirotor: the first `count` values, the
 * others 0. They hold from the next tick until the next call. OTO_UNSUPPORTED: the motion takes no controls; OTO_RANGE: more
 * than OTO_CONTROLS values; OTO_INVALID: one is not finite; OTO_NOT_FOUND: no such vehicle.
 */
OTO_API enum oto_status oto_sim_control(struct oto_sim *sim, const char *vehicle, const double *values, uint32_t count,
                                        struct oto_error *error);

/* ---- checkpoints ---- */

/* The state as the bytes of a checkpoint file, which `otolith run --restore` reads too. *bytes is freed by free(). */
OTO_API enum oto_status oto_sim_save(struct oto_sim *sim, void **bytes, size_t *count, struct oto_error *error);
/* Continues from a checkpoint of the same world, of any seed. On failure the world is unchanged. */
OTO_API enum oto_status oto_sim_restore(struct oto_sim *sim, const void *bytes, size_t count, struct oto_error *error);

#ifdef __cplusplus
}
#endif

#endif
