/*
 * The loop of a program that reads the segment of a world and sends its records elsewhere: passes, a report once a second, and the
 * next run of the world after the end of one. One thread.
 */
#ifndef BRIDGE_H
#define BRIDGE_H

#include "otolith/client.h"
#include "program/program.h"

#define BRIDGE_MOST_WAIT_S 1000000

struct bridge {
    struct srv_program program;
    const char *world; /* NULL: $OTOLITH_WORLD, else the only running world */
    int64_t wait_s;    /* time to wait for the next run of the world after one has ended */
    struct oto_client *client;
    int64_t report_due_ns;
    void *context;
    enum oto_status (*open)(void *context, struct oto_error *error); /* a run of the world was attached */
    void (*pass)(void *context);                                     /* sends the records that the rings have */
    void (*wait)(void *context);                                     /* waits for more; a signal ends it within 0.1 s */
    void (*report)(void *context);                                   /* of changes since the last report */
};

/* Attaches to the world, as an observer of the program's name. */
enum oto_status bridge_attach(struct bridge *bridge, struct oto_error *error);
/* Runs until a signal, or until the world has ended and did not restart in time. */
enum oto_status bridge_run(struct bridge *bridge, struct oto_error *error);

#endif
