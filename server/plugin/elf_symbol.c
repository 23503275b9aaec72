#include "elf_symbol.h"

#include "elf_view.h"

/* Gets a section header by its index. */
static bool section_at(const struct elf_view *view, uint64_t index, Elf64_Shdr *section)
{
    return index < view->header.e_shnum && view->header.e_shentsize == sizeof *section &&
           elf_take(view, view->header.e_shoff + index * sizeof *section, section, sizeof *section);
}

static bool is_function_at(const Elf64_Sym *symbol, uint64_t address)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           address >= symbol->st_value && address - symbol->st_value < symbol->st_size;
}

static bool read_name(const struct elf_view *view, const Elf64_Shdr *strings, uint32_t at, char *name, size_t bytes)
{
    size_t length = 0;
    for (; length + 1 < bytes && at + length < strings->sh_size; length++) {
        if (!elf_take(view, strings->sh_offset + at + length, &name[length], 1) || name[length] == '\0') {
            break;
        }
        name[length] = name[length] > ' ' && name[length] < 0x7f ? name[length] : '?'; /* control characters are
                                                                                        * replaced, because the name
                                                                                        * is printed to terminals */
    }
    name[length] = '\0';
    return length > 0;
}

static bool search(const struct elf_view *view, const Elf64_Shdr *table, uint64_t address, char *name, size_t bytes,
                   uint64_t *into)
{
    Elf64_Shdr strings;
    const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    if (!section_at(view, table->sh_link, &strings) || count > ELF_MAX_SYMBOLS) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        if (!elf_take(view, table->sh_offset + i * sizeof symbol, &symbol, sizeof symbol)) {
            return false;
        }
        if (is_function_at(&symbol, address)) {
            *into = address - symbol.st_value;
            return read_name(view, &strings, symbol.st_name, name, bytes);
        }
    }
    return false;
}

bool oto_elf_symbol_at(const void *bytes, size_t size, uint64_t address, char *name, size_t name_bytes, uint64_t *into)
{
    struct elf_view view = {.bytes = bytes, .size = size};
    bool found = false;
    if (!elf_take(&view, 0, &view.header, sizeof view.header)) {
        return false;
    }
    for (uint64_t i = 0; !found && i < view.header.e_shnum; i++) {
        Elf64_Shdr section;
        found = section_at(&view, i, &section) && (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
                search(&view, &section, address, name, name_bytes, into);
    }
    return found;
}
