#include "elf_view.h"

#include <string.h>

bool elf_take(const struct elf_view *view, uint64_t offset, void *out, size_t count)
{
    if (offset > view->size || count > view->size - offset) {
        return false;
    }
    memcpy(out, view->bytes + offset, count);
    return true;
}

bool elf_offset(const struct elf_view *view, uint64_t address, uint64_t count, uint64_t *offset)
{
    for (uint32_t i = 0; i < view->segment_count; i++) {
        const Elf64_Phdr *segment = &view->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr) {
            continue;
        }
        const uint64_t into = address - segment->p_vaddr;
        if (into <= segment->p_filesz && count <= segment->p_filesz - into) {
            *offset = segment->p_offset + into;
            return *offset <= view->size && count <= view->size - *offset;
        }
    }
    return false;
}

static bool dynamic_entry(struct elf_dynamic *dynamic, const Elf64_Dyn *entry)
{
    const uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
    case DT_STRTAB: dynamic->strtab = value; break;
    case DT_STRSZ: dynamic->strsz = value; break;
    case DT_SYMTAB: dynamic->symtab = value; break;
    case DT_SYMENT: dynamic->syment = value; break;
    case DT_HASH: dynamic->hash = value; break;
    case DT_GNU_HASH: dynamic->gnu_hash = value; break;
    case DT_SONAME: dynamic->soname = value; break;
    case DT_INIT: dynamic->init = value; break;
    case DT_FINI: dynamic->fini = value; break;
    case DT_INIT_ARRAY: dynamic->init_array = value; break;
    case DT_FINI_ARRAY: dynamic->fini_array = value; break;
    case DT_RELA: dynamic->rela = value; break;
    case DT_RELASZ: dynamic->rela_bytes = value; break;
    case DT_RELAENT: dynamic->rela_entry = value; break;
    case DT_JMPREL: dynamic->jmprel = value; break;
    case DT_PLTRELSZ: dynamic->jmprel_bytes = value; break;
    case DT_PLTGOT: dynamic->pltgot = value; break;
    case DT_VERSYM: dynamic->versym = value; break;
    case DT_VERNEED: dynamic->verneed = value; break;
    case DT_VERNEEDNUM: dynamic->verneed_count = value; break;
    case DT_VERDEF: dynamic->verdef = value; break;
    case DT_VERDEFNUM: dynamic->verdef_count = value; break;
    case DT_REL:
    case DT_RELR: dynamic->packed_relocations = true; break;
    case DT_INIT_ARRAYSZ: dynamic->init_array_bytes = value; break;
    case DT_FINI_ARRAYSZ: dynamic->fini_array_bytes = value; break;
    case DT_PREINIT_ARRAYSZ: dynamic->preinit_array_bytes = value; break;
    case DT_FLAGS: dynamic->flags = value; break;
    case DT_FLAGS_1: dynamic->flags_1 = value; break;
    case DT_TEXTREL: dynamic->text_relocations = true; break;
    case DT_AUXILIARY:
    case DT_FILTER:
    case DT_AUDIT:
    case DT_DEPAUDIT: dynamic->filters = true; break;
    case DT_NEEDED:
        if (dynamic->need_count == ELF_MAX_NEEDS) {
            return false;
        }
        dynamic->needs[dynamic->need_count++] = value;
        break;
    default: break;
    }
    return true;
}

static const Elf64_Phdr *find_segment(const struct elf_view *view, uint32_t type)
{
    for (uint32_t i = 0; i < view->segment_count; i++) {
        if (view->segments[i].p_type == type) {
            return &view->segments[i];
        }
    }
    return NULL;
}

bool elf_read_dynamic(const struct elf_view *view, struct elf_dynamic *dynamic)
{
    memset(dynamic, 0, sizeof *dynamic);
    const Elf64_Phdr *segment = find_segment(view, PT_DYNAMIC);
    uint64_t offset = 0;
    /* The loader uses the address, the checks use the file offset: both must name the same bytes. */
    if (segment == NULL || !elf_offset(view, segment->p_vaddr, segment->p_filesz, &offset) ||
        offset != segment->p_offset) {
        return false;
    }
    uint64_t count = segment->p_filesz / sizeof(Elf64_Dyn);
    count = count > ELF_MAX_DYNAMIC ? ELF_MAX_DYNAMIC : count;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Dyn entry;
        if (!elf_take(view, offset + i * sizeof entry, &entry, sizeof entry)) {
            return false;
        }
        if (entry.d_tag == DT_NULL) {
            return dynamic->syment == sizeof(Elf64_Sym) && dynamic->strsz > 0 &&
                   elf_offset(view, dynamic->strtab, dynamic->strsz, &offset);
        }
        if (!dynamic_entry(dynamic, &entry)) {
            return false;
        }
    }
    return false; /* the string has no NUL */
}

const char *elf_string(const struct elf_view *view, const struct elf_dynamic *dynamic, uint64_t at)
{
    uint64_t offset = 0;
    if (at >= dynamic->strsz || !elf_offset(view, dynamic->strtab, dynamic->strsz, &offset)) {
        return NULL;
    }
    const char *text = (const char *)view->bytes + offset + at;
    return memchr(text, '\0', (size_t)(dynamic->strsz - at)) != NULL ? text : NULL;
}

static bool word_at(const struct elf_view *view, uint64_t address, uint32_t *word)
{
    uint64_t offset = 0;
    return elf_offset(view, address, sizeof *word, &offset) && elf_take(view, offset, word, sizeof *word);
}

/* GNU hash: {buckets, first hashed symbol, bloom words, shift}, bloom u64[], bucket u32[], chain u32[]. */
static uint64_t gnu_hash_count(const struct elf_view *view, uint64_t table)
{
    uint32_t head[4];
    for (uint32_t i = 0; i < 4; i++) {
        if (!word_at(view, table + 4 * i, &head[i])) {
            return 0;
        }
    }
    const uint64_t buckets = table + sizeof head + 8 * (uint64_t)head[2];
    const uint64_t chains = buckets + 4 * (uint64_t)head[0];
    uint64_t last = 0;
    if (head[0] == 0 || head[0] > ELF_MAX_SYMBOLS || head[2] == 0 || head[2] > ELF_MAX_SYMBOLS) {
        return 0;
    }
    for (uint32_t i = 0; i < head[0]; i++) {
        uint32_t first = 0;
        if (!word_at(view, buckets + 4 * (uint64_t)i, &first) || (first != 0 && first < head[1])) {
            return 0;
        }
        last = first > last ? first : last;
    }
    if (last == 0) {
        return head[1];
    }
    for (uint32_t link = 0; last < ELF_MAX_SYMBOLS; last++) {
        if (!word_at(view, chains + 4 * (last - head[1]), &link)) {
            return 0;
        }
        if ((link & 1) != 0) {
            return last + 1;
        }
    }
    return 0;
}

uint64_t elf_symbol_count(const struct elf_view *view, const struct elf_dynamic *dynamic)
{
    uint64_t count = 0;
    if (dynamic->gnu_hash != 0) {
        count = gnu_hash_count(view, dynamic->gnu_hash);
    } else if (dynamic->hash != 0) {
        uint32_t chains = 0;
        count = word_at(view, dynamic->hash + 4, &chains) ? chains : 0;
    }
    uint64_t offset = 0;
    const bool fits = count <= ELF_MAX_SYMBOLS &&
                      elf_offset(view, dynamic->symtab, count * sizeof(Elf64_Sym), &offset);
    return fits ? count : 0;
}
