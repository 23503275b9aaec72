/* Paths relative to the file that contains this code: the shared library, or the program. [loop] */
#ifndef SRV_BASE_BESIDE_H
#define SRV_BASE_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `relative` from the folder of the shared library that contains this code, for example "otolith/plugins" or
 * "../share/otolith". False, with an empty path, if the code is linked into the program, or if the path is too long.
 */
bool srv_beside_library(const char *relative, char *path, size_t bytes);
/* `relative` from the folder of the program; false likewise. */
bool srv_beside_program(const char *relative, char *path, size_t bytes);

#endif
