/* `otolith verify FILE.mcap`: runs the recorded world again and compares every sample with the recorded bytes. */
#ifndef CLI_RECORD_PROVE_H
#define CLI_RECORD_PROVE_H

#include <stdbool.h>

/* Prints the result; an exit code of the command line. */
int prove_recording(const char *path, bool json);

#endif
