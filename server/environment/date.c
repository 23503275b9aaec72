#include "otolith/environment.h"

#include <stdbool.h>

#define FIRST_YEAR 1600

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days from 1970-01-01 to the first day of a year. */
static int64_t days_before_year(int64_t year)
{
    const int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400 - 719162;
}

static int digits(const char *text, int count)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

enum oto_status oto_date_parse(const char *text, int64_t *days, struct oto_error *error)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool shaped = strlen(text) == 10 && text[4] == '-' && text[7] == '-';
    const int year = shaped ? digits(text, 4) : -1;
    const int month = shaped ? digits(text + 5, 2) : -1;
    const int day = shaped ? digits(text + 8, 2) : -1;
    if (year < 0 || month < 0 || day < 0) {
        return oto_fail(error, OTO_INVALID, "'%.40s' is not a date: expected YYYY-MM-DD, as in 2026-07-01", text);
    }
    if (year < FIRST_YEAR) {
        return oto_fail(error, OTO_INVALID, "'%s' is before the Gregorian calendar: expected a year from %d", text,
                        FIRST_YEAR);
    }
    if (month < 1 || month > 12) {
        return oto_fail(error, OTO_INVALID, "'%s' is not a day of the calendar: expected a month from 01 to 12", text);
    }
    const int length = lengths[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
    if (day < 1 || day > length) {
        return oto_fail(error, OTO_INVALID, "'%s' is not a day of the calendar: that month has the days 01 to %d", text,
                        length);
    }
    *days = days_before_year(year) + day - 1;
    for (int i = 0; i < month - 1; i++) {
        *days += lengths[i] + (i == 1 && is_leap(year) ? 1 : 0);
    }
    return OTO_OK;
}

double oto_decimal_year(int64_t days)
{
    int64_t year = 1970 + days / 366 - 1;
    while (days_before_year(year + 1) <= days) {
        year++;
    }
    return (double)year + (double)(days - days_before_year(year)) / (is_leap(year) ? 366.0 : 365.0);
}
