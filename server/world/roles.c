/* `control: roles:` */
#include "world/binder.h"

#include "world/section.h"

enum oto_status srv_load_roles(struct srv_binder *binder, const struct oto_value *list)
{
    struct srv_control_config *control = &binder->config->control;
    const uint32_t problems = binder->problems.count;
    enum oto_status status = OTO_OK;
    if (list != NULL && list->count > SRV_MAX_ROLE_RULES)
        return oto_value_fail(list, binder->error, OTO_LIMIT, "expected at most %d rules, got %u", SRV_MAX_ROLE_RULES,
                              list->count);
    for (uint32_t i = 0; list != NULL && i < list->count && srv_binder_goes_on(binder, status); i++) {
        struct srv_role_rule *rule = &control->rules[i];
        status = srv_section_read_all(&srv_section_role, list->items[i], rule, &binder->problems);
        if (status == OTO_OK && (rule->uid != 0) + (rule->gid != 0) + (rule->certificate[0] != '\0') != 1)
            status = oto_value_fail(list->items[i], binder->error, OTO_INVALID,
                                    "expected one of `uid`, `gid` and `certificate`: the user, group or remote client with the role");
        control->rule_count++;
        control->user_rule_count += rule->certificate[0] == '\0';
    }
    return srv_binder_result(binder, problems, status);
}
