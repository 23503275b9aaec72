/* Options for the files of tls+tcp:// addresses: cli_tls_argp is a child of the command's argp, its input a struct cli_tls. */
#ifndef CLI_TLS_OPTIONS_H
#define CLI_TLS_OPTIONS_H

#include <argp.h>

#include "otolith/client.h"

struct cli_tls {
    struct oto_tls_files files;
};
extern const struct argp cli_tls_argp;

const struct oto_tls_files *cli_tls_files(const struct cli_tls *tls);

#endif
