/* This machine's name in filters of system calls. */
#ifndef SRV_BASE_AUDIT_ARCH_H
#define SRV_BASE_AUDIT_ARCH_H

#include <linux/audit.h>

#if defined(__x86_64__)
#define SRV_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SRV_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "name this machine's audit architecture here"
#endif

#endif
