/* What a plugin that runs in a plugin host may take from the C library. Pure, [any]. */
#ifndef PLUGIN_ELF_IMPORTS_H
#define PLUGIN_ELF_IMPORTS_H

#include <stdbool.h>

/* Functions that touch nothing but their arguments and the heap: no file, no process, no thread, no other library. */
bool oto_elf_import_is_allowed(const char *name);

#endif
