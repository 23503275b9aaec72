/* Landlock: a process that only reads gives up other rights, if the kernel supports this. */
#ifndef SRV_BASE_LANDLOCK_H
#define SRV_BASE_LANDLOCK_H

#include <stdint.h>

/*
 * Denies the process permanently to write, make, rename or remove files and to execute programs; from ABI 4 on also TCP; from
 * ABI 6 on no signal to another process. Files may be read. Returns the kernel's ABI, 0 where it offers none. After
 * no_new_privs.
 */
uint32_t srv_landlock_close(void);

/* The kernel's ABI; 0: it has no Landlock, or it is turned off. */
uint32_t srv_landlock_abi(void);

#endif
