/*
 * The packets of ArduPilot's JSON interface: servo outputs in, one line of JSON out. Pure.
 * Source: ArduPilot, libraries/SITL/examples/JSON/readme.md.
 */
#ifndef AUTOPILOT_ARDUPILOT_WIRE_H
#define AUTOPILOT_ARDUPILOT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/records.h"

enum { ARDUPILOT_CHANNELS = 32, ARDUPILOT_LINE_BYTES = 1024, ARDUPILOT_PACKET_BYTES = 72 };

struct ardupilot_servos {
    uint16_t frame_rate_hz;
    uint32_t frame_count;
    uint32_t channel_count; /* 16 or 32 */
    uint16_t pwm_us[ARDUPILOT_CHANNELS];
};

/* False: neither a packet of 16 channels (magic 18458, 40 bytes) nor of 32 (magic 29569, 72 bytes), or its rate is 0. */
bool ardupilot_servos_decode(const void *packet, size_t bytes, struct ardupilot_servos *servos);
/* Converts a pulse: 1000 us is 0, 2000 us is 1; 0 us (output off) is 0. */
double ardupilot_control_of(uint16_t pwm_us);

struct ardupilot_state {
    int64_t t_ns;
    oto_vec3 gyro_flu_rad_s, specific_force_flu_m_s2;
    struct oto_truth_record truth;
};

/* Writes one line of JSON between two newlines. Returns the number of bytes. */
size_t ardupilot_state_encode(const struct ardupilot_state *state, char line[ARDUPILOT_LINE_BYTES]);

#endif
