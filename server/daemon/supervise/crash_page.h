/*
 * One page of memory that the server and its supervising parent map. The server writes its stage, the paths of its
 * checkpoints, and in the handler of a deadly signal the cause of its death.
 */
#ifndef SRV_GUARD_CRASH_PAGE_H
#define SRV_GUARD_CRASH_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/status.h"
#include "daemon/thread/engine.h"

#define SRV_CRASH_PAGE_MAGIC UINT64_C(0x3145474150435253) /* "SRCPAGE1" */
#define SRV_CRASH_SAVES 4
#define SRV_CRASH_PATH_BYTES 1024

/* Stage of the server. If the process ends in another stage than ENDED or FAILED, it has crashed. */
enum srv_crash_stage {
    SRV_CRASH_STAGE_NONE,    /* the server has not mapped the page */
    SRV_CRASH_STAGE_LOADING,
    SRV_CRASH_STAGE_SERVING,
    SRV_CRASH_STAGE_FAILED,  /* the server ended in order and never served */
    SRV_CRASH_STAGE_ENDED    /* the server ended in order */
};

struct srv_crash_page {
    uint64_t magic;
    uint32_t stage, spare; /* enum srv_crash_stage */
    uint32_t signal; /* 0: none; stored last */
    int32_t code;    /* si_code: above 0 the kernel raised the signal for a fault, otherwise a process sent it */
    uint64_t address;
    char node[96];    /* the node whose step crashed, "vehicle/node"; "": the server itself */
    char plugin[128]; /* file of the node's plugin */
    uint64_t lineage; /* lineage of the last run that began (otolith/segment.h); 0: no run began */
    uint64_t saves;   /* checkpoints written so far; the newest is at (saves - 1) mod SRV_CRASH_SAVES */
    char save[SRV_CRASH_SAVES][SRV_CRASH_PATH_BYTES];
};

/* Makes a page in a memfd that a child may inherit. Returns the descriptor, -1 with an error. */
int srv_crash_page_make(struct srv_crash_page **page, struct oto_error *error);
/* Maps the page of an inherited descriptor; NULL with an error. */
struct srv_crash_page *srv_crash_page_map(int fd, struct oto_error *error);

/* Called by the server: a checkpoint is complete. */
void srv_crash_page_saved(struct srv_crash_page *page, const char *path);
/* Marks that the server serves from now on. `page` may be NULL here and below. */
void srv_crash_page_serves(struct srv_crash_page *page);
/* Marks that the process ends in order. */
void srv_crash_page_ends(struct srv_crash_page *page);
/*
 * Watches for the deadly signals and for steps that end the process. Without a page, because the server has no supervising parent,
 * the cause is printed. `engine` names the node; NULL while there is none.
 */
enum oto_status srv_crash_watch(struct srv_crash_page *page, const struct srv_engine *engine, struct oto_error *error);
/* Call it before `engine` is destroyed; it has no effect if another engine is watched. */
void srv_crash_forget(const struct srv_engine *engine);
/* For a server without a supervising parent: an exit of the process before srv_crash_expect_exit is printed, and becomes a SIGABRT. */
enum oto_status srv_crash_watch_alone(struct oto_error *error);
void srv_crash_expect_exit(void);
/* The tick thread does not return from a step: records the node, and ends the process as a crash. */
void srv_crash_give_up(struct srv_crash_page *page, const struct srv_engine *engine) __attribute__((noreturn));

#endif
