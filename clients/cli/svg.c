#include "svg.h"

void svg_text(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *entity = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : NULL;
        (void)(entity != NULL ? fputs(entity, to) : fputc((unsigned char)*text < ' ' ? ' ' : *text, to));
    }
}

void svg_line(FILE *to, double x1, double y1, double x2, double y2, const char *stroke)
{
    (void)fprintf(to, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s'/>\n", x1, y1, x2, y2, stroke);
}

void svg_frame(FILE *to, const struct svg_page *page)
{
    (void)fprintf(to, "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='#333'/>\n", page->left, page->top,
                  page->width - page->left - page->right, page->height - page->top - page->bottom);
}

const char *svg_colour(size_t index)
{
    static const char *const colours[] = {"#1b6ca8", "#c1440e", "#2e7d32", "#7b3fa0", "#8a6d00", "#007c80"};
    return colours[index % (sizeof colours / sizeof *colours)];
}

void svg_begin(FILE *to, const struct svg_page *page, double height, const char *title)
{
    (void)fprintf(to, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%.0f' font-family='sans-serif' font-size='12'>\n"
                      "<rect width='100%%' height='100%%' fill='white'/>\n"
                      "<text x='%d' y='26' font-size='15'>",
                  page->width, height, page->left);
    svg_text(to, title);
    (void)fputs("</text>\n", to);
}

void svg_end(FILE *to, const struct svg_page *page, const char *x_name, const char *y_name)
{
    (void)fprintf(to, "<text x='%d' y='%d' text-anchor='middle'>", (page->left + page->width - page->right) / 2,
                  page->height - 16);
    svg_text(to, x_name);
    (void)fprintf(to, "</text>\n<text transform='translate(20 %d) rotate(-90)' text-anchor='middle'>",
                  (page->top + page->height - page->bottom) / 2);
    svg_text(to, y_name);
    (void)fputs("</text>\n</svg>\n", to);
}
