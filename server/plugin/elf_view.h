/*
 * Limited views of an ELF file. All checks read the file through these functions. Pure, [any].
 */
#ifndef PLUGIN_ELF_VIEW_H
#define PLUGIN_ELF_VIEW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_MAX_SEGMENTS = 64, ELF_MAX_NEEDS = 32, ELF_MAX_DYNAMIC = 512, ELF_MAX_SYMBOLS = 1 << 20 };

struct elf_view {
    const uint8_t *bytes;
    size_t size;
    Elf64_Ehdr header;
    uint32_t segment_count;
    Elf64_Phdr segments[ELF_MAX_SEGMENTS];
};

/* The entries of the dynamic section that the checks need; 0 if absent. */
struct elf_dynamic {
    uint64_t strtab, strsz, symtab, syment, hash, gnu_hash;
    uint64_t soname, init, fini, init_array, fini_array; /* addresses, and the name's offset */
    uint64_t rela, rela_bytes, rela_entry, jmprel, jmprel_bytes, pltgot, versym, verneed, verneed_count, verdef, verdef_count;
    bool packed_relocations; /* DT_REL or DT_RELR, which the checks do not read */
    uint64_t init_array_bytes, fini_array_bytes, preinit_array_bytes, flags, flags_1;
    bool text_relocations, filters;
    uint32_t need_count;
    uint64_t needs[ELF_MAX_NEEDS]; /* offsets into the string table */
};

/* Copies `count` bytes at `offset`; false if they exceed the file. */
bool elf_take(const struct elf_view *view, uint64_t offset, void *out, size_t count);
/* The file offset of `count` bytes at a virtual address. All of them must lie in the file part of one segment. */
bool elf_offset(const struct elf_view *view, uint64_t address, uint64_t count, uint64_t *offset);
/* Reads the entries of the dynamic section. False if the section is malformed. */
bool elf_read_dynamic(const struct elf_view *view, struct elf_dynamic *dynamic);
/* A string of the string table; NULL unless it ends inside the table. */
const char *elf_string(const struct elf_view *view, const struct elf_dynamic *dynamic, uint64_t at);
/* The number of symbols that the hash tables cover; 0 if they are malformed. */
uint64_t elf_symbol_count(const struct elf_view *view, const struct elf_dynamic *dynamic);

#endif
