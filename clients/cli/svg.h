/* A page, text and lines as SVG, for the pictures of the commands. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stdio.h>

/* A page, and the picture within its margins. */
struct svg_page {
    int width, height;
    int left, right, top, bottom; /* margins */
};

/* Writes the start of the page up to its title. `height` may be greater than that of `page`, for a long legend. */
void svg_begin(FILE *to, const struct svg_page *page, double height, const char *title);
/* Writes the names of the axes and the end of the page. */
void svg_end(FILE *to, const struct svg_page *page, const char *x_name, const char *y_name);
/* Writes text and escapes XML's special characters. */
void svg_text(FILE *to, const char *text);
void svg_line(FILE *to, double x1, double y1, double x2, double y2, const char *stroke);
void svg_frame(FILE *to, const struct svg_page *page);
/* The colour of curve `index`; the colours repeat. */
const char *svg_colour(size_t index);

#endif
