/* The records that the inertial navigation publishes. [tick] */
#ifndef INS_REPORT_H
#define INS_REPORT_H

#include "ins_filter.h"
#include "otolith/motion_model.h"

/* Descriptions of the states, in the order of the error state. */
extern const struct oto_model_quantity ins_state_quantities[INS_STATES];

/* Port "nees": normalised squared errors at the last truth. */
struct ins_nees_record {
    double part[INS_PARTS]; /* position, velocity, attitude */
    double all;             /* all nine errors together */
};
extern const struct oto_record_type ins_nees_type;
void ins_report_nees(const struct ins_state *state, struct ins_nees_record *record);

void ins_report_estimate(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns,
                         struct oto_estimate_record *record);
/* Position and velocity of the IMU, roll, pitch, yaw, biases, errors of the aids; and the sigmas of the error state. */
void ins_report_state(const struct ins_state *state, struct num_filter_state_record *record);

#endif
