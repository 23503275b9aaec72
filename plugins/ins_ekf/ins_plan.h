/* Makes the prepared data of the steps from parameters and bound inputs. [loop] */
#ifndef INS_PLAN_H
#define INS_PLAN_H

#include "ins_filter.h"
#include "num_input.h"

/* The inputs, in the order of the table ins_inputs. */
enum ins_input { INS_IMU, INS_ODOMETER, INS_MAGNETOMETER, INS_POSITION, INS_TRUTH, INS_GNSS, INS_BAROMETER, INS_INPUTS };

enum { INS_MOST_NUMBERS = 14 }; /* limit for one input: a satellite fix with mode and velocity */

struct ins_source {
    bool bound;
    bool has_age, has_mode, has_velocity;
    struct num_number numbers[INS_MOST_NUMBERS];
    struct num_number age, mode, velocity[6]; /* velocity and its variances */
};

struct ins_prepared {
    struct ins_plan plan;
    struct ins_source sources[INS_INPUTS];
    uint32_t kinds[OTO_ESTIMATOR_MAX_INPUTS]; /* kind of each bound input: enum ins_input */
    oto_quat q_body_from_magnetometer;
};

extern const struct oto_input_port ins_inputs[INS_INPUTS];

enum oto_status ins_plan_make(const struct oto_host *host, const struct oto_setup *setup,
                              const struct ins_params *params, struct ins_prepared *prepared, struct oto_error *error);

#endif
