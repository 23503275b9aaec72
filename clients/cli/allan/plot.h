/* An Allan deviation as a log-log picture: points with their intervals, the fit, and its slopes. */
#ifndef CLI_ALLAN_PLOT_H
#define CLI_ALLAN_PLOT_H

#include <stdio.h>

#include "allan.h"

struct plot_curve {
    const char *name;
    const struct allan_point *points;
    size_t count;
    struct allan_fit fit;
};

/* One SVG of all curves. */
void plot_svg(FILE *to, const char *title, const struct plot_curve *curves, size_t count);

#endif
