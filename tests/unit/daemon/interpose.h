/* Counts calls on the tick thread of what it must not call: memory, locks, input and output. */
#ifndef WORLD_INTERPOSE_H
#define WORLD_INTERPOSE_H

#include <stdint.h>

/* From now on calls on the thread named "otolith-tick" are counted. */
void interpose_arm(void);
void interpose_disarm(void);
uint64_t interpose_calls(void);
/* The first of them, "" for none. */
const char *interpose_first(void);

#endif
