#include "tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes the path of the token file: DIRECTORY/WORLD/control.sock becomes DIRECTORY/WORLD.web. */
static bool make_path(struct web_tokens *tokens, const char *socket_path)
{
    const char *end = strrchr(socket_path, '/');
    const int length = end == NULL ? -1 : (int)(end - socket_path);
    const int written = snprintf(tokens->path, sizeof tokens->path, "%.*s.web", length > 0 ? length : 0, socket_path);
    return length > 0 && written > 0 && (size_t)written < sizeof tokens->path - 4; /* room for ".new" */
}

static bool is_token(const char *text)
{
    return strlen(text) == WEB_TOKEN_HEX - 1 && strspn(text, "0123456789abcdef") == WEB_TOKEN_HEX - 1;
}

/* Reads the token file. A file that belongs to another user, or that others can read, is not used. */
static bool read_file(struct web_tokens *tokens)
{
    char text[256] = "";
    struct stat facts;
    unsigned port = 0;
    const int fd = open(tokens->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const bool own = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
                     (facts.st_mode & 0077) == 0;
    const ssize_t got = own ? read(fd, text, sizeof text - 1) : -1;
    (void)close(fd);
    if (got <= 0 || sscanf(text, "read %32s control %32s port %u", tokens->read, tokens->control, &port) != 3) {
        return false;
    }
    tokens->port = port <= UINT16_MAX ? (uint16_t)port : 0;
    return is_token(tokens->read) && is_token(tokens->control);
}

static bool make_token(char token[WEB_TOKEN_HEX])
{
    unsigned char bytes[(WEB_TOKEN_HEX - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    return true;
}

enum oto_status web_tokens_load(struct web_tokens *tokens, const char *socket_path, struct oto_error *error)
{
    memset(tokens, 0, sizeof *tokens);
    if (!make_path(tokens, socket_path)) {
        return oto_fail(error, OTO_INVALID, "the control socket '%.200s' is not DIRECTORY/WORLD/control.sock", socket_path);
    }
    if (read_file(tokens)) {
        return OTO_OK;
    }
    tokens->port = 0;
    return make_token(tokens->read) && make_token(tokens->control)
               ? OTO_OK
               : oto_fail(error, OTO_IO, "there are no random numbers for the page's tokens: %s", strerror(errno));
}

enum oto_status web_tokens_save(const struct web_tokens *tokens, struct oto_error *error)
{
    char fresh[sizeof tokens->path + 4], text[256];
    (void)snprintf(fresh, sizeof fresh, "%s.new", tokens->path);
    const int length = snprintf(text, sizeof text, "read %s\ncontrol %s\nport %u\n", tokens->read, tokens->control, tokens->port);
    (void)unlink(fresh);
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool written = fd >= 0 && write(fd, text, (size_t)length) == length;
    const int reason = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!written || rename(fresh, tokens->path) != 0) {
        (void)unlink(fresh);
        return oto_fail(error, OTO_IO, "%s cannot be written: %s", tokens->path, strerror(written ? errno : reason));
    }
    return OTO_OK;
}

bool web_token_equals(const char *token, const char *offered)
{
    const size_t bytes = strlen(token);
    unsigned char difference = 0;
    if (bytes == 0 || strlen(offered) != bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        difference |= (unsigned char)(token[i] ^ offered[i]);
    }
    return difference == 0;
}
