/* The link of a world's page, from the server's reply to `info`. */
#ifndef CLI_WEB_LINK_H
#define CLI_WEB_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "otolith/client.h"

struct cli_web_link {
    bool expected;    /* the world has a page, which may not listen yet, or may start again after its death */
    char link[256];   /* with the read token; "" while otolith-web does not listen */
    char tokens[192]; /* path of the file with both tokens */
};

enum oto_status cli_web_link_read(struct oto_client *client, struct cli_web_link *link, struct oto_error *error);
/* Reads the link as cli_web_link_read, but waits at most `timeout_ms` until otolith-web listens. */
enum oto_status cli_web_link_wait(struct oto_client *client, int timeout_ms, struct cli_web_link *link, struct oto_error *error);

#endif
