/* NMEA 0183: GGA, RMC, GSA, VTG. Fields of quantities that are unknown are empty. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "gnss/message.h"

#define NS_PER_S INT64_C(1000000000)
#define KNOTS_PER_M_S (3600.0 / 1852.0)
#define KM_H_PER_M_S 3.6

/* ---- time ---- */

/* Civil date of a number of days since 1970-01-01 (H. Hinnant, chrono-compatible low-level date algorithms). */
static void date_of(int64_t days, struct gnss_time *time)
{
    const int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t day_of_era = shifted - era * 146097;
    const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t shifted_month = (5 * day_of_year + 2) / 153;
    time->day = (uint32_t)(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    time->month = (uint32_t)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    time->year = (int32_t)(year_of_era + era * 400 + (time->month <= 2));
}

struct gnss_time gnss_time_of(int64_t utc_ns)
{
    struct gnss_time time = {0};
    int64_t seconds = utc_ns / NS_PER_S;
    seconds -= utc_ns % NS_PER_S < 0;
    int64_t days = seconds / 86400;
    days -= seconds % 86400 < 0;
    const int64_t of_day = seconds - days * 86400;
    date_of(days, &time);
    time.hour = (uint32_t)(of_day / 3600);
    time.minute = (uint32_t)(of_day / 60 % 60);
    time.second = (uint32_t)(of_day % 60);
    time.nanosecond = (uint32_t)(utc_ns - seconds * NS_PER_S);
    const int64_t gps_s = seconds - 315964800 + 18; /* since 1980-01-06 */
    time.week_ms = (uint32_t)((gps_s % 604800 + 604800) % 604800 * 1000 + time.nanosecond / 1000000);
    return time;
}

/* ---- sentences ---- */

struct sentence {
    char *text;
    size_t bytes, length, start;
};

__attribute__((format(printf, 2, 3))) static void add(struct sentence *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to->text + to->length, to->bytes - to->length, format, arguments);
    va_end(arguments);
    to->length += length > 0 ? (size_t)length : 0;
    to->length = to->length < to->bytes ? to->length : to->bytes - 1;
}

static void begin(struct sentence *to, const char *name)
{
    to->start = to->length;
    add(to, "$GN%s", name);
}

/* The checksum is over what is between $ and *. */
static void end(struct sentence *to)
{
    uint8_t sum = 0;
    for (size_t i = to->start + 1; i < to->length; i++) {
        sum ^= (uint8_t)to->text[i];
    }
    add(to, "*%02X\r\n", sum);
}

/* Hundredths of a second are truncated, so that a time never shows 60 seconds. */
static void add_time(struct sentence *to, const struct gnss_time *time)
{
    add(to, ",%02" PRIu32 "%02" PRIu32 "%02" PRIu32 ".%02" PRIu32, time->hour, time->minute, time->second,
        time->nanosecond / 10000000);
}

/* Degrees and minutes in whole 1e-7 minutes: 0.2 mm. */
static void add_angle(struct sentence *to, double degrees, int digits, char positive, char negative)
{
    const int64_t units = llround(fabs(degrees) * 60e7);
    add(to, ",%0*" PRId64 "%02" PRId64 ".%07" PRId64 ",%c", digits, units / 600000000, units / 10000000 % 60,
        units % 10000000, degrees < 0.0 ? negative : positive);
}

static void add_place(struct sentence *to, const struct oto_navsat_record *fix)
{
    if (fix->mode == OTO_NAVSAT_NONE) {
        add(to, ",,,,");
    } else {
        add_angle(to, fix->latitude_deg, 2, 'N', 'S');
        add_angle(to, fix->longitude_deg, 3, 'E', 'W');
    }
}

static void add_course(struct sentence *to, const struct oto_navsat_record *fix)
{
    if (fix->course_deg < 0.0) {
        add(to, ",");
    } else {
        add(to, ",%.2f", fmod(round(fix->course_deg * 100.0) / 100.0, 360.0));
    }
}

/* Position mode of RMC and VTG. */
static char mode_letter(uint8_t mode)
{
    static const char letters[OTO_NAVSAT_MODES] = {'N', 'A', 'D', 'F', 'R'};
    return letters[mode];
}

