#include "base/origin.h"
#include "base/pattern.h"
#include "world/section.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>

#include "base/file_kind.h"
#include "base/schedule.h"
#include "world/world_config.h"
#include "otolith/environment.h"

static void *at(const struct srv_key *key, void *target)
{
    return (char *)target + key->offset;
}

static bool is_bounded(const struct srv_key *key)
{
    return key->minimum < key->maximum;
}

static bool is_inside(const struct srv_key *key, double number)
{
    if (!is_bounded(key))
        return true;
    if ((key->flags & SRV_KEY_OPEN_MIN) != 0 && number <= key->minimum)
        return false;
    return number >= key->minimum && number <= key->maximum;
}

static enum oto_status out_of_range(const struct srv_key *key, const struct oto_value *value, struct oto_error *error)
{
    const char *unit = key->unit != NULL ? key->unit : "";
    return oto_value_fail(value, error, OTO_RANGE, "%s is out of range: expected %s %.10g %s %.10g%s%s, got '%.60s'",
                          key->name, (key->flags & SRV_KEY_OPEN_MIN) != 0 ? "more than" : "from", key->minimum,
                          (key->flags & SRV_KEY_OPEN_MIN) != 0 ? "and at most" : "to", key->maximum,
                          *unit != '\0' ? " " : "", unit, value->text);
}

enum oto_status srv_number_read(const struct srv_key *key, const struct oto_value *value, double *number,
                                struct oto_error *error)
{
    enum oto_status status = oto_value_f64(value, number, error);
    return status != OTO_OK || is_inside(key, *number) ? status : out_of_range(key, value, error);
}

static enum oto_status read_f64(const struct srv_key *key, const struct oto_value *value, void *target,
                                struct oto_error *error)
{
    double number = 0;
    enum oto_status status = srv_number_read(key, value, &number, error);
    if (status == OTO_OK)
        *(double *)at(key, target) = number * (key->scale != 0 ? key->scale : 1.0);
    return status;
}

static enum oto_status read_ns(const struct srv_key *key, const struct oto_value *value, void *target,
                               struct oto_error *error)
{
    double number = 0;
    enum oto_status status = srv_number_read(key, value, &number, error);
    if (status == OTO_OK)
        *(int64_t *)at(key, target) = llround(number * key->scale);
    return status;
}

static enum oto_status read_i32(const struct srv_key *key, const struct oto_value *value, void *target,
                                struct oto_error *error)
{
    int64_t number = 0;
    enum oto_status status = oto_value_i64(value, &number, error);
    if (status == OTO_OK && !is_inside(key, (double)number))
        return out_of_range(key, value, error);
    if (status == OTO_OK)
        *(int32_t *)at(key, target) = (int32_t)number;
    return status;
}

static enum oto_status read_u32(const struct srv_key *key, const struct oto_value *value, void *target,
                                struct oto_error *error)
{
    uint64_t number = 0;
    enum oto_status status = oto_value_u64(value, &number, error);
    if (status == OTO_OK && !is_inside(key, (double)number))
        return out_of_range(key, value, error);
    if (status == OTO_OK)
        *(uint32_t *)at(key, target) = (uint32_t)number;
    return status;
}

static enum oto_status read_u64(const struct srv_key *key, const struct oto_value *value, void *target,
                                struct oto_error *error)
{
    return oto_value_u64(value, (uint64_t *)at(key, target), error);
}

static enum oto_status read_rate(const struct srv_key *key, const struct oto_value *value, void *target,
                                 struct oto_error *error)
{
    uint64_t *rate = at(key, target), num = 0, den = 1;
    enum oto_status status = oto_value_rational(value, &num, &den, error);
    if (status != OTO_OK)
        return status;
    if (num > SRV_RATE_MAX_TERM || den > SRV_RATE_MAX_TERM)
        return oto_value_fail(value, error, OTO_RANGE, "%s: expected a rate of fewer digits, got '%.60s'", key->name,
                              value->text);
    if (num == 0 || !is_inside(key, (double)num / (double)den))
        return out_of_range(key, value, error);
    rate[0] = num;
    rate[1] = den;
    return OTO_OK;
}

static enum oto_status read_bool(const struct srv_key *key, const struct oto_value *value, void *target,
                                 struct oto_error *error)
{
    return oto_value_bool(value, (bool *)at(key, target), error);
}

static bool is_name_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '-';
}

static bool is_topic_letter(char letter)
{
    return letter > ' ' && letter < 0x7f;
}

