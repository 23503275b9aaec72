/* A progress bar on the terminal; nothing where stderr is no terminal. */
#ifndef CLI_BAR_H
#define CLI_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct cli_bar {
    bool on_terminal, shown;
    int64_t begun_ns, due_ns;
};

void cli_bar_begin(struct cli_bar *bar);
/* Draws `done` of `total` and `text`, at most five times a second. `total` 0: the end is not known, and `text` is shown alone. */
void cli_bar_show(struct cli_bar *bar, uint64_t done, uint64_t total, const char *text);
/* Whether cli_bar_show would draw now: saves making its text. */
bool cli_bar_is_due(const struct cli_bar *bar);
void cli_bar_end(struct cli_bar *bar);

#endif
