/*
 * The world's side of an autopilot in the loop: a participant that gives a vehicle's controls and reads its sensors. The world makes
 * a tick only when the autopilot has answered (lockstep), if the participant is the master of the clock in mode `external`, or one of
 * the controllers that the ticks wait for. Else the world runs by itself and the newest controls hold. One thread.
 */
#ifndef AUTOPILOT_LOCKSTEP_H
#define AUTOPILOT_LOCKSTEP_H

#include "otolith/controls.h"
#include "otolith/participant.h"
#include "program/program.h"

struct lockstep {
    const char *world, *name; /* name of the world (NULL: the only running one), and of the participant */
    char world_name[OTO_WORLD_NAME_BYTES];
    struct oto_participant *participant; /* NULL: not joined */
    struct oto_client *client;           /* client of the participant */
    const char *vehicle;
    struct oto_grant grant; /* of a controller: the newest one, which is answered when the autopilot has answered */
    bool has_grant;
};

/* Joins; retries while a process that has just ended still has the name. OTO_UNSUPPORTED: the participant controls no vehicle. */
enum oto_status lockstep_join(struct lockstep *lockstep, struct srv_program *program, struct oto_error *error);
void lockstep_leave(struct lockstep *lockstep);
/* After OTO_CLOSED: joins the next run of the world. OTO_CLOSED: the program must end; OTO_TIMEOUT: no run within wait_s. */
enum oto_status lockstep_follow(struct lockstep *lockstep, struct srv_program *program, int64_t wait_s, struct oto_error *error);

/* Whether the world waits for this participant. */
bool lockstep_drives(const struct lockstep *lockstep);
/*
 * Makes the ticks up to `tick` under the newest controls, or waits until the world has made them. OTO_CLOSED: the run is over;
 * OTO_TIMEOUT: the program must end.
 */
enum oto_status lockstep_run(struct lockstep *lockstep, struct srv_program *program, uint64_t tick, struct oto_error *error);
/* The number of completed ticks. */
uint64_t lockstep_tick(const struct lockstep *lockstep);

/* The first tick at or after event n of a rate: the smallest k with k/fb >= n/rate. */
uint64_t lockstep_tick_of(const struct lockstep *lockstep, uint64_t n, uint64_t rate_num, uint64_t rate_den);

/* The number of events of a rate until a tick: the largest n with n/rate <= tick/fb. */
uint64_t lockstep_events_by(const struct lockstep *lockstep, uint64_t tick, uint64_t rate_num, uint64_t rate_den);

/* The channel of a node of the vehicle by name; name NULL: the first with this type. NULL: none (an error if `name` is set). */
const struct oto_channel *lockstep_channel(const struct lockstep *lockstep, const char *name, const struct oto_record_type *type,
                                           struct oto_error *error);

#endif
