/* Landlock, where the kernel has it: what plugins may not do before the filter of system calls is closed. */
#ifndef SRV_PLUGIN_HOST_LANDLOCK_H
#define SRV_PLUGIN_HOST_LANDLOCK_H

#include <stdint.h>

/*
 * From here on, for ever: no file is written, made, renamed or removed and no program executed; from ABI 4 on no TCP; from
 * ABI 6 on no signal to another process. Files may be read. Returns the kernel's ABI, 0 where it offers none. After
 * no_new_privs.
 */
uint32_t host_landlock_close(void);

#endif
