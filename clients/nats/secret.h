/* Tokens and passwords, which are read from files so that no command line shows them. */
#ifndef NATS_SECRET_H
#define NATS_SECRET_H

#include "otolith/status.h"

enum { NATS_SECRET_BYTES = 4096 };

/* Reads the first line of a file, without its line break, into NATS_SECRET_BYTES bytes. */
enum oto_status nats_secret_read(const char *path, char *secret, struct oto_error *error);

#endif
