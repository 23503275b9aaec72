/* UBX-NAV-PVT: class 0x01, id 0x07, 92 bytes of payload, little-endian. */
#include <math.h>
#include <string.h>

#include "gnss/message.h"

enum { HEAD = 6, PAYLOAD = 92 };

static void put(uint8_t *at, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Writes a number in units of `unit`, limited to the range of a signed 32-bit integer. */
static void put_i4(uint8_t *at, double value, double unit)
{
    const double scaled = value / unit;
    const int64_t whole = scaled >= 2147483647.0 ? INT32_MAX : scaled <= -2147483648.0 ? INT32_MIN : llround(scaled);
    put(at, (uint64_t)whole, 4);
}

/* Writes an accuracy in units of `unit`. An unknown (negative) accuracy is written as the largest number. */
static void put_u4(uint8_t *at, double value, double unit)
{
    const double scaled = value / unit;
    put(at, value < 0.0 || scaled >= 4294967295.0 ? UINT32_MAX : (uint64_t)llround(scaled), 4);
}

static void put_time(uint8_t *payload, int64_t utc_ns)
{
    const struct gnss_time time = gnss_time_of(utc_ns);
    put(payload, time.week_ms, 4);
    put(payload + 4, (uint64_t)time.year, 2);
    payload[6] = (uint8_t)time.month;
    payload[7] = (uint8_t)time.day;
    payload[8] = (uint8_t)time.hour;
    payload[9] = (uint8_t)time.minute;
    payload[10] = (uint8_t)time.second;
    payload[11] = 0x07;              /* date and time are valid and fully resolved */
    put(payload + 12, 30, 4);        /* time accuracy: the clock is not simulated */
    put(payload + 16, time.nanosecond, 4);
}

/* The bits gnssFixOK, diffSoln and carrSoln of each mode. */
static uint8_t flags_of(uint8_t mode)
{
    static const uint8_t flags[OTO_NAVSAT_MODES] = {0x00, 0x01, 0x03, 0x43, 0x83};
    return flags[mode];
}

static void put_fix(uint8_t *payload, const struct oto_navsat_record *fix)
{
    const bool valid = fix->mode != OTO_NAVSAT_NONE;
    payload[20] = valid ? 3 : 0; /* 3D-fix, no fix */
    payload[21] = flags_of(fix->mode);
    payload[22] = 0xe0; /* date and time are confirmed */
    payload[23] = fix->satellites;
    put_i4(payload + 24, fix->longitude_deg, 1e-7);
    put_i4(payload + 28, fix->latitude_deg, 1e-7);
    put_i4(payload + 32, fix->altitude_m, 1e-3);
    put_i4(payload + 36, fix->altitude_msl_m, 1e-3);
    put_u4(payload + 40, fix->horizontal_accuracy_m, 1e-3);
    put_u4(payload + 44, fix->vertical_accuracy_m, 1e-3);
    put(payload + 76, valid ? (uint64_t)llround(fmin(hypot(fix->hdop, fix->vdop) * 100.0, 65535.0)) : 9999, 2);
    payload[78] = valid ? 0 : 1; /* invalidLlh */
}

static void put_motion(uint8_t *payload, const struct oto_navsat_record *fix)
{
    put_i4(payload + 48, fix->velocity_enu_m_s.y, 1e-3);
    put_i4(payload + 52, fix->velocity_enu_m_s.x, 1e-3);
    put_i4(payload + 56, -fix->velocity_enu_m_s.z, 1e-3);
    put_i4(payload + 60, fix->ground_speed_m_s, 1e-3);
    put_i4(payload + 64, fix->course_deg < 0.0 ? 0.0 : fix->course_deg, 1e-5);
    put_u4(payload + 68, fix->speed_accuracy_m_s, 1e-3);
    put_u4(payload + 72, fix->course_accuracy_deg < 0.0 ? 180.0 : fix->course_accuracy_deg, 1e-5);
}

void gnss_nav_pvt(const struct oto_navsat_record *fix, uint8_t bytes[GNSS_NAV_PVT_BYTES])
{
    static const uint8_t head[HEAD] = {0xb5, 0x62, 0x01, 0x07, PAYLOAD, 0};
    uint8_t a = 0, b = 0;
    memset(bytes, 0, GNSS_NAV_PVT_BYTES);
    memcpy(bytes, head, sizeof head);
    put_time(bytes + HEAD, fix->utc_ns);
    put_fix(bytes + HEAD, fix);
    put_motion(bytes + HEAD, fix);
    for (uint32_t i = 2; i < HEAD + PAYLOAD; i++) { /* 8-bit Fletcher over class, id, length and payload */
        a = (uint8_t)(a + bytes[i]);
        b = (uint8_t)(b + a);
    }
    bytes[HEAD + PAYLOAD] = a;
    bytes[HEAD + PAYLOAD + 1] = b;
}
