/* Folders of data that are installed with this program: PREFIX/share/otolith/configs, else those of the checkout. */
#ifndef CLI_INSTALLED_H
#define CLI_INSTALLED_H

#include <stddef.h>

#include "otolith/status.h"

enum oto_status cli_installed_folder(const char *name, char *path, size_t bytes, struct oto_error *error);
/*
 * The path of an installed world, which the caller frees, or NULL with an error. On a terminal it lists the worlds with numbers on
 * standard error and reads a number from standard input; an empty line, or no terminal, stands for the default world.
 */
char *cli_world_choose(struct oto_error *error);

#endif
