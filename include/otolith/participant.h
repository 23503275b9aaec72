/*
 * Taking part in a world: another process gives vehicles their truth (role physics), keeps step with the ticks as a
 * controller, or drives the clock as its master (A12). The loop of physics is
 *
 *     oto_participant_join(&options, &participant, &error);
 *     while (oto_participant_wait(participant, 1000, &grant, &error) == OTO_OK) {
 *         … move from grant.t_ns to grant.until_ns …
 *         oto_participant_set(participant, 0, &truth, OTO_TRUTH_HAS_ACCEL | …);
 *         oto_participant_done(participant, grant.until);
 *     }
 *
 * The samples of all ticks up to grant.tick can be read (oto_participant_client) before the answer is given. A participant
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
    int32_t timeout_ms;      /* of connecting and joining; 0: 5000 */
    const char *world;       /* as in struct oto_client_options */
    const char *socket_path; /* instead of `world`; NULL */
    const char *name;        /* of the participant, as the world file calls it */
    const char *role;        /* what this process means to be: an error if the world says otherwise; NULL: any */
    uint32_t step_n;         /* ticks of one answer, up to the world's max_step_n; 0: 1 */
    int32_t answer_ms;       /* how long a tick waits for an answer, up to the world's timeout_ms; below 0: that */
    const char *on_timeout;  /* the world's policy, or hold or drop in its place; NULL: the world's */
};

/* What is asked for: the truth of each vehicle at tick `until`. */
struct oto_grant {
    uint64_t tick;  /* ticks completed: the truth to go on from is of this boundary */
    uint64_t until;
    int64_t t_ns, until_ns; /* their instants */
    double dt_s;
};

/*
 * Joins; takes effect at the next tick boundary. OTO_NOT_FOUND (no such world or participant; the error suggests),
 * OTO_EXISTS (another process has the name), OTO_DENIED, OTO_RANGE (asks for more than the world file allows),
 * OTO_CLOSED (the run has ended).
 */
OTO_API enum oto_status oto_participant_join(const struct oto_participant_options *options,
                                             struct oto_participant **participant, struct oto_error *error);
/* Leaves; what the ticks do then is the world's policy. NULL is allowed. */
OTO_API void oto_participant_leave(struct oto_participant *participant);

/* For reading samples and controlling; belongs to the participant. Do not wait for ticks with it: they wait for you. */
OTO_API struct oto_client *oto_participant_client(struct oto_participant *participant);
OTO_API enum oto_participant_role oto_participant_role_of(const struct oto_participant *participant);
OTO_API uint32_t oto_participant_vehicle_count(const struct oto_participant *participant);
/* Its name, NULL beyond the last. */
OTO_API const char *oto_participant_vehicle(const struct oto_participant *participant, uint32_t vehicle);

/*
 * Waits for a grant that is not answered yet. OTO_OK; OTO_TIMEOUT; OTO_INVALID: the last answer was refused, the error
 * says why, and a grant for another try follows; OTO_CLOSED: the run has ended, the server is gone, or the participant
 * was dropped.
 */
OTO_API enum oto_status oto_participant_wait(struct oto_participant *participant, int32_t timeout_ms,
                                             struct oto_grant *grant, struct oto_error *error);
/* The vehicle's truth at grant.tick, as the server has it: after a join or a timeout, what to go on from. */
OTO_API const struct oto_truth_record *oto_participant_truth(const struct oto_participant *participant,
                                                             uint32_t vehicle);
/*
 * The vehicle's truth at the tick that the answer will be for; OTO_TRUTH_… say which parts are given. Every vehicle's is
 * set for every answer. OTO_RANGE: there is no such vehicle; OTO_AGAIN: there is no grant to answer.
 */
OTO_API enum oto_status oto_participant_set(struct oto_participant *participant, uint32_t vehicle,
                                            const struct oto_truth_record *truth, uint32_t flags);
/* Answers: grant.tick < tick <= grant.until; earlier than `until` is an early return. OTO_AGAIN: no grant to answer. */
OTO_API enum oto_status oto_participant_done(struct oto_participant *participant, uint64_t tick);

/* Clock master, mode external: ticks may be made until `tick` are completed. */
OTO_API enum oto_status oto_participant_run_until(struct oto_participant *participant, uint64_t tick,
                                                  struct oto_error *error);
/* Ticks completed, and waiting until `tick` are. OTO_OK, OTO_TIMEOUT, OTO_CLOSED. */
OTO_API uint64_t oto_participant_completed(const struct oto_participant *participant);
OTO_API enum oto_status oto_participant_wait_completed(struct oto_participant *participant, uint64_t tick,
                                                       int32_t timeout_ms, struct oto_error *error);

/* The mapped mailbox, for tests and for clients that write it themselves. */
OTO_API struct oto_mailbox_header *oto_participant_mailbox(struct oto_participant *participant);

#ifdef __cplusplus
}
#endif

#endif