static void add_gga(struct sentence *to, const struct oto_navsat_record *fix, const struct gnss_time *time)
{
    static const int quality[OTO_NAVSAT_MODES] = {0, 1, 2, 5, 4};
    begin(to, "GGA");
    add_time(to, time);
    add_place(to, fix);
    add(to, ",%d,%02d", quality[fix->mode], fix->satellites);
    if (fix->mode == OTO_NAVSAT_NONE) {
        add(to, ",,,M,,M,,");
    } else {
        add(to, ",%.2f,%.3f,M,%.3f,M,,", fix->hdop, fix->altitude_msl_m, fix->geoid_separation_m);
    }
    end(to);
}

static void add_rmc(struct sentence *to, const struct oto_navsat_record *fix, const struct gnss_time *time)
{
    const bool valid = fix->mode != OTO_NAVSAT_NONE;
    begin(to, "RMC");
    add_time(to, time);
    add(to, ",%c", valid ? 'A' : 'V');
    add_place(to, fix);
    if (valid) {
        add(to, ",%.3f", fix->ground_speed_m_s * KNOTS_PER_M_S);
    } else {
        add(to, ",");
    }
    add_course(to, fix);
    add(to, ",%02" PRIu32 "%02" PRIu32 "%02" PRId32 ",,,%c,V", time->day, time->month, time->year % 100, mode_letter(fix->mode));
    end(to);
}

/* The numbers of the satellites are not simulated: their twelve fields are empty. */
static void add_gsa(struct sentence *to, const struct oto_navsat_record *fix)
{
    begin(to, "GSA");
    add(to, ",A,%d,,,,,,,,,,,,", fix->mode == OTO_NAVSAT_NONE ? 1 : 3);
    if (fix->mode == OTO_NAVSAT_NONE) {
        add(to, ",,,");
    } else {
        add(to, ",%.2f,%.2f,%.2f", hypot(fix->hdop, fix->vdop), fix->hdop, fix->vdop);
    }
    add(to, ",1");
    end(to);
}

static void add_vtg(struct sentence *to, const struct oto_navsat_record *fix)
{
    begin(to, "VTG");
    add_course(to, fix);
    add(to, ",T,,M");
    if (fix->mode == OTO_NAVSAT_NONE) {
        add(to, ",,N,,K");
    } else {
        add(to, ",%.3f,N,%.3f,K", fix->ground_speed_m_s * KNOTS_PER_M_S, fix->ground_speed_m_s * KM_H_PER_M_S);
    }
    add(to, ",%c", mode_letter(fix->mode));
    end(to);
}

bool gnss_is_expressible(const struct oto_navsat_record *fix)
{
    const double numbers[][2] = {{fix->latitude_deg, 90.0},        {fix->longitude_deg, 180.0},
                                 {fix->altitude_m, 1e6},           {fix->altitude_msl_m, 1e6},
                                 {fix->geoid_separation_m, 1e3},   {fix->velocity_enu_m_s.x, 1e5},
                                 {fix->velocity_enu_m_s.y, 1e5},   {fix->velocity_enu_m_s.z, 1e5},
                                 {fix->ground_speed_m_s, 1e5},     {fix->course_deg, 360.0},
                                 {fix->horizontal_accuracy_m, 1e9}, {fix->vertical_accuracy_m, 1e9},
                                 {fix->speed_accuracy_m_s, 1e9},   {fix->course_accuracy_deg, 1e9},
                                 {fix->hdop, 100.0},               {fix->vdop, 100.0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!(fabs(numbers[i][0]) <= numbers[i][1])) {
            return false;
        }
    }
    return fix->mode < OTO_NAVSAT_MODES;
}

size_t gnss_nmea(const struct oto_navsat_record *fix, char text[GNSS_NMEA_BYTES])
{
    struct sentence all = {text, GNSS_NMEA_BYTES, 0, 0};
    const struct gnss_time time = gnss_time_of(fix->utc_ns);
    text[0] = '\0';
    add_gga(&all, fix, &time);
    add_rmc(&all, fix, &time);
    add_gsa(&all, fix);
    add_vtg(&all, fix);
    return all.length;
}
