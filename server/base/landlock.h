/* Landlock, where the kernel has it: what a process that only reads gives up. */
#ifndef SRV_BASE_LANDLOCK_H
#define SRV_BASE_LANDLOCK_H

#include <stdint.h>

/*
 * From here on, for ever: no file is written, made, renamed or removed and no program executed; from ABI 4 on no TCP; from
 * ABI 6 on no signal to another process. Files may be read. Returns the kernel's ABI, 0 where it offers none. After
 * no_new_privs.
 */
uint32_t srv_landlock_close(void);

/* The kernel's ABI; 0: it has no Landlock, or it is turned off. */
uint32_t srv_landlock_abi(void);

#endif
