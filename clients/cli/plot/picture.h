/* Curves over a common axis as one SVG, with a grid at round numbers and a legend. */
#ifndef CLI_PLOT_PICTURE_H
#define CLI_PLOT_PICTURE_H

#include <stddef.h>
#include <stdio.h>

struct picture_point {
    double x, y; /* finite */
};

struct picture_curve {
    char name[128];
    struct picture_point *points; /* x does not fall */
    size_t count;
};

struct picture {
    const char *title, *x_name, *y_name;
    const struct picture_curve *curves;
    size_t count;
};

/* Where more points than pixels stand side by side, what they span is drawn: peaks stay. */
void picture_svg(FILE *to, const struct picture *picture);

#endif
