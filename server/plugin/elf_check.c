#include "elf_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "elf_imports.h"
#include "elf_links.h"
#include "elf_view.h"
#include "otolith/plugin.h"

#if defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE EM_AARCH64
#else
#error "name this machine's ELF number here"
#endif

/* The file under check and its result. */
struct check {
    struct elf_view view;
    struct elf_dynamic dynamic;
    bool relaxed;
    struct oto_elf_result *result;
};

const char *oto_elf_rule_name(enum oto_elf_rule rule)
{
#define OTO_X(name, text, accepted) text,
    static const char *const names[OTO_ELF_RULE_COUNT] = {"", OTO_ELF_RULE_TABLE(OTO_X)};
#undef OTO_X
    return (unsigned)rule < OTO_ELF_RULE_COUNT ? names[rule] : "";
}

const char *oto_elf_rule_accepted(enum oto_elf_rule rule)
{
#define OTO_X(name, text, accepted) accepted,
    static const char *const texts[OTO_ELF_RULE_COUNT] = {"", OTO_ELF_RULE_TABLE(OTO_X)};
#undef OTO_X
    return (unsigned)rule < OTO_ELF_RULE_COUNT ? texts[rule] : "";
}

__attribute__((format(printf, 3, 4))) static bool refuse(struct check *check, enum oto_elf_rule rule,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    check->result->rule = rule;
    (void)vsnprintf(check->result->found, sizeof check->result->found, format, arguments);
    va_end(arguments);
    return false;
}

static bool check_header(struct check *check)
{
    Elf64_Ehdr *header = &check->view.header;
    if (check->view.size > OTO_PLUGIN_FILE_MAX_BYTES) {
        return refuse(check, OTO_ELF_SIZE, "it has %zu bytes", check->view.size);
    }
    if (check->view.size < SELFMAG || memcmp(check->view.bytes, ELFMAG, SELFMAG) != 0) {
        return refuse(check, OTO_ELF_FORMAT, "it is no ELF file");
    }
    if (!elf_take(&check->view, 0, header, sizeof *header)) {
        return refuse(check, OTO_ELF_TRUNCATED, "it has %zu bytes, less than an ELF header", check->view.size);
    }
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT ||
        header->e_ehsize != sizeof *header) {
        return refuse(check, OTO_ELF_FORMAT, "it is an ELF file of another class, byte order or version");
    }
    if (header->e_machine != THIS_MACHINE) {
        return refuse(check, OTO_ELF_MACHINE, "it is for ELF machine %u, this one is %u", header->e_machine,
                      THIS_MACHINE);
    }
    if (header->e_type != ET_DYN) {
        return refuse(check, OTO_ELF_TYPE, "it is an object or a program (ELF type %u)", header->e_type);
    }
    /*
     * Section headers are not mapped, but they are at the end of the file: if they are cut, mapped data may be cut too.
     */
    const uint64_t sections = (uint64_t)header->e_shnum * header->e_shentsize;
    if (header->e_shoff > check->view.size || sections > check->view.size - header->e_shoff) {
        return refuse(check, OTO_ELF_TRUNCATED, "its section headers lie beyond its %zu bytes", check->view.size);
    }
    return true;
}

static bool read_segments(struct check *check)
{
    struct elf_view *view = &check->view;
    if (view->header.e_phnum == 0 || view->header.e_phnum > ELF_MAX_SEGMENTS ||
        view->header.e_phentsize != sizeof(Elf64_Phdr)) {
        return refuse(check, OTO_ELF_LAYOUT, "it has %u segments of %u bytes", view->header.e_phnum,
                      view->header.e_phentsize);
    }
    view->segment_count = view->header.e_phnum;
    if (!elf_take(view, view->header.e_phoff, view->segments, view->segment_count * sizeof(Elf64_Phdr))) {
        return refuse(check, OTO_ELF_TRUNCATED, "its program headers lie beyond its %zu bytes", view->size);
    }
    return true;
}

/* Checks that loadable segments ascend, lie inside the file, and need no more memory than a plugin may use. */
static bool check_load_segment(struct check *check, uint32_t index, uint64_t *end)
{
    const Elf64_Phdr *segment = &check->view.segments[index];
    if (segment->p_offset > check->view.size || segment->p_filesz > check->view.size - segment->p_offset) {
        return refuse(check, OTO_ELF_TRUNCATED, "segment %u lies beyond its %zu bytes", index, check->view.size);
    }
    if (segment->p_filesz > segment->p_memsz || segment->p_vaddr < *end ||
        segment->p_vaddr > OTO_PLUGIN_FILE_MAX_BYTES || segment->p_memsz > OTO_PLUGIN_FILE_MAX_BYTES ||
        (segment->p_vaddr - segment->p_offset) % 4096 != 0) {
        return refuse(check, OTO_ELF_LAYOUT, "segment %u is misplaced or maps more than 64 MiB", index);
    }
    *end = segment->p_vaddr + segment->p_memsz;
    if ((segment->p_flags & PF_W) != 0 && (segment->p_flags & PF_X) != 0) {
        return refuse(check, OTO_ELF_WRITABLE_CODE, "segment %u is writable and executable", index);
    }
    return true;
}

