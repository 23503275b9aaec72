/* The file rules: every length and every byte of a real plugin, and one file for each rule. */
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "oto_test.h"
#include "plugin/elf_check.h"

struct file {
    uint8_t *bytes;
    size_t size;
};

static struct file read_file(const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.so", OTO_TEST_PLUGIN_DIR, name);
    FILE *stream = fopen(path, "rbe");
    assert_non_null(stream);
    struct stat info;
    assert_int_equal(fstat(fileno(stream), &info), 0);
    struct file file = {malloc((size_t)info.st_size), (size_t)info.st_size};
    assert_int_equal(fread(file.bytes, 1, file.size, stream), file.size);
    (void)fclose(stream);
    return file;
}

/* The first `size` bytes end at an unreadable page: one byte read beyond them is a crash, with or without asan. */
static uint8_t *fence(size_t capacity, size_t *mapped)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *mapped = (capacity + page - 1) / page * page + page;
    uint8_t *map = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + *mapped - page, page, PROT_NONE), 0);
    return map + *mapped - page;
}

static void a_real_plugin_passes_and_its_entry_is_found(void **state)
{
    (void)state;
    struct file file = read_file("counter");
    struct oto_elf_result result;
    assert_true(oto_elf_check(file.bytes, file.size, OTO_TEST_RELAXED, &result));
    assert_int_equal(result.rule, OTO_ELF_OK);
    assert_true(result.entry_offset > 0 && result.entry_offset + result.entry_bytes <= file.size);
    free(file.bytes);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    struct file file = read_file("abi_1_1");
    size_t mapped = 0;
    uint8_t *end = fence(file.size, &mapped);
    for (size_t size = 0; size < file.size; size++) {
        struct oto_elf_result result;
        memcpy(end - size, file.bytes, size);
        assert_false(oto_elf_check(end - size, size, OTO_TEST_RELAXED, &result));
        assert_true(result.rule != OTO_ELF_OK && result.found[0] != '\0');
    }
    free(file.bytes);
}

/* xorshift64*: a fixed sequence for the mutations. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static void no_changed_byte_makes_it_read_beyond_the_file(void **state)
{
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    struct file file = read_file("abi_1_1");
    size_t mapped = 0;
    uint8_t *copy = fence(file.size, &mapped) - file.size;
    memcpy(copy, file.bytes, file.size);
    for (size_t at = 0; at < file.size; at++) {
        for (size_t v = 0; v < sizeof values; v++) {
            struct oto_elf_result result;
            copy[at] = values[v];
            (void)oto_elf_check(copy, file.size, OTO_TEST_RELAXED, &result);
            assert_true(result.entry_offset <= file.size);
        }
        copy[at] = file.bytes[at];
    }
    free(file.bytes);
}

/* Finds an entry of the dynamic section. The read-only tables of a test plugin have equal addresses and file offsets. */
static uint64_t *dynamic_value(uint8_t *bytes, int64_t tag)
{
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)bytes;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(void *)(bytes + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        for (uint64_t k = 0; segments[i].p_type == PT_DYNAMIC && k < segments[i].p_filesz / sizeof(Elf64_Dyn); k++) {
            Elf64_Dyn *entry = (Elf64_Dyn *)(void *)(bytes + segments[i].p_offset) + k;
            if (entry->d_tag == tag) {
                return &entry->d_un.d_val;
            }
        }
    }
    fail_msg("no entry %lld in the dynamic section", (long long)tag);
    return NULL;
}

static void expect_damage(struct file *file, const char *words)
{
    struct oto_elf_result result;
    assert_false(oto_elf_check(file->bytes, file->size, OTO_TEST_RELAXED, &result));
    assert_int_equal(result.rule, OTO_ELF_LAYOUT);
    if (strstr(result.found, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, result.found);
    }
    free(file->bytes);
}

static void numbers_that_the_dynamic_loader_follows_are_checked(void **state)
{
    (void)state;
    struct file file = read_file("counter");
    Elf64_Rela *relocation = (Elf64_Rela *)(void *)(file.bytes + *dynamic_value(file.bytes, DT_RELA));
    relocation->r_offset ^= UINT64_C(1) << 20;
    expect_damage(&file, "relocation");

    file = read_file("counter");
    relocation = (Elf64_Rela *)(void *)(file.bytes + *dynamic_value(file.bytes, DT_RELA));
    relocation->r_info ^= UINT64_C(1) << 40;
    expect_damage(&file, "relocation");

    file = read_file("counter");
    Elf64_Half *version = (Elf64_Half *)(void *)(file.bytes + *dynamic_value(file.bytes, DT_VERSYM));
    version[1] ^= 1 << 12;
    expect_damage(&file, "version");

    file = read_file("counter");
    *dynamic_value(file.bytes, DT_INIT) ^= UINT64_C(1) << 30;
    expect_damage(&file, "function");

    file = read_file("counter");
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)file.bytes;
    Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(file.bytes + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        segments[i].p_memsz ^= segments[i].p_type == PT_GNU_RELRO ? UINT64_C(1) << 24 : 0;
    }
    expect_damage(&file, "segment");
}

