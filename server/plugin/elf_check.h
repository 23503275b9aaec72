/*
 * Checks from its bytes whether a file may be loaded as a plugin. Constructors run inside dlopen, so everything that
 * can be checked is checked before it. Pure, [any]; every read is limited by `size`, whatever the file contains.
 */
#ifndef PLUGIN_ELF_CHECK_H
#define PLUGIN_ELF_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

#define OTO_PLUGIN_FILE_MAX_BYTES (64u << 20) /* with debug information and sanitizers a plugin has 20 MiB */

/* clang-format off */
#define OTO_ELF_RULE_TABLE(X) \
    X(SIZE,          "size",              "a plugin is at most 64 MiB") \
    X(FORMAT,        "format",            "a plugin is an ELF64 little-endian shared object") \
    X(MACHINE,       "machine",           "a plugin is built for the machine that it runs on") \
    X(TYPE,          "type",              "a plugin is a shared object: link it with -shared") \
    X(TRUNCATED,     "truncated",         "the file is shorter than its headers state: it is cut or still being written") \
    X(LAYOUT,        "layout",            "its segments or dynamic section are malformed") \
    X(THREAD_LOCAL,  "thread-local",      "thread-local storage allocates on the tick thread: keep state in the instance") \
    X(EXEC_STACK,    "executable-stack",  "link with -Wl,-z,noexecstack") \
    X(WRITABLE_CODE, "writable-code",     "a segment must not be both writable and executable") \
    X(TEXT_RELOC,    "text-relocation",   "compile with -fPIC") \
    X(NO_DELETE,     "no-delete",         "a plugin must be unloadable: link without -z nodelete") \
    X(UNIQUE_SYMBOL, "unique-symbol",     "a unique symbol pins the library for ever: compile with -fno-gnu-unique") \
    X(IFUNC,         "indirect-function", "an indirect function runs code while loading and differs between machines") \
    X(CONSTRUCTORS,  "constructors",      "a plugin runs no code when it is loaded or unloaded") \
    X(NEEDS,         "needs",             "a plugin needs nothing but libc.so.6 and libm.so.6, unless it runs in a plugin host only") \
    X(ENTRY,         "entry",             "a plugin exports the constant `otolith_plugin`: end it with OTO_PLUGIN_DEFINE") \
    X(DIGEST,        "digest",            "a plugin file is as its linker wrote it: build or copy it again") \
    X(IMPORTS,       "imports",           "an isolated plugin imports only functions that use only its memory")
/* clang-format on */

enum oto_elf_rule {
    OTO_ELF_OK = 0,
#define OTO_X(name, text, accepted) OTO_ELF_##name,
    OTO_ELF_RULE_TABLE(OTO_X)
#undef OTO_X
        OTO_ELF_RULE_COUNT
};

struct oto_elf_result {
    enum oto_elf_rule rule; /* the first rule that is broken; OTO_ELF_OK: none */
    char found[160];        /* what the file contains instead */
    size_t entry_offset;    /* offset of `otolith_plugin` in the file */
    size_t entry_bytes;
    size_t digest_offset;   /* where the digest is or belongs; 0: the file has no place for one */
    uint64_t digest;        /* the digest that belongs in the file */
    bool host_only;         /* it exports `otolith_plugin_host_only`: rules `needs` and `imports` do not apply */
};

/* `relaxed` is for sanitizer and coverage builds, whose objects have constructors, libraries and TLS of their own. */
bool oto_elf_check(const void *bytes, size_t size, bool relaxed, struct oto_elf_result *result);

/* For a file that passed oto_elf_check: checks that all its imports are on the list for isolated plugins. */
bool oto_elf_check_imports(const void *bytes, size_t size, bool relaxed, struct oto_elf_result *result);

/* The rule's name, as in messages and README.md; and what would be accepted instead. */
const char *oto_elf_rule_name(enum oto_elf_rule rule);
const char *oto_elf_rule_accepted(enum oto_elf_rule rule);

#endif
