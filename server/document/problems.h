/*
 * The errors of one file. With a receiver, reading continues after an error, so that one reading reports all errors that do
 * not depend on each other. [loop]
 */
#ifndef OTOLITH_DOCUMENT_PROBLEMS_H
#define OTOLITH_DOCUMENT_PROBLEMS_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"

enum { OTO_MOST_PROBLEMS = 20 };

typedef void oto_problem_function(void *context, const struct oto_error *error);

struct oto_problems {
    oto_problem_function *report; /* NULL: reading ends at the first error */
    void *context;
    struct oto_error *error; /* where functions leave their error; its status is OTO_OK once it is noted */
    uint32_t count, reported;
    uint64_t seen[OTO_MOST_PROBLEMS]; /* hashes: a value that several vehicles share is reported once */
};

/* Reports the error that a function left, unless that function has noted it. Returns whether reading continues. */
bool oto_problems_note(struct oto_problems *problems, enum oto_status status);

#endif
