/* Options for the files of tls+tcp:// addresses: cli_tls_argp is a child of the command's argp, its input a struct cli_tls. */
#ifndef CLI_TLS_OPTIONS_H
#define CLI_TLS_OPTIONS_H

#include <argp.h>

#include "otolith/client.h"

struct cli_tls {
    struct oto_tls_files files;
};
extern const struct argp cli_tls_argp;

/* The option --connect and the TLS options, for commands that control a world on another machine; the input is a struct cli_remote. */
struct cli_remote {
    const char *url; /* NULL: the world is on this machine */
    struct cli_tls tls;
};
extern const struct argp cli_remote_argp;
/* The same options for commands that read samples. */
extern const struct argp cli_samples_argp;

const struct oto_tls_files *cli_tls_files(const struct cli_tls *tls);

#endif
