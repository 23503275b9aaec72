/* The accepted values of a parameter, as text. Pure. */
#include "params.h"

void oto_param_describe_range(const struct oto_param *param, char *text, size_t bytes)
{
    if (param->type == OTO_PARAM_BOOL) {
        (void)snprintf(text, bytes, "true|false");
        return;
    }
    const bool limited = param->minimum != 0.0 || param->maximum != 0.0, words_only = param->type == OTO_PARAM_I64;
    size_t used = 0;
    text[0] = '\0';
    if (limited && !(words_only && param->name_count > 0)) {
        const bool open = (param->flags & OTO_PARAM_OPEN_MIN) != 0;
        used = (size_t)snprintf(text, bytes, "%s%g%s to %g", open ? "above " : "", param->minimum, open ? "," : "", param->maximum);
    } else if (param->name_count > 0 && !words_only) {
        used = (size_t)snprintf(text, bytes, "number");
    }
    for (uint32_t i = 0; i < param->name_count && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? "|" : "", param->names[i].name);
    }
}
