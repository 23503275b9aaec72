/*
 * The supervising parent: runs the server as its child and starts it again when it dies of a signal, from the newest
 * checkpoint that can be read, without the node whose plugin killed it. A stack overflow of a plugin kills without a
 * word; then nobody is named.
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
