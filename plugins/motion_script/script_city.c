/* The default drive. */
#include "script.h"

/* clang-format off */
#define STOP(stand_s)              {SCRIPT_STOP, stand_s, 0.0, 2.2, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0}
#define CRUISE(for_s)              {SCRIPT_CRUISE, for_s, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.8, 0.0, 0}
#define SPEED_UP(to_m_s, by_m_s2)  {SCRIPT_ACCELERATE, 0.0, to_m_s, by_m_s2, 0.0, 0.0, 0.0, 0.0, 0.9, 0.0, 0}
#define SLOW_DOWN(to_m_s, by_m_s2) {SCRIPT_BRAKE, 0.0, to_m_s, by_m_s2, 0.0, 0.0, 0.0, 0.0, 0.9, 0.0, 0}
#define TURN(by_deg, round_m)      {SCRIPT_TURN, 0.0, 0.0, 2.0, by_deg, round_m, 0.0, 0.0, 1.0, 0.0, 0}
#define LANE(by_m, in_s)           {SCRIPT_LANE_CHANGE, in_s, 0.0, 2.0, 0.0, 0.0, 0.0, by_m, 0.8, 0.0, 0}
/* Half of the circuit, which turns by 180 deg in total. Two such halves always form a closed circuit. */
#define HALF_CIRCUIT \
    STOP(3.0), SPEED_UP(13.0, 2.0), CRUISE(5.0), LANE(3.5, 4.0), CRUISE(6.0), LANE(-3.5, 4.5), CRUISE(3.0), \
    SLOW_DOWN(5.0, 2.0), TURN(90.0, 14.0), SPEED_UP(10.0, 1.6), CRUISE(4.0), STOP(6.0), \
    SPEED_UP(9.0, 1.8), CRUISE(3.0), SLOW_DOWN(4.5, 1.7), TURN(-90.0, 10.0), SPEED_UP(11.0, 1.5), CRUISE(5.0), \
    SLOW_DOWN(5.0, 1.8), TURN(90.0, 14.0), SPEED_UP(8.0, 1.2), CRUISE(4.0), SLOW_DOWN(5.0, 1.5), TURN(90.0, 14.0), \
    SPEED_UP(12.0, 1.7), CRUISE(8.0), STOP(0.0)
/* clang-format on */

const struct script_segment script_city_drive[] = {HALF_CIRCUIT, HALF_CIRCUIT};
const uint32_t script_city_drive_count = sizeof script_city_drive / sizeof *script_city_drive;
