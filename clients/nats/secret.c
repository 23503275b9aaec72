#include "secret.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum oto_status nats_secret_read(const char *path, char *secret, struct oto_error *error)
{
    FILE *from = fopen(path, "re");
    if (from == NULL) {
        return oto_fail(error, OTO_IO, "cannot read '%.256s': %s", path, strerror(errno));
    }
    secret[0] = '\0';
    const bool is_read = fgets(secret, NATS_SECRET_BYTES, from) != NULL;
    (void)fclose(from);
    const size_t length = strcspn(secret, "\r\n");
    const bool is_cut = length + 1 == NATS_SECRET_BYTES;
    secret[length] = '\0';
    return is_read && length > 0 && !is_cut
               ? OTO_OK
               : oto_fail(error, OTO_INVALID, "the first line of '%.256s' has 1 to %d characters, not %zu", path, NATS_SECRET_BYTES - 2, length);
}
