/* Folders of data that are installed with this program: PREFIX/share/otolith/configs, else those of the checkout. */
#ifndef CLI_INSTALLED_H
#define CLI_INSTALLED_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

enum { CLI_MOST_WORLDS = 256 };

/* Names of the world files in the folder, sorted. */
struct cli_world_files {
    char folder[4096];
    char *names[CLI_MOST_WORLDS];
    uint32_t count;
};

enum oto_status cli_installed_folder(const char *name, char *path, size_t bytes, struct oto_error *error);
enum oto_status cli_world_files_list(struct cli_world_files *files, struct oto_error *error);
void cli_world_files_free(struct cli_world_files *files);
/*
 * Lists the installed worlds with numbers on standard error and reads a number from standard input. Returns the path of the
 * world with that number, which the caller frees, or NULL with an error.
 */
char *cli_world_files_ask(struct oto_error *error);

#endif
