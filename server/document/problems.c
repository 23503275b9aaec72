#include "document/problems.h"

/* FNV-1a */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static void report(struct oto_problems *problems)
{
    const uint64_t hash = hash_of(problems->error->text);
    for (uint32_t i = 0; i < problems->reported; i++)
        if (problems->seen[i] == hash)
            return;
    problems->seen[problems->reported++] = hash;
    problems->report(problems->context, problems->error);
}

bool oto_problems_note(struct oto_problems *problems, enum oto_status status)
{
    if (status == OTO_OK)
        return true;
    if (problems->report == NULL || problems->error == NULL)
        return false;
    if (problems->error->status != OTO_OK && problems->reported < OTO_MOST_PROBLEMS) {
        report(problems);
        problems->error->status = OTO_OK;
        problems->count++;
    }
    return status != OTO_NO_MEMORY && problems->reported < OTO_MOST_PROBLEMS;
}
