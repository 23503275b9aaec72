#include "world/raw.h"
#include "world/section.h"

/* clang-format off */
#define COUNT(table) (sizeof(table) / sizeof *(table))
#define KEYS(table) .keys = (table), .key_count = COUNT(table)
#define AT(type, member) .offset = (uint32_t)offsetof(struct type, member), \
                         .bytes = (uint32_t)sizeof(((struct type *)0)->member)
#define RANGE(low, high) .minimum = (low), .maximum = (high)
#define AMPLITUDE_KEYS \
    {"accel_body_m_s2", SRV_FORM_VEC3, AT(srv_raw_sine, accel_body_m_s2), RANGE(-1e5, 1e5), .unit = "m/s^2", \
     .default_text = "[0, 0, 0]", .text = "amplitude of the acceleration along each body axis"}, \
    {"rate_body_rad_s", SRV_FORM_VEC3, AT(srv_raw_sine, rate_body_rad_s), RANGE(-1e4, 1e4), .unit = "rad/s", \
     .default_text = "[0, 0, 0]", .text = "amplitude of the angular rate about each body axis"}, \
    {"phase_deg", SRV_FORM_VEC3, AT(srv_raw_sine, phase_deg), RANGE(-360, 360), .unit = "deg", \
     .default_text = "[0, 0, 0]", .text = "of each axis: sin(2 pi f t + phase)"}

static const struct srv_key sine_keys[] = {
    {"frequency_hz", SRV_FORM_F64, AT(srv_raw_sine, frequency_hz), RANGE(0, 1e6), .flags = SRV_KEY_REQUIRED | SRV_KEY_OPEN_MIN,
     .unit = "Hz", .text = "of the sine"},
    AMPLITUDE_KEYS,
};
const struct srv_section srv_section_sine = {"sine", "one frequency", KEYS(sine_keys)};

static const struct srv_key psd_keys[] = {
    {"level_g2_hz", SRV_FORM_TABLE, AT(srv_raw_psd, g2_hz), RANGE(0, 1e6), .flags = SRV_KEY_ROWS_ONLY | SRV_KEY_OPEN_MIN,
     .unit = "g^2/Hz", .row_text = "frequency in Hz",
     .text = "single-sided spectral density: breakpoints [frequency in Hz, level], linear in log-log axes"},
    {"level_m2_s4_hz", SRV_FORM_TABLE, AT(srv_raw_psd, m2_s4_hz), RANGE(0, 1e8), .flags = SRV_KEY_ROWS_ONLY | SRV_KEY_OPEN_MIN,
     .unit = "(m/s^2)^2/Hz", .row_text = "frequency in Hz", .text = "the same in SI units; one of the two is given"},
    {"axes", SRV_FORM_VEC3, AT(srv_raw_psd, axes), RANGE(0, 1000), .default_text = "[1, 1, 1]",
     .text = "factor of the amplitude along each body axis"},
    {"lines", SRV_FORM_U32, AT(srv_raw_psd, lines), RANGE(8, 4096), .default_text = "200",
     .text = "number of sines in the spectrum, equally spaced on a logarithmic axis"},
};
const struct srv_section srv_section_psd = {"psd", "random vibration", KEYS(psd_keys)};

static const struct srv_key noise_keys[] = {
    {"accel_body_m_s2", SRV_FORM_VEC3, AT(srv_raw_noise, accel_body_m_s2), RANGE(0, 1e5), .flags = SRV_KEY_REQUIRED, .unit = "m/s^2",
     .text = "rms of the acceleration along each body axis"},
    {"rate_hz", SRV_FORM_F64, AT(srv_raw_noise, rate_hz), RANGE(0, 1e6), .flags = SRV_KEY_REQUIRED | SRV_KEY_OPEN_MIN, .unit = "Hz",
     .text = "values per second; each holds for one period around its instant n/rate"},
    {"differenced", SRV_FORM_BOOL, AT(srv_raw_noise, differenced), .default_text = "false",
     .text = "the difference of two successive values over sqrt(2), whose integral does not grow"},
};
const struct srv_section srv_section_noise = {"noise", "white acceleration", KEYS(noise_keys)};

static const struct srv_key order_keys[] = {
    {"order", SRV_FORM_F64, AT(srv_raw_sine, order), RANGE(0, 1000), .flags = SRV_KEY_REQUIRED | SRV_KEY_OPEN_MIN,
     .text = "periods in a revolution: 2 for the ignition of four cylinders"},
    AMPLITUDE_KEYS,
};
const struct srv_section srv_section_order = {"orders", "sines in phase with the engine", KEYS(order_keys)};

static const struct srv_key engine_keys[] = {
    {"rpm", SRV_FORM_TABLE, AT(srv_raw_engine, rpm), RANGE(0, 1e6), .flags = SRV_KEY_REQUIRED, .unit = "1/min",
     .row_text = "time in s", .text = "speed: a number, or rows [time in s, rpm]"},
    {"reference_rpm", SRV_FORM_F64, AT(srv_raw_engine, reference_rpm), RANGE(0, 1e6), .unit = "1/min", .default_text = "0",
     .text = "amplitudes are multiplied by (rpm / this)^2, as for unbalance; 0: constant amplitudes"},
    {"orders", SRV_FORM_LIST, AT(srv_raw_engine, orders), .flags = SRV_KEY_REQUIRED, .section = &srv_section_order,
     .text = "sines in phase with the engine"},
};
const struct srv_section srv_section_engine = {"engine", "orders of an engine's speed", KEYS(engine_keys)};

static const struct srv_key vibration_keys[] = {
    {"sine", SRV_FORM_MAP, AT(srv_raw_vibration, sine), .section = &srv_section_sine, .text = "one frequency"},
    {"psd", SRV_FORM_MAP, AT(srv_raw_vibration, psd), .section = &srv_section_psd, .text = "random vibration"},
    {"noise", SRV_FORM_MAP, AT(srv_raw_vibration, noise), .section = &srv_section_noise, .text = "white acceleration"},
    {"engine", SRV_FORM_MAP, AT(srv_raw_vibration, engine), .section = &srv_section_engine,
     .text = "orders of an engine's speed"},
};
const struct srv_section srv_section_vibration = {"vibration", "vibration of the body", KEYS(vibration_keys)};
