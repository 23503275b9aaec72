/* What someone may give as a plugin: the checks that are made before any of its code runs. */
#include <stdlib.h>

#include "plugin/elf_check.h"
#include "plugin/elf_symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int holds)
{
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct oto_elf_result result = {0};
    char name[64];
    uint64_t into = 0;
    const bool passed = oto_elf_check(data, bytes, false, &result);
    must(passed == (result.rule == OTO_ELF_OK));
    must(passed || (oto_elf_rule_name(result.rule) != NULL && oto_elf_rule_accepted(result.rule) != NULL));
    if (passed) {
        must(result.entry_offset <= bytes && result.entry_bytes <= bytes - result.entry_offset);
        (void)oto_elf_check_imports(data, bytes, false, &result);
    }
    for (uint64_t address = 0; address < bytes; address += bytes / 16 + 1) {
        (void)oto_elf_symbol_at(data, bytes, address, name, sizeof name, &into);
    }
    return 0;
}
