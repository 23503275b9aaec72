#include "elf_links.h"

#include <stdio.h>

enum { MAX_VERSIONS = 256, VERSION_MASK = 0x7fff };

#if defined(__x86_64__)
enum {
    RELATIVE = R_X86_64_RELATIVE,
    ABSOLUTE = R_X86_64_64,
    GLOB_DAT = R_X86_64_GLOB_DAT,
    JUMP_SLOT = R_X86_64_JUMP_SLOT,
    TLS_MODULE = R_X86_64_DTPMOD64,
    TLS_OFFSET = R_X86_64_DTPOFF64,
    TLS_STATIC = R_X86_64_TPOFF64
};
#elif defined(__aarch64__)
enum {
    RELATIVE = R_AARCH64_RELATIVE,
    ABSOLUTE = R_AARCH64_ABS64,
    GLOB_DAT = R_AARCH64_GLOB_DAT,
    JUMP_SLOT = R_AARCH64_JUMP_SLOT,
    TLS_MODULE = R_AARCH64_TLS_DTPMOD,
    TLS_OFFSET = R_AARCH64_TLS_DTPREL,
    TLS_STATIC = R_AARCH64_TLSDESC
};
#endif

struct links {
    const struct elf_view *view;
    const struct elf_dynamic *dynamic;
    uint64_t symbol_count;
    bool relaxed;
    bool versions[MAX_VERSIONS]; /* by version index: the file defines or needs this version */
};

/* True if a loadable segment with these flags maps the bytes. */
static bool is_mapped(const struct elf_view *view, uint64_t address, uint64_t count, uint32_t flags)
{
    for (uint32_t i = 0; i < view->segment_count; i++) {
        const Elf64_Phdr *segment = &view->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags && address >= segment->p_vaddr &&
            address - segment->p_vaddr <= segment->p_memsz && count <= segment->p_memsz - (address - segment->p_vaddr)) {
            return true;
        }
    }
    return false;
}

/* ---- segments and functions ---- */

/* Checks the segments that are used at run time: the loader protects GNU_RELRO, the others are read. */
static bool segments_are_mapped(const struct elf_view *view)
{
    for (uint32_t i = 0; i < view->segment_count; i++) {
        const Elf64_Phdr *segment = &view->segments[i];
        const bool used = segment->p_type == PT_GNU_RELRO || segment->p_type == PT_GNU_EH_FRAME ||
                          segment->p_type == PT_NOTE || segment->p_type == PT_GNU_PROPERTY;
        if (used && !is_mapped(view, segment->p_vaddr, segment->p_memsz, segment->p_type == PT_GNU_RELRO ? PF_W : PF_R)) {
            return false;
        }
    }
    return true;
}

static bool functions_are_code(const struct elf_view *view, const struct elf_dynamic *dynamic)
{
    const uint64_t calls[2] = {dynamic->init, dynamic->fini};
    const uint64_t arrays[2][2] = {{dynamic->init_array, dynamic->init_array_bytes},
                                   {dynamic->fini_array, dynamic->fini_array_bytes}};
    for (int i = 0; i < 2; i++) {
        if ((calls[i] != 0 && !is_mapped(view, calls[i], 1, PF_X)) ||
            (arrays[i][1] != 0 && !is_mapped(view, arrays[i][0], arrays[i][1], PF_R))) {
            return false;
        }
    }
    return true;
}

/* ---- symbol versions ---- */

static bool take_at(const struct elf_view *view, uint64_t address, void *out, size_t count)
{
    uint64_t offset = 0;
    return elf_offset(view, address, count, &offset) && elf_take(view, offset, out, count);
}

static bool note_version(struct links *links, uint32_t index)
{
    index &= VERSION_MASK;
    if (index >= MAX_VERSIONS) {
        return false;
    }
    links->versions[index] = true;
    return true;
}

static bool read_needed(struct links *links)
{
    uint64_t at = links->dynamic->verneed;
    for (uint64_t i = 0; i < links->dynamic->verneed_count; i++) {
        Elf64_Verneed need;
        if (i == ELF_MAX_NEEDS || !take_at(links->view, at, &need, sizeof need) || need.vn_version != 1 ||
            elf_string(links->view, links->dynamic, need.vn_file) == NULL) {
            return false;
        }
        uint64_t next = at + need.vn_aux;
        for (uint32_t k = 0; k < need.vn_cnt; k++) {
            Elf64_Vernaux name;
            if (k == MAX_VERSIONS || !take_at(links->view, next, &name, sizeof name) || !note_version(links, name.vna_other) ||
                elf_string(links->view, links->dynamic, name.vna_name) == NULL ||
                (name.vna_next == 0) != (k + 1 == need.vn_cnt)) {
                return false;
            }
            next += name.vna_next;
        }
        if ((need.vn_next == 0) != (i + 1 == links->dynamic->verneed_count)) {
            return false;
        }
        at += need.vn_next;
    }
    return true;
}

