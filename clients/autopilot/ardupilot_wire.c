#include "ardupilot_wire.h"

#include <inttypes.h>
#include <stdio.h>

#include "axes.h"

enum { HEAD_BYTES = 8, MAGIC_16 = 18458, MAGIC_32 = 29569 };

static uint16_t read_u16(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

bool ardupilot_servos_decode(const void *packet, size_t bytes, struct ardupilot_servos *servos)
{
    const unsigned char *at = packet;
    if (bytes < HEAD_BYTES) {
        return false;
    }
    const uint16_t magic = read_u16(at);
    servos->channel_count = magic == MAGIC_16 ? 16 : magic == MAGIC_32 ? 32 : 0;
    servos->frame_rate_hz = read_u16(at + 2);
    servos->frame_count = read_u16(at + 4) | (uint32_t)read_u16(at + 6) << 16;
    if (servos->channel_count == 0 || bytes != HEAD_BYTES + 2 * servos->channel_count || servos->frame_rate_hz == 0) {
        return false;
    }
    for (uint32_t i = 0; i < servos->channel_count; i++) {
        servos->pwm_us[i] = read_u16(at + HEAD_BYTES + 2 * (size_t)i);
    }
    return true;
}

double ardupilot_control_of(uint16_t pwm_us)
{
    const double control = ((double)pwm_us - 1000.0) / 1000.0;
    return control < 0.0 ? 0.0 : control > 1.0 ? 1.0 : control;
}

size_t ardupilot_state_encode(const struct ardupilot_state *state, char line[ARDUPILOT_LINE_BYTES])
{
    const oto_vec3 gyro = axes_frd_from_flu(state->gyro_flu_rad_s), accel = axes_frd_from_flu(state->specific_force_flu_m_s2);
    const oto_vec3 position = axes_ned_from_enu(state->truth.position_enu_m);
    const oto_vec3 velocity = axes_ned_from_enu(state->truth.velocity_enu_m_s);
    const oto_quat q = axes_q_ned_from_frd(state->truth.q_enu_from_body);
    /* ArduPilot's reader is no JSON parser: it expects a value directly behind the colon. */
    const int length = snprintf(line, ARDUPILOT_LINE_BYTES,
                                "\n{\"timestamp\":%" PRId64 ".%09" PRId64 ",\"imu\":{\"gyro\":[%.9g,%.9g,%.9g],\"accel_body\":[%.9g,%.9g,%.9g]},"
                                "\"position\":[%.9g,%.9g,%.9g],\"quaternion\":[%.9g,%.9g,%.9g,%.9g],\"velocity\":[%.9g,%.9g,%.9g]}\n",
                                state->t_ns / 1000000000, state->t_ns % 1000000000, gyro.x, gyro.y, gyro.z, accel.x, accel.y, accel.z,
                                position.x, position.y, position.z, q.w, q.x, q.y, q.z, velocity.x, velocity.y, velocity.z);
    return (size_t)length;
}
