/* `control: roles:` */
#include "world/binder.h"

#include "world/section.h"

enum oto_status srv_load_roles(struct srv_binder *binder, const struct oto_value *list)
{
    struct srv_control_config *control = &binder->config->control;
    if (list != NULL && list->count > SRV_MAX_ROLE_RULES)
        return oto_value_fail(list, binder->error, OTO_LIMIT, "expected at most %d rules, got %u", SRV_MAX_ROLE_RULES,
                              list->count);
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        struct srv_role_rule *rule = &control->rules[i];
        const enum oto_status status = srv_section_read(&srv_section_role, list->items[i], rule, binder->error);
        if (status != OTO_OK)
            return status;
        if ((rule->uid != 0) + (rule->gid != 0) + (rule->certificate[0] != '\0') != 1)
            return oto_value_fail(list->items[i], binder->error, OTO_INVALID,
                                  "expected one of `uid`, `gid` and `certificate`: the user, group or remote client with the role");
        control->rule_count++;
        control->user_rule_count += rule->certificate[0] == '\0';
    }
    return OTO_OK;
}