static bool check_segments(struct check *check)
{
    bool stack_seen = false;
    uint64_t end = 0;
    for (uint32_t i = 0; i < check->view.segment_count; i++) {
        const Elf64_Phdr *segment = &check->view.segments[i];
        if (segment->p_type == PT_LOAD && !check_load_segment(check, i, &end)) {
            return false;
        }
        if (segment->p_type == PT_TLS && !check->relaxed) {
            return refuse(check, OTO_ELF_THREAD_LOCAL, "it has %llu bytes of thread-local storage",
                          (unsigned long long)segment->p_memsz);
        }
        if (segment->p_type == PT_GNU_STACK) {
            stack_seen = true;
            if ((segment->p_flags & PF_X) != 0) {
                return refuse(check, OTO_ELF_EXEC_STACK, "it asks for an executable stack");
            }
        }
    }
    if (!stack_seen) {
        return refuse(check, OTO_ELF_EXEC_STACK, "it does not say that its stack is not executable");
    }
    return end > 0 || refuse(check, OTO_ELF_LAYOUT, "it has no loadable segment");
}

static bool check_needs(struct check *check)
{
    static const char *const allowed[] = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
    for (uint32_t i = 0; i < check->dynamic.need_count; i++) {
        const char *name = elf_string(&check->view, &check->dynamic, check->dynamic.needs[i]);
        bool known = (check->relaxed || check->result->host_only) && name != NULL;
        for (size_t k = 0; name != NULL && k < sizeof allowed / sizeof *allowed; k++) {
            known = known || strcmp(name, allowed[k]) == 0;
        }
        if (!known) {
            return refuse(check, OTO_ELF_NEEDS, "it needs '%.100s'", name != NULL ? name : "(a cut name)");
        }
    }
    return !check->dynamic.filters || refuse(check, OTO_ELF_NEEDS, "it filters or audits another library");
}

static bool check_dynamic(struct check *check)
{
    struct elf_dynamic *dynamic = &check->dynamic;
    if (!elf_read_dynamic(&check->view, dynamic)) {
        return refuse(check, OTO_ELF_LAYOUT, "its dynamic section is missing, cut or contradicts itself");
    }
    if (dynamic->text_relocations || (dynamic->flags & DF_TEXTREL) != 0) {
        return refuse(check, OTO_ELF_TEXT_RELOC, "its code is patched while loading");
    }
    if ((dynamic->flags_1 & DF_1_NODELETE) != 0) {
        return refuse(check, OTO_ELF_NO_DELETE, "it is marked as not to be unloaded");
    }
    if ((dynamic->flags & DF_STATIC_TLS) != 0 && !check->relaxed) {
        return refuse(check, OTO_ELF_THREAD_LOCAL, "it uses thread-local storage of the initial-exec model");
    }
    /* Accepts one constructor and one destructor: those of the compiler's start files. */
    if (!check->relaxed && (dynamic->init_array_bytes > 8 || dynamic->fini_array_bytes > 8)) {
        return refuse(check, OTO_ELF_CONSTRUCTORS, "it has %llu constructors and %llu destructors, 1 of each is usual",
                      (unsigned long long)dynamic->init_array_bytes / 8,
                      (unsigned long long)dynamic->fini_array_bytes / 8);
    }
    if (dynamic->preinit_array_bytes != 0) {
        return refuse(check, OTO_ELF_CONSTRUCTORS, "it has pre-initialisers");
    }
    return true;
}

static bool is_entry(struct check *check, const Elf64_Sym *symbol, const char *name)
{
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    uint64_t offset = 0;
    const uint64_t least = offsetof(struct oto_plugin_entry, descriptor);
    if (strcmp(name, OTO_PLUGIN_SYMBOL) != 0 || ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT ||
        (visibility != STV_DEFAULT && visibility != STV_PROTECTED) || symbol->st_size < least ||
        !elf_offset(&check->view, symbol->st_value, symbol->st_size, &offset)) {
        return false;
    }
    check->result->entry_offset = (size_t)offset;
    check->result->entry_bytes = (size_t)symbol->st_size;
    return true;
}

