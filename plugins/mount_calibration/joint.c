/* When the first blocks are run through again, and what is shown meanwhile. */
#include <string.h>

#include "joint.h"

#define REPLAYS 2
#define SECOND_MOST 0.5 /* of log-likelihood that a second may speak for a level path */
#define BELIEVED 85.0   /* of that, in all */
#define BELIEVED_MOST 110.0
#define DOUBTED 60.0
#define TORN 10.0
#define LAST_REPLAY_BLOCKS 700    /* leaves room for those that come in meanwhile */
#define ROUGH_RAD (0.7 * OTO_DEG) /* of pitch and yaw */
#define ROUGH_ROLL_RAD (4.0 * OTO_DEG)

static void init_filters(const struct joint_plan *plan, oto_quat q_body_from_sensor, const double sigma_rad[3],
                         struct joint *joint)
{
    for (uint32_t path = 0; path < JOINT_PATHS; path++) {
        joint_filter_init(plan, path, q_body_from_sensor, sigma_rad, &joint->filters[path]);
    }
}

static void follow_road(struct joint *joint)
{
    joint->belief = (struct joint_belief){0};
    joint->path = JOINT_FOLLOWS;
}

/*
 * Roads follow unless second after second speaks against it: what one says for a level path is clipped, what it says
 * against one is not. On a road that follows, a shaken sensor is foretold a little better by the level path for many
 * seconds, and very much worse wherever grade changes.
 */
static void judge_path(struct joint *joint, double more)
{
    struct joint_belief *belief = &joint->belief;
    if (joint->replays == 0 || joint->filters[JOINT_FOLLOWS].refused > 0) {
        return;
    }
    if (joint->filters[JOINT_STAYS_LEVEL].refused > 0 && more > 0.0) {
        return;
    }
    belief->sum += more < SECOND_MOST ? more : SECOND_MOST;
    belief->sum = belief->sum < 0.0 ? 0.0 : belief->sum > BELIEVED_MOST ? BELIEVED_MOST : belief->sum;
    if (belief->sum >= BELIEVED) {
        joint->path = JOINT_STAYS_LEVEL;
    } else if (belief->sum < DOUBTED) {
        joint->path = JOINT_FOLLOWS;
    }
}

static void step_filters(const struct joint_plan *plan, struct joint *joint, const struct joint_block *block)
{
    double more[JOINT_PATHS];
    for (uint32_t path = 0; path < JOINT_PATHS; path++) {
        struct joint_filter *filter = &joint->filters[path];
        const double before = filter->fit;
        joint_filter_step(plan, filter, block);
        more[path] = filter->fit - before;
    }
    if (more[JOINT_FOLLOWS] != 0.0) { /* a second is complete */
        judge_path(joint, more[JOINT_STAYS_LEVEL] - more[JOINT_FOLLOWS]);
    }
}

static void begin_replay(const struct joint_plan *plan, struct joint *joint)
{
    static const double sigma_rad[3] = {3.0 * OTO_DEG, 1.5 * OTO_DEG, 1.5 * OTO_DEG};
    double jolt_power[JOINT_PATHS], heave_power[JOINT_PATHS]; /* learned, and not to be learned again */
    joint->shown = joint->filters[joint->path];
    joint->replays++;
    joint->replayed = 0;
    follow_road(joint); /* its blocks are judged anew */
    for (uint32_t path = 0; path < JOINT_PATHS; path++) {
        jolt_power[path] = joint->filters[path].jolt_power;
        heave_power[path] = joint->filters[path].heave_power;
    }
    init_filters(plan, joint->shown.q_body_from_sensor, sigma_rad, joint);
    for (uint32_t path = 0; path < JOINT_PATHS; path++) {
        joint->filters[path].jolt_power = jolt_power[path];
        joint->filters[path].heave_power = heave_power[path];
    }
}

const struct joint_filter *joint_live(const struct joint *joint)
{
    return &joint->filters[joint->path];
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

/* One block of those that are kept. */
static void replay_one(const struct joint_plan *plan, struct joint *joint)
{
    step_filters(plan, joint, &joint->kept[joint->replayed++]);
}

bool joint_is_torn(const struct joint *joint)
{
    return joint->path == JOINT_FOLLOWS && joint->belief.sum > TORN;
}

void joint_init(const struct joint_plan *plan, struct joint *joint)
{
    memset(joint, 0, sizeof *joint);
    init_filters(plan, plan->q_prior, plan->prior_sigma_rad, joint);
}

void joint_work(const struct joint_plan *plan, struct joint *joint)
{
    for (int i = 0; i < 2 && joint_is_replaying(joint); i++) {
        replay_one(plan, joint);
    }
}

/* Kept blocks begin anew where the mount is not even roughly known when there is no more room. */
static void make_room(const struct joint_plan *plan, struct joint *joint)
{
    if (joint->kept_count < LAST_REPLAY_BLOCKS || joint->replays >= REPLAYS) {
        return;
    }
    if (is_rough_done(joint_live(joint))) {
        begin_replay(plan, joint);
        joint->replays = REPLAYS;
    } else {
        joint->kept_count = 0;
        joint->replayed = 0;
        init_filters(plan, plan->q_prior, plan->prior_sigma_rad, joint);
    }
}

void joint_push_block(const struct joint_plan *plan, struct joint *joint, const struct joint_block *block)
{
    const bool keep = joint->kept_count < JOINT_KEPT_BLOCKS;
    if (keep) {
        joint->kept[joint->kept_count++] = *block;
    }
    if (!keep) {
        while (joint_is_replaying(joint)) { /* not reached where joint_work is called for every sample */
            replay_one(plan, joint);
        }
        step_filters(plan, joint, block);
        return;
    }
    replay_one(plan, joint);
    if (joint_is_replaying(joint)) {
        return;
    }
    if (joint->replays == 0 && is_rough_done(joint_live(joint))) {
        begin_replay(plan, joint);
    } else {
        make_room(plan, joint);
    }
}

const struct joint_filter *joint_shown(const struct joint *joint)
{
    return joint_is_replaying(joint) ? &joint->shown : joint_live(joint);
}
