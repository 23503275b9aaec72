/* What the pictures of the commands share: a page, text and lines as SVG. */
#ifndef CLI_SVG_H
#define CLI_SVG_H

#include <stdio.h>

/* A page, and the picture within its margins. */
struct svg_page {
    int width, height;
    int left, right, top, bottom; /* margins */
};

/* The page's start up to its title; `height` may be more than the page's where a legend is long. */
void svg_begin(FILE *to, const struct svg_page *page, double height, const char *title);
/* Names under and beside the picture, then the end. */
void svg_end(FILE *to, const struct svg_page *page, const char *x_name, const char *y_name);
/* A person's text, as XML. */
void svg_text(FILE *to, const char *text);
void svg_line(FILE *to, double x1, double y1, double x2, double y2, const char *stroke);
void svg_frame(FILE *to, const struct svg_page *page);
/* Of curve `index`; they come again after a while. */
const char *svg_colour(size_t index);

#endif
