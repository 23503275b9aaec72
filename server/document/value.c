#include "document/internal.h"

/* The end of a long path is more useful than its beginning, so the beginning is cut. */
enum { FILE_SHOWN = 200, TEXT_SHOWN = 60 };

enum oto_status doc_vfail(struct doc_place place, struct oto_error *error, enum oto_status status, const char *format,
                          va_list arguments)
{
    if (error == NULL)
        return status;
    size_t length = strlen(place.file);
    const char *shown = length > FILE_SHOWN ? place.file + length - FILE_SHOWN : place.file;
    const char *cut = shown == place.file ? "" : "...";
    int used = place.line > 0 ? snprintf(error->text, sizeof error->text, "%s%s:%u:%u: error: ", cut, shown, place.line,
                                         place.column)
                              : snprintf(error->text, sizeof error->text, "%s%s: error: ", cut, shown);
    error->status = status;
    (void)vsnprintf(error->text + used, sizeof error->text - (size_t)used, format, arguments);
    return status;
}

enum oto_status doc_fail(struct doc_place place, struct oto_error *error, enum oto_status status, const char *format,
                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)doc_vfail(place, error, status, format, arguments);
    va_end(arguments);
    return status;
}

enum oto_status oto_value_fail(const struct oto_value *value, struct oto_error *error, enum oto_status status,
                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)doc_vfail((struct doc_place){value->file, value->line, value->column}, error, status, format, arguments);
    va_end(arguments);
    return status;
}

enum oto_status oto_value_fail_key(const struct oto_value *value, struct oto_error *error, enum oto_status status,
                                   const char *format, ...)
{
    struct doc_place place = {value->file, value->line, value->column};
    va_list arguments;
    if (value->key != NULL && value->key_line > 0)
        place = (struct doc_place){value->file, value->key_line, value->key_column};
    va_start(arguments, format);
    (void)doc_vfail(place, error, status, format, arguments);
    va_end(arguments);
    return status;
}

const struct oto_value *oto_value_get(const struct oto_value *map, const char *key)
{
    if (map == NULL || map->kind != OTO_VALUE_MAP)
        return NULL;
    for (uint32_t i = 0; i < map->count; i++)
        if (strcmp(map->items[i]->key, key) == 0)
            return map->items[i];
    return NULL;
}

bool oto_value_is_null(const struct oto_value *value)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (value->kind != OTO_VALUE_SCALAR || value->quoted)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value->text, words[i]) == 0)
            return true;
    return false;
}

/* Reports "expected <what>, got <the value>". */
static enum oto_status expected(const struct oto_value *value, struct oto_error *error, enum oto_status status,
                                const char *what)
{
    if (value->kind == OTO_VALUE_LIST)
        return oto_value_fail(value, error, status, "expected %s, got a list", what);
    if (value->kind == OTO_VALUE_MAP)
        return oto_value_fail(value, error, status, "expected %s, got a map", what);
    if (oto_value_is_null(value))
        return oto_value_fail(value, error, status, "expected %s, got nothing%s%s", what, *value->text ? ": " : "",
                              value->text);
    return oto_value_fail(value, error, status, "expected %s, got %s%.*s%s", what, value->quoted ? "the text \"" : "'",
                          TEXT_SHOWN, value->text, value->quoted ? "\"" : "'");
}

enum oto_status oto_value_expected(const struct oto_value *value, struct oto_error *error, const char *what)
{
    return expected(value, error, OTO_INVALID, what);
}

static bool is_plain(const struct oto_value *value)
{
    return value->kind == OTO_VALUE_SCALAR && !value->quoted && !oto_value_is_null(value);
}

/* The error sentence for each kind of invalid number. */
static enum oto_status number_status(const struct oto_value *value, enum doc_number result, const char *what,
                                     const char *range, struct oto_error *error)
{
    switch (result) {
    case DOC_NUMBER_OK:
        return OTO_OK;
    case DOC_NUMBER_NOT_FINITE:
        return expected(value, error, OTO_INVALID, "a finite number");
    case DOC_NUMBER_RANGE:
        return expected(value, error, OTO_RANGE, range);
    case DOC_NUMBER_NOT:
        break;
    }
    return expected(value, error, OTO_INVALID, what);
}

enum oto_status oto_value_f64(const struct oto_value *value, double *number, struct oto_error *error)
{
    enum doc_number result = is_plain(value) ? doc_number_f64(value->text, number) : DOC_NUMBER_NOT;
    return number_status(value, result, "a number", "a number that fits a double (at most 1.797e308)", error);
}

enum oto_status oto_value_i64(const struct oto_value *value, int64_t *number, struct oto_error *error)
{
    enum doc_number result = is_plain(value) ? doc_number_i64(value->text, number) : DOC_NUMBER_NOT;
    return number_status(value, result, "a whole number",
                         "a whole number from -9223372036854775808 to 9223372036854775807", error);
}

enum oto_status oto_value_u64(const struct oto_value *value, uint64_t *number, struct oto_error *error)
{
    static const char what[] = "a whole number from 0 to 18446744073709551615";
    enum doc_number result = is_plain(value) ? doc_number_u64(value->text, number) : DOC_NUMBER_NOT;
    return number_status(value, result, what, what, error);
}

enum oto_status oto_value_bool(const struct oto_value *value, bool *flag, struct oto_error *error)
{
    if (!is_plain(value) || (strcmp(value->text, "true") != 0 && strcmp(value->text, "false") != 0))
        return expected(value, error, OTO_INVALID, "true or false");
    *flag = value->text[0] == 't';
    return OTO_OK;
}

enum oto_status oto_value_rational(const struct oto_value *value, uint64_t *num, uint64_t *den, struct oto_error *error)
{
    /* JSON has no fractions, so a fraction in JSON is a quoted text. */
    bool fraction = value->kind == OTO_VALUE_SCALAR && value->quoted && strchr(value->text, '/') != NULL;
    enum doc_number result = is_plain(value) || fraction ? doc_number_rational(value->text, num, den) : DOC_NUMBER_NOT;
    return number_status(value, result, "a rate such as 200, 0.5 or 60000/1001",
                         "a rate whose numerator and denominator fit 64 bits", error);
}

enum oto_status oto_value_text(const struct oto_value *value, const char **text, struct oto_error *error)
{
    if (value->kind != OTO_VALUE_SCALAR || oto_value_is_null(value))
        return expected(value, error, OTO_INVALID, "a text");
    *text = value->text;
    return OTO_OK;
}
