#include "base/json_text.h"

#include <stdbool.h>
#include <stdlib.h>

size_t oto_json_character(const char **text, char form[OTO_JSON_CHARACTER_BYTES])
{
    const unsigned char *at = (const unsigned char *)*text;
    const bool is_high = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0; /* U+0080 to U+009f */
    const unsigned char c = is_high ? at[1] : at[0];
    *text += is_high ? 2 : 1;
    if (is_high || c < 0x20 || c == 0x7f) {
        return (size_t)(c == '\n' ? snprintf(form, OTO_JSON_CHARACTER_BYTES, "\\n") : snprintf(form, OTO_JSON_CHARACTER_BYTES, "\\u%04x", c));
    }
    size_t length = 0;
    if (c == '"' || c == '\\') {
        form[length++] = '\\';
    }
    form[length++] = (char)c;
    form[length] = '\0';
    return length;
}

void oto_json_text(FILE *to, const char *text)
{
    char form[OTO_JSON_CHARACTER_BYTES];
    (void)fputc('"', to);
    while (*text != '\0') {
        (void)fwrite(form, 1, oto_json_character(&text, form), to);
    }
    (void)fputc('"', to);
}

const char *oto_shortest_decimal(double number, char text[OTO_DECIMAL_BYTES])
{
    for (int digits = 15; digits <= 17; digits++) { /* a decimal of at most 15 digits is found by the first turn */
        (void)snprintf(text, OTO_DECIMAL_BYTES, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    return text;
}
