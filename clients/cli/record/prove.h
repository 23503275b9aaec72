/* `otolith verify FILE.mcap`: runs the recorded world again and compares every sample with the recorded bytes. */
#ifndef CLI_RECORD_PROVE_H
#define CLI_RECORD_PROVE_H

#include <stdbool.h>

/* Prints the result and returns an exit code. */
int prove_recording(const char *path, bool json);

#endif