static enum oto_status read_letters(const struct srv_key *key, const struct oto_value *value, void *target,
                                    bool (*accepts)(char), const char *accepted, struct oto_error *error)
{
    const char *text = NULL;
    enum oto_status status = oto_value_text(value, &text, error);
    if (status != OTO_OK)
        return status;
    size_t length = strlen(text);
    bool good = length > 0 && length < key->bytes;
    for (size_t i = 0; i < length && good; i++)
        good = accepts(text[i]);
    if (!good)
        return oto_value_fail(value, error, OTO_INVALID, "%s: expected 1 to %u characters of %s, got '%.80s'",
                              key->name, key->bytes - 1, accepted, text);
    memcpy(at(key, target), text, length + 1);
    return OTO_OK;
}

static enum oto_status read_name(const struct srv_key *key, const struct oto_value *value, void *target,
                                 struct oto_error *error)
{
    return read_letters(key, value, target, is_name_letter, "A-Z a-z 0-9 _ -", error);
}

static enum oto_status read_topic(const struct srv_key *key, const struct oto_value *value, void *target,
                                  struct oto_error *error)
{
    return read_letters(key, value, target, is_topic_letter, "printable ASCII without spaces", error);
}

static enum oto_status read_vec3(const struct srv_key *key, const struct oto_value *value, void *target,
                                 struct oto_error *error)
{
    double numbers[3];
    if (value->kind != OTO_VALUE_LIST)
        return oto_value_expected(value, error, "a list of 3 numbers");
    if (value->count != 3)
        return oto_value_fail(value, error, OTO_INVALID, "%s: expected a list of 3 numbers, got %u", key->name,
                              value->count);
    for (uint32_t i = 0; i < 3; i++) {
        enum oto_status status = srv_number_read(key, value->items[i], &numbers[i], error);
        if (status != OTO_OK)
            return status;
    }
    memcpy(at(key, target), numbers, sizeof numbers);
    if (key->word_offset != 0)
        *(int32_t *)(void *)((char *)target + key->word_offset) = 0;
    return OTO_OK;
}

static enum oto_status read_date(const struct srv_key *key, const struct oto_value *value, void *target,
                                 struct oto_error *error)
{
    struct oto_error why = {0};
    if (value->kind != OTO_VALUE_SCALAR)
        return oto_value_expected(value, error, "a date as YYYY-MM-DD");
    enum oto_status status = oto_date_parse(value->text, at(key, target), &why);
    return status == OTO_OK ? OTO_OK : oto_value_fail(value, error, status, "%s: %s", key->name, why.text);
}

/* Whether an address is HOST:PORT. An IPv6 HOST is in brackets; port 0: the kernel chooses a port. */
static bool has_port(const char *address)
{
    const char *bracket = strchr(address, ']'), *colon = strrchr(bracket != NULL ? bracket : address, ':');
    if (colon == NULL || colon == address)
        return false;
    const size_t digits = strspn(colon + 1, "0123456789");
    return digits > 0 && digits <= 5 && colon[1 + digits] == '\0' && strtol(colon + 1, NULL, 10) <= 65535;
}

static const char *url_complaint(const char *url)
{
    static const char *const schemes[] = {"tcp://", "ipc://", "udp://", "tls+tcp://"};
    if (strcmp(url, "ipc") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const size_t prefix = strlen(schemes[i]);
        if (strncmp(url, schemes[i], prefix) == 0 && url[prefix] != '\0') {
            if (strlen(url) >= sizeof((struct srv_publish_config *)0)->listen[0])
                return "a shorter URL";
            return strncmp(url, "ipc://", 6) != 0 && !has_port(url + prefix)
                       ? "tcp://HOST:PORT, tls+tcp://HOST:PORT or udp://HOST:PORT with a port of 0 to 65535"
                       : NULL;
        }
    }
    return "ipc, ipc://PATH, tcp://HOST:PORT, tls+tcp://HOST:PORT or udp://HOST:PORT";
}

static enum oto_status add_listen(struct srv_publish_config *publish, const struct oto_value *value,
                                  struct oto_error *error)
{
    const char *url = NULL;
    enum oto_status status = oto_value_text(value, &url, error);
    if (status != OTO_OK)
        return status;
    const char *complaint = url_complaint(url);
    if (complaint != NULL)
        return oto_value_expected(value, error, complaint);
    if (strncmp(url, "ipc://", 6) == 0 && !srv_path_accepts_socket(url + 6))
        return oto_value_fail(value, error, OTO_EXISTS,
                              "'%s' is not a socket, and a listener would replace it: expected a path where nothing or a "
                              "socket stands", url + 6);
    for (uint32_t i = 0; i < publish->listen_count; i++)
        if (strcmp(publish->listen[i], url) == 0)
            return oto_value_fail(value, error, OTO_EXISTS, "'%s' is listed twice", url);
    if (publish->listen_count == SRV_MAX_LISTEN)
        return oto_value_fail(value, error, OTO_LIMIT, "expected at most %d URLs to listen on", SRV_MAX_LISTEN);
    memcpy(publish->listen[publish->listen_count++], url, strlen(url) + 1);
    return OTO_OK;
}

