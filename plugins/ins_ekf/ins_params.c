/* The parameter table. */
#include "ins_params.h"

/* clang-format off */
static const struct oto_named_value psds[] = {{"single", INS_PSD_SINGLE}, {"double", INS_PSD_DOUBLE}};
static const struct oto_named_value aligns[] = {{"rest", INS_ALIGN_REST}, {"given", INS_ALIGN_GIVEN}};
static const struct oto_named_value headings[] = {{"given", INS_HEADING_GIVEN}, {"magnetometer", INS_HEADING_MAGNETOMETER}};
static const struct oto_named_value channel[] = {{"channel", INS_OF_CHANNEL}};
static const struct oto_named_value world[] = {{"world", INS_OF_WORLD}};

#define ROW(KEY, MEMBER, N, FLAGS, LEAST, MOST, DEFAULT, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = (N), .offset = OTO_PARAM_AT(struct ins_params, MEMBER), .flags = (FLAGS), \
     .minimum = (LEAST), .maximum = (MOST), .default_value = (DEFAULT), .unit = UNIT, .text = TEXT}
#define ONE(KEY, MEMBER, LEAST, MOST, DEFAULT, UNIT, TEXT) ROW(KEY, MEMBER, 1, 0, LEAST, MOST, DEFAULT, UNIT, TEXT)
#define ABOVE(KEY, MEMBER, MOST, DEFAULT, UNIT, TEXT) ROW(KEY, MEMBER, 1, OTO_PARAM_OPEN_MIN, 0, MOST, DEFAULT, UNIT, TEXT)
#define THREE(KEY, MEMBER, LEAST, MOST, DEFAULT, UNIT, TEXT) ROW(KEY, MEMBER, 3, OTO_PARAM_SCALAR_FILLS, LEAST, MOST, DEFAULT, UNIT, TEXT)
#define WORD(KEY, MEMBER, TABLE, TEXT) \
    {.key = KEY, .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct ins_params, MEMBER), .maximum = 1, .unit = "", \
     .text = TEXT, .names = TABLE, .name_count = 2}
#define SWITCH(KEY, MEMBER, DEFAULT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct ins_params, MEMBER), .maximum = 1, \
     .default_value = (DEFAULT), .unit = "", .text = TEXT}
#define PLACE(KEY, MEMBER, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct ins_params, MEMBER), .minimum = -1e4, \
     .maximum = 1e4, .default_value = INS_OF_CHANNEL, .unit = "m", .text = TEXT, .names = channel, .name_count = 1, \
     .flags = OTO_PARAM_SCALAR_FILLS}
