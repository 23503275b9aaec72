#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const symbols[FMU_DIMENSIONS] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
enum { METRE = 1, SECOND = 2, RADIAN = 7 };

static void write_dimension(const int8_t *powers, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < FMU_DIMENSIONS && used < bytes; i++) {
        if (powers[i] != 0) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%s^%d", used > 0 ? " " : "", symbols[i], powers[i]);
        }
    }
    if (text[0] == '\0') {
        (void)snprintf(text, bytes, "none");
    }
}

static bool has_dimension(const struct fmu_unit *unit, struct unit_dimension wanted)
{
    int8_t powers[FMU_DIMENSIONS] = {[METRE] = wanted.m, [SECOND] = wanted.s, [RADIAN] = wanted.rad};
    if (unit->powers[RADIAN] == 0) {
        powers[RADIAN] = 0;
    }
    return memcmp(unit->powers, powers, sizeof powers) == 0;
}

enum oto_status unit_convert(const struct fmu_variable *variable, struct unit_dimension wanted, struct unit_conversion *conversion,
                             bool *is_assumed, struct oto_error *error)
{
    const bool pure = wanted.m == 0 && wanted.s == 0 && wanted.rad == 0;
    char found[96];
    *conversion = (struct unit_conversion){1.0, 0.0};
    *is_assumed = variable->unit_name[0] == '\0' && !pure;
    if (variable->unit_name[0] == '\0') {
        return OTO_OK;
    }
    if (!variable->has_unit || !variable->unit.has_base) {
        return oto_fail(error, OTO_UNSUPPORTED, "variable '%.100s' has the unit '%s', for which the FMU gives no BaseUnit: it cannot be "
                        "converted to %s", variable->name, variable->unit_name, pure ? "a number" : wanted.si);
    }
    if (!has_dimension(&variable->unit, wanted)) {
        write_dimension(variable->unit.powers, found, sizeof found);
        return oto_fail(error, OTO_INVALID, "variable '%.100s' has the unit '%s' of dimension %s; a unit that converts to %s is accepted",
                        variable->name, variable->unit_name, found, pure ? "a number" : wanted.si);
    }
    if (!isfinite(variable->unit.factor) || variable->unit.factor == 0.0 || !isfinite(variable->unit.offset)) {
        return oto_fail(error, OTO_INVALID,
                        "variable '%.100s' has the unit '%s' with the factor %g and the offset %g: finite numbers are "
                        "accepted, and no factor 0",
                        variable->name, variable->unit_name, variable->unit.factor, variable->unit.offset);
    }
    *conversion = (struct unit_conversion){variable->unit.factor, variable->unit.offset};
    return OTO_OK;
}
