/*
 * One plugin under test: an instance in guarded memory, stepped as the host does it, with allocations counted while its code
 * runs. What a step does wrong is kept as a sentence.
 */
#ifndef SUBJECT_H
#define SUBJECT_H

#include "estimator_inputs.h"
#include "oto_test.h"
#include "plugin/host.h"

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
    struct oto_plugin *plugin;
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_plugin_ops *ops;
    struct oto_params params;
    struct oto_prepared prepared;
    struct oto_setup setup;
    struct oto_instance instance;
    unsigned char *memory;  /* guard, state, guard */
    unsigned char *payload; /* the same for each port */
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
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
