/* The options of a swap, as in `otolith swap`: the same for a server and for a world in your own process. */
#ifndef OTOLITH_SWAP_H
#define OTOLITH_SWAP_H

#include <stdbool.h>
#include <stdint.h>

/* Initialise with OTO_SWAP_DEFAULTS. Times are simulated, except the budget. */
struct oto_swap {
    uint32_t size;
    uint32_t unit;           /* serial number of the part's unit; valid if has_unit */
    const char *plugin;      /* name or absolute path; NULL with undo and cancel */
    const char *params;      /* absolute path of a parameter file, applied over the carried-over parameters; or NULL */
    const char *part, *mode; /* parameters of a part; or NULL */
    int64_t probation_ns;    /* 0: none */
    int64_t shadow_ns;       /* 0: none */
    double shadow_tolerance; /* the swap is refused if a number of the first channel differs by more; 0: any finite
                              * number is accepted */
    int64_t budget_ns;       /* real time of a step; three steps in a row above it, or an excess of 100 budgets, cause a roll-back. 0: none; -1:
                              * half a tick's period */
    bool has_unit, reset_state, no_probe;
    bool wait;               /* reply at the end of the probation, with a failure if the swap was rolled back */
    bool undo;               /* swap back to the previous plugin */
    bool cancel;             /* end a swap before its flip */
};

/* clang-format off */
#define OTO_SWAP_DEFAULTS {.size = sizeof(struct oto_swap), .probation_ns = 1000000000, .budget_ns = -1}
/* clang-format on */

#endif
