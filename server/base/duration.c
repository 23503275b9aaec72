#include "base/duration.h"

#include <stddef.h>
#include <string.h>

#define MOST_TERM UINT64_C(100000000000000000)

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {{"", 1000000000},   {"ns", 1},          {"us", 1000},        {"ms", 1000000},
             {"s", 1000000000},  {"min", 60000000000}, {"h", 3600000000000}};

bool srv_duration_parse(const char *text, int64_t *ns)
{
    uint64_t digits = 0, divisor = 1;
    bool has_point = false, has_digit = false;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !has_point); text++) {
        if (*text == '.') {
            has_point = true;
            continue;
        }
        if (digits > MOST_TERM || divisor > MOST_TERM) {
            return false;
        }
        has_digit = true;
        digits = digits * 10 + (uint64_t)(*text - '0');
        divisor *= has_point ? 10 : 1;
    }
    for (size_t i = 0; has_digit && i < sizeof units / sizeof *units; i++) {
        if (strcmp(text, units[i].name) == 0) {
            const unsigned __int128 rounded = ((unsigned __int128)digits * units[i].ns + divisor / 2) / divisor;
            *ns = (int64_t)rounded;
            return rounded <= INT64_MAX;
        }
    }
    return false;
}
