/*
 * Whether a record that a participant gave can be the truth of a vehicle. Works on a private copy. Pure. [tick]
 */
#ifndef SRV_WORLD_ANSWER_H
#define SRV_WORLD_ANSWER_H

#include <stdint.h>

#include "otolith/mailbox.h"

/* The previous truth and the time since then, which a record of a participant must fit. */
struct srv_answer_frame {
    uint64_t tick;                           /* of the answer */
    double span_s;                           /* since `before` */
    const struct oto_truth_record *before;   /* NULL: there is none, and any record fits */
};

/*
 * NULL, or what is wrong with it, as a static text. A good record is made exact: its quaternion a unit, what its flags
 * leave out and its spare words zero.
 */
const char *srv_answer_check(const struct srv_answer_frame *frame, struct oto_mailbox_record *record);

#endif
