/* Finds the function that contains an address of a plugin's file. Pure, [any]; every read is limited by `size`. */
#ifndef PLUGIN_ELF_SYMBOL_H
#define PLUGIN_ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `address` is relative to where the file is loaded. False if no symbol covers it, as in a stripped file. */
bool oto_elf_symbol_at(const void *bytes, size_t size, uint64_t address, char *name, size_t name_bytes, uint64_t *into);

#endif
