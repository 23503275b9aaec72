/*
 * Checks what the dynamic loader follows while it maps a file: relocations, symbol versions, addresses of segments. The
 * loader trusts them, so one damaged number makes it read or write the memory of the server. Pure, [any].
 */
#ifndef PLUGIN_ELF_LINKS_H
#define PLUGIN_ELF_LINKS_H

#include "elf_view.h"

/*
 * For a file whose segments and symbol table were checked; `symbol_count` is that of elf_symbol_count. False: `found`
 * names what is damaged. `relaxed`: relocations of thread-local storage are accepted.
 */
bool elf_links_check(const struct elf_view *view, const struct elf_dynamic *dynamic, uint64_t symbol_count, bool relaxed,
                     char *found, size_t found_bytes);

#endif