static bool check_symbols(struct check *check)
{
    const uint64_t count = elf_symbol_count(&check->view, &check->dynamic);
    uint64_t table = 0;
    bool entry_seen = false;
    if (count == 0 || !elf_offset(&check->view, check->dynamic.symtab, count * sizeof(Elf64_Sym), &table)) {
        return refuse(check, OTO_ELF_LAYOUT, "its symbol table is missing, cut or contradicts itself");
    }
    for (uint64_t i = 1; i < count; i++) {
        Elf64_Sym symbol;
        if (!elf_take(&check->view, table + i * sizeof symbol, &symbol, sizeof symbol)) {
            return refuse(check, OTO_ELF_LAYOUT, "its symbol table is cut");
        }
        const char *name = elf_string(&check->view, &check->dynamic, symbol.st_name);
        if (name == NULL) {
            return refuse(check, OTO_ELF_LAYOUT, "symbol %llu has no name", (unsigned long long)i);
        }
        if (ELF64_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE && symbol.st_shndx != SHN_UNDEF) {
            return refuse(check, OTO_ELF_UNIQUE_SYMBOL, "'%.100s' is unique in the process", name);
        }
        if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC && symbol.st_shndx != SHN_UNDEF) {
            return refuse(check, OTO_ELF_IFUNC, "'%.100s' is an indirect function", name);
        }
        const bool defined = symbol.st_shndx != SHN_UNDEF;
        entry_seen = entry_seen || (defined && is_entry(check, &symbol, name));
        check->result->host_only = check->result->host_only || (defined && strcmp(name, OTO_PLUGIN_HOST_ONLY_SYMBOL) == 0);
    }
    if (!entry_seen) {
        return refuse(check, OTO_ELF_ENTRY, "it does not export `" OTO_PLUGIN_SYMBOL "` as data");
    }
    check->result->rule = OTO_ELF_LAYOUT;
    if (!elf_links_check(&check->view, &check->dynamic, count, check->relaxed, check->result->found,
                         sizeof check->result->found)) {
        return false;
    }
    check->result->rule = OTO_ELF_OK;
    return true;
}

static bool check_digest(struct check *check)
{
    const struct elf_view *view = &check->view;
    const size_t place = oto_digest_place(view->bytes, view->size);
    if (place == 0) {
        return true;
    }
    const uint64_t written = oto_digest_written(view->bytes, place);
    check->result->digest_offset = place;
    check->result->digest = oto_digest_compute(view, place);
    return written == 0 || written == check->result->digest ||
           refuse(check, OTO_ELF_DIGEST, "it has changed since it was built: its digest is %016llx, %016llx is written in it",
                  (unsigned long long)check->result->digest, (unsigned long long)written);
}

bool oto_elf_check(const void *bytes, size_t size, bool relaxed, struct oto_elf_result *result)
{
    struct check check = {.view = {.bytes = bytes, .size = size}, .relaxed = relaxed, .result = result};
    memset(result, 0, sizeof *result);
    return check_header(&check) && read_segments(&check) && check_segments(&check) && check_dynamic(&check) &&
           check_symbols(&check) && check_needs(&check) && check_digest(&check);
}

/* Checks each symbol that the file imports. Weak symbols of the compiler's start files are in the list too. */
bool oto_elf_check_imports(const void *bytes, size_t size, bool relaxed, struct oto_elf_result *result)
{
    struct check check = {.view = {.bytes = bytes, .size = size}, .relaxed = relaxed, .result = result};
    memset(result, 0, sizeof *result);
    if (!check_header(&check) || !read_segments(&check) || !check_dynamic(&check) || !check_symbols(&check) ||
        !check_needs(&check)) {
        return false;
    }
    uint64_t table = 0;
    const uint64_t count = elf_symbol_count(&check.view, &check.dynamic);
    (void)elf_offset(&check.view, check.dynamic.symtab, count * sizeof(Elf64_Sym), &table);
    for (uint64_t i = 1; i < count; i++) {
        Elf64_Sym symbol;
        if (!elf_take(&check.view, table + i * sizeof symbol, &symbol, sizeof symbol) ||
            symbol.st_shndx != SHN_UNDEF) {
            continue;
        }
        const char *name = elf_string(&check.view, &check.dynamic, symbol.st_name);
        if (name == NULL || (!relaxed && !result->host_only && !oto_elf_import_is_allowed(name))) {
            return refuse(&check, OTO_ELF_IMPORTS, "it imports '%.100s'", name != NULL ? name : "");
        }
    }
    return true;
}
