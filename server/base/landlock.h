/* Landlock: a process that only reads gives up other rights, if the kernel supports this. */
#ifndef SRV_BASE_LANDLOCK_H
#define SRV_BASE_LANDLOCK_H

#include <stdint.h>

/*
 * From this call on the process can write, make, rename or remove no file and execute no program; from ABI 4 on it cannot
 * bind or connect TCP sockets, from ABI 6 on it cannot send signals to other processes. It can read files. In the directory
 * `own` (NULL: none) it can write, make and remove files. Returns the kernel's ABI; 0: there is none. no_new_privs must be set
 * before.
 */
uint32_t srv_landlock_close(const char *own);

/* The kernel's ABI; 0: it has no Landlock, or it is turned off. */
uint32_t srv_landlock_abi(void);

#endif
