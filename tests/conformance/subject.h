/*
 * One plugin under test: an instance in guarded memory, stepped as the host does it, with allocations counted while its code
 * runs. What a step does wrong is kept as a sentence.
 */
#ifndef SUBJECT_H
#define SUBJECT_H

#include "estimator_inputs.h"
#include "oto_test.h"
#include "sim/instance.h"

enum { GUARD_BYTES = 64, GUARD = 0xa5 };

/* Calls of malloc and its kin while COUNTED runs. */
extern volatile unsigned subject_allocations;
#ifndef OTO_SANITIZED_BUILD
extern volatile int subject_stepping;
#define COUNTED(call) (subject_stepping = 1, (void)(call), subject_stepping = 0)
#else
#define COUNTED(call) (void)(call)
#endif

struct subject {
    struct srv_instance now; /* its state and payloads are replaced by guarded ones once it is made */
    struct oto_setup setup;
    void *own_state;        /* the state that the instance was made with */
    unsigned char *memory;  /* guard, state, guard */
    unsigned char *payload; /* the same for each port */
    struct estimator_inputs inputs;
    uint64_t hash; /* of every output so far */
    unsigned emitted, discarded;
    const char *broken; /* what a step did wrong, NULL: nothing */
};

/* A plugin's file, with its defaults and what the suite gives to those that need something; prepared and begun. */
void subject_open(struct subject *s, const char *path);
void subject_close(struct subject *s);
/* Runs samples first … last, until something is broken. */
void subject_run(struct subject *s, uint64_t first, uint64_t last);
/* Whether the bytes before and after the state are as they were. */
bool subject_guards_hold(const struct subject *s);
uint64_t subject_state_hash(const struct subject *s);

#endif
