/* Decides when the joint filter processes the first blocks again (a replay), and which result is shown meanwhile. */
#include <string.h>

#include "joint.h"

#define REPLAYS 2
#define SURPRISE 1.5 /* factor on the assumed variance of the noise */
#define SURPRISE_RATIO 8.0
#define AGAIN_LEVER_M 0.3
#define AGAIN_LAG_S 0.05
#define LAST_REPLAY_BLOCKS 700    /* leaves room for blocks that arrive during the replay */
#define ROUGH_RAD (0.7 * OTO_DEG) /* sigma of pitch and yaw */
#define ROUGH_ROLL_RAD (4.0 * OTO_DEG)

/* Starts a state at its previous estimate, with a sigma so large that this estimate has no weight. */
static void begin_at(const struct joint_filter *from, struct joint_filter *filter, int state, double sigma)
{
    filter->extra[state - JOINT_PITCH_COMPLIANCE] = from->extra[state - JOINT_PITCH_COMPLIANCE];
    filter->covariance[state][state] = sigma * sigma;
}

/*
 * Restarts the filter for a replay. The learned noise is kept. The lever arm starts at its estimate: with a wrong lever arm
 * the filter takes the oscillation of the body on its springs for acceleration, which makes the compliance wrong.
 */
static void begin_replay(const struct joint_plan *plan, struct joint *joint)
{
    static const double sigma_rad[3] = {3.0 * OTO_DEG, 1.5 * OTO_DEG, 1.5 * OTO_DEG};
    struct joint_filter *filter = &joint->filter;
    joint->shown = *filter;
    joint->replays++;
    joint->replayed = 0;
    joint_filter_init(plan, joint->shown.q_body_from_sensor, sigma_rad, filter);
    filter->jolt_power = joint->shown.jolt_power;
    filter->accel_wander = joint->shown.accel_wander;
    filter->heave_power = joint->shown.heave_power;
    joint_gyro_carry(&joint->shown.gyro, &filter->gyro);
    for (int i = 0; i < JOINT_CHANNELS; i++) {
        const double learned = joint->shown.channels[i].scale;
        filter->channels[i].scale = filter->channels[i].usual = learned > 1.0 ? learned : 1.0;
    }
    for (int i = 0; i < 3; i++) {
        begin_at(&joint->shown, filter, JOINT_LEVER + i, AGAIN_LEVER_M);
    }
    begin_at(&joint->shown, filter, JOINT_SPEED_LAG, AGAIN_LAG_S);
}

static bool is_rough_done(const struct joint_filter *filter)
{
    return joint_sigma(filter, JOINT_MOUNT + 1) < ROUGH_RAD && joint_sigma(filter, JOINT_MOUNT + 2) < ROUGH_RAD &&
           joint_sigma(filter, JOINT_MOUNT) < ROUGH_ROLL_RAD;
}

bool joint_is_replaying(const struct joint *joint)
{
    return joint->replayed < joint->kept_count;
}

/* Steps the filter over the next kept block. */
static void replay_one(const struct joint_plan *plan, struct joint *joint)
{
    joint_filter_step(plan, &joint->filter, &joint->kept[joint->replayed++]);
}

void joint_init(const struct joint_plan *plan, struct joint *joint)
{
    memset(joint, 0, sizeof *joint);
    joint_filter_init(plan, plan->q_prior, plan->prior_sigma_rad, &joint->filter);
}

void joint_work(const struct joint_plan *plan, struct joint *joint)
{
    for (int i = 0; i < 2 && joint_is_replaying(joint); i++) {
        replay_one(plan, joint);
    }
}

/* Restarts the filter from what was known before the drive, with the newer half of the kept blocks. */
static void forget_older_half(const struct joint_plan *plan, struct joint *joint)
{
    const int older = joint->kept_count / 2;
    joint->kept_count -= older;
    memmove(joint->kept, joint->kept + older, (size_t)joint->kept_count * sizeof *joint->kept);
    joint->replayed = 0;
    joint->shown = joint->filter;
    joint_filter_init(plan, plan->q_prior, plan->prior_sigma_rad, &joint->filter);
}

/* When the room for kept blocks is nearly full: replays them if the mount is roughly known, otherwise forgets the older half. */
static void make_room(const struct joint_plan *plan, struct joint *joint)
{
    if (joint->kept_count < LAST_REPLAY_BLOCKS || joint->replays >= REPLAYS) {
        return;
    }
    if (is_rough_done(&joint->filter)) {
        begin_replay(plan, joint);
        joint->replays = REPLAYS;
    } else {
        forget_older_half(plan, joint);
    }
}

void joint_push_block(const struct joint_plan *plan, struct joint *joint, const struct joint_block *block)
{
    const bool keep = joint->kept_count < JOINT_KEPT_BLOCKS;
    if (keep) {
        joint->kept[joint->kept_count++] = *block;
    }
    if (!keep) {
        while (joint_is_replaying(joint)) { /* not reached if joint_work is called for every sample */
            replay_one(plan, joint);
        }
        joint_filter_step(plan, &joint->filter, block);
        return;
    }
    replay_one(plan, joint);
    if (joint_is_replaying(joint)) {
        return;
    }
    if (joint->replays == 0 && is_rough_done(&joint->filter)) {
        begin_replay(plan, joint);
    } else {
        make_room(plan, joint);
    }
}

bool joint_is_surprised(const struct joint *joint)
{
    const struct joint_channel *forward = &joint->filter.channels[JOINT_FORWARD];
    const struct joint_channel *upward = &joint->filter.channels[JOINT_UPWARD];
    return (forward->scale > SURPRISE && forward->scale > SURPRISE_RATIO * forward->usual) ||
           (upward->scale > SURPRISE && upward->scale > SURPRISE_RATIO * upward->usual);
}

const struct joint_filter *joint_shown(const struct joint *joint)
{
    return joint_is_replaying(joint) ? &joint->shown : &joint->filter;
}
