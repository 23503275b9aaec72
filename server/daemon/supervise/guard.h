/*
 * The supervising parent: runs the server as its child and restarts it after a crash, from the newest checkpoint that can
 * be restored, without the node whose plugin killed it. README.md has the rules.
 */
#ifndef SRV_GUARD_H
#define SRV_GUARD_H

#define SRV_GUARD_CRASHES 3          /* so many … */
#define SRV_GUARD_WINDOW_S 60        /* … in this time end it for good */
#define SRV_GUARD_QUARANTINE 32      /* nodes */

/* Written in full, so that it is found before anything of the line is read. */
#define SRV_GUARD_OPTION "--supervise"

/* Returns the exit code of the whole. `argv` is the whole command line. */
int srv_guard(int argc, char **argv);

#endif
