#include "bar.h"

#include <stdio.h>
#include <unistd.h>

#include "base/monotonic.h"

#define EVERY_NS 200000000
enum { CELLS = 30 };

void cli_bar_begin(struct cli_bar *bar)
{
    const int64_t now_ns = srv_now_ns();
    *bar = (struct cli_bar){.on_terminal = isatty(STDERR_FILENO) == 1, .begun_ns = now_ns, .due_ns = now_ns + EVERY_NS};
}

bool cli_bar_is_due(const struct cli_bar *bar)
{
    return bar->on_terminal && srv_now_ns() >= bar->due_ns;
}

void cli_bar_show(struct cli_bar *bar, uint64_t done, uint64_t total, const char *text)
{
    const int64_t now_ns = srv_now_ns();
    if (!cli_bar_is_due(bar)) {
        return;
    }
    bar->due_ns = now_ns + EVERY_NS;
    bar->shown = true;
    if (total == 0) {
        (void)fprintf(stderr, "\r%s\033[K", text);
        return;
    }
    const double share = (double)done / (double)total;
    const int full = (int)(share * CELLS);
    char cells[CELLS + 1];
    for (int i = 0; i < CELLS; i++) {
        cells[i] = i < full ? '#' : '.';
    }
    cells[CELLS] = '\0';
    (void)fprintf(stderr, "\r[%s] %3.0f %%", cells, 100.0 * share);
    if (done > 0) {
        (void)fprintf(stderr, ", %.0f s left", (double)(now_ns - bar->begun_ns) * 1e-9 * (1.0 / share - 1.0));
    }
    (void)fprintf(stderr, "  %s\033[K", text);
}

void cli_bar_end(struct cli_bar *bar)
{
    (void)fputs(bar->shown ? "\r\033[K" : "", stderr);
    bar->shown = false;
}
