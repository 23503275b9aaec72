#include "elf_imports.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Sorted by strcmp; a test checks the order. */
static const char *const allowed[] = {
    "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__assert_fail", "__ctype_b_loc", "__cxa_finalize",
    "__errno_location", "__explicit_bzero_chk", "__fpclassify", "__gmon_start__", "__isoc99_sscanf", "__memcpy_chk",
    "__memmove_chk", "__memset_chk", "__signbit", "__snprintf_chk", "__sprintf_chk", "__stack_chk_fail",
    "__stpcpy_chk", "__strcat_chk", "__strcpy_chk", "__strncat_chk", "__strncpy_chk", "__vsnprintf_chk", "abort", "abs",
    "acos", "acosf", "acosh", "asin", "asinf", "asinh", "atan", "atan2", "atan2f", "atanf", "atanh", "atof", "atoi",
    "atol", "atoll", "bcmp", "bsearch", "calloc", "cbrt", "ceil", "ceilf", "clock", "clock_gettime", "copysign", "cos",
    "cosf", "cosh", "erf", "erfc", "exp", "exp2", "expf", "expm1", "fabs", "fabsf", "fdim", "floor", "floorf", "fma",
    "fmax", "fmaxf", "fmin", "fminf", "fmod", "free", "frexp", "hypot", "hypotf", "ilogb", "labs", "ldexp", "lgamma",
    "llabs", "llround", "log", "log10", "log1p", "log2", "logb", "logf", "lrint", "lround", "malloc", "memchr", "memcmp",
    "memcpy", "memmem", "memmove", "mempcpy", "memrchr", "memset", "modf", "nan", "nearbyint", "nextafter", "pow",
    "powf", "qsort", "realloc", "remainder", "rint", "round", "roundf", "scalbn", "sin", "sincos", "sincosf", "sinf",
    "sinh", "snprintf", "sqrt", "sqrtf", "sscanf", "stpcpy", "strcasecmp", "strcat", "strchr", "strchrnul", "strcmp",
    "strcpy", "strcspn", "strlen", "strncasecmp", "strncat", "strncmp", "strncpy", "strndup", "strnlen", "strpbrk",
    "strrchr", "strspn", "strstr", "strtod", "strtof", "strtol", "strtoll", "strtoul", "strtoull", "tan", "tanf", "tanh",
    "tgamma", "time", "tolower", "toupper", "trunc", "truncf", "vsnprintf"};

static int compare(const void *name, const void *row)
{
    return strcmp(name, *(const char *const *)row);
}

bool oto_elf_import_is_allowed(const char *name)
{
    return bsearch(name, allowed, sizeof allowed / sizeof *allowed, sizeof *allowed, compare) != NULL;
}
