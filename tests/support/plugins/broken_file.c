/* Files that must be refused before any code of them runs: each definition breaks one rule. */
#include "minimal.h"

#if defined(BREAK_NO_ENTRY)
OTO_PLUGIN_EXPORT const struct oto_plugin_entry another_name = {
    sizeof(struct oto_plugin_entry), 0, OTO_ABI_BLOCK_INITIALIZER, &minimal_descriptor, &minimal_ops, NULL};
#elif defined(BREAK_ABI_MAJOR) || defined(BREAK_ABI_MINOR) || defined(BREAK_ABI_MAGIC) || defined(BREAK_ABI_SIZES)
#if defined(BREAK_ABI_MAJOR)
#define ABI {OTO_PLUGIN_MAGIC, OTO_PLUGIN_ABI_MAJOR + 1, 0, 8, 1, 1, 1, 1, 1, 0x01020304u}
#elif defined(BREAK_ABI_MINOR)
#define ABI {OTO_PLUGIN_MAGIC, OTO_PLUGIN_ABI_MAJOR, OTO_PLUGIN_ABI_MINOR + 1, 8, 1, 1, 1, 1, 1, 0x01020304u}
#elif defined(BREAK_ABI_SIZES)
#define ABI {OTO_PLUGIN_MAGIC, OTO_PLUGIN_ABI_MAJOR, OTO_PLUGIN_ABI_MINOR, 8, 1, 1, 1, 1, 1, 0x01020304u}
#else
#define ABI {0x504f544fu, OTO_PLUGIN_ABI_MAJOR, OTO_PLUGIN_ABI_MINOR, 8, 1, 1, 1, 1, 1, 0x01020304u}
#endif
OTO_PLUGIN_EXPORT const struct oto_plugin_entry otolith_plugin = {sizeof(struct oto_plugin_entry), 0, ABI,
                                                                  &minimal_descriptor, &minimal_ops, NULL};
#elif defined(BREAK_ENTRY_SIZE)
OTO_PLUGIN_EXPORT const struct oto_plugin_entry otolith_plugin = {8, 0, OTO_ABI_BLOCK_INITIALIZER, &minimal_descriptor,
                                                                  &minimal_ops, NULL};
#elif defined(BREAK_NO_OPS)
OTO_PLUGIN_EXPORT const struct oto_plugin_entry otolith_plugin = {
    sizeof(struct oto_plugin_entry), 0, OTO_ABI_BLOCK_INITIALIZER, &minimal_descriptor, NULL, NULL};
#else
OTO_PLUGIN_DEFINE(minimal_descriptor, minimal_ops, NULL);
#endif

#if defined(BREAK_THREAD_LOCAL)
OTO_PLUGIN_EXPORT _Thread_local int counter = 3;
#elif defined(BREAK_CONSTRUCTORS)
OTO_PLUGIN_EXPORT int ran;
__attribute__((constructor)) static void at_load(void)
{
    ran = 1;
}
#elif defined(BREAK_UNIQUE_SYMBOL)
__asm__(".data\n.globl unique\n.type unique, @gnu_unique_object\n.size unique, 8\nunique: .quad 1\n.text\n");
#elif defined(BREAK_INDIRECT_FUNCTION)
__asm__(".text\n.globl chosen\n.type chosen, @gnu_indirect_function\nchosen: ret\n");
#elif defined(BREAK_TEXT_RELOCATION)
__asm__(".text\n.quad otolith_plugin\n");
#elif defined(BREAK_WRITABLE_CODE)
__asm__(".section .both,\"awx\",@progbits\n.quad 0\n.text\n");
#elif defined(BREAK_NEEDS)
extern unsigned uv_version(void);
OTO_PLUGIN_EXPORT unsigned (*needed)(void) = uv_version;
#elif defined(BREAK_UNDEFINED)
extern void nowhere(void);
OTO_PLUGIN_EXPORT void (*undefined)(void) = nowhere;
#elif defined(BREAK_FLOAT_MODE)
/* As -ffast-math at link time does; by DT_INIT, so that the file's other rules hold. */
OTO_PLUGIN_EXPORT void float_mode(void);
void float_mode(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)1 << 24));
#endif
}
#endif
