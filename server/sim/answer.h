/*
 * Checks whether a participant's record can be the truth of a vehicle. Works on a private copy of the record. Pure. [tick]
 */
#ifndef SRV_WORLD_ANSWER_H
#define SRV_WORLD_ANSWER_H

#include <stdint.h>

#include "otolith/mailbox.h"

/* The previous truth and the time since then, which a record of a participant must fit. */
struct srv_answer_frame {
    uint64_t tick;                           /* tick of the answer */
    double span_s;                           /* time since `before` */
    const struct oto_truth_record *before;   /* previous truth; NULL: there is none, and any record fits */
};

/*
 * Returns NULL, or what is wrong with the record, as a static text. A good record is completed in place: its quaternion is
 * normalised, and the quantities that its flags leave out and its spare words become zero.
 */
const char *srv_answer_check(const struct srv_answer_frame *frame, struct oto_mailbox_record *record);

#endif
