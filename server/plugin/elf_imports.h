/* The functions of the C library that a plugin may import if it runs in a plugin host. Pure, [any]. */
#ifndef PLUGIN_ELF_IMPORTS_H
#define PLUGIN_ELF_IMPORTS_H

#include <stdbool.h>

/* True for functions that use only their arguments and the heap: no file, process, thread or other library. */
bool oto_elf_import_is_allowed(const char *name);

#endif