#define GATE(KEY, MEMBER) ONE(KEY, MEMBER, 0, 0.9999999999, 0, "", "probability that a good measurement passes (chi-square); 0: no gate")
#define TRIAD(NAME, U, UNIT, DENSITY, SIGMA, WALK) \
    ABOVE(#NAME ".noise_density_" U "_rthz", NAME.noise_density_u_rthz, 1e3, DENSITY, UNIT "/sqrt(Hz)", "white noise of each axis, as in the part's file"), \
    THREE(#NAME ".bias_" U, NAME.bias_u, -1e3, 1e3, 0, UNIT, "what is known of its bias, in sensor axes"), \
    ONE(#NAME ".bias_sigma_" U, NAME.bias_sigma_u, 0, 1e3, SIGMA, UNIT, "standard deviation of the rest of it"), \
    ONE(#NAME ".bias_tau_s", NAME.bias_tau_s, 0, 1e9, 0, "s", "correlation time of a first-order Gauss-Markov bias of that deviation; 0: it walks"), \
    ONE(#NAME ".bias_walk_" U "_rts", NAME.bias_walk_u_rts, 0, 1e3, WALK, UNIT "/sqrt(s)", "with bias_tau_s 0: random walk of the bias")

const struct oto_param ins_param_table[INS_PARAM_COUNT] = {
    ROW("sample_rate_hz", sample_rate_hz, 1, OTO_PARAM_RATE, 0, 1e6, 0, "Hz", "estimates a second; 0: the world's rate, offline one at each sample"),
    WORD("psd", psd, psds, "noise densities are single-sided (data sheets) or double-sided (Allan's N, Kalibr)"),
    TRIAD(gyroscope, "rad_s", "rad/s", 1.2e-4, 0.005, 1e-5),
    TRIAD(accelerometer, "m_s2", "m/s^2", 1.2e-3, 0.1, 1e-4),
    SWITCH("earth_rate", earth_rate, 0, "the Earth turns, as with `environment.earth_rate`"),
    SWITCH("gravity_turns", gravity_turns, 0, "gravity turns with the place and falls with height, as with `environment.gravity: wgs84`"),
    WORD("align.from", align, aligns, "rest: levelled at standstill; given: from `initial` at the first sample"),
    WORD("align.heading", heading, headings, "rest: heading from initial.rpy_deg, or from the magnetometer"),
    ABOVE("align.duration_s", align_s, 3600, 1, "s", "rest: of the standstill that is averaged over"),
    ABOVE("align.rate_rad_s", align_rate_rad_s, 10, 0.05, "rad/s", "rest: a larger rate about an axis is no standstill"),
    ABOVE("align.force_m_s2", align_force_m_s2, 100, 0.5, "m/s^2", "rest: specific force further from gravity's is no standstill"),
    THREE("initial.position_enu_m", position_enu_m, 0, 0, 0, "m", "of the body origin"),
    THREE("initial.position_sigma_m", position_sigma_m, 0, 1e7, 1, "m", "standard deviation of it"),
    THREE("initial.velocity_enu_m_s", velocity_enu_m_s, -1e4, 1e4, 0, "m/s", "align.from given: of the body origin"),
    ONE("initial.velocity_sigma_m_s", velocity_sigma_m_s, 0, 1e4, 0.05, "m/s", "standard deviation of each component"),
    THREE("initial.rpy_deg", rpy_deg, -360, 360, 0, "deg", "roll, pitch, yaw from east; at rest the yaw alone counts"),
    THREE("initial.rpy_sigma_deg", rpy_sigma_deg, 0, 180, 5, "deg", "standard deviation about body x, y, z"),
    SWITCH("initial.position_from_fix", position_from_fix, 0, "rest: the position is that of the last fix while aligning"),
    {.key = "odometer.field", .type = OTO_PARAM_TEXT, .count = sizeof ((struct ins_params *)0)->odometer_field,
     .offset = OTO_PARAM_AT(struct ins_params, odometer_field), .default_text = "speed_m_s", .unit = "", .text = "of the odometer's record: speed along body x"},
    PLACE("odometer.position_m", odometer_position_m, "where on the body that speed is measured"),
    ABOVE("odometer.sigma_m_s", odometer_sigma_m_s, 1e3, 0.05, "m/s", "standard deviation of the speed"),
    ONE("odometer.scale_sigma", odometer_scale_sigma, 0, 1, 0, "1", "standard deviation of the odometer's scale; 0: it is exact"),
    ONE("odometer.slip_sigma_percent_m_s2", odometer_slip_sigma_percent_m_s2, 0, 100, 0.3, "%/(m/s^2)", "standard deviation of the slip of its wheels with specific force, one of drive and one of braking"),
    ONE("odometer.coloured_sigma_m_s", odometer_coloured_sigma_m_s, 0, 1e3, 0, "m/s", "standard deviation of the part of its error that is correlated in time: ticks, filters; 0: none"),
    ABOVE("odometer.coloured_tau_s", odometer_coloured_tau_s, 1e6, 0.5, "s", "correlation time of that part"),
    ONE("odometer.window_s", odometer_window_s, 0, 1, 0, "s", "time over which its speed is a mean: the sample period of a wheel encoder; 0: it is of an instant"),
    ONE("odometer.tick_m", odometer_tick_m, 0, 1, 0, "m", "way between two edges of a wheel encoder, which ends its mean at the last edge; 0: it has none"),
    SWITCH("odometer.signed", odometer_signed, 1, "false: it tells magnitudes"),
    GATE("odometer.gate", odometer_gate),
    ONE("nonholonomic.rate_hz", nonholonomic_rate_hz, 0, 1e4, 10, "Hz", "how often it is said that wheels do not slip sideways nor lift; 0: never"),
    THREE("nonholonomic.position_m", nonholonomic_position_m, -1e4, 1e4, 0, "m", "where on the body that holds: a rear axle"),
    ROW("nonholonomic.sigma_m_s", nonholonomic_sigma_m_s, 2, OTO_PARAM_SCALAR_FILLS | OTO_PARAM_OPEN_MIN, 0, 1e3, 0.15, "m/s", "standard deviation sideways and upwards, springs and slip included"),
    ONE("nonholonomic.angle_sigma_deg", nonholonomic_angle_sigma_deg, 0, 45, 0.2, "deg", "standard deviation of the constant yaw and pitch of the body against its path"),
    ROW("nonholonomic.compliance_sigma_deg_s2_m", nonholonomic_compliance_sigma_deg_s2_m, 2, OTO_PARAM_SCALAR_FILLS, 0, 45, 0.3, "deg/(m/s^2)", "standard deviation of side slip with specific force to the left, and of pitch on the springs with specific force ahead"),
    GATE("nonholonomic.gate", nonholonomic_gate),
    ONE("zero_velocity.rate_hz", still_rate_hz, 0, 1e4, 5, "Hz", "how often standstill is said while the odometer tells it; 0: never"),
    ONE("zero_velocity.threshold_m_s", still_threshold_m_s, 0, 10, 0.001, "m/s", "an odometer's speed up to it is standstill"),
    ONE("zero_velocity.after_s", still_s, 0, 3600, 0.5, "s", "for so long it must have been"),
    ABOVE("zero_velocity.sigma_m_s", still_sigma_m_s, 1e3, 0.02, "m/s", "standard deviation of the velocity at standstill"),
    ABOVE("zero_velocity.sigma_rad_s", still_sigma_rad_s, 1e3, 0.002, "rad/s", "standard deviation of the rate at standstill, beside the gyroscope's noise"),
    ONE("zero_velocity.gate", still_gate, 0, 0.9999999999, 0.9999, "", "probability that a standstill passes (chi-square): ticks show the first centimetres late; 0: no gate"),
    ABOVE("magnetometer.sigma_deg", magnetometer_sigma_deg, 180, 3, "deg", "standard deviation of the heading"),
    ONE("magnetometer.coloured_sigma_deg", magnetometer_coloured_sigma_deg, 0, 180, 0, "deg", "standard deviation of the part of its error that is correlated in time: iron of the car and of the street; 0: none"),
    ABOVE("magnetometer.coloured_tau_s", magnetometer_coloured_tau_s, 1e6, 20, "s", "correlation time of that part"),
    {.key = "magnetometer.declination_deg", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct ins_params, magnetometer_declination_deg),
     .minimum = -180, .maximum = 180, .default_value = INS_OF_WORLD, .unit = "deg", .names = world, .name_count = 1, .text = "magnetic north, east of north; world: the field's at the origin"},
    ONE("magnetometer.magnitude_percent", magnetometer_magnitude_percent, 0, 1e4, 20, "%", "a field further from the world's is not used; 0: any"),
    GATE("magnetometer.gate", magnetometer_gate),
    PLACE("position.position_m", position_fix_m, "where on the body fixes are of"),
    ROW("position.sigma_m", position_fix_sigma_m, 3, OTO_PARAM_SCALAR_FILLS | OTO_PARAM_OPEN_MIN, 0, 1e7, 1, "m", "standard deviation east, north and up"),
    GATE("position.gate", position_fix_gate),
    PLACE("gnss.position_m", gnss_position_m, "where on the body the antenna is"),
    ONE("gnss.correlated_share", gnss_correlated_share, 0, 0.999999, 0.5, "1", "part of the fixes' variance that is correlated in time; the rest is white"),
    ABOVE("gnss.tau_s", gnss_tau_s, 1e9, 100, "s", "correlation time of that part"),
    GATE("gnss.gate", gnss_gate),
    SWITCH("gnss.velocity", gnss_velocity, 1, "the receiver's velocity is used, where its record has one"),
    ONE("gnss.velocity_correlated_share", gnss_velocity_correlated_share, 0, 0.999999, 0.5, "1", "part of the velocity's variance that is correlated in time; the rest is white"),
    ABOVE("gnss.velocity_tau_s", gnss_velocity_tau_s, 1e9, 10, "s", "correlation time of that part"),
    ABOVE("barometer.sigma_m", barometer_sigma_m, 1e4, 0.3, "m", "standard deviation of the height, white"),
    ONE("barometer.walk_m_rts", barometer_walk_m_rts, 0, 1e3, 0.05, "m/sqrt(s)", "random walk of its offset: weather; the offset at the start is unknown"),
    ONE("barometer.flow_sigma", barometer_flow_sigma, 0, 2, 0.1, "1", "standard deviation of the share of the dynamic pressure that its port feels"),
    GATE("barometer.gate", barometer_gate),
    ONE("late_limit_s", late_limit_s, 0, 10, 0.5, "s", "an aid from further behind the filter's time is left out"),
    ABOVE("imu_gap.longest_s", max_imu_gap_s, 10, 0.1, "s", "a longer time between IMU samples is a gap: noise is added for it"),
    ONE("imu_gap.accel_m_s2", gap_accel_m_s2, 0, 1e3, 2, "m/s^2", "unknown acceleration in a gap"),
    ONE("imu_gap.rate_rad_s", gap_rate_rad_s, 0, 1e2, 0.2, "rad/s", "unknown angular rate in a gap"),
};
/* clang-format on */
