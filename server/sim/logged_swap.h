/* A swap as a log of inputs has it, for programs that replay a log. [loop] */
#ifndef SRV_SIM_LOGGED_SWAP_H
#define SRV_SIM_LOGGED_SWAP_H

#include "sim/change.h"
#include "sim/run_log.h"

/*
 * Reads a swap of a node with its plugin file, parameters and unit as they were resolved; nothing is searched for.
 * `file`: opened instead of the file in the log, or NULL. `unlike`: how the error about another build of the plugin
 * ends; NULL: another build is accepted. The caller finishes *previous, also on failure; the options refer to it.
 */
enum oto_status srv_logged_swap_read(const struct srv_sim *sim, uint32_t node, const struct oto_run_log_reader *log,
                                     const struct oto_run_log_line *line, const char *file, const char *unlike,
                                     struct srv_previous *previous, struct srv_swap_options *options,
                                     struct oto_error *error);

#endif
