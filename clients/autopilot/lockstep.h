/*
 * The world's side of an autopilot in the loop: a participant that gives a vehicle's controls and reads its sensors. In a world of
 * mode `external` it is the master of the clock: the world makes a tick only when the autopilot has answered (lockstep). In other
 * modes the world runs by itself and the newest controls hold. One thread.
 */
#ifndef AUTOPILOT_LOCKSTEP_H
#define AUTOPILOT_LOCKSTEP_H

#include "otolith/controls.h"
#include "otolith/participant.h"
#include "program.h"

struct lockstep {
    const char *world, *name; /* of the world, NULL: the only running one; of the participant */
    char world_name[OTO_WORLD_NAME_BYTES];
    struct oto_participant *participant; /* NULL: not joined */
    struct oto_client *client;           /* of the participant */
    const char *vehicle;
};

/* Joins. OTO_UNSUPPORTED: the participant controls no vehicle. A name that is still taken by a process that has just ended is retried. */
enum oto_status lockstep_join(struct lockstep *lockstep, struct program *program, struct oto_error *error);
void lockstep_leave(struct lockstep *lockstep);
/* After OTO_CLOSED: joins the next run of the world, at most wait_s later. OTO_CLOSED: the program is to end; OTO_TIMEOUT. */
enum oto_status lockstep_follow(struct lockstep *lockstep, struct program *program, int64_t wait_s, struct oto_error *error);

/* Whether this partner drives the clock. */
bool lockstep_drives(const struct lockstep *lockstep);
/*
 * Makes the ticks up to `tick` under the newest controls, or waits until the world has made them. OTO_CLOSED: the run is over;
 * OTO_TIMEOUT: the program is to end.
 */
enum oto_status lockstep_run(struct lockstep *lockstep, struct program *program, uint64_t tick, struct oto_error *error);
/* Ticks that are completed. */
uint64_t lockstep_tick(const struct lockstep *lockstep);

/* First tick by which an event n of a rate has happened: the smallest k with k/fb >= n/rate. */
uint64_t lockstep_tick_of(const struct lockstep *lockstep, uint64_t n, uint64_t rate_num, uint64_t rate_den);

/* How many events of a rate have happened by this tick: the largest n with n/rate <= tick/fb. */
uint64_t lockstep_events_by(const struct lockstep *lockstep, uint64_t tick, uint64_t rate_num, uint64_t rate_den);

/* A node of the vehicle by name, or (name NULL) its first with this record type; NULL with an error, or without if there is none. */
const struct oto_channel *lockstep_channel(const struct lockstep *lockstep, const char *name, const struct oto_record_type *type,
                                           struct oto_error *error);

#endif