static void no_changed_words_make_it_read_beyond_the_file(void **state)
{
    (void)state;
    struct file file = read_file("abi_1_1");
    size_t mapped = 0;
    uint8_t *copy = fence(file.size, &mapped) - file.size;
    uint64_t seed = 20260701;
    for (int round = 0; round < 20000; round++) {
        struct oto_elf_result result;
        memcpy(copy, file.bytes, file.size);
        for (int change = 0; change < 4; change++) {
            /* Mostly in the headers and tables at the front, where lengths and offsets are. */
            const size_t range = next_random(&seed) % 4 != 0 ? 2048 : file.size;
            const size_t at = (size_t)(next_random(&seed) % (range / 4)) * 4;
            const uint64_t value = next_random(&seed) >> (next_random(&seed) % 64);
            memcpy(copy + at, &value, at + 8 <= file.size ? 8 : 4);
        }
        (void)oto_elf_check(copy, file.size, round % 2 == 0, &result);
    }
    free(file.bytes);
}

static void each_broken_file_is_refused_by_its_rule(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum oto_elf_rule rule;
        bool relaxed_too;
    } cases[] = {
        {"broken_no_entry", OTO_ELF_ENTRY, true},
        {"broken_thread_local", OTO_ELF_THREAD_LOCAL, false},
        {"broken_constructors", OTO_ELF_CONSTRUCTORS, false},
        {"broken_unique_symbol", OTO_ELF_UNIQUE_SYMBOL, true},
        {"broken_indirect_function", OTO_ELF_IFUNC, true},
        {"broken_text_relocation", OTO_ELF_TEXT_RELOC, true},
        {"broken_writable_code", OTO_ELF_WRITABLE_CODE, true},
        {"broken_needs", OTO_ELF_NEEDS, false},
        {"broken_executable_stack", OTO_ELF_EXEC_STACK, true},
        {"broken_no_delete", OTO_ELF_NO_DELETE, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (OTO_TEST_RELAXED && !cases[i].relaxed_too) {
            continue; /* the sanitizer's own objects already break the strict rules */
        }
        struct file file = read_file(cases[i].name);
        struct oto_elf_result result;
        assert_false(oto_elf_check(file.bytes, file.size, OTO_TEST_RELAXED, &result));
        if (result.rule != cases[i].rule) {
            print_error("%s: refused by '%s' (%s) instead of '%s'\n", cases[i].name, oto_elf_rule_name(result.rule),
                        result.found, oto_elf_rule_name(cases[i].rule));
            fail();
        }
        assert_true(oto_elf_rule_accepted(result.rule)[0] != '\0');
        free(file.bytes);
    }
}

static void headers_of_other_files_are_named(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        enum oto_elf_rule rule;
    } cases[] = {
        {0, 'X', OTO_ELF_FORMAT},   {4, 1, OTO_ELF_FORMAT}, {5, 2, OTO_ELF_FORMAT},
        {18, 0x28, OTO_ELF_MACHINE}, {16, 2, OTO_ELF_TYPE},  {16, 1, OTO_ELF_TYPE},
        {56, 0, OTO_ELF_LAYOUT},    {54, 1, OTO_ELF_LAYOUT},
    };
    struct file file = read_file("abi_1_1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t before = file.bytes[cases[i].at];
        struct oto_elf_result result;
        file.bytes[cases[i].at] = cases[i].value;
        assert_false(oto_elf_check(file.bytes, file.size, OTO_TEST_RELAXED, &result));
        assert_int_equal(result.rule, cases[i].rule);
        file.bytes[cases[i].at] = before;
    }
    free(file.bytes);
}

static void the_readme_explains_every_rule(void **state)
{
    (void)state;
    FILE *stream = fopen(OTO_SOURCE_DIR "/server/plugin/README.md", "re");
    assert_non_null(stream);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, (1 << 16) - 1, stream) > 0);
    (void)fclose(stream);
    for (int rule = 1; rule < OTO_ELF_RULE_COUNT; rule++) {
        char row[64];
        (void)snprintf(row, sizeof row, "| `%s` |", oto_elf_rule_name((enum oto_elf_rule)rule));
        if (strstr(text, row) == NULL) {
            print_error("README.md has no row for %s\n", row);
            fail();
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_plugin_passes_and_its_entry_is_found),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(no_changed_byte_makes_it_read_beyond_the_file),
        cmocka_unit_test(numbers_that_the_dynamic_loader_follows_are_checked),
        cmocka_unit_test(no_changed_words_make_it_read_beyond_the_file),
        cmocka_unit_test(each_broken_file_is_refused_by_its_rule),
        cmocka_unit_test(headers_of_other_files_are_named),
        cmocka_unit_test(the_readme_explains_every_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