static enum oto_status read_listen(const struct srv_key *key, const struct oto_value *value, void *target,
                                   struct oto_error *error)
{
    struct srv_publish_config *publish = at(key, target);
    enum oto_status status = OTO_OK;
    publish->listen_count = 0;
    if (value->kind != OTO_VALUE_LIST)
        return add_listen(publish, value, error);
    if (value->count == 0)
        return oto_value_fail(value, error, OTO_INVALID, "expected at least one URL to listen on, or `publish: false`");
    for (uint32_t i = 0; i < value->count && status == OTO_OK; i++)
        status = add_listen(publish, value->items[i], error);
    return status;
}

static enum oto_status add_pattern(const struct srv_key *key, const struct oto_value *value, char *joined,
                                   struct oto_error *error)
{
    const char *pattern = NULL;
    const size_t used = strlen(joined);
    const enum oto_status status = oto_value_text(value, &pattern, error);
    if (status != OTO_OK)
        return status;
    if (pattern[0] == '\0' || strlen(pattern) >= SRV_PATTERN_BYTES)
        return oto_value_expected(value, error, "a pattern of topics with 1 to 255 bytes, such as \"car_00*/imu\"");
    if (used + 1 + strlen(pattern) >= key->bytes)
        return oto_value_fail(value, error, OTO_LIMIT, "the patterns have more than %u bytes together", key->bytes - 1);
    (void)snprintf(joined + used, key->bytes - used, "%s%s", used > 0 ? "," : "", pattern);
    return OTO_OK;
}

static enum oto_status read_patterns(const struct srv_key *key, const struct oto_value *value, void *target,
                                     struct oto_error *error)
{
    char *joined = at(key, target);
    enum oto_status status = OTO_OK;
    joined[0] = '\0';
    if (value->kind != OTO_VALUE_LIST)
        return add_pattern(key, value, joined, error);
    if (value->count == 0)
        return oto_value_fail(value, error, OTO_INVALID, "expected at least one pattern");
    for (uint32_t i = 0; i < value->count && status == OTO_OK; i++)
        status = add_pattern(key, value->items[i], joined, error);
    return status;
}

static enum oto_status read_origins(const struct srv_key *key, const struct oto_value *value, void *target,
                                    struct oto_error *error)
{
    char(*origins)[SRV_ORIGIN_BYTES] = at(key, target);
    if (value->kind != OTO_VALUE_LIST || value->count > SRV_ORIGINS_MAX)
        return oto_value_expected(value, error, "a list of at most 8 origins, such as [https://robots.example]");
    for (uint32_t i = 0; i < value->count; i++) {
        const char *origin = NULL;
        const enum oto_status status = oto_value_text(value->items[i], &origin, error);
        if (status != OTO_OK)
            return status;
        if (!srv_is_origin(origin))
            return oto_value_expected(value->items[i], error,
                                      "an origin as browsers send it: https://HOST or http://HOST:PORT in lower case, without a path");
        memcpy(origins[i], origin, strlen(origin) + 1);
    }
    return OTO_OK;
}

/* Whether a text is an address such as "127.0.0.1:8090" or "[::1]:8090". */
static bool is_address(const char *text)
{
    unsigned char room[16];
    char address[64], *end = NULL;
    const char *colon = strrchr(text, ':');
    const bool six = text[0] == '[';
    if (colon == NULL || (six && (colon < text + 2 || colon[-1] != ']')) || colon[1] < '0' || colon[1] > '9') {
        return false;
    }
    const int length = (int)(colon - text) - 2 * six;
    (void)snprintf(address, sizeof address, "%.*s", length, text + six);
    return length < (int)sizeof address && strtoul(colon + 1, &end, 10) <= UINT16_MAX && *end == 0 &&
           inet_pton(six ? AF_INET6 : AF_INET, address, room) == 1;
}

static enum oto_status read_address(const struct srv_key *key, const struct oto_value *value, void *target,
                                    struct oto_error *error)
{
    const char *text = NULL;
    const enum oto_status status = oto_value_text(value, &text, error);
    if (status != OTO_OK)
        return status;
    if (!is_address(text) || strlen(text) >= key->bytes)
        return oto_value_expected(value, error, "an IP address and a port, as 127.0.0.1:8090 or [::1]:8090");
    memcpy(at(key, target), text, strlen(text) + 1);
    return OTO_OK;
}

