/* Which function of a plugin's file an address is in. Pure, [any]; every read is bounded by `size`. */
#ifndef PLUGIN_ELF_SYMBOL_H
#define PLUGIN_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `address` counts from where the file is loaded. False where no symbol covers it (a stripped file). */
bool oto_elf_symbol_at(const void *bytes, size_t size, uint64_t address, char *name, size_t name_bytes, uint64_t *into);

#endif
