/*
 * What a test and the programs that it starts share: which call of which program is to fail. `inject_preload.c` is loaded
 * into the programs (LD_PRELOAD), `injector.c` belongs to the test. A *place* is a call together with the stack that leads
 * to it, told apart by a hash that is the same in every run.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdint.h>

#define INJECT_ENVIRONMENT "OTO_INJECT" /* the path of the page */
#define INJECT_PLACES 8192              /* a power of two: open addressing by hash */
#define INJECT_TEXT_BYTES 2048

enum inject_mode { INJECT_OFF, INJECT_RECORD, INJECT_FAIL };

struct inject_place {
    uint64_t hash;     /* 0: free */
    uint32_t order;    /* in which the places were met */
    uint32_t variants; /* ways to fail: error numbers of the call */
    char call[20];
    uint32_t hits;
};

struct inject_page {
    uint32_t mode;    /* atomic; enum inject_mode */
    uint32_t depth;   /* frames of the stack that tell places apart */
    char program[24]; /* whose calls are meant: the last part of its path */
    uint64_t hash;    /* of the place that fails, once */
    uint32_t variant; /* which of its ways */
    uint32_t skip;    /* atomic; calls there that still go well */
    uint32_t fired;   /* atomic */
    uint32_t crashed; /* atomic; a signal, SIGABRT for abort() */
    uint32_t place_count;
    uint32_t spare;
    char fired_text[INJECT_TEXT_BYTES]; /* the call and its stack: MODULE+OFFSET, innermost first */
    char crash_text[INJECT_TEXT_BYTES]; /* where the program then died, in the same form */
    struct inject_place places[INJECT_PLACES];
};

#endif
