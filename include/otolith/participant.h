/*
 * Participation in a world: another process gives vehicles their truth (role physics), runs in step with the ticks
 * (role controller), or drives the clock (role master; A12). Controllers and masters may give a vehicle its controls. The loop of a physics process is
 *
 *     oto_participant_join(&options, &participant, &error);
 *     while (oto_participant_wait(participant, 1000, &grant, &error) == OTO_OK) {
 *         … move from grant.t_ns to grant.until_ns …
 *         oto_participant_set(participant, 0, &truth, OTO_TRUTH_HAS_ACCEL | …);
 *         oto_participant_done(participant, grant.until);
 *     }
 *
 * The samples of all ticks up to grant.tick can be read (oto_participant_client) before answering. A participant
 * belongs to one thread at a time.
 */
#ifndef OTOLITH_PARTICIPANT_H
#define OTOLITH_PARTICIPANT_H

#include "otolith/client.h"
#include "otolith/mailbox.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oto_participant;

struct oto_participant_options {
    uint32_t size;
    int32_t timeout_ms;      /* timeout of connecting and joining; 0: 20000 */
    const char *world;       /* as in struct oto_client_options */
    const char *socket_path; /* control socket, used instead of `world`; NULL: none */
    const char *name;        /* name of the participant in the world file */
    const char *role;        /* expected role; it is an error if the world file has another one; NULL: any */
    uint32_t step_n;         /* ticks of one answer, up to the world's max_step_n; 0: 1 */
    int32_t answer_ms;       /* how long a tick waits for an answer, up to the world's timeout_ms; negative: the
                              * world's */
    const char *on_timeout;  /* "hold" or "drop" instead of the world's policy; NULL: the world's */
};

/* A request for the truth of each vehicle at tick `until`. */
struct oto_grant {
    uint64_t tick;  /* ticks completed: the answer continues from the truth at this boundary */
    uint64_t until;
    int64_t t_ns, until_ns; /* instants of these two boundaries */
    double dt_s;
};

/*
 * Joins; takes effect at the next tick boundary. OTO_NOT_FOUND (no such world or participant; the error suggests a
 * name), OTO_EXISTS (another process has the name), OTO_DENIED, OTO_RANGE (a request beyond the world file's limits),
 * OTO_CLOSED (the run has ended).
 */
OTO_API enum oto_status oto_participant_join(const struct oto_participant_options *options,
                                             struct oto_participant **participant, struct oto_error *error);
/* Leaves. The following ticks use the world's policy. NULL is allowed. */
OTO_API void oto_participant_leave(struct oto_participant *participant);

/*
 * A client for reading samples and for control; it belongs to the participant. Do not wait for ticks with it: the ticks
 * wait for the answer.
 */
OTO_API struct oto_client *oto_participant_client(struct oto_participant *participant);
OTO_API enum oto_participant_role oto_participant_role_of(const struct oto_participant *participant);
OTO_API uint32_t oto_participant_vehicle_count(const struct oto_participant *participant);
/* The name of a vehicle of the participant; NULL beyond the last. */
OTO_API const char *oto_participant_vehicle(const struct oto_participant *participant, uint32_t vehicle);

/*
 * Waits for a grant that has not been answered. OTO_OK; OTO_TIMEOUT; OTO_INVALID: the last answer was refused for the
 * reason in the error, and a new grant follows; OTO_CLOSED: the run has ended, the server has died, or the participant
 * was dropped.
 */
OTO_API enum oto_status oto_participant_wait(struct oto_participant *participant, int32_t timeout_ms,
                                             struct oto_grant *grant, struct oto_error *error);
/* The server's truth of the vehicle at grant.tick, from which to continue after a join or a timeout. */
OTO_API const struct oto_truth_record *oto_participant_truth(const struct oto_participant *participant,
                                                             uint32_t vehicle);
/*
 * Sets the vehicle's truth at the tick that will be answered; `flags` are OTO_TRUTH_… and say which parts are set. Set
 * every vehicle before each answer. OTO_RANGE: no such vehicle; OTO_AGAIN: there is no grant to answer.
 */
OTO_API enum oto_status oto_participant_set(struct oto_participant *participant, uint32_t vehicle,
                                            const struct oto_truth_record *truth, uint32_t flags);
/*
 * Answers: grant.tick < tick <= grant.until; a tick before `until` is an early return. OTO_AGAIN: no grant to answer.
 */
OTO_API enum oto_status oto_participant_done(struct oto_participant *participant, uint64_t tick);

/* The name of the vehicle that has `controls: NAME` of this participant in the world file; NULL: none. */
OTO_API const char *oto_participant_controlled(const struct oto_participant *participant);
/*
 * Sets the controls of that vehicle (otolith/controls.h): the first `count` values, the others 0. They hold from the next
 * tick boundary until the next call. Controls that are set before oto_participant_done or oto_participant_run_until hold
 * for the ticks that this function allows. OTO_UNSUPPORTED: the participant controls no vehicle; OTO_RANGE: more than
 * OTO_CONTROLS values; OTO_INVALID: one is not finite.
 */
OTO_API enum oto_status oto_participant_control(struct oto_participant *participant, const double *values, uint32_t count);

/* For the master of the clock in mode external: allows ticks until `tick` of them are completed. */
OTO_API enum oto_status oto_participant_run_until(struct oto_participant *participant, uint64_t tick,
                                                  struct oto_error *error);
/* The number of completed ticks; and the wait until it reaches `tick`: OTO_OK, OTO_TIMEOUT, OTO_CLOSED. */
OTO_API uint64_t oto_participant_completed(const struct oto_participant *participant);
OTO_API enum oto_status oto_participant_wait_completed(struct oto_participant *participant, uint64_t tick,
                                                       int32_t timeout_ms, struct oto_error *error);

/* The mapped mailbox, for tests and for clients that write it directly. */
OTO_API struct oto_mailbox_header *oto_participant_mailbox(struct oto_participant *participant);

#ifdef __cplusplus
}
#endif

#endif
