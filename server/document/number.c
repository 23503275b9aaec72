#include "document/internal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* [-+]? ( digits [. digits*] | . digits ) ( [eE] [-+]? digits )? */
static bool is_decimal(const char *text)
{
    const char *at = text + (*text == '-' || *text == '+');
    const char *whole = skip_digits(at);
    bool digits = whole > at;
    at = whole;
    if (*at == '.') {
        const char *fraction = skip_digits(at + 1);
        digits = digits || fraction > at + 1;
        at = fraction;
    }
    if (!digits)
        return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        const char *exponent = skip_digits(at);
        if (exponent == at)
            return false;
        at = exponent;
    }
    return *at == '\0';
}

static bool names_not_finite(const char *text)
{
    static const char *const words[] = {".nan", "nan", ".inf", "inf", "infinity"};
    text += *text == '-' || *text == '+';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : 16;
}

/* Parses the digits up to the end of the text; the prefixes 0x and 0o choose the base. */
static enum doc_number magnitude(const char *text, uint64_t *number)
{
    uint64_t base = 10;
    bool overflow = false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
        base = text[1] == 'x' ? 16 : 8;
        text += 2;
    }
    if (*text == '\0')
        return DOC_NUMBER_NOT;
    for (*number = 0; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)digit_value(*text);
        if (digit >= base)
            return DOC_NUMBER_NOT;
        overflow = overflow || __builtin_mul_overflow(*number, base, number);
        overflow = __builtin_add_overflow(*number, digit, number) || overflow;
    }
    return overflow ? DOC_NUMBER_RANGE : DOC_NUMBER_OK;
}

enum doc_number doc_number_f64(const char *text, double *number)
{
    if (is_decimal(text)) {
        /*
         * glibc's "C" locale is static, so nothing is allocated. The number is parsed the same under every LC_NUMERIC.
         */
        *number = strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
        return isfinite(*number) ? DOC_NUMBER_OK : DOC_NUMBER_RANGE;
    }
    if (names_not_finite(text))
        return DOC_NUMBER_NOT_FINITE;
    uint64_t whole = 0;
    enum doc_number result = magnitude(text, &whole);
    *number = (double)whole;
    return result;
}

enum doc_number doc_number_u64(const char *text, uint64_t *number)
{
    if (names_not_finite(text))
        return DOC_NUMBER_NOT_FINITE;
    return magnitude(text + (*text == '+'), number);
}

enum doc_number doc_number_i64(const char *text, int64_t *number)
{
    bool negative = *text == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0), size = 0;
    enum doc_number result = doc_number_u64(negative ? text + 1 : text, &size);
    if (result != DOC_NUMBER_OK)
        return result;
    if (size > limit)
        return DOC_NUMBER_RANGE;
    *number = negative ? (int64_t)(0 - size) : (int64_t)size;
    return DOC_NUMBER_OK;
}

static void reduce(uint64_t *num, uint64_t *den)
{
    uint64_t a = *num, b = *den;
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    *num /= a;
    *den /= a;
}

/* The digits without the point, over a power of ten: the fraction is exact. */
static enum doc_number decimal_rational(const char *text, uint64_t *num, uint64_t *den)
{
    int64_t scale = 0;
    bool point = false;
    *num = 0;
    *den = 1;
    for (; *text != '\0' && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (__builtin_mul_overflow(*num, UINT64_C(10), num) ||
            __builtin_add_overflow(*num, (uint64_t)(*text - '0'), num))
            return DOC_NUMBER_RANGE;
        scale -= point;
    }
    if (*text != '\0') {
        long exponent = strtol(text + 1, NULL, 10);
        if (exponent > 400 || exponent < -400)
            return DOC_NUMBER_RANGE;
        scale += exponent;
    }
    for (; scale < 0; scale++) {
        if (*num % 10 == 0)
            *num /= 10;
        else if (__builtin_mul_overflow(*den, UINT64_C(10), den))
            return DOC_NUMBER_RANGE;
    }
    for (; scale > 0 && *num != 0; scale--)
        if (__builtin_mul_overflow(*num, UINT64_C(10), num))
            return DOC_NUMBER_RANGE;
    return DOC_NUMBER_OK;
}

enum doc_number doc_number_rational(const char *text, uint64_t *num, uint64_t *den)
{
    const char *slash = strchr(text, '/');
    char top[24];
    enum doc_number result;
    if (names_not_finite(text))
        return DOC_NUMBER_NOT_FINITE;
    if (slash == NULL) {
        if (*text == '-' || !is_decimal(text))
            return DOC_NUMBER_NOT;
        result = decimal_rational(text + (*text == '+'), num, den);
    } else {
        if ((size_t)(slash - text) >= sizeof top)
            return DOC_NUMBER_NOT;
        memcpy(top, text, (size_t)(slash - text));
        top[slash - text] = '\0';
        result = magnitude(top, num);
        if (result == DOC_NUMBER_OK)
            result = magnitude(slash + 1, den);
        if (result == DOC_NUMBER_OK && *den == 0)
            result = DOC_NUMBER_NOT;
    }
    if (result == DOC_NUMBER_OK)
        reduce(num, den);
    return result;
}
