/*
 * The tokens of one world's page: one to read, one to control. They are kept in a file of mode 0600 beside the world's
 * runtime directory, so that an open page stays valid when the world restarts.
 */
#ifndef WEB_TOKENS_H
#define WEB_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"

#define WEB_TOKEN_HEX 33 /* 128 bits and the NUL */

struct web_tokens {
    char path[192];
    char read[WEB_TOKEN_HEX], control[WEB_TOKEN_HEX];
    uint16_t port; /* of the last page of that world; 0: unknown */
};

/* Reads the file of the world whose control socket is `socket_path`, or makes new tokens. */
enum oto_status web_tokens_load(struct web_tokens *tokens, const char *socket_path, struct oto_error *error);
enum oto_status web_tokens_save(const struct web_tokens *tokens, struct oto_error *error);
/* Compares two tokens in a time that does not depend on their content. */
bool web_token_equals(const char *token, const char *offered);

#endif
