/*
 * A satellite fix as receivers send it: NMEA 0183 sentences and UBX messages. Pure: from a record to bytes.
 *
 * NMEA 0183 version 4.10 with talker GN. UBX as of protocol version 27 (u-blox ZED-F9P interface description,
 * UBX-18010854, 5.14: UBX-NAV-PVT).
 */
#ifndef CLI_GNSS_MESSAGE_H
#define CLI_GNSS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/records.h"

#define GNSS_NMEA_BYTES 512 /* four sentences of at most 127 characters with their ends */
#define GNSS_NAV_PVT_BYTES 100

/* Date and time of day in UTC. */
struct gnss_time {
    int32_t year;
    uint32_t month, day, hour, minute, second;
    uint32_t nanosecond;
    uint32_t week_ms; /* GPS time of week in ms; UTC plus the 18 leap seconds that are valid since 2017 */
};
struct gnss_time gnss_time_of(int64_t utc_ns);

/*
 * True if the messages can express the fix. A fault may have set its values to NaN or moved it off the Earth: a
 * receiver then has no fix, and the caller sets the mode to OTO_NAVSAT_NONE.
 */
bool gnss_is_expressible(const struct oto_navsat_record *fix);

/* Writes GGA, RMC, GSA and VTG, each ended by CR LF, and a NUL; returns the number of bytes. */
size_t gnss_nmea(const struct oto_navsat_record *fix, char text[GNSS_NMEA_BYTES]);

/* Writes a UBX-NAV-PVT message. */
void gnss_nav_pvt(const struct oto_navsat_record *fix, uint8_t bytes[GNSS_NAV_PVT_BYTES]);

#endif
