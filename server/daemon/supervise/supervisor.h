/*
 * The supervising parent: runs the server as its child and restarts it after a crash, from the newest checkpoint that can
 * be restored, without the node whose plugin killed it. README.md has the rules.
 */
#ifndef SRV_SUPERVISOR_H
#define SRV_SUPERVISOR_H

#define SRV_SUPERVISOR_CRASHES 3     /* this number of crashes within SRV_GUARD_WINDOW_S ends the supervision */
#define SRV_GUARD_WINDOW_S 60
#define SRV_SUPERVISOR_QUARANTINE 32 /* nodes */

/* The user must write the option in full, because it is searched for before the command line is parsed. */
#define SRV_SUPERVISOR_OPTION "--supervise"

/* Returns the exit code of the process when the supervision ends. `argv` is the whole command line. */
int srv_supervise_server(int argc, char **argv);

#endif
