/*
 * The supervising parent: runs the server as its child and restarts it after a crash, from the newest checkpoint that
 * can be restored, without the node whose plugin killed it. A check has a parent too, which tells how a plugin ended
 * it. README.md has the rules.
 */
#ifndef SRV_SUPERVISOR_H
#define SRV_SUPERVISOR_H

#include <stdbool.h>

#define SRV_SUPERVISOR_CRASHES 3     /* this number of crashes within SRV_GUARD_WINDOW_S ends the supervision */
#define SRV_GUARD_WINDOW_S 60
#define SRV_SUPERVISOR_QUARANTINE 32 /* nodes */

/* The user must write these options in full, because they are searched for before the command line is parsed. */
#define SRV_SUPERVISOR_OPTION "--supervise"
#define SRV_SUPERVISOR_CHECK "--check"
#define SRV_SUPERVISOR_FOLLOW "--follow-parent" /* or --follow-parent=PID */
#define SRV_SUPERVISOR_PAGE "--crash-page" /* only a child has it */

/* Whether the argument is --follow-parent. *pid is then its value, NULL where it has none. */
bool srv_supervisor_is_follow(const char *argument, const char **pid);
/* Returns the exit code of the process when the supervision ends. `argv` is the whole command line; `check`: it has
 * --check. */
int srv_supervise_server(int argc, char **argv, bool check);

#endif
