/*
 * One page of memory that the server and its supervising parent map. The server writes how far it came, the paths of its
 * checkpoints, and in the handler of a deadly signal what it died of.
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

/* How far the server came. An exit before ENDED or FAILED is a crash. */
enum srv_crash_stage {
    SRV_CRASH_STAGE_NONE,    /* it has not mapped the page */
    SRV_CRASH_STAGE_LOADING,
    SRV_CRASH_STAGE_SERVING,
    SRV_CRASH_STAGE_FAILED,  /* ended in order, and never served */
    SRV_CRASH_STAGE_ENDED    /* ended in order */
};

struct srv_crash_page {
    uint64_t magic;
    uint32_t stage, spare; /* enum srv_crash_stage */
    uint32_t signal; /* 0: none; stored last */
    int32_t code;    /* si_code: above 0 from the processor, otherwise sent by a process */
    uint64_t address;
    char node[96];    /* "vehicle/node" whose step it was, "" for the server itself */
    char plugin[128]; /* file */
    uint64_t lineage; /* of the last run that began (otolith/segment.h); 0: none did */
    uint64_t saves;   /* written so far; the newest is at (saves - 1) mod SRV_CRASH_SAVES */
    char save[SRV_CRASH_SAVES][SRV_CRASH_PATH_BYTES];
};

/* A new page in a memfd that a child may inherit. Returns the descriptor, -1 with an error. */
int srv_crash_page_make(struct srv_crash_page **page, struct oto_error *error);
/* The page behind an inherited descriptor; NULL with an error. */
struct srv_crash_page *srv_crash_page_map(int fd, struct oto_error *error);

/* Called by the server: a checkpoint is complete. */
void srv_crash_page_saved(struct srv_crash_page *page, const char *path);
/* From now on it serves. NULL is allowed here and below. */
void srv_crash_page_serves(struct srv_crash_page *page);
/* The process is about to end in order. */
void srv_crash_page_ends(struct srv_crash_page *page);
enum oto_status srv_crash_watch(struct srv_crash_page *page, const struct srv_engine *engine, struct oto_error *error);
/* To be called before the engine is destroyed; another one is watched on. */
void srv_crash_forget(const struct srv_engine *engine);
/* The tick thread does not return from a step: records the node, and ends the process as a crash. */
void srv_crash_give_up(struct srv_crash_page *page, const struct srv_engine *engine) __attribute__((noreturn));

#endif
