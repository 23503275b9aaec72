/*
 * The supervising parent: runs the server as its child and restarts it after a crash, from the newest checkpoint that can
 * be restored, without the node whose plugin killed it. README.md has the rules.
 */
#ifndef SRV_SUPERVISOR_H
#define SRV_SUPERVISOR_H

#define SRV_SUPERVISOR_CRASHES 3     /* so many … */
#define SRV_GUARD_WINDOW_S 60        /* … in this time end it for good */
#define SRV_SUPERVISOR_QUARANTINE 32 /* nodes */

/* Written in full, so that it is found before anything of the line is read. */
#define SRV_SUPERVISOR_OPTION "--supervise"

/* Returns the exit code of the whole. `argv` is the whole command line. */
int srv_supervise_server(int argc, char **argv);

#endif
