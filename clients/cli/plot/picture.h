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
    struct picture_point *points; /* x does not decrease */
    size_t count;
};

struct picture {
    const char *title, *x_name, *y_name;
    const struct picture_curve *curves;
    size_t count;
};

/* Where there are more points than pixels, minimum and maximum of each pixel column are drawn, so that peaks are visible. */
void picture_svg(FILE *to, const struct picture *picture);

#endif