static bool read_defined(struct links *links)
{
    uint64_t at = links->dynamic->verdef;
    for (uint64_t i = 0; i < links->dynamic->verdef_count; i++) {
        Elf64_Verdef define;
        Elf64_Verdaux name;
        if (i == MAX_VERSIONS || !take_at(links->view, at, &define, sizeof define) || define.vd_version != 1 ||
            !note_version(links, define.vd_ndx) || define.vd_cnt == 0 ||
            !take_at(links->view, at + define.vd_aux, &name, sizeof name) ||
            elf_string(links->view, links->dynamic, name.vda_name) == NULL ||
            (define.vd_next == 0) != (i + 1 == links->dynamic->verdef_count)) {
            return false;
        }
        at += define.vd_next;
    }
    return true;
}

/* Checks the version of each symbol, because the loader uses it as an index into a table. */
static bool versions_are_known(struct links *links)
{
    const struct elf_dynamic *dynamic = links->dynamic;
    links->versions[0] = links->versions[1] = true; /* 0 and 1 are reserved: local, and global without a version */
    if ((dynamic->verneed == 0) != (dynamic->verneed_count == 0) || (dynamic->verdef == 0) != (dynamic->verdef_count == 0) ||
        !read_needed(links) || !read_defined(links)) {
        return false;
    }
    for (uint64_t i = 0; dynamic->versym != 0 && i < links->symbol_count; i++) {
        Elf64_Half index = 0;
        if (!take_at(links->view, dynamic->versym + i * sizeof index, &index, sizeof index) ||
            (index & VERSION_MASK) >= MAX_VERSIONS || !links->versions[index & VERSION_MASK]) {
            return false;
        }
    }
    return true;
}

/* ---- relocations ---- */

static bool relocation_is_inside(const struct links *links, const Elf64_Rela *relocation)
{
    const uint64_t symbol = ELF64_R_SYM(relocation->r_info);
    const uint64_t addend = (uint64_t)relocation->r_addend;
    if (symbol >= links->symbol_count || !is_mapped(links->view, relocation->r_offset, sizeof(uint64_t), PF_W)) {
        return false;
    }
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case RELATIVE:
        return symbol == 0 && is_mapped(links->view, addend, 0, PF_R);
    case ABSOLUTE:
    case GLOB_DAT:
    case JUMP_SLOT:
        return symbol != 0;
    case TLS_MODULE:
    case TLS_OFFSET:
    case TLS_STATIC:
        return links->relaxed;
    default:
        return false;
    }
}

static bool relocations_are_inside(const struct links *links, uint64_t table, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        if (!take_at(links->view, table + at, &relocation, sizeof relocation) || !relocation_is_inside(links, &relocation)) {
            return false;
        }
    }
    return true;
}

/* The linker gives each function one slot, in the order of the relocations, after the three words of the loader. */
static bool slots_are_in_order(const struct links *links)
{
    const struct elf_dynamic *dynamic = links->dynamic;
    for (uint64_t at = 0, slot = dynamic->pltgot + 3 * sizeof(uint64_t); at < dynamic->jmprel_bytes;
         at += sizeof(Elf64_Rela), slot += sizeof(uint64_t)) {
        Elf64_Rela relocation;
        if (!take_at(links->view, dynamic->jmprel + at, &relocation, sizeof relocation) ||
            (ELF64_R_TYPE(relocation.r_info) == JUMP_SLOT && relocation.r_offset != slot)) {
            return false;
        }
    }
    return true;
}

bool elf_links_check(const struct elf_view *view, const struct elf_dynamic *dynamic, uint64_t symbol_count, bool relaxed,
                     char *found, size_t found_bytes)
{
    struct links links = {.view = view, .dynamic = dynamic, .symbol_count = symbol_count, .relaxed = relaxed};
    const char *what = NULL;
    if (!segments_are_mapped(view)) {
        what = "a segment lies outside what is loaded";
    } else if (!functions_are_code(view, dynamic) || (dynamic->soname != 0 && elf_string(view, dynamic, dynamic->soname) == NULL)) {
        what = "its name or its start or end function lies outside it";
    } else if (!versions_are_known(&links)) {
        what = "the version of a symbol is not in its tables of versions";
    } else if (dynamic->packed_relocations || (dynamic->rela_bytes != 0 && dynamic->rela_entry != sizeof(Elf64_Rela))) {
        what = "its relocations are of another form than RELA (link without -z pack-relative-relocs)";
    } else if (!relocations_are_inside(&links, dynamic->rela, dynamic->rela_bytes) ||
               !relocations_are_inside(&links, dynamic->jmprel, dynamic->jmprel_bytes)) {
        what = "a relocation has an unknown type, or lies outside its writable memory";
    } else if (!slots_are_in_order(&links)) {
        what = "a function's slot is not where the linker puts it";
    }
    if (what != NULL) {
        (void)snprintf(found, found_bytes, "%s", what);
    }
    return what == NULL;
}
