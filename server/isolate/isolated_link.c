/* Requests of the tick thread to a plugin host, the questions of the host, and the wait for the answer. [tick] */
#include <string.h>

#include "base/futex.h"
#include "base/monotonic.h"
#include "isolate/isolated.h"

#define SPIN_NS 60000 /* a running host usually answers within this time */
#define SPIN_STEPS 32
#define SLICE_NS (SRV_WAIT_LOOK_NS / 2) /* the longest wait between two looks at the clock */

void srv_host_link_request(struct srv_host_link *link, uint32_t instances)
{
    struct srv_host_mailbox *memory = link->host->memory;
    link->open = true;
    link->answers_left = instances * SRV_HOST_QUESTIONS_PER_STEP;
    link->silence = srv_wait_begin(srv_now_ns());
    __atomic_store_n(&memory->request, ++link->request, __ATOMIC_RELEASE);
    srv_futex_wake(&memory->request);
}

/* The sample whose step may ask a question; NULL: no step of this slot was requested. */
static const struct srv_sample *sample_in_request(const struct srv_group *group, const struct srv_host_link *link,
                                                  uint32_t slot)
{
    if (slot >= group->member_count) {
        return NULL;
    }
    const struct srv_member *member = &group->members[slot];
    const bool requested = group->swapped == member && group->trial_now.asked;
    if (link == &group->trial) {
        return requested ? &group->trial_now : NULL;
    }
    return member->in_request ? &member->now : NULL;
}

static void answer(struct srv_sim *sim, struct srv_group *group, struct srv_host_link *link, uint32_t asked)
{
    struct srv_host_mailbox *memory = link->host->memory;
    const struct srv_host_question question = memory->question;
    struct oto_sensor_input input;
    enum oto_step_status status = OTO_STEP_ERROR;
    memset(&input, 0, sizeof input);
    const struct srv_sample *sample = sample_in_request(group, link, question.slot);
    if (group->turn == SRV_TURN_SENSORS && link->answers_left > 0 && sample != NULL) {
        const struct srv_member *member = &group->members[question.slot];
        struct srv_looking_back back = {sim, member->vehicle, member->node, srv_schedule_at(&sample->schedule)};
        link->answers_left--;
        status = srv_input_at(&back, question.at, &input);
    }
    memory->answer = input;
    memory->answer_status = (uint32_t)status;
    link->answered = asked;
    __atomic_store_n(&memory->answered, asked, __ATOMIC_RELEASE);
    srv_futex_wake(&memory->answered);
}

bool srv_host_link_await(struct srv_sim *sim, struct srv_group *group, struct srv_host_link *link, int64_t budget_ns)
{
    const struct srv_host *host = link->host;
    const int64_t start_ns = srv_wait_look(&link->silence, srv_now_ns());
    int64_t passed_ns = 0;
    for (uint32_t steps = 1;; steps++) {
        const uint32_t notifications = __atomic_load_n(&host->memory->notifications, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&host->memory->done, __ATOMIC_ACQUIRE) == link->request) {
            return true;
        }
        const uint32_t asked = __atomic_load_n(&host->memory->asked, __ATOMIC_ACQUIRE);
        const bool quits = __atomic_load_n(&sim->isolation->quit, __ATOMIC_ACQUIRE) != 0;
        if (__atomic_load_n(&host->dead, __ATOMIC_ACQUIRE) != 0 || passed_ns >= budget_ns || quits) {
            return false;
        }
        if (asked != link->answered) {
            answer(sim, group, link, asked);
        } else if (steps % SPIN_STEPS != 0) {
            srv_pause();
            continue;
        } else if (passed_ns > SPIN_NS) {
            const int64_t rest_ns = budget_ns - passed_ns;
            srv_futex_wait(&host->memory->notifications, notifications, rest_ns < SLICE_NS ? rest_ns : SLICE_NS);
        }
        /* Answering questions counts against the budget, so that a host cannot ask forever. */
        passed_ns = srv_wait_look(&link->silence, srv_now_ns()) - start_ns;
    }
}
