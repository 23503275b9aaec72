/* `defaults`: incomplete vehicles by name, which complete the vehicles that name them. [loop] */
#include "world/binder.h"

enum { MOST_DEFAULTS = 256 };

static enum oto_status no_such(const struct oto_value *name, const struct oto_value *defaults, struct oto_error *error)
{
    char list[160] = "";
    size_t used = 0;
    for (uint32_t i = 0; defaults != NULL && i < defaults->count && used + 1 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.40s", i > 0 ? ", " : "", defaults->items[i]->key);
    return oto_value_fail(name, error, OTO_NOT_FOUND, "there is no default '%.64s'; %s%s", name->text,
                          used > 0 ? "accepted: " : "the world has no `defaults`", list);
}

static enum oto_status complete(struct oto_document *document, const struct oto_value *vehicle, const struct oto_value *defaults,
                                struct oto_error *error)
{
    const struct oto_value *name = oto_value_get(vehicle, "defaults"), *from;
    const char *text = NULL;
    if (name == NULL)
        return OTO_OK;
    enum oto_status status = oto_value_text(name, &text, error);
    if (status != OTO_OK)
        return status;
    from = oto_value_get(defaults, text);
    return from != NULL ? oto_document_complete(document, vehicle, from, error) : no_such(name, defaults, error);
}

/* A default must be a map, and cannot name another one. */
static enum oto_status check_default(const struct oto_value *value, struct oto_error *error)
{
    static const char *const own[] = {"name", "defaults"};
    if (value->kind != OTO_VALUE_MAP)
        return oto_value_expected(value, error, "a map with keys of a vehicle");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const struct oto_value *found = oto_value_get(value, own[i]);
        if (found != NULL)
            return oto_value_fail_key(found, error, OTO_INVALID, "the key '%s' is not accepted in a default: vehicles have it",
                                      own[i]);
    }
    return OTO_OK;
}

enum oto_status srv_defaults_apply(struct oto_document *document, struct oto_error *error)
{
    const struct oto_value *root = oto_document_root(document), *vehicles = oto_value_get(root, "vehicles");
    const struct oto_value *defaults = oto_value_get(root, "defaults");
    enum oto_status status = OTO_OK;
    if (defaults != NULL && (defaults->kind != OTO_VALUE_MAP || defaults->count > MOST_DEFAULTS))
        return oto_value_fail(defaults, error, OTO_INVALID, "expected a map of at most %d names to keys of a vehicle", MOST_DEFAULTS);
    for (uint32_t i = 0; defaults != NULL && i < defaults->count && status == OTO_OK; i++)
        status = check_default(defaults->items[i], error);
    for (uint32_t i = 0; vehicles != NULL && i < vehicles->count && status == OTO_OK; i++)
        if (vehicles->items[i]->kind == OTO_VALUE_MAP)
            status = complete(document, vehicles->items[i], defaults, error);
    return status;
}

static bool is_used(const struct oto_value *vehicles, const char *key)
{
    for (uint32_t i = 0; i < vehicles->count; i++) {
        const struct oto_value *name = oto_value_get(vehicles->items[i], "defaults");
        if (name != NULL && name->kind == OTO_VALUE_SCALAR && strcmp(name->text, key) == 0)
            return true;
    }
    return false;
}

void srv_check_defaults(const struct srv_binder *binder, const struct srv_raw_world *raw)
{
    for (uint32_t i = 0; raw->defaults != NULL && raw->vehicles != NULL && i < raw->defaults->count; i++)
        if (!is_used(raw->vehicles, raw->defaults->items[i]->key))
            srv_binder_warn(binder, raw->defaults->items[i], "no vehicle has `defaults: %.64s`", raw->defaults->items[i]->key);
}