static enum oto_status keep(const struct srv_key *key, const struct oto_value *value, void *target)
{
    *(const struct oto_value **)at(key, target) = value;
    return OTO_OK;
}

static enum oto_status read_value(const struct srv_key *key, const struct oto_value *value, void *target,
                                  struct oto_error *error)
{
    const char *text = NULL;
    enum oto_status status = oto_value_text(value, &text, error);
    if (status == OTO_OK && *text == '\0')
        return oto_value_fail(value, error, OTO_INVALID, "%s: expected a text, got an empty one", key->name);
    return status == OTO_OK ? keep(key, value, target) : status;
}

static enum oto_status read_map(const struct srv_key *key, const struct oto_value *value, void *target,
                                struct oto_error *error)
{
    return value->kind == OTO_VALUE_MAP ? keep(key, value, target) : oto_value_expected(value, error, "a map");
}

static enum oto_status read_list(const struct srv_key *key, const struct oto_value *value, void *target,
                                 struct oto_error *error)
{
    return value->kind == OTO_VALUE_LIST ? keep(key, value, target) : oto_value_expected(value, error, "a list");
}

static enum oto_status read_section(const struct srv_key *key, const struct oto_value *value, void *target,
                                    struct oto_error *error)
{
    char what[80];
    (void)target;
    (void)snprintf(what, sizeof what, "a map with the keys of %s", key->section->name);
    return oto_value_expected(value, error, what);
}

static enum oto_status refuse_later(const struct srv_key *key, const struct oto_value *value, void *target,
                                    struct oto_error *error)
{
    (void)target;
    return oto_value_fail_key(value, error, OTO_UNSUPPORTED, "'%s' is not supported by this version: %s", key->name,
                              key->text);
}

enum oto_status srv_word_read(const struct srv_key *key, const struct oto_value *value, void *target,
                              struct oto_error *error)
{
    uint32_t offset = key->form == SRV_FORM_WORD ? key->offset : key->word_offset;
    char what[400] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < key->word_count && value->kind == OTO_VALUE_SCALAR; i++) {
        if (strcmp(key->words[i].name, value->text) != 0)
            continue;
        if (key->words[i].refused != NULL)
            return oto_value_fail(value, error, OTO_UNSUPPORTED, "%s: %s is not supported by this version: %s",
                                  key->name, value->text, key->words[i].refused);
        memcpy((char *)target + offset, &key->words[i].value, sizeof key->words[i].value);
        return OTO_OK;
    }
    for (uint32_t i = 0; i < key->word_count && used + 1 < sizeof what; i++)
        if (key->words[i].refused == NULL)
            used +=
                (size_t)snprintf(what + used, sizeof what - used, "%s%s", used > 0 ? " or " : "", key->words[i].name);
    if (key->form == SRV_FORM_VEC3 && used + 1 < sizeof what)
        (void)snprintf(what + used, sizeof what - used, "%sa list of 3 numbers", used > 0 ? " or " : "");
    return oto_value_expected(value, error, what);
}

const srv_form_reader srv_form_readers[SRV_FORM_COUNT] = {
    [SRV_FORM_F64] = read_f64,       [SRV_FORM_NS] = read_ns,           [SRV_FORM_U32] = read_u32,
    [SRV_FORM_I32] = read_i32,       [SRV_FORM_U64] = read_u64,         [SRV_FORM_RATE] = read_rate,
    [SRV_FORM_BOOL] = read_bool,     [SRV_FORM_WORD] = srv_word_read,   [SRV_FORM_NAME] = read_name,
    [SRV_FORM_TOPIC] = read_topic,   [SRV_FORM_VEC3] = read_vec3,       [SRV_FORM_DATE] = read_date,
    [SRV_FORM_TABLE] = srv_table_read,
    [SRV_FORM_PATTERNS] = read_patterns, [SRV_FORM_ORIGINS] = read_origins,
    [SRV_FORM_LISTEN] = read_listen, [SRV_FORM_ADDRESS] = read_address, [SRV_FORM_VALUE] = read_value,
    [SRV_FORM_MAP] = read_map,       [SRV_FORM_LIST] = read_list,     [SRV_FORM_SPREAD] = read_map, [SRV_FORM_NAMED] = read_map,
    [SRV_FORM_SECTION] = read_section, [SRV_FORM_LATER] = refuse_later,
};
