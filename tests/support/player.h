/* Participants for tests: a car that goes east, and truths that are easy to check. */
#ifndef PLAYER_H
#define PLAYER_H

#include "oto_test.h"
#include "otolith/participant.h"
#include "world_process.h"

#define PLAYER_ALL (OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL)

/* East at 10 m/s since time zero. */
static inline struct oto_truth_record player_truth(int64_t t_ns)
{
    struct oto_truth_record truth = {.position_enu_m = {1e-8 * (double)t_ns, 0, 0},
                                     .velocity_enu_m_s = {10, 0, 0},
                                     .q_enu_from_body = {1, 0, 0, 0}};
    return truth;
}

static inline struct oto_participant *player_join_as(const struct oto_participant_options *asked)
{
    struct oto_participant_options options = *asked;
    struct oto_participant *participant = NULL;
    struct oto_error error = {0};
    options.size = sizeof options;
    options.world = WORLD_NAME;
    options.timeout_ms = TEST_DEADLINE_MS;
    assert_ok(oto_participant_join(&options, &participant, &error), error);
    return participant;
}

static inline struct oto_participant *player_join(const char *name)
{
    return player_join_as(&(struct oto_participant_options){.name = name, .answer_ms = -1});
}

static inline struct oto_grant player_wait(struct oto_participant *participant)
{
    struct oto_grant grant = {0};
    struct oto_error error = {0};
    assert_ok(oto_participant_wait(participant, TEST_DEADLINE_MS, &grant, &error), error);
    return grant;
}

static inline void player_set(struct oto_participant *participant, const struct oto_grant *grant)
{
    const struct oto_truth_record truth = player_truth(grant->until_ns);
    for (uint32_t v = 0; v < oto_participant_vehicle_count(participant); v++) {
        assert_int_equal(oto_participant_set(participant, v, &truth, PLAYER_ALL), OTO_OK);
    }
}

/* One honest round. */
static inline struct oto_grant player_round(struct oto_participant *participant)
{
    const struct oto_grant grant = player_wait(participant);
    player_set(participant, &grant);
    assert_int_equal(oto_participant_done(participant, grant.until), OTO_OK);
    return grant;
}

/* The whole of a process that only plays: until the run ends. */
static inline int player_main(const char *name)
{
    const struct oto_participant_options options = {
        .size = sizeof options, .world = WORLD_NAME, .name = name, .answer_ms = -1, .timeout_ms = TEST_DEADLINE_MS};
    struct oto_participant *participant = NULL;
    struct oto_grant grant;
    enum oto_status status = oto_participant_join(&options, &participant, NULL);
    while (status == OTO_OK && (status = oto_participant_wait(participant, TEST_DEADLINE_MS, &grant, NULL)) == OTO_OK) {
        const struct oto_truth_record truth = player_truth(grant.until_ns);
        (void)oto_participant_set(participant, 0, &truth, PLAYER_ALL);
        (void)oto_participant_done(participant, grant.until);
    }
    oto_participant_leave(participant);
    return status == OTO_CLOSED ? 0 : 1;
}

#endif
