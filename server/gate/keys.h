/*
 * The certificate files of otolith-gate: loaded at the start and after each change, so that a renewed certificate and a
 * new revocation list take effect without a restart. One thread.
 */
#ifndef SRV_GATE_KEYS_H
#define SRV_GATE_KEYS_H

#include <sys/stat.h>

#include "transport/tls.h"

#define SRV_KEYS_FILES 4

struct srv_keys {
    struct oto_tls_files files;
    struct oto_tls_context *context;
    struct stat seen[SRV_KEYS_FILES]; /* of the files when they were last read */
    int64_t next_warning_s;
};

/* Reads the files. On failure the previous context stays. */
enum oto_status srv_keys_load(struct srv_keys *keys, struct oto_error *error);
/* True if a file has changed since it was last read. */
bool srv_keys_have_changed(const struct srv_keys *keys);
/* Once a day: a sentence if the certificate is not valid at `now_s`, or ends within 30 days. False: nothing to report. */
bool srv_keys_warning(struct srv_keys *keys, int64_t now_s, char *sentence, size_t bytes);
void srv_keys_finish(struct srv_keys *keys);

#endif
